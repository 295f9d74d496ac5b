"""Values that live on: across stores and releases, loops, conditions, and in blocks.

Each body is a compute kernel. Names in one word are those of programs that the public compiler
(tt-lang 1.1.1) gets wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from differential.compute_programs import ComputeProgram, assert_kept
from ttl import ttnn
from ttl.diagnostics import UsageError

SHAPES = [(1, 1), (2, 2), (1, 5), (5, 5)]
ALL_SHAPES = pytest.mark.parametrize("shape", SHAPES, ids=lambda s: "x".join(map(str, s)))
WIDTHS = {
    "16 bits": ("", ttnn.bfloat16),
    "32 bits": (", fp32_dest_acc_en=True", ttnn.bfloat16),
    "float32": ("", ttnn.float32),
}
ALL_WIDTHS = pytest.mark.parametrize("width", WIDTHS)

EXACT: dict[str, tuple[str, int, int]] = {}  # name: body, blocks read, blocks written

EXACT["a value after operations in place and after the pop of what it was made of"] = (
    """
with a_dfb.wait() as a_blk, b_dfb.wait() as b_blk:
    t = a_blk + b_blk
    e = ttl.math.relu(t)
    with y_dfb.reserve() as y_blk:
        y_blk.store(e * t + t)
    with y_dfb.reserve() as y_blk:
        y_blk.store(e)
    u = t * e
with y_dfb.reserve() as y_blk:
    y_blk.store(u - e)
""",
    1,
    3,
)
EXACT["blocks read, stored into and added to"] = (
    """
with a_dfb.wait() as a_blk, b_dfb.wait() as b_blk:
    with y_dfb.reserve() as y_blk:
        y_blk.store(a_blk * b_blk)
        y_blk.store(y_blk + a_blk)
    with y_dfb.reserve() as y_blk:
        for i in range(3):
            y_blk += a_blk * b_blk
        z = y_blk * b_blk
        y_blk += z
    a_blk.store(a_blk * a_blk)
    with y_dfb.reserve() as y_blk:
        y_blk.store(a_blk - b_blk)
""",
    1,
    3,
)
EXACT["store_twice_mt"] = (
    """
with a_dfb.wait() as a_blk, b_dfb.wait() as b_blk, y_dfb.reserve() as y_blk:
    y_blk.store(a_blk * b_blk)
    t = y_blk - a_blk
    y_blk.store(t + b_blk)
""",
    1,
    1,
)
EXACT["store_in_loop"] = (
    """
with a_dfb.wait() as a_blk, b_dfb.wait() as b_blk, y_dfb.reserve() as y_blk:
    y_blk.store(b_blk)
    for i in range(3):
        y_blk.store(y_blk * a_blk)
""",
    1,
    1,
)
EXACT["nested_acc"] = (
    """
with y_dfb.reserve() as y_blk:
    for i in range(2):
        for j in range(2):
            with a_dfb.wait() as a_blk, b_dfb.wait() as b_blk:
                y_blk += a_blk * b_blk
""",
    4,
    1,
)
EXACT["f_store_then_acc"] = (
    """
with a_dfb.wait() as a_blk, b_dfb.wait() as b_blk, y_dfb.reserve() as y_blk:
    y_blk.store(a_blk)
    y_blk += b_blk
    y_blk += a_blk * b_blk
""",
    1,
    1,
)
EXACT["a sum under conditions"] = (
    """
with y_dfb.reserve() as y_blk:
    for i in range(4):
        with a_dfb.wait() as a_blk, b_dfb.wait() as b_blk:
            if i % 2 == 0:
                y_blk += a_blk * b_blk
            else:
                y_blk += a_blk - b_blk
            if i == 3:
                y_blk += b_blk
""",
    4,
    1,
)
EXACT["a loop that adds nothing"] = (
    """
with a_dfb.wait() as a_blk, b_dfb.wait() as b_blk, y_dfb.reserve() as y_blk:
    y_blk += a_blk + b_blk
    for i in range(0):
        y_blk += a_blk
""",
    1,
    1,
)
EXACT["a value that a loop changes in other ways than by adding"] = (
    """
y = ttl.math.fill(1, shape=(ROWS, COLUMNS))
for i in range(4):
    with a_dfb.wait() as a_blk, b_dfb.wait() as b_blk:
        y = y * a_blk + b_blk
with y_dfb.reserve() as y_blk:
    y_blk.store(y)
""",
    4,
    1,
)
EXACT["two values that change places"] = (
    """
with a_dfb.wait() as a_blk, b_dfb.wait() as b_blk:
    s = a_blk + b_blk
    t = a_blk - b_blk
    for i in range(3):
        s, t = t, s + t
    with y_dfb.reserve() as y_blk:
        y_blk.store(s * t)
""",
    1,
    1,
)
EXACT["a value chosen by a condition"] = (
    """
for i in range(2):
    with a_dfb.wait() as a_blk, b_dfb.wait() as b_blk:
        t = a_blk * b_blk
        if i == 1:
            t = t - b_blk
        with y_dfb.reserve() as y_blk:
            y_blk.store(t * a_blk)
""",
    2,
    2,
)
EXACT["coalesce"] = (
    """
for i in range(2):
    with a_dfb.wait() as a_blk, b_dfb.wait() as b_blk, y_dfb.reserve() as y_blk:
        y_blk.store(a_blk + b_blk)
        y_blk.store(-y_blk)
""",
    2,
    2,
)

EXACT["values that stay in registers when their blocks are popped"] = (
    """
a_blk = a_dfb.wait()
b_blk = b_dfb.wait()
t = a_blk * 0.5 + b_blk
u = a_blk + a_blk
a_blk.pop()
v = b_blk - t
with y_dfb.reserve() as y_blk:
    y_blk.store(u)
b_blk.pop()
with y_dfb.reserve() as y_blk:
    y_blk.store(v)
with a_dfb.wait() as a_blk, b_dfb.wait() as b_blk:
    w = ttl.math.max(t, a_blk) - b_blk
    x = w * t
with y_dfb.reserve() as y_blk:
    y_blk.store(x + u)
with a_dfb.wait() as a_blk:
    e = ttl.math.relu(a_blk)
with b_dfb.wait() as b_blk, y_dfb.reserve() as y_blk:
    y_blk.store(e * b_blk)
with y_dfb.reserve() as y_blk:
    y_blk.store(e - w)
""",
    3,
    5,
)
EXACT["more such values than registers"] = (
    """
with a_dfb.wait() as a_blk, b_dfb.wait() as b_blk:
    t1 = a_blk * 0.5 + b_blk
    t2 = ttl.math.max(t1, a_blk) - t1
    t3 = t2 * a_blk
    t4 = b_blk - t3
for i in range(2):
    t1 = t1 * 0.5 + t4
with y_dfb.reserve() as y_blk:
    y_blk.store((t1 + t2) * (t3 - t4))
with y_dfb.reserve() as y_blk:
    y_blk.store(t2 * t1)
""",
    1,
    2,
)
EXACT["a block that each path stores into and releases itself"] = (
    """
for i in range(3):
    with a_dfb.wait() as a_blk, b_dfb.wait():
        y_blk = y_dfb.reserve()
        y_blk.store(a_blk)
        if i == 0:
            y_blk.push()
        elif i == 1:
            y_blk.store(y_blk * 2)
            y_blk.push()
        else:
            y_blk.store(y_blk * y_blk)
            y_blk.push()
""",
    3,
    3,
)
EXACT["a block that one path releases early, and one that each only releases"] = (
    """
for i in range(2):
    with a_dfb.wait() as a_blk, b_dfb.wait():
        y_blk = y_dfb.reserve()
        y_blk.store(a_blk)
        if i == 0:
            y_blk.push()
        if i == 1:
            y_blk.store(y_blk * 2)
            y_blk.push()
        y_blk = y_dfb.reserve()
        y_blk.store(a_blk)
        y_blk.store(y_blk * y_blk)
        if i == 0:
            y_blk.push()
        else:
            y_blk.push()
""",
    2,
    4,
)


@ALL_SHAPES
@ALL_WIDTHS
def test_equal(width: str, shape: tuple[int, int]) -> None:
    options, dtype = WIDTHS[width]
    for name, simulated, compiled in run_all(EXACT, shape, options=options, dtype=dtype):
        assert_kept(ComputeProgram("", options=options, dtype=dtype), simulated, compiled, name)


def test_16_bits_that_are_kept_in_32() -> None:
    """Number for number where what is stored has 32 bits: then nothing is read as TF32."""
    options, dtype = WIDTHS["32 bits"]
    wide = run_all(EXACT, (2, 2), options=options, dtype=dtype, out_dtype=ttnn.float32)
    for name, simulated, compiled in wide:
        np.testing.assert_array_equal(compiled, simulated, name)


def run_all(
    bodies: dict[str, tuple[str, int, int]], shape: tuple[int, int], **options: Any
) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """All bodies one after the other in one kernel; the blocks each one writes."""
    body = "".join(text for text, _, _ in bodies.values())
    steps = sum(steps for _, steps, _ in bodies.values())
    names = [name for name, (_, _, count) in bodies.items() for _ in range(count)]
    program = ComputeProgram(body, shape, steps, len(names), **options)
    for name, (simulated, compiled) in zip(names, program.both(), strict=True):
        yield name, simulated, compiled


PRODUCTS: dict[str, tuple[str, int, int]] = {}

PRODUCTS["a sum of products, then an epilogue"] = (
    """
y = ttl.math.fill(0, shape=(ROWS, COLUMNS))
for i in range(4):
    with a_dfb.wait() as a_blk, b_dfb.wait() as b_blk, w_dfb.wait() as w_blk:
        y += a_blk @ w_blk
        y += b_blk * a_blk
with y_dfb.reserve() as y_blk:
    y_blk.store(ttl.math.relu(y) * 0.5)
""",
    4,
    1,
)
PRODUCTS["nested sums of products in a block"] = (
    """
with y_dfb.reserve() as y_blk:
    for i in range(2):
        for j in range(2):
            with a_dfb.wait() as a_blk, b_dfb.wait() as b_blk, w_dfb.wait() as w_blk:
                y_blk += a_blk @ w_blk
                y_blk += b_blk
""",
    4,
    1,
)
PRODUCTS["two sums with one start"] = (
    """
s = ttl.math.fill(0, shape=(ROWS, COLUMNS))
t = s
for i in range(2):
    with a_dfb.wait() as a_blk, b_dfb.wait() as b_blk, w_dfb.wait() as w_blk:
        s += a_blk @ w_blk
        t += b_blk @ w_blk
with y_dfb.reserve() as y_blk:
    y_blk.store(s - t)
""",
    2,
    1,
)
PRODUCTS["an f32 block in a product and elsewhere"] = (
    """
with a_dfb.wait() as a_blk, b_dfb.wait() as b_blk, w_dfb.wait() as w_blk:
    with y_dfb.reserve() as y_blk:
        y_blk.store(a_blk @ w_blk * a_blk - b_blk)
""",
    1,
    1,
)


@ALL_SHAPES
@pytest.mark.parametrize("dtype", [ttnn.bfloat16, ttnn.float32], ids=str)
def test_close(dtype: object, shape: tuple[int, int]) -> None:
    tolerance = 2.0**-7 if dtype is ttnn.bfloat16 else 2.0**-18
    for name, simulated, compiled in run_all(PRODUCTS, shape, dtype=dtype):
        scale = np.abs(simulated).max()
        assert scale > 1
        np.testing.assert_allclose(compiled, simulated, tolerance, tolerance * scale, err_msg=name)


def test_a_sum_is_rounded_once() -> None:
    """256 + 16 x 1: in bfloat16 a sum that is rounded after every step stays at 256."""
    body = """
with a_dfb.wait() as a_blk, b_dfb.wait() as b_blk, y_dfb.reserve() as y_blk:
    y_blk += a_blk * 0 + b_blk * 0 + 256
    for i in range(16):
        y_blk += ttl.math.fill(1)
"""
    for shape in ((1, 1), (5, 5)):
        program = ComputeProgram(body, shape, options=", fp32_dest_acc_en=True")
        for simulated, compiled in program.both():
            assert (simulated == 272).all() and (compiled == 272).all()


def test_compiler_buffers_count_against_the_budget() -> None:
    """The user's three buffers of one f32 tile fit; the operand of the product needs a fourth."""
    body = """
with a_dfb.wait() as a_blk, b_dfb.wait() as b_blk, y_dfb.reserve() as y_blk:
    y_blk.store((a_blk + b_blk) @ a_blk)
"""
    options = f', options="--ttl-l1-budget {3 * 4096}"'
    program = ComputeProgram(body, options=options, dtype=ttnn.float32)
    program.run("sim")
    with pytest.raises(UsageError, match=r"TTL4001(.|\n)*_kept"):
        program.run("host")

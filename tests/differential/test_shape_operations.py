"""Reductions, broadcasts, transposition and views: alone, feeding each other, and in expressions.

Bit for bit where the op table states no bound, within the bound elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest

from differential.shape_programs import Shape, ShapeProgram, check_close, check_equal
from ttl import ttnn
from ttl.semantics.dtypes import TF32_STEP
from ttl.semantics.ops import BLOCK_OPS

SHAPES = [(1, 1), (2, 2), (1, 5), (3, 7)]
ALL_SHAPES = pytest.mark.parametrize("shape", SHAPES, ids=lambda s: "x".join(map(str, s)))
DTYPES = {"bfloat16": ttnn.bfloat16, "float32": ttnn.float32}
ALL_DTYPES = pytest.mark.parametrize("dtype", DTYPES)
SPACING = {"bfloat16": 2.0**-7, "float32": 2.0**-23}
TOLERANCE = {"bfloat16": 2.0**-7, "float32": 2.0**-20}
# Numbers that the engines have a unit apart may be cut off to neighbours where the matrix unit
# reads them.
AFTER_FUNCTIONS = {"bfloat16": 2.0**-7, "float32": TF32_STEP}
REDUCTIONS = ("reduce_sum", "reduce_max")


def reduced(shape: Shape, dims: tuple[int, ...]) -> Shape:
    rank = len(shape)
    return tuple(1 if d in dims or d - rank in dims else size for d, size in enumerate(shape))


# Each alone ---------------------------------------------------------------------------------------


def check_reductions(name: str, shape: Shape, dtype: str, calls: list[Any]) -> None:
    results = [
        (f"ttl.math.{name}(x, {scaler}, dims={list(dims)})", reduced(shape, dims))
        for dims, scaler in calls
    ]
    program = ShapeProgram({"x": shape, "s": (1, 1)}, results, DTYPES[dtype])
    inputs = program.inputs()
    for (dims, scaler), (simulated, compiled) in zip(calls, program.both(), strict=True):
        factor = inputs["s"] if scaler == "s" else np.float32(scaler)
        bound: Callable[..., Any] | None = BLOCK_OPS[name].bound
        assert bound is not None and np.abs(simulated).max() > 0
        allowed = 2 * bound(SPACING[dtype], inputs["x"], factor, dims, None)
        allowed += SPACING[dtype] * np.abs(simulated)
        assert (np.abs(compiled - simulated) <= allowed).all(), (name, dims, scaler)


@ALL_DTYPES
@ALL_SHAPES
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name: str, shape: Shape, dtype: str) -> None:
    """By numbers that the scaler tile can hold or not, and by a block."""
    every_dims = [(-1,), (-2,), (-2, -1)]
    scalers = ("1", "-0.25", "0.3", "s")
    check_reductions(name, shape, dtype, [(d, s) for d in every_dims for s in scalers])


@ALL_DTYPES
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_over_outer_dimensions(name: str, dtype: str) -> None:
    every_dims = [(0,), (1,), (0, 1), (0, -1), (1, -2), (0, 1, 2, 3), (-2, -1)]
    check_reductions(name, (2, 3, 2, 2), dtype, [(d, "0.5") for d in every_dims])
    check_reductions(name, (3, 2, 5), dtype, [((0,), "s"), ((0, -1), "s"), ((-1,), "0.3")])


@ALL_DTYPES
@ALL_SHAPES
def test_broadcasts_and_transposition(shape: Shape, dtype: str) -> None:
    rows, columns = shape
    column, row = (rows, 1), (1, columns)
    results = [
        (f"ttl.math.broadcast(c, dims=[-1], shape={shape})", shape),
        (f"ttl.math.broadcast(r, dims=[-2], shape={shape})", shape),
        (f"ttl.math.broadcast(e, dims=[-2, -1], shape={shape})", shape),
        ("x + ttl.math.broadcast(c, dims=[-1])", shape),
        ("ttl.math.broadcast(r * 2.0, dims=[-2]) - x", shape),
        ("x * ttl.math.abs(ttl.math.broadcast(e, dims=[-2, -1]) + 1.0)", shape),
        ("ttl.math.broadcast(c, x, dims=[-1])", shape),
        ("ttl.math.transpose(x)", (columns, rows)),
        ("ttl.math.transpose(x) + ttl.math.transpose(x * 2.0)", (columns, rows)),
        ("ttl.math.transpose(ttl.math.transpose(x))", shape),
    ]
    blocks = {"x": shape, "c": column, "r": row, "e": (1, 1)}
    check_equal(ShapeProgram(blocks, results, DTYPES[dtype]))


@ALL_DTYPES
def test_more_dimensions(dtype: str) -> None:
    results = [
        ("ttl.math.broadcast(o, dims=[0], shape=(2, 3, 2, 2))", (2, 3, 2, 2)),
        ("ttl.math.broadcast(o, dims=[0]) + x", (2, 3, 2, 2)),
        ("ttl.math.broadcast(m, dims=[0, 1, -1]) * x", (2, 3, 2, 2)),
        ("ttl.math.squeeze(m, 0)", (1, 2, 1)),
        ("ttl.math.squeeze(m, [0, 1]) + 1.0", (2, 1)),
        ("ttl.math.unsqueeze(f, 0)", (1, 2, 2)),
        ("ttl.math.broadcast(ttl.math.unsqueeze(f, [0, 1]), dims=[0, 1]) - x", (2, 3, 2, 2)),
        ("ttl.math.squeeze(ttl.math.unsqueeze(f, 0) + ttl.math.unsqueeze(f * 2.0, 0), 0)", (2, 2)),
        ("ttl.math.transpose(ttl.math.squeeze(m, [0, 1]))", (1, 2)),
        ("ttl.math.reduce_max(ttl.math.unsqueeze(f, [0]), dims=[0, -1])", (1, 2, 1)),
        ("ttl.math.exp(ttl.math.squeeze(ttl.math.reduce_max(m, dims=[-2]), [0, 1]))", (1, 1)),
    ]
    blocks = {"x": (2, 3, 2, 2), "o": (1, 3, 2, 2), "m": (1, 1, 2, 1), "f": (2, 2)}
    check_close(ShapeProgram(blocks, results, DTYPES[dtype]), 4 * SPACING[dtype])


@ALL_DTYPES
def test_one_dimension(dtype: str) -> None:
    results = [
        ("x * s + ttl.math.broadcast(e, dims=[0])", (5,)),
        ("ttl.math.broadcast(ttl.math.reduce_max(x, dims=[0]), x, dims=[0]) - x", (5,)),
        ("ttl.math.reduce_max(x * s, -0.25, dims=[-1])", (1,)),
        ("ttl.math.reduce_max(x, e, dims=[-1])", (1,)),
        ("ttl.math.unsqueeze(x, 0)", (1, 5)),
        ("ttl.math.squeeze(m, 0) + x", (5,)),
        ("ttl.math.squeeze(ttl.math.unsqueeze(x + s, [0, 1]) * 2.0, [0, 1])", (5,)),
        ("ttl.math.transpose(ttl.math.unsqueeze(x, 0))", (5, 1)),
        ("ttl.math.squeeze(ttl.math.broadcast(ttl.math.unsqueeze(e, 0), m, dims=[0, 1]), 0)", (5,)),
    ]
    blocks = {"x": (5,), "s": (5,), "e": (1,), "m": (1, 5)}
    check_equal(ShapeProgram(blocks, results, DTYPES[dtype]))


INTEGERS = {
    "int32": (-(2**31), 2**31),
    "uint32": (0, 2**32),
    "uint16": (0, 2**16),
    "uint8": (0, 2**8),
}


@pytest.mark.parametrize("dtype", INTEGERS)
def test_reductions_of_integers(dtype: str) -> None:
    """Exact, and wrapping around."""
    largest = INTEGERS[dtype][1] - 1
    calls = [((-1,), "1"), ((-2,), str(largest)), ((-2, -1), "s")]
    results = [
        (f"ttl.math.{name}(x, {scaler}, dims={list(dims)})", reduced((2, 3), dims))
        for name in REDUCTIONS
        for dims, scaler in calls
    ]
    of_more_dimensions = [
        ("ttl.math.reduce_sum(o, dims=[0])", (1, 3, 1, 1)),
        ("ttl.math.reduce_max(o, 2, dims=[0, 1, -1])", (1, 1, 1, 1)),
    ]
    blocks = {"x": (2, 3), "s": (1, 1), "o": (2, 3, 1, 1)}
    for each in (results, of_more_dimensions):
        program = ShapeProgram(blocks, each, getattr(ttnn, dtype), values=INTEGERS[dtype])
        check_equal(program)


REDUCED_IN_A_LOOP = """
with x_dfb.wait() as x, y0_dfb.reserve() as y0:
    total = ttl.math.fill(0, shape=(2, 1))
    for i in range(3):
        total = total + ttl.math.reduce_sum(x * i, dims=[-1]) ^ 5
        if i > 1:
            total = ttl.math.max(total, ttl.math.reduce_max(x, dims=[-1]))
    y0.store(total)
"""


@pytest.mark.parametrize("dtype", ["int32", "uint8"])
def test_reductions_of_integers_in_a_loop(dtype: str) -> None:
    results = [("x", (2, 1))]
    values = INTEGERS[dtype]
    check_equal(
        ShapeProgram(
            {"x": (2, 3)}, results, getattr(ttnn, dtype), body=REDUCED_IN_A_LOOP, values=values
        )
    )


@pytest.mark.parametrize("dtype", ["bfloat8_b", "bfloat4_b", *INTEGERS])
def test_other_formats(dtype: str) -> None:
    shape = (2, 3)
    results = [
        (f"ttl.math.broadcast(c, dims=[-1], shape={shape})", shape),
        (f"ttl.math.broadcast(r, dims=[-2], shape={shape})", shape),
        ("x + ttl.math.broadcast(e, dims=[-2, -1])", shape),
        ("ttl.math.transpose(x + x)", (3, 2)),
        ("ttl.math.unsqueeze(x, 0)", (1, 2, 3)),
    ]
    if dtype.startswith("bfloat"):
        results.append(("ttl.math.reduce_max(x, 0.5, dims=[-1])", (2, 1)))
    blocks = {"x": shape, "c": (2, 1), "r": (1, 3), "e": (1, 1)}
    check_equal(ShapeProgram(blocks, results, getattr(ttnn, dtype), values=(0.0, 100.0)))


# Producers and consumers --------------------------------------------------------------------------

PRODUCERS = {
    "elementwise": "(x * w)",
    "broadcast": "ttl.math.broadcast(c, dims=[-1], shape=(2, 2))",
    "reduction": "ttl.math.reduce_sum(z, dims=[-1])",
    "maximum": "ttl.math.reduce_max(z, 0.7, dims=[-2, -1])",
    "product": "(x @ w)",
    "transposition": "ttl.math.transpose(x)",
    "view": "ttl.math.squeeze(ttl.math.unsqueeze(w, 0), 0)",
    "fill": "ttl.math.fill(0.5, shape=(2, 2))",
}
SIZES = {"reduction": (2, 1), "maximum": (1, 1)}
CONSUMERS: dict[str, Callable[[str, Shape], tuple[str, Shape]]] = {
    "store": lambda p, s: (p, s),
    "exp": lambda p, s: (f"ttl.math.exp({p} * 0.1)", s),
    "+ block": lambda p, s: (f"{p} + {beside(s)}", s),
    "block -": lambda p, s: (f"{beside(s)} - {p}", s),
    "* block": lambda p, s: (f"{p} * {beside(s)}", s),
    "broadcast": lambda p, s: (
        f"ttl.math.broadcast({first_column(p, s)}, dims=[-1], shape={(s[0], 3)})",
        (s[0], 3),
    ),
    "reduction": lambda p, s: (f"ttl.math.reduce_sum({p}, 0.5, dims=[-2])", (1, s[1])),
    "maximum": lambda p, s: (f"ttl.math.reduce_max({p}, dims=[-1])", (s[0], 1)),
    "left of @": lambda p, s: (f"{p} @ {'x' if s[1] == 2 else 'ttl.math.transpose(c)'}", (s[0], 2)),
    "right of @": lambda p, s: (f"{'x' if s[0] == 2 else 'c'} @ {p}", (2, s[1])),
    "transposition": lambda p, s: (f"ttl.math.transpose({p})", s[::-1]),
    "view": lambda p, s: (f"ttl.math.unsqueeze({p}, 0)", (1, *s)),
}


def beside(shape: Shape) -> str:
    """A block of this shape."""
    return {(2, 2): "x", (2, 1): "c", (1, 1): "e"}[shape]


def first_column(producer: str, shape: Shape) -> str:
    """Only dimensions of size 1 are broadcast."""
    if shape[1] == 1:
        return producer
    return f"ttl.math.reduce_sum({producer}, dims=[-1])"


@ALL_DTYPES
@pytest.mark.parametrize("producer", PRODUCERS)
def test_every_producer_feeds_every_consumer(producer: str, dtype: str) -> None:
    """The matrix of which the public compiler refuses a part."""
    size = SIZES.get(producer, (2, 2))
    results = [consumer(PRODUCERS[producer], size) for consumer in CONSUMERS.values()]
    blocks = {"x": (2, 2), "w": (2, 2), "c": (2, 1), "e": (1, 1), "z": (2, 3)}
    program = ShapeProgram(blocks, results, DTYPES[dtype], values=(-1.0, 1.0))
    check_close(program, TOLERANCE[dtype])


# One expression -----------------------------------------------------------------------------------


def softmax(shape: Shape) -> str:
    return """
with x_dfb.wait() as x, y0_dfb.reserve() as y0:
    e = ttl.math.exp(x - ttl.math.broadcast(ttl.math.reduce_max(x, dims=[-1]), dims=[-1]))
    y0.store(e / ttl.math.broadcast(ttl.math.reduce_sum(e, dims=[-1]), dims=[-1]))
"""


def layernorm(shape: Shape) -> str:
    scale = 1 / (32 * shape[1])
    return f"""
with x_dfb.wait() as x, g_dfb.wait() as g, y0_dfb.reserve() as y0:
    d = x - ttl.math.broadcast(ttl.math.reduce_sum(x, {scale}, dims=[-1]), dims=[-1])
    v = ttl.math.reduce_sum(d * d, {scale}, dims=[-1])
    n = d * ttl.math.broadcast(ttl.math.rsqrt(v + 1e-2), dims=[-1])
    y0.store(n * ttl.math.broadcast(g, dims=[-2]) + ttl.math.broadcast(g, dims=[-2]))
"""


def rmsnorm(shape: Shape) -> str:
    mean = f"ttl.math.reduce_sum(x * x, {1 / (32 * shape[1])}, dims=[-1])"
    root = f"ttl.math.rsqrt({mean} + 1e-2)"
    return f"""
with x_dfb.wait() as x, g_dfb.wait() as g, y0_dfb.reserve() as y0:
    y0.store(x * ttl.math.broadcast({root}, dims=[-1]) * ttl.math.broadcast(g, dims=[-2]))
"""


def product_with_bias(shape: Shape) -> str:
    return """
with x_dfb.wait() as x, w_dfb.wait() as w, g_dfb.wait() as g, y0_dfb.reserve() as y0:
    y0.store(ttl.math.relu(x @ w + ttl.math.broadcast(g, dims=[-2])))
"""


def attention(shape: Shape) -> str:
    """Scores of a block of queries, the softmax of them, and the values it weighs."""
    return """
with x_dfb.wait() as q, k_dfb.wait() as k:
    s = (q @ ttl.math.transpose(k)) * 0.125
    p = ttl.math.exp(s - ttl.math.broadcast(ttl.math.reduce_max(s, dims=[-1]), dims=[-1]))
    total = ttl.math.broadcast(ttl.math.reduce_sum(p, dims=[-1]), dims=[-1])
    with y0_dfb.reserve() as y0:
        y0.store((p @ k) / total)
"""


EXPRESSIONS = [softmax, layernorm, rmsnorm, product_with_bias, attention]


@ALL_DTYPES
@ALL_SHAPES
@pytest.mark.parametrize("expression", EXPRESSIONS, ids=lambda e: e.__name__)
def test_one_expression(expression: Callable[[Shape], str], shape: Shape, dtype: str) -> None:
    columns = shape[1]
    body = expression(shape)
    every = {"x": shape, "w": (columns, columns), "g": (1, columns), "k": (3, columns)}
    blocks = {name: size for name, size in every.items() if f"{name}_dfb" in body}
    program = ShapeProgram(blocks, [(expression.__name__, shape)], DTYPES[dtype], body=body)
    check_close(program, AFTER_FUNCTIONS[dtype])


# Loops and releases -------------------------------------------------------------------------------

FLOWS = {
    "sums of reductions, and a running maximum": """
m = ttl.math.fill(-100.0, shape=(2, 1))
with y0_dfb.reserve() as y0, y1_dfb.reserve() as y1:
    for i in range(3):
        with x_dfb.wait() as x:
            m = ttl.math.max(m, ttl.math.reduce_max(x, dims=[-1]))
            y0 += ttl.math.reduce_sum(x * x, dims=[-1])
    y1.store(m)
""",
    "a reduction after its block is popped": """
with x_dfb.wait() as x:
    r = ttl.math.reduce_sum(x, dims=[-1])
    t = ttl.math.transpose(x)
with x_dfb.wait() as x:
    u = ttl.math.reduce_max(t, dims=[-2])
    s = ttl.math.reduce_sum(x, 2.0, dims=[-1])
with x_dfb.wait() as x, y0_dfb.reserve() as y0:
    y0.store(r + s + ttl.math.reduce_max(x, dims=[-1]))
with y1_dfb.reserve() as y1:
    y1.store(ttl.math.transpose(u + u))
""",
    "a value of before a loop that is reduced in it": """
with x_dfb.wait() as x:
    e = ttl.math.exp(x)
    s = ttl.math.broadcast(ttl.math.reduce_sum(e, dims=[-1]), dims=[-1], shape=(2, 3))
with y0_dfb.reserve() as y0:
    for i in range(2):
        with x_dfb.wait() as z:
            y0 += ttl.math.reduce_sum(e * z + s, dims=[-1])
with y1_dfb.reserve() as y1:
    y1.store(ttl.math.reduce_sum(s, dims=[-1]))
""",
    "broadcasts and reductions in a loop": """
with y0_dfb.reserve() as y0, y1_dfb.reserve() as y1:
    t = ttl.math.fill(0.0, shape=(2, 1))
    for i in range(3):
        with x_dfb.wait() as x, c_dfb.wait() as c:
            t = t + ttl.math.broadcast(c, dims=[-2], shape=(2, 1))
            y1 += ttl.math.reduce_sum(x, dims=[-1])
    y0.store(t)
""",
    "broadcasts in a loop that stays in registers": """
t = ttl.math.fill(0.0, shape=(2, 1))
for i in range(3):
    with c_dfb.wait() as c:
        t = t + ttl.math.broadcast(c, dims=[-2], shape=(2, 1))
with x_dfb.wait() as x, y0_dfb.reserve() as y0:
    y0.store(t * ttl.math.reduce_sum(x, dims=[-1]))
with x_dfb.wait() as x, y1_dfb.reserve() as y1:
    e = ttl.math.reduce_max(x, dims=[-2, -1]) + ttl.math.reduce_sum(t, dims=[-2])
    y1.store(ttl.math.broadcast(e, dims=[-2]))
with x_dfb.wait() as x:
    y2 = ttl.math.exp(x)
""",
    "in branches": """
with y0_dfb.reserve() as y0, y1_dfb.reserve() as y1:
    for i in range(3):
        with x_dfb.wait() as x:
            r = ttl.math.reduce_sum(x, dims=[-1])
            if i % 2 == 0:
                y0 += ttl.math.exp(r * 0.1)
            else:
                y0 += r
            if i == 2:
                y1.store(r)
""",
}


@ALL_DTYPES
@pytest.mark.parametrize("name", FLOWS)
def test_in_the_flow_of_a_kernel(name: str, dtype: str) -> None:
    blocks = {"x": (2, 3), "c": (1, 1)}
    body = FLOWS[name]
    if "c_dfb" not in body:
        del blocks["c"]
    results = [(name, (2, 1)), (name, (2, 1))]
    program = ShapeProgram(blocks, results, DTYPES[dtype], body=body, steps=3)
    check_close(program, AFTER_FUNCTIONS[dtype])


def test_reductions_in_32_bit_registers_of_16_bit_blocks() -> None:
    results = [
        ("ttl.math.reduce_sum(x, 0.25, dims=[-1])", (2, 1)),
        ("ttl.math.exp(ttl.math.reduce_max(x - 1.0, dims=[-2, -1]))", (1, 1)),
        ("ttl.math.transpose(x) + 1.0", (3, 2)),
    ]
    options = ", fp32_dest_acc_en=True"
    check_close(ShapeProgram({"x": (2, 3)}, results, options=options), 2.0**-7)


# Random expressions -------------------------------------------------------------------------------


class Expressions:
    """Random expressions whose numbers stay between about -2 and 2."""

    def __init__(self, seed: int):
        self.random = Random(seed)

    def of(self, shape: Shape, depth: int) -> str:
        if depth == 0:
            return self.random.choice(["x", "w"] if shape == (2, 2) else [f"b{shape[0]}{shape[1]}"])
        kinds = [self.unary, self.binary, self.binary, self.transposed]
        if shape == (2, 2):
            kinds += [self.product, self.broadcast, self.broadcast]
        if 1 in shape:
            kinds += [self.reduced, self.reduced]
        return self.random.choice(kinds)(shape, depth - 1)

    def unary(self, shape: Shape, depth: int) -> str:
        function = self.random.choice(["tanh", "sin", "relu", "abs"])
        return f"ttl.math.{function}({self.of(shape, depth)})"

    def binary(self, shape: Shape, depth: int) -> str:
        sign = self.random.choice("+-*")
        left, right = self.of(shape, depth), self.of(shape, self.random.randint(0, depth))
        return f"({left} {sign} {right}) * 0.5"

    def transposed(self, shape: Shape, depth: int) -> str:
        return f"ttl.math.transpose({self.of(shape[::-1], depth)})"

    def product(self, shape: Shape, depth: int) -> str:
        return f"({self.of(shape, depth)} @ {self.of(shape, 0)}) * 0.03125"

    def broadcast(self, shape: Shape, depth: int) -> str:
        source, dims = self.random.choice([((2, 1), [-1]), ((1, 2), [-2]), ((1, 1), [-2, -1])])
        return f"ttl.math.broadcast({self.of(source, depth)}, dims={dims}, shape={shape})"

    def reduced(self, shape: Shape, depth: int) -> str:
        dims = [dim for dim in (-2, -1) if shape[dim] == 1]
        source = (2, 2)
        if dims == [-2, -1] and self.random.random() < 0.3:
            dims, source = [-1], (1, 2)
        if self.random.random() < 0.5:
            return f"ttl.math.reduce_max({self.of(source, depth)}, 0.75, dims={dims})"
        scale = 1 / 64 if len(dims) == 1 else 1 / 4096
        return f"ttl.math.reduce_sum({self.of(source, depth)}, {scale}, dims={dims})"


@pytest.mark.sampled(4)
@ALL_DTYPES
@pytest.mark.parametrize("seed", range(7))
def test_random_expressions(seed: int, dtype: str) -> None:
    """Eight a program; relative to 1, because differences of equal numbers have no scale."""
    expressions = Expressions(seed)
    shapes = [(2, 2), (2, 1), (1, 2), (1, 1)] * 2
    results = [(expressions.of(s, 2 + i % 4), s) for i, s in enumerate(shapes)]
    blocks = {"x": (2, 2), "w": (2, 2), "b21": (2, 1), "b12": (1, 2), "b11": (1, 1)}
    program = ShapeProgram(blocks, results, DTYPES[dtype])
    for (text, _), (simulated, compiled) in zip(results, program.both(), strict=True):
        np.testing.assert_allclose(compiled, simulated, atol=AFTER_FUNCTIONS[dtype], err_msg=text)

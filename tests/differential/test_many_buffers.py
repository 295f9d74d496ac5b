"""Programs that declare as many dataflow buffers as a node has, and expressions that need more.

What the compiler adds shares circular buffers, with each other and where it must with the user's.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import ttl
from differential.shape_programs import Shape, ShapeProgram, check_close
from ttl import ttnn
from ttl.diagnostics import CompileError, UsageError
from ttl.passes.compute import shared_buffers, ttl_finalize_dfb_indices
from ttl.target import load

DEVICE = ttnn.open_device(device_id=0)
TOLERANCE = {ttnn.bfloat16: 2.0**-7, ttnn.float32: 2.0**-19}
ONE = "y0.store(({sum}) * 0.125 @ x0)"
THREE = """
s = ({sum}) * 0.125
e = ttl.math.exp(s - ttl.math.broadcast(ttl.math.reduce_max(s, dims=[-1]), dims=[-1]))
t = ttl.math.broadcast(ttl.math.reduce_sum(e, dims=[-1]), dims=[-1])
y0.store(e * ttl.math.recip(t))
"""
SIX = """
a, b, c, d, e, f = x0 + x1, x2 - x3, x4 * x5, x6 + x7, x8 - x9, x10 * x11
y0.store((a @ b) + (c @ d) + (e @ f) + (a @ f) + (c @ b) + (e @ d) + {sum})
"""
EXPRESSIONS = {"one": ONE, "three": THREE, "six": SIX}
STEPS = 3


def inputs(declared: int) -> list[str]:
    """All but one, which is the result's."""
    return [f"x{i}" for i in range(declared - 1)]


def fused(declared: int, expression: str, dtype: Any = ttnn.bfloat16) -> ShapeProgram:
    names = inputs(declared)
    lines = [f"{name} = {name}_dfb.wait()" for name in names]
    lines += ["y0 = y0_dfb.reserve()"]
    lines += expression.format(sum=" + ".join(names)).strip().splitlines()
    lines += [f"{name}.pop()" for name in names] + ["y0.push()"]
    blocks: dict[str, Shape] = dict.fromkeys(names, (1, 1))
    return ShapeProgram(blocks, [("", (1, 1))], dtype, body="\n".join(lines))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("declared", [30, 31, 32])
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_many_inputs(declared: int, expression: str) -> None:
    check_close(fused(declared, EXPRESSIONS[expression]), TOLERANCE[ttnn.bfloat16])


def test_many_inputs_of_32_bits() -> None:
    check_close(fused(32, SIX, ttnn.float32), TOLERANCE[ttnn.float32])


def test_one_too_many_of_the_user_is_an_error() -> None:
    program = fused(33, ONE)
    for backend in ("sim", "host"):
        with pytest.raises(UsageError, match="TTL4002"):
            program.run(backend)


# Of several formats -------------------------------------------------------------------------------

FORMATS = (ttnn.bfloat16, ttnn.float32, ttnn.bfloat8_b, ttnn.bfloat16)
LOOPED = 4  # inputs of which each iteration of a loop takes a block


def read_each(tensors, buffers):  # type: ignore[no-untyped-def]
    for tensor, dfb in zip(tensors, buffers, strict=True):
        with dfb.reserve() as block:
            ttl.copy(tensor[0, 0], block).wait()


def several_formats(*tensors):  # type: ignore[no-untyped-def]
    """32 buffers; the values need some of f32 that are unpacked to the registers and others."""
    *inputs, y = tensors
    dfbs = [ttl.make_dataflow_buffer_like(x, shape=(1, 1)) for x in inputs]
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))

    @ttl.datamovement()
    def read() -> None:
        read_each(inputs[LOOPED:], dfbs[LOOPED:])
        for _ in range(STEPS):
            read_each(inputs[:LOOPED], dfbs[:LOOPED])

    @ttl.compute()
    def compute() -> None:
        held = [dfb.wait() for dfb in dfbs[LOOPED:]]
        with y_dfb.reserve() as y_blk:
            product = held[0] @ held[1]
            for _ in range(STEPS):
                a, b, c, d = (dfb.wait() for dfb in dfbs[:LOOPED])
                product += (a + b) @ (c - d)
                for block in (a, b, c, d):
                    block.pop()
            total = held[2]
            for block in held[3:]:
                total = total + block
            most = ttl.math.broadcast(ttl.math.reduce_max(product, dims=[-1]), dims=[-1])
            y_blk.store(ttl.math.exp((product - most) * 0.125) @ (total * 0.5) + total)
        for block in held:
            block.pop()

    @ttl.datamovement()
    def write() -> None:
        with y_dfb.wait() as block:
            ttl.copy(block, y[0, 0]).wait()


def test_inputs_of_several_formats(monkeypatch: pytest.MonkeyPatch) -> None:
    operation = ttl.operation(grid=(1, 1))(several_formats)
    generator = np.random.default_rng(5)
    arrays = [generator.uniform(-1, 1, (32, 32)).astype(np.float32) for _ in range(31)]
    tensors = [
        ttl.from_numpy(array, FORMATS[i % len(FORMATS)], device=DEVICE)
        for i, array in enumerate(arrays)
    ]
    results = []
    for backend in ("sim", "host"):
        y = ttl.from_numpy(np.zeros((32, 32)), ttnn.bfloat16, device=DEVICE)
        monkeypatch.setenv("TTL_BACKEND", backend)
        operation(*tensors, y)
        results.append(ttl.to_numpy(y).astype(np.float32))
    difference = np.abs(results[0] - results[1]).max()
    assert difference <= TOLERANCE[ttnn.bfloat16] * np.abs(results[0]).max()


# Each rule, where a node has as few as are declared -----------------------------------------------

Buffers = list[dict[str, int]]


@pytest.fixture
def left(monkeypatch: pytest.MonkeyPatch) -> Buffers:
    """Names and block counts of the buffers, where a node has one fewer than would be used."""
    found: Buffers = []

    def one_fewer(module: Any) -> Any:
        count = len(shared_buffers.declarations_of(module))
        return replace(load("wormhole_b0"), dataflow_buffers=count - 1)

    def share(module: Any) -> None:
        shared_buffers.share_buffers(module)
        declared = shared_buffers.declarations_of(module).values()
        found.append({op.sym_name.data: op.type.block_count.value.data for op in declared})

    monkeypatch.setattr(shared_buffers, "target_of", one_fewer)
    monkeypatch.setattr(ttl_finalize_dfb_indices, "share_buffers", share)
    return found


def both(operation: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(3)
    arrays = [generator.uniform(-2, 2, (32 * STEPS, 32)).astype(np.float32) for _ in range(2)]
    results = []
    for backend in ("sim", "host"):
        tensors = [ttl.from_numpy(x, ttnn.bfloat16, device=DEVICE) for x in arrays]
        y = ttl.from_numpy(np.zeros((32 * STEPS, 32)), ttnn.bfloat16, device=DEVICE)
        monkeypatch.setenv("TTL_BACKEND", backend)
        operation(*tensors, y)
        results.append(ttl.to_numpy(y).astype(np.float32))
    simulated, compiled = results
    scale = np.abs(simulated).max()
    assert scale > 0
    assert np.abs(simulated - compiled).max() <= TOLERANCE[ttnn.bfloat16] * scale


def made(compute: Any, read: Any, *shapes: Shape) -> Any:
    """An operation of these kernels, which get the tensors and buffers that they use.

    `shapes` are those of buffers that only the compute kernel uses.
    """

    @ttl.operation(grid=(1, 1))
    def operation(a, b, y):  # type: ignore[no-untyped-def]
        a_dfb, b_dfb, y_dfb = (
            ttl.make_dataflow_buffer_like(x, shape=(1, 1), block_count=2) for x in (a, b, y)
        )
        own = [ttl.make_dataflow_buffer_like(a, shape=shape) for shape in shapes]

        @ttl.compute()
        def computing() -> None:
            compute(a_dfb, b_dfb, y_dfb, *own)

        @ttl.datamovement()
        def reading() -> None:
            read(a, b, a_dfb, b_dfb)

        @ttl.datamovement()
        def writing() -> None:
            for step in range(STEPS):
                with y_dfb.wait() as block:
                    ttl.copy(block, y[step, 0]).wait()

    return operation


def read_in_turn(a, b, a_dfb, b_dfb):  # type: ignore[no-untyped-def]
    for step in range(STEPS):
        with a_dfb.reserve() as block:
            ttl.copy(a[step, 0], block).wait()
        with b_dfb.reserve() as block:
            ttl.copy(b[step, 0], block).wait()


def read_together(a, b, a_dfb, b_dfb):  # type: ignore[no-untyped-def]
    for step in range(STEPS):
        with b_dfb.reserve() as b_blk, a_dfb.reserve() as a_blk:
            b_copy = ttl.copy(b[step, 0], b_blk)
            ttl.copy(a[step, 0], a_blk).wait()
            b_copy.wait()


def computed_in_lockstep(a_dfb, b_dfb, y_dfb):  # type: ignore[no-untyped-def]
    """Waited for and popped in another order than the blocks come in."""
    for _ in range(STEPS):
        b = b_dfb.wait()
        a = a_dfb.wait()
        with y_dfb.reserve() as y:
            y.store((a + b) @ b)
        b.pop()
        a.pop()


def computed_in_rounds(a_dfb, b_dfb, y_dfb):  # type: ignore[no-untyped-def]
    """One after the other, in the other order; between them is a wait for the writer."""
    for _ in range(STEPS):
        with b_dfb.wait() as b:
            product = (b * 0.5) @ b
        with y_dfb.reserve() as y, a_dfb.wait() as a:
            y.store(product - a)


@pytest.mark.parametrize(
    ("compute", "read", "blocks"),
    [
        (computed_in_lockstep, read_in_turn, 4),
        (computed_in_lockstep, read_together, 4),
        (computed_in_rounds, read_in_turn, 6),
    ],
)
def test_inputs_in_turn(
    left: Buffers, monkeypatch: pytest.MonkeyPatch, compute: Any, read: Any, blocks: int
) -> None:
    both(made(compute, read), monkeypatch)
    (shared,) = {"a_dfb", "b_dfb"} & left[0].keys()
    assert left[0][shared] == blocks


def read_one_after_the_other(a, b, a_dfb, b_dfb):  # type: ignore[no-untyped-def]
    for step in range(STEPS):
        for _ in range(2):
            with a_dfb.reserve() as block:
                ttl.copy(a[step, 0], block).wait()
        for _ in range(3):
            with b_dfb.reserve() as block:
                ttl.copy(b[step, 0], block).wait()


def computed_one_after_the_other(a_dfb, b_dfb, y_dfb):  # type: ignore[no-untyped-def]
    for _ in range(STEPS):
        with y_dfb.reserve() as y:
            for _ in range(2):
                with a_dfb.wait() as a:
                    y += (a * 2.0) @ a
            for _ in range(3):
                with b_dfb.wait() as b:
                    y += (b + 1) @ b


def test_inputs_one_after_the_other(left: Buffers, monkeypatch: pytest.MonkeyPatch) -> None:
    both(made(computed_one_after_the_other, read_one_after_the_other), monkeypatch)
    assert left[0]["a_dfb"] == 4 and "b_dfb" not in left[0]


def computed_at_a_rate_of_its_own(a_dfb, b_dfb, y_dfb):  # type: ignore[no-untyped-def]
    for step in range(STEPS):
        with y_dfb.reserve() as y, a_dfb.wait() as a:
            for _ in range(step + 1):
                with b_dfb.wait() as b:
                    y += (a - b) @ b


def read_at_another_rate(a, b, a_dfb, b_dfb):  # type: ignore[no-untyped-def]
    for step in range(STEPS):
        with a_dfb.reserve() as block:
            ttl.copy(a[step, 0], block).wait()
        for _ in range(step + 1):
            with b_dfb.reserve() as block:
                ttl.copy(b[step, 0], block).wait()


def test_what_cannot_share_is_refused_at_its_line(
    left: Buffers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not with the message for what the user declared."""
    operation = made(computed_at_a_rate_of_its_own, read_at_another_rate)
    with pytest.raises(CompileError, match="beside the declared ones, where a node has") as caught:
        both(operation, monkeypatch)
    (found,) = caught.value.diagnostics
    assert found.code.slug == "not-compiled-yet"
    assert found.primary is not None and found.primary.span.file == __file__


def computed_with_own_buffers(a_dfb, b_dfb, y_dfb, t_dfb, u_dfb):  # type: ignore[no-untyped-def]
    """Of two sizes, and used one after the other."""
    for _ in range(STEPS):
        with a_dfb.wait() as a, b_dfb.wait() as b, y_dfb.reserve() as y:
            with t_dfb.reserve() as t:
                t.store(a - b)
            with t_dfb.wait() as t:
                s = t @ a
                with u_dfb.reserve() as u:
                    u.store(ttl.math.broadcast(ttl.math.unsqueeze(t, 0), dims=[0]))
            with u_dfb.wait() as u:
                y.store(s + ttl.math.squeeze(ttl.math.reduce_max(u, dims=[0]), 0))


def test_buffers_of_the_compute_kernel_are_used_again(
    left: Buffers, monkeypatch: pytest.MonkeyPatch
) -> None:
    both(made(computed_with_own_buffers, read_in_turn, (1, 1), (2, 1, 1)), monkeypatch)
    assert left


def test_compiler_buffers_of_two_sizes_share_memory() -> None:
    """The user's are 10 tiles of 16 bits; values need 4 of 32 bits, and later 1."""
    body = """
with a_dfb.wait() as a, y0_dfb.reserve() as y0:
    y0.store((a + 1) @ a)
with s_dfb.wait() as s, y1_dfb.reserve() as y1:
    y1.store((s - 1) @ s)
"""
    options = f', options="--ttl-l1-budget {10 * 2048 + 4 * 4096}"'
    blocks: dict[str, Shape] = {"a": (2, 2), "s": (1, 1)}
    results = [("", (2, 2)), ("", (1, 1))]
    program = ShapeProgram(blocks, results, options=options, body=body)
    check_close(program, TOLERANCE[ttnn.bfloat16])

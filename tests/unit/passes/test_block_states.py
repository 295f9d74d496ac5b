"""The static check of block states refuses on the compiled backend what the simulator refuses."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import ttl
from ttl import sim, ttnn
from ttl.config import Config
from ttl.diagnostics import TTLError
from ttl.driver.compile import compile_operation
from ttl.language.operation import Program
from ttl.target import load

TARGET = load("wormhole_b0")
Kernels = Callable[..., tuple[Callable[[], None], Callable[[], None], Callable[[], None]]]


def good(a, y, a_dfb, y_dfb):
    def compute():
        with a_dfb.wait() as a_blk, y_dfb.reserve() as y_blk:
            y_blk.store(ttl.math.exp(a_blk))

    def read():
        with a_dfb.reserve() as a_blk:
            a_copy = ttl.copy(a[0, 0], a_blk)
            a_copy.wait()

    def write():
        with y_dfb.wait() as y_blk:
            y_copy = ttl.copy(y_blk, y[0, 0])
            y_copy.wait()

    return compute, read, write


def never_stored(a, y, a_dfb, y_dfb):
    _, read, write = good(a, y, a_dfb, y_dfb)

    def compute():
        with a_dfb.wait() as a_blk, y_dfb.reserve() as y_blk:
            ttl.math.exp(a_blk)
            _ = y_blk

    return compute, read, write


def copied_the_wrong_way(a, y, a_dfb, y_dfb):
    compute, _, write = good(a, y, a_dfb, y_dfb)

    def read():
        with a_dfb.reserve() as a_blk:
            a_copy = ttl.copy(a_blk, a[0, 0])
            a_copy.wait()

    return compute, read, write


def pushed_before_the_wait(a, y, a_dfb, y_dfb):
    compute, _, write = good(a, y, a_dfb, y_dfb)

    def read():
        a_blk = a_dfb.reserve()
        a_copy = ttl.copy(a[0, 0], a_blk)
        a_blk.push()
        a_copy.wait()

    return compute, read, write


def program_of(kernels: Kernels) -> Program:
    @ttl.operation(grid=(1, 1))
    def operation(a, y):
        a_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))
        compute, read, write = kernels(a, y, a_dfb, y_dfb)
        ttl.compute()(compute)
        ttl.datamovement()(read)
        ttl.datamovement()(write)

    device = ttnn.open_device(device_id=0)
    tensors = [
        ttnn.ones((32, 32), dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device)
        for _ in range(2)
    ]
    return operation.program(tuple(tensors), {}, TARGET.default_grid)


def test_a_good_program_passes() -> None:
    assert compile_operation(program_of(good), TARGET, Config())


@pytest.mark.parametrize(
    "kernels",
    [
        never_stored,
        copied_the_wrong_way,
        pushed_before_the_wait,
    ],
)
def test_simulator_and_compiler_agree(kernels: Kernels) -> None:
    with pytest.raises(TTLError) as simulated:
        sim.run(program_of(kernels), target=TARGET)
    with pytest.raises(TTLError) as compiled:
        compile_operation(program_of(kernels), TARGET, Config())
    ours, theirs = compiled.value.diagnostics[0], simulated.value.diagnostics[0]
    assert (ours.code, ours.message, ours.helps) == (theirs.code, theirs.message, theirs.helps)
    assert ours.primary is not None and theirs.primary is not None
    assert ours.primary.span.file == theirs.primary.span.file == __file__

"""Blocks and transfers under conditions and loops: compiled kernels do what the simulator does."""
# ruff: noqa: F841

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ttl
from ttl import ttnn
from ttl.diagnostics import TTLError

Kernels = Callable[..., tuple[Callable[[], None], ...]]


def run(kernels: Kernels, block_count: int = 2) -> np.ndarray:
    """compute, read and write; x is read in, y is written."""

    @ttl.operation(grid=(1, 1))
    def operation(x, y):
        x_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 1), block_count=block_count)
        z_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 1), block_count=block_count)
        y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1), block_count=block_count)
        compute, read, write = kernels(x, y, x_dfb, z_dfb, y_dfb)
        ttl.compute()(compute)
        ttl.datamovement()(read)
        ttl.datamovement()(write)

    device = ttnn.open_device(device_id=0)
    values = np.random.default_rng(3).integers(-8, 8, (64, 192)).astype(np.float32)
    x = ttl.from_numpy(values, dtype=ttnn.bfloat16, device=device)
    y = ttnn.zeros((64, 192), dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device)
    operation(x, y)
    return ttl.to_numpy(y).astype(np.float32)


def agree(kernels: Kernels, block_count: int = 2) -> np.ndarray:
    with pytest.MonkeyPatch.context() as patch:
        simulated = run(kernels, block_count)
        patch.setenv("TTL_BACKEND", "host")
        compiled = run(kernels, block_count)
    assert np.abs(simulated).max() > 0
    np.testing.assert_array_equal(compiled, simulated)
    return simulated


def reader(x, x_dfb, count=6):
    def read():
        for i in range(count):
            with x_dfb.reserve() as block:
                ttl.copy(x[i // 6, i % 6], block).wait()

    return read


def writer(y, y_dfb, count=6):
    def write():
        for i in range(count):
            with y_dfb.wait() as block:
                ttl.copy(block, y[i // 6, i % 6]).wait()

    return write


def test_a_branch_in_a_compute_kernel() -> None:
    def kernels(x, y, x_dfb, z_dfb, y_dfb):
        def compute():
            for i in range(6):
                with ttl.signpost("step"), x_dfb.wait() as a, y_dfb.reserve() as out:
                    if i % 3 == 0:
                        out.store(a + a)
                    elif i == 4:
                        out.store(a * a)
                    else:
                        out.store(a)

        return compute, reader(x, x_dfb), writer(y, y_dfb)

    agree(kernels)


def test_an_expression_of_one_branch_or_another() -> None:
    def twice(block):
        return block + block

    def kernels(x, y, x_dfb, z_dfb, y_dfb):
        def compute():
            column, row = ttl.node(dims=2)
            n = 0
            while n < 6 + column:
                with x_dfb.wait() as a, y_dfb.reserve() as out:
                    out.store(twice(a) * a if n > row + 2 else twice(a))
                n += 1

        return compute, reader(x, x_dfb), writer(y, y_dfb)

    agree(kernels)


def test_a_helper_that_computes() -> None:
    def twice(block, out, negative=False):
        if negative:
            out.store(block - block - block)
        else:
            out.store(block + block)

    def kernels(x, y, x_dfb, z_dfb, y_dfb):
        def compute():
            column, row = ttl.node(dims=2)
            n = 0
            while n < 6 + column:
                with x_dfb.wait() as a, y_dfb.reserve() as out:
                    twice(a, out, negative=n > row + 2)
                n += 1

        return compute, reader(x, x_dfb), writer(y, y_dfb)

    agree(kernels)


def test_blocks_are_copied_to_blocks() -> None:
    def kernels(x, y, x_dfb, z_dfb, y_dfb):
        def compute():
            for _ in range(6):
                with z_dfb.wait() as z, y_dfb.reserve() as out:
                    out.store(z + z)

        def read():
            for i in range(6):
                with x_dfb.reserve() as block:
                    ttl.copy(x[0, i], block).wait()
                with x_dfb.wait() as source, z_dfb.reserve() as target:
                    ttl.copy(source, target).wait()

        return compute, read, writer(y, y_dfb)

    agree(kernels)


def test_several_blocks_held_in_a_compute_kernel() -> None:
    def kernels(x, y, x_dfb, z_dfb, y_dfb):
        def compute():
            for _ in range(3):
                one, two = x_dfb.wait(), x_dfb.wait()
                with y_dfb.reserve() as out, y_dfb.reserve() as other:
                    out.store(one + two)
                    other.store(one - two)
                one.pop()
                two.pop()

        return compute, reader(x, x_dfb), writer(y, y_dfb)

    agree(kernels, block_count=4)


def test_a_group_across_a_loop() -> None:
    def kernels(x, y, x_dfb, z_dfb, y_dfb):
        def compute():
            for _ in range(6):
                with x_dfb.wait() as a, y_dfb.reserve() as out:
                    out.store(a + a)

        def write():
            for i in range(3):
                group = ttl.GroupTransfer()
                with y_dfb.wait() as block:
                    for row in range(2):
                        group.add(ttl.copy(block, y[row, i]))
                    group.wait_all()
            for i in range(3):
                with y_dfb.wait() as block:
                    ttl.copy(block, y[0, 3 + i]).wait()

        return compute, reader(x, x_dfb), write

    agree(kernels)


def test_what_helpers_leave_out_is_finished_at_their_end() -> None:
    def load(x_dfb, part):
        block = x_dfb.reserve()
        transfer = ttl.copy(part, block)

    def kernels(x, y, x_dfb, z_dfb, y_dfb):
        def compute():
            def step():
                a, out = x_dfb.wait(), y_dfb.reserve()
                out.store(a + a)

            for _ in range(3):
                step()
                step()

        def read():
            for i in range(3):
                load(x_dfb, x[0, 2 * i])
                load(x_dfb, x[0, 2 * i + 1])

        return compute, read, writer(y, y_dfb)

    agree(kernels)


def test_a_fill_without_a_shape_takes_it_from_the_loop() -> None:
    def kernels(x, y, x_dfb, z_dfb, y_dfb):
        def compute():
            for _ in range(2):
                total = ttl.math.fill(0)
                for _ in range(3):
                    with x_dfb.wait() as a:
                        total += a
                with y_dfb.reserve() as out:
                    out.store(total)

        return compute, reader(x, x_dfb), writer(y, y_dfb, 2)

    agree(kernels)


def test_a_sum_in_a_reserved_block_under_a_condition() -> None:
    def kernels(x, y, x_dfb, z_dfb, y_dfb):
        def compute():
            for _ in range(2):
                with y_dfb.reserve() as out:
                    for i in range(3):
                        with x_dfb.wait() as a:
                            if i != 1:
                                out += a
                            else:
                                out += a * a

        return compute, reader(x, x_dfb), writer(y, y_dfb, 2)

    agree(kernels)


def wrong(kernel: Callable[[Any, Any], Callable[[], None]]) -> tuple[Any, Any]:
    """What the simulator and the compiler say to a data movement kernel."""

    def kernels(x, y, x_dfb, z_dfb, y_dfb):
        def compute():
            pass

        def write():
            pass

        return compute, kernel(x, x_dfb), write

    with pytest.MonkeyPatch.context() as patch:
        with pytest.raises(TTLError) as simulated:
            run(kernels)
        patch.setenv("TTL_BACKEND", "host")
        patch.setenv("TTLANG_COMPILE_ONLY", "1")
        with pytest.raises(TTLError) as compiled:
            run(kernels)
    return simulated.value.diagnostics[0], compiled.value.diagnostics[0]


def waits_twice(x, dfb):
    def kernel():
        group = ttl.GroupTransfer()
        with dfb.reserve() as block:
            group.add(ttl.copy(x[0, 0], block))
            group.wait_all()
            group.wait_all()

    return kernel


def waits_for_what_a_group_has(x, dfb):
    def kernel():
        group = ttl.GroupTransfer()
        with dfb.reserve() as block:
            transfer = ttl.copy(x[0, 0], block)
            group.add(transfer)
            transfer.wait()
            group.wait_all()

    return kernel


def releases_the_younger(x, dfb):
    def kernel():
        one, two = dfb.reserve(), dfb.reserve()
        ttl.copy(x[0, 0], one).wait()
        ttl.copy(x[0, 0], two).wait()
        two.push()
        one.push()

    return kernel


def writes_on_no_path(x, dfb):
    def kernel():
        _, row = ttl.node(dims=2)
        with dfb.reserve() as block:
            if row > 5:
                row = 1

    return kernel


@pytest.mark.parametrize(
    "kernel", [waits_twice, waits_for_what_a_group_has, releases_the_younger, writes_on_no_path]
)
def test_simulator_and_compiler_refuse_the_same(kernel) -> None:
    simulated, compiled = wrong(kernel)
    assert (compiled.code, compiled.message) == (simulated.code, simulated.message)
    assert compiled.primary.span.line == simulated.primary.span.line


def test_polls_in_a_compute_kernel() -> None:
    """Its three processors do what the one says that knows: the unpacker, or the packer."""

    def kernels(x, y, x_dfb, z_dfb, y_dfb):
        def read():
            for i in range(3):
                for dfb in (x_dfb, z_dfb):
                    with dfb.reserve() as block:
                        ttl.copy(x[0, i], block).wait()

        def compute():
            first = second = 0
            while first + second < 6:
                if first < 3 and x_dfb.can_wait() and y_dfb.can_reserve():
                    with x_dfb.wait() as a, y_dfb.reserve() as out:
                        out.store(ttl.math.fill(1.0) + a * 0.0)
                    first += 1
                elif second < 3 and z_dfb.can_wait():
                    with z_dfb.wait() as a, y_dfb.reserve() as out:
                        out.store(ttl.math.fill(1.0) + a * 0.0)
                    second += 1

        return compute, read, writer(y, y_dfb)

    agree(kernels)

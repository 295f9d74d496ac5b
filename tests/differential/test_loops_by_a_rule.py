"""Loops whose iterations hold different blocks: some stand apart, the others are loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import ttl
from differential.test_kernel_flow import agree, writer

COUNTS = [1, 2, 3, 6, 300]


def doubled(x_dfb, y_dfb, count):
    def compute():
        for _ in range(count):
            with x_dfb.wait() as a, y_dfb.reserve() as out:
                out.store(a + a)

    return compute


def written(y, y_dfb, count):
    def write():
        for i in range(count):
            with y_dfb.wait() as block:
                ttl.copy(block, y[0, i % 6]).wait()

    return write


def read_with(step: Callable[..., Any]) -> Callable[[int], Any]:
    """Kernels whose reader is what `step` makes."""

    def made(count):
        def kernels(x, y, x_dfb, z_dfb, y_dfb):
            return doubled(x_dfb, y_dfb, count), step(x, x_dfb, count), written(y, y_dfb, count)

        return kernels

    return made


def waits_one_later(x, x_dfb, count):
    """The first iteration has nothing to wait for."""

    def read():
        before = None
        for i in range(count):
            block = x_dfb.reserve()
            transfer = ttl.copy(x[0, i % 6], block)
            if before is not None:
                before[0].wait()
                before[1].push()
            before = (transfer, block)
        if before is not None:
            before[0].wait()
            before[1].push()

    return read


def reads_one_ahead(x, x_dfb, count):
    """The last iteration has nothing to read ahead."""

    def read():
        block = x_dfb.reserve()
        transfer = ttl.copy(x[0, 0], block)
        for i in range(count):
            if i + 1 < count:
                following = x_dfb.reserve()
                next_transfer = ttl.copy(x[0, (i + 1) % 6], following)
            transfer.wait()
            block.push()
            if i + 1 < count:
                block, transfer = following, next_transfer

    return read


def counts_down(x, x_dfb, count):
    """The same, by a counter that goes down in steps of three."""

    def read():
        block = x_dfb.reserve()
        transfer = ttl.copy(x[0, 0], block)
        for i in range(3 * count, 0, -3):
            if i > 3:
                following = x_dfb.reserve()
                next_transfer = ttl.copy(x[0, (count - i // 3 + 1) % 6], following)
            transfer.wait()
            block.push()
            if i > 3:
                block, transfer = following, next_transfer

    return read


def starts_and_ends(x, x_dfb, count):
    """The first iteration starts what the others have under way, the last one ends it."""

    def read():
        under_way = None
        for i in range(count + 1):
            if i < count:
                block = x_dfb.reserve()
                transfer = ttl.copy(x[0, i % 6], block)
            if under_way is not None:
                under_way[0].wait()
                under_way[1].push()
            if i < count:
                under_way = (transfer, block)

    return read


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("step", [waits_one_later, reads_one_ahead, counts_down, starts_and_ends])
def test_first_and_last_iterations_differ(step: Callable[..., Any], count: int) -> None:
    agree(read_with(step)(count))


@pytest.mark.parametrize(("rows", "columns"), [(1, 6), (6, 1), (2, 3), (20, 30)])
def test_the_last_of_a_nest_reads_nothing_ahead(rows: int, columns: int) -> None:
    """A condition on the counters of two loops."""

    def nest(x, x_dfb, count):
        def read():
            block = x_dfb.reserve()
            transfer = ttl.copy(x[0, 0], block)
            for i in range(rows):
                for j in range(columns):
                    if i * columns + j + 1 < count:
                        following = x_dfb.reserve()
                        next_transfer = ttl.copy(x[0, (i * columns + j + 1) % 6], following)
                    transfer.wait()
                    block.push()
                    if i * columns + j + 1 < count:
                        block, transfer = following, next_transfer

        return read

    agree(read_with(nest)(rows * columns))


@pytest.mark.parametrize("count", [2, 8, 300])
def test_a_pair_of_blocks_changes_places(count: int) -> None:
    """The state comes back after two iterations."""

    def kernels(x, y, x_dfb, z_dfb, y_dfb):
        def read():
            one = x_dfb.reserve()
            other = x_dfb.reserve()
            for i in range(count):
                ttl.copy(x[0, i % 6], one).wait()
                ttl.copy(one, y[0, 2 + i % 4]).wait()
                one, other = other, one
            one.push()
            other.push()

        def compute():
            for _ in range(2):
                with x_dfb.wait() as a, y_dfb.reserve() as out:
                    out.store(a + a)

        return compute, read, writer(y, y_dfb, 2)

    agree(kernels)


@pytest.mark.parametrize("count", [3, 9, 301])
def test_the_counter_after_a_loop_of_periods(count: int) -> None:
    def kernels(x, y, x_dfb, z_dfb, y_dfb):
        def read():
            blocks = [x_dfb.reserve(), x_dfb.reserve()]
            for i in range(count):
                ttl.copy(x[0, i % 6], blocks[0]).wait()
                ttl.copy(blocks[0], y[0, 2 + i % 4]).wait()
                blocks = [blocks[1], blocks[0]]
            assert i == count - 1
            blocks[1 if count % 2 else 0].push()
            blocks[0 if count % 2 else 1].push()

        def compute():
            for _ in range(2):
                with x_dfb.wait() as a, y_dfb.reserve() as out:
                    out.store(a + a)

        return compute, read, writer(y, y_dfb, 2)

    agree(kernels)


@pytest.mark.parametrize("count", [6, 300])
def test_a_block_is_held_from_the_middle_on(count: int) -> None:
    """What is before the condition changes is one loop, what is after it another."""
    middle = count // 2

    def kernels(x, y, x_dfb, z_dfb, y_dfb):
        def read():
            held = transfer = None
            for i in range(count):
                if i == middle:
                    held = z_dfb.reserve()
                    transfer = ttl.copy(x[0, 0], held)
                with x_dfb.reserve() as block:
                    ttl.copy(x[0, i % 6], block).wait()
                if i > middle and i == count - 1:
                    transfer.wait()
                    held.push()

        def compute():
            for _ in range(count):
                with x_dfb.wait() as a, y_dfb.reserve() as out:
                    out.store(a + a)
            with z_dfb.wait() as a, y_dfb.reserve() as out:
                out.store(a)

        return compute, read, written(y, y_dfb, count + 1)

    agree(kernels)


@pytest.mark.parametrize("count", [3, 7, 301])
def test_the_block_of_a_ring_is_chosen_by_a_remainder(count: int) -> None:
    """The remainder is the same again after three iterations."""

    def ring(x, x_dfb, count):
        def read():
            ring = [x_dfb.reserve(), x_dfb.reserve(), x_dfb.reserve()]
            for i in range(count):
                place = i % 3
                ttl.copy(x[0, i % 6], ring[place]).wait()
                ring[place].push()
                ring[place] = x_dfb.reserve()
            for k in range(3):
                ttl.copy(x[0, k], ring[(count + k) % 3]).wait()
                ring[(count + k) % 3].push()

        return read

    def kernels(x, y, x_dfb, z_dfb, y_dfb):
        total = count + 3
        return doubled(x_dfb, y_dfb, total), ring(x, x_dfb, count), written(y, y_dfb, total)

    agree(kernels, block_count=3)


@pytest.mark.parametrize("count", [6, 300])
def test_a_block_is_held_for_three_iterations(count: int) -> None:
    def kernels(x, y, x_dfb, z_dfb, y_dfb):
        def read():
            held = None
            for i in range(count):
                if i % 3 == 0:
                    held = x_dfb.reserve()
                    ttl.copy(x[0, i % 6], held).wait()
                if i % 3 == 2:
                    held.push()

        steps = count // 3
        return doubled(x_dfb, y_dfb, steps), read, written(y, y_dfb, steps)

    agree(kernels)

"""Transfers that conditions of the node and of the iteration start, wait for and leave out.

Node 0 copies the four tiles of a, node 1 those of b; each iteration starts one transfer.
"""

# ruff: noqa: SIM108
from __future__ import annotations

import pytest

import ttl
from conformance.harness import empty, run, tensor, tile_numbers, tiles

COUNT = 4


def program(read):
    @ttl.operation(grid=(2, 1))
    def operation(a, b, y):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        @ttl.datamovement()
        def reading():
            x, _ = ttl.node(dims=2)
            read(a, b, dfb, range(x * COUNT, x * COUNT + COUNT))

        @ttl.datamovement()
        def writing():
            x, _ = ttl.node(dims=2)
            for i in range(COUNT):
                with dfb.wait() as block:
                    ttl.copy(block, y[0, x * COUNT + i]).wait()

    return operation


def one_of_two_tests(a, b, dfb, steps):
    """The second is the opposite of the first."""
    for i in steps:
        block = dfb.reserve()
        tx = None
        if i < COUNT:
            tx = ttl.copy(a[0, i], block)
        if i >= COUNT:
            tx = ttl.copy(b[0, i - COUNT], block)
        if tx is not None:
            tx.wait()
        block.push()


def one_of_three_tests(a, b, dfb, steps):
    """Each follows from the others."""
    for i in steps:
        block = dfb.reserve()
        if i < 2:
            tx = ttl.copy(a[0, i], block)
        if i > 1 and i <= COUNT - 1:
            tx = ttl.copy(a[0, i], block)
        if not i < COUNT:
            tx = ttl.copy(b[0, i - COUNT], block)
        tx.wait()
        block.push()


def one_of_two_in_a_list(a, b, dfb, steps):
    for i in steps:
        block = dfb.reserve()
        transfers = []
        if not i >= COUNT:
            transfers.append(ttl.copy(a[0, i], block))
        if i >= COUNT:
            transfers.append(ttl.copy(b[0, i - COUNT], block))
        for tx in transfers:
            tx.wait()
        block.push()


def none_at_the_end_of_each_iteration(a, b, dfb, steps):
    tx = None
    for i in steps:
        block = dfb.reserve()
        if i < COUNT:
            tx = ttl.copy(a[0, i], block)
        else:
            ttl.copy(b[0, i - COUNT], block).wait()
        if tx is not None:
            tx.wait()
            tx = None
        block.push()


def by_a_flag(a, b, dfb, steps):
    for i in steps:
        started = False
        block = dfb.reserve()
        if i < COUNT:
            tx = ttl.copy(a[0, i], block)
            started = True
        else:
            ttl.copy(b[0, i - COUNT], block).wait()
        if started:
            tx.wait()
        block.push()


def of_the_iteration_before(a, b, dfb, steps):
    tx, held = None, None
    for i in steps:
        block = dfb.reserve()
        if tx is not None:
            tx.wait()
            held.push()
        if i < COUNT:
            tx = ttl.copy(a[0, i], block)
        else:
            tx = ttl.copy(b[0, i - COUNT], block)
        held = block
    tx.wait()
    held.push()


@pytest.mark.rule("copy-does-not-wait")
@pytest.mark.parametrize(
    "read",
    [
        one_of_two_tests,
        one_of_three_tests,
        one_of_two_in_a_list,
        none_at_the_end_of_each_iteration,
        by_a_flag,
        of_the_iteration_before,
    ],
)
def test_a_handle_that_conditions_decide(read):
    a, b = tensor(tiles(1, 2, 3, 4)), tensor(tiles(5, 6, 7, 8))
    run(program(read), a, b, y := empty(32, 256))
    assert tile_numbers(y) == [1, 2, 3, 4, 5, 6, 7, 8]

"""The specification's pipe examples on several grids, with kernels that use what they receive.

Scatter-gather and forward to a +1 neighbour are corrected; ../specification has all as printed.
"""

from __future__ import annotations

import pytest

import ttl
from conformance.harness import empty, run, tensor, tile_numbers, tiles

SIZES = [(4, 1), (1, 4), (3, 2), (4, 4)]


def every_node(grid):
    """Each node's own number + 1, a tile for each, in the order of node(1)."""
    return tensor(tiles(*range(1, grid[0] * grid[1] + 1)))


# Gather ------------------------------------------------------------------------------------------


def gather(grid):
    """From row y to (0, y) with unicast; (0, y) adds up what it gets."""

    @ttl.operation(grid=grid)
    def operation(a, y):
        grid_x, grid_y = ttl.grid_size()
        net = ttl.PipeNet(
            [ttl.Pipe(src=(x, y), dst=(0, y)) for x in range(1, grid_x) for y in range(grid_y)]
        )
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        y_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        @ttl.datamovement()
        def dm():
            def pipe_src(pipe):
                with dfb.reserve() as blk:
                    # write data into blk
                    ttl.copy(a[0, ttl.node(1)], blk).wait()
                    # then copy blk to pipe:
                    xf = ttl.copy(blk, pipe)
                    xf.wait()
                with dfb.wait() as blk:  # nobody else reads it here
                    ttl.copy(blk, y[0, ttl.node(1)]).wait()

            def pipe_dst(pipe):
                with dfb.reserve() as blk:
                    # copy blk from pipe:
                    xf = ttl.copy(pipe, blk)
                    xf.wait()

            net.if_src(pipe_src)
            net.if_dst(pipe_dst)

        @ttl.compute()
        def add_up():
            if net.is_dst():
                with y_dfb.reserve() as y_blk:
                    total = ttl.math.fill(0)
                    for _ in range(grid_x - 1):
                        with dfb.wait() as blk:
                            total += blk
                    y_blk.store(total)

        @ttl.datamovement()
        def write():
            if net.is_dst():
                with y_dfb.wait() as y_blk:
                    ttl.copy(y_blk, y[0, ttl.node(1)]).wait()

    return operation


@pytest.mark.rule("pipe-unicast", "if-src-if-dst", "pipe-net-roles")
@pytest.mark.parametrize("grid", [(4, 1), (3, 2), (4, 4)])
def test_gather(grid):
    columns, rows = grid
    y = tensor(tiles(*[0] * columns * rows))
    run(gather(grid), every_node(grid), y)
    own = [[column * rows + row + 1 for row in range(rows)] for column in range(columns)]
    sums = [sum(numbers) for numbers in zip(*own[1:], strict=True)]
    assert tile_numbers(y) == [number for column in (sums, *own[1:]) for number in column]


# Scatter -----------------------------------------------------------------------------------------


def scatter(grid):
    """From (x, 0) to column x with multicast."""

    @ttl.operation(grid=grid)
    def operation(a, y):
        grid_x, grid_y = ttl.grid_size()
        net = ttl.PipeNet([ttl.Pipe(src=(x, 0), dst=(x, slice(1, grid_y))) for x in range(grid_x)])
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        @ttl.datamovement()
        def dm():
            with dfb.reserve() as blk:

                def pipe_src(pipe):
                    # write data into blk
                    ttl.copy(a[0, ttl.node(1)], blk).wait()
                    # then copy blk to pipe:
                    xf = ttl.copy(blk, pipe)
                    xf.wait()

                def pipe_dst(pipe):
                    # copy blk from pipe:
                    xf = ttl.copy(pipe, blk)
                    xf.wait()

                net.if_src(pipe_src)
                net.if_dst(pipe_dst)

        @ttl.datamovement()
        def write():
            with dfb.wait() as blk:
                ttl.copy(blk, y[0, ttl.node(1)]).wait()

    return operation


@pytest.mark.rule("pipe-multicast", "if-src-if-dst")
@pytest.mark.parametrize("grid", [(1, 4), (3, 2), (4, 4)])
def test_scatter(grid):
    columns, rows = grid
    run(scatter(grid), every_node(grid), y := empty(32, 32 * columns * rows))
    assert tile_numbers(y) == [column * rows + 1 for column in range(columns) for _ in range(rows)]


# Scatter-gather ----------------------------------------------------------------------------------


def column_net(grid_x, grid_y):
    return ttl.PipeNet(
        [
            ttl.Pipe(src=(x, y), dst=(x, slice(0, grid_y)))
            for x in range(grid_x)
            for y in range(grid_y)
        ]
    )


def scatter_gather(grid):
    """Posts before sends: a block for each sender, then the send, then the waits."""

    @ttl.operation(grid=grid)
    def operation(a, y):
        grid_x, grid_y = ttl.grid_size()
        net = column_net(grid_x, grid_y)
        own_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=grid_y)
        y_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        @ttl.datamovement()
        def dm():
            blocks, posts = [], ttl.GroupTransfer()

            def pipe_dst(pipe):
                blocks.append(dfb.reserve())
                posts.add(ttl.copy(pipe, blocks[-1]))

            def pipe_src(pipe):
                xf = ttl.copy(own, pipe)
                xf.wait()

            net.if_dst(pipe_dst)
            with own_dfb.reserve() as own:
                ttl.copy(a[0, ttl.node(1)], own).wait()
                net.if_src(pipe_src)
            posts.wait_all()
            for block in blocks:
                block.push()

        @ttl.compute()
        def combine():
            """A number that shows who came in which place."""
            with own_dfb.wait() as own, y_dfb.reserve() as y_blk:
                total = own * 0
                for _ in range(grid_y):
                    with dfb.wait() as blk:
                        total = total * 20 + blk
                y_blk.store(total)

        @ttl.datamovement()
        def write():
            with y_dfb.wait() as y_blk:
                ttl.copy(y_blk, y[0, ttl.node(1)]).wait()

    return operation


def scatter_gather_in_two_kernels(grid):
    """Sending and receiving at the same time."""

    @ttl.operation(grid=grid)
    def operation(a, y):
        grid_x, grid_y = ttl.grid_size()
        net = column_net(grid_x, grid_y)
        own_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=grid_y)
        y_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        @ttl.compute()
        def combine():
            with own_dfb.wait() as own, y_dfb.reserve() as y_blk:
                total = own * 0
                for _ in range(grid_y):
                    with dfb.wait() as blk:
                        total = total * 20 + blk
                y_blk.store(total)

        @ttl.datamovement()
        def send():
            with own_dfb.reserve() as own:
                ttl.copy(a[0, ttl.node(1)], own).wait()
                net.if_src(lambda pipe: ttl.copy(own, pipe).wait())

        @ttl.datamovement()
        def receive():
            def pipe_dst(pipe):
                with dfb.reserve() as blk:
                    ttl.copy(pipe, blk).wait()

            net.if_dst(pipe_dst)
            with y_dfb.wait() as y_blk:
                ttl.copy(y_blk, y[0, ttl.node(1)]).wait()

    return operation


@pytest.mark.rule("pipe-loopback", "pipe-multicast", "handles-leave-callbacks", "if-src-if-dst")
@pytest.mark.parametrize("corrected", [scatter_gather, scatter_gather_in_two_kernels])
@pytest.mark.parametrize("grid", [(1, 1), (1, 4), (3, 2), (4, 4)])
def test_scatter_gather_corrected(grid, corrected):
    columns, rows = grid
    run(corrected(grid), every_node(grid), y := empty(32, 32 * columns * rows))

    def combined(column):
        total = 0
        for row in range(rows):
            total = total * 20 + column * rows + row + 1
        return total

    assert tile_numbers(y) == [combined(column) for column in range(columns) for _ in range(rows)]


# Forward to a +1 neighbour ------------------------------------------------------------------------


def ring_net(grid_x, grid_y):
    return ttl.PipeNet(
        [
            ttl.Pipe(src=(x, y), dst=(x, (y + 1) % grid_y))
            for x in range(grid_x)
            for y in range(grid_y)
        ]
    )


def forward_with_posts_first(grid):
    @ttl.operation(grid=grid)
    def operation(a, y):
        net = ring_net(*ttl.grid_size())
        dfb_to_send = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        dfb_received = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        @ttl.datamovement()
        def dm():
            received = None

            def pipe_dst(pipe):
                nonlocal received
                received = ttl.copy(pipe, blk_received)

            def pipe_src(pipe):
                xf = ttl.copy(blk_to_send, pipe)
                xf.wait()

            with (
                dfb_to_send.reserve() as blk_to_send,
                dfb_received.reserve() as blk_received,
            ):
                ttl.copy(a[0, ttl.node(1)], blk_to_send).wait()
                net.if_dst(pipe_dst)
                net.if_src(pipe_src)
                received.wait()

        @ttl.datamovement()
        def write():
            with dfb_to_send.wait() as sent, dfb_received.wait() as blk:
                ttl.copy(sent, y[0, ttl.node(1)]).wait()
                ttl.copy(blk, y[0, ttl.node(1)]).wait()

    return operation


def forward_in_two_kernels(grid):
    @ttl.operation(grid=grid)
    def operation(a, y):
        net = ring_net(*ttl.grid_size())
        dfb_to_send = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        dfb_received = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        @ttl.datamovement()
        def send():
            with dfb_to_send.reserve() as blk:
                ttl.copy(a[0, ttl.node(1)], blk).wait()

            def pipe_src(pipe):
                with dfb_to_send.wait() as blk:
                    ttl.copy(blk, pipe).wait()

            net.if_src(pipe_src)

        @ttl.datamovement()
        def receive():
            def pipe_dst(pipe):
                with dfb_received.reserve() as blk:
                    ttl.copy(pipe, blk).wait()

            net.if_dst(pipe_dst)
            with dfb_received.wait() as blk:
                ttl.copy(blk, y[0, ttl.node(1)]).wait()

    return operation


@pytest.mark.rule("pipe-unicast", "handles-leave-callbacks", "pipe-loopback")
@pytest.mark.parametrize("grid", SIZES)
@pytest.mark.parametrize("forward", [forward_with_posts_first, forward_in_two_kernels])
def test_forward_corrected(forward, grid):
    columns, rows = grid
    run(forward(grid), every_node(grid), y := empty(32, 32 * columns * rows))
    expected = [
        column * rows + (row - 1) % rows + 1 for column in range(columns) for row in range(rows)
    ]
    assert tile_numbers(y) == expected

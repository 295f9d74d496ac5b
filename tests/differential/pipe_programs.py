"""Programs with pipes, one for each pattern, for test_pipes.

Each function makes an operation on (a, y), or on (a, b, y), and says what y should be. Tiles of `a`
are numbered row by row; `tile(a, row, column)` is one of them.
"""

# ruff: noqa: B023 - if_src and if_dst call the function at once, the loop has not gone on
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import ttl

Array = Any
TILE = 32


def tile(values: Array, row: int, column: int, height: int = 1, width: int = 1) -> Array:
    rows = slice(row * TILE, (row + height) * TILE)
    return values[rows, column * TILE : (column + width) * TILE]


@dataclass(frozen=True)
class Pattern:
    """The shapes are in tiles; `expected(a, y)`, or `expected(a, b, y)`, writes the result."""

    make: Callable[[], Any]
    shapes: tuple[tuple[int, int], ...]
    expected: Callable[..., None]
    options: dict[str, Any] = field(default_factory=dict)


PATTERNS: dict[str, Pattern] = {}


def pattern(*shapes: tuple[int, int]) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    """`make` returns the operation and what it should do."""

    def register(make: Callable[[], Any]) -> Callable[[], Any]:
        PATTERNS[make.__name__] = Pattern(
            lambda: make()[0], shapes, lambda *tensors: make()[1](*tensors)
        )
        return make

    return register


# Unicast ------------------------------------------------------------------------------------------


@pattern((1, 20), (1, 20))
def unicast_split_loop() -> Any:
    """20 transfers, both ends in the same data movement kernel."""

    @ttl.operation(grid=(2, 1))
    def operation(a, y):
        net = ttl.PipeNet([ttl.Pipe(src=(0, 0), dst=(1, 0))])
        out = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=2)
        into = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=3)
        kept = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=2)

        @ttl.compute()
        def compute():
            if net.is_src():
                for _ in range(20):
                    with out.wait() as block, kept.reserve() as copy:
                        copy.store(block)
            else:
                for _ in range(20):
                    with into.wait() as block, kept.reserve() as copy:
                        copy.store(block)

        @ttl.datamovement()
        def move():
            for i in range(20):

                def send(pipe):
                    with out.reserve() as block:
                        ttl.copy(a[0, i], block).wait()
                        ttl.copy(block, pipe).wait()

                def receive(pipe):
                    with into.reserve() as block:
                        ttl.copy(pipe, block).wait()

                net.if_src(send)
                net.if_dst(receive)

        @ttl.datamovement()
        def write():
            for i in range(20):
                with kept.wait() as block:
                    if net.is_dst():
                        ttl.copy(block, y[0, i]).wait()
                    else:
                        ttl.copy(block, a[0, i]).wait()

    def expected(a, y):
        y[:] = a

    return operation, expected


def gather(width: int) -> Any:
    @ttl.operation(grid=(4, 1))
    def operation(a, y):
        net = ttl.PipeNet([ttl.Pipe(src=(x, 0), dst=(0, 0)) for x in range(1, 4)])
        out = ttl.make_dataflow_buffer_like(a, shape=(1, width))
        into = ttl.make_dataflow_buffer_like(a, shape=(1, width), block_count=3)
        total = ttl.make_dataflow_buffer_like(a, shape=(1, width))

        @ttl.compute()
        def add():
            if net.is_dst():
                with out.wait() as own, total.reserve() as y_blk:
                    y_blk.store(own)
                    for _ in range(3):
                        with into.wait() as block:
                            y_blk += block
            else:
                with out.wait() as own, total.reserve() as y_blk:
                    y_blk.store(own)

        @ttl.datamovement()
        def read():
            x, _ = ttl.node()
            with out.reserve() as block:
                ttl.copy(a[0, x * width : x * width + width], block).wait()
                net.if_src(lambda pipe: ttl.copy(block, pipe).wait())

        @ttl.datamovement()
        def write():
            def receive(pipe):
                with into.reserve() as block:
                    ttl.copy(pipe, block).wait()

            net.if_dst(receive)
            with total.wait() as block:
                if net.is_dst():
                    ttl.copy(block, y[0, 0:width]).wait()
                else:
                    x, _ = ttl.node()
                    ttl.copy(block, a[0, x * width : x * width + width]).wait()

    def expected(a, y):
        y[:] = sum(tile(a, 0, x * width, width=width) for x in range(4))

    return operation, expected


@pattern((1, 4), (1, 1))
def gather_tiles() -> Any:
    return gather(1)


@pattern((1, 8), (1, 2))
def gather_multiblock() -> Any:
    return gather(2)


def ring(columns: int, rows: int, steps: int) -> Any:
    """Every node passes on what it got; in the end all have seen all blocks of their row."""

    @ttl.operation(grid=(columns, rows))
    def operation(a, y):
        grid_x, grid_y = ttl.grid_size()
        net = ttl.PipeNet(
            [
                ttl.Pipe(src=(x, y), dst=((x + 1) % grid_x, y))
                for y in range(grid_y)
                for x in range(grid_x)
            ]
        )
        own = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        out = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        into = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        result = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        @ttl.compute()
        def forward():
            with own.wait() as block, out.reserve() as copy:
                copy.store(block)
            for step in range(steps):
                with into.wait() as block:
                    with result.reserve() as copy:
                        copy.store(block)
                    if step < steps - 1:
                        with out.reserve() as copy:
                            copy.store(block)

        @ttl.datamovement()
        def send():
            x, row = ttl.node()
            with own.reserve() as block:
                ttl.copy(a[row, x], block).wait()
            for _ in range(steps):
                with out.wait() as block:
                    net.if_src(lambda pipe: ttl.copy(block, pipe).wait())

        @ttl.datamovement()
        def receive():
            x, row = ttl.node()
            for step in range(steps):
                with into.reserve() as block:
                    net.if_dst(lambda pipe: ttl.copy(pipe, block).wait())
                with result.wait() as block:
                    ttl.copy(block, y[row * steps + step, x]).wait()

    def expected(a, y):
        for row in range(rows):
            for step in range(steps):
                for x in range(columns):
                    tile(y, row * steps + step, x)[:] = tile(a, row, (x - step - 1) % columns)

    return operation, expected


@pattern((1, 4), (4, 4))
def forward_ring() -> Any:
    return ring(4, 1, 4)


@pattern((8, 8), (16, 8))
def row_rings_on_the_full_grid() -> Any:
    return ring(8, 8, 2)


def chain(columns: int, width: int, loops: int) -> Any:
    """Each node adds its own block to what comes from the left and passes it on."""

    @ttl.operation(grid=(columns, 1))
    def operation(a, y):
        net = ttl.PipeNet([ttl.Pipe((x, 0), (x + 1, 0)) for x in range(columns - 1)])
        own = ttl.make_dataflow_buffer_like(a, shape=(1, width))
        into = ttl.make_dataflow_buffer_like(a, shape=(1, width))
        out = ttl.make_dataflow_buffer_like(a, shape=(1, width))
        last = ttl.make_dataflow_buffer_like(a, shape=(1, width))

        @ttl.compute()
        def add():
            for _ in range(loops):
                with own.wait() as mine:
                    if net.is_dst():
                        with into.wait() as block:
                            if net.is_src():
                                with out.reserve() as result:
                                    result.store(block + mine)
                            else:
                                with last.reserve() as result:
                                    result.store(block + mine)
                    else:
                        with out.reserve() as result:
                            result.store(mine)

        @ttl.datamovement()
        def take():
            x, _ = ttl.node()

            def receive(pipe):
                with into.reserve() as block:
                    ttl.copy(pipe, block).wait()

            for i in range(loops):
                with own.reserve() as block:
                    ttl.copy(a[i, x * width : x * width + width], block).wait()
                net.if_dst(receive)

        @ttl.datamovement()
        def give():
            def send(pipe):
                with out.wait() as block:
                    ttl.copy(block, pipe).wait()

            for i in range(loops):
                net.if_src(send)
                if not net.is_src():
                    with last.wait() as block:
                        ttl.copy(block, y[i, 0:width]).wait()

    def expected(a, y):
        for i in range(loops):
            tile(y, i, 0, width=width)[:] = sum(
                tile(a, i, x * width, width=width) for x in range(columns)
            )

    return operation, expected


@pattern((1, 8), (1, 2))
def pipe_conv_chain() -> Any:
    return chain(4, 2, 1)


@pattern((5, 6), (5, 2))
def forwarding_chain_in_a_loop() -> Any:
    return chain(3, 2, 5)


@pattern((5, 8), (5, 6))
def row_and_column_chains() -> Any:
    """Down the first column, then along each row, five times."""

    @ttl.operation(grid=(3, 2))
    def operation(a, y):
        down = ttl.PipeNet([ttl.Pipe((0, 0), (0, 1))])
        along = ttl.PipeNet([ttl.Pipe((x, r), (x + 1, r)) for r in range(2) for x in range(2)])
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 2))

        @ttl.datamovement()
        def move():
            x, row = ttl.node()
            for i in range(5):
                with dfb.reserve() as block:
                    if x == 0 and row == 0:
                        ttl.copy(a[i, 0:2], block).wait()
                    if x == 0:
                        down.if_dst(lambda pipe: ttl.copy(pipe, block).wait())
                        down.if_src(lambda pipe: ttl.copy(block, pipe).wait())
                    along.if_dst(lambda pipe: ttl.copy(pipe, block).wait())
                    along.if_src(lambda pipe: ttl.copy(block, pipe).wait())

        @ttl.datamovement()
        def write():
            x, row = ttl.node()
            for i in range(5):
                with dfb.wait() as block:
                    if row == 1:
                        ttl.copy(block, y[i, 2 * x : 2 * x + 2]).wait()
                    else:
                        ttl.copy(block, a[i, 2 * x + 2 : 2 * x + 4]).wait()

    def expected(a, y):
        for i in range(5):
            for x in range(3):
                tile(y, i, 2 * x, width=2)[:] = tile(a, i, 0, width=2)
                tile(a, i, 2 * x + 2, width=2)[:] = tile(a, i, 0, width=2)

    return operation, expected


# Multicast ----------------------------------------------------------------------------------------


@pattern((1, 3), (3, 4))
def scatter() -> Any:
    """One node to a column of others, three times; the source is not among them."""

    @ttl.operation(grid=(2, 4))
    def operation(a, y):
        net = ttl.PipeNet([ttl.Pipe(src=(0, 1), dst=(1, slice(0, 4)))])
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        @ttl.datamovement()
        def move():
            for i in range(3):
                if net.is_active():
                    with dfb.reserve() as block:

                        def send(pipe):
                            ttl.copy(a[0, i], block).wait()
                            ttl.copy(block, pipe).wait()

                        net.if_src(send)
                        net.if_dst(lambda pipe: ttl.copy(pipe, block).wait())

        @ttl.datamovement()
        def write():
            _, row = ttl.node()
            for i in range(3):
                if net.is_active():
                    with dfb.wait() as block:
                        if net.is_dst():
                            ttl.copy(block, y[i, row]).wait()
                        else:
                            ttl.copy(block, a[0, i]).wait()

    def expected(a, y):
        for i in range(3):
            for row in range(4):
                tile(y, i, row)[:] = tile(a, 0, i)

    return operation, expected


@pattern((1, 4), (4, 12))
def broadcast_2d() -> Any:
    """To all nodes, the source among them, in one kernel: post, send, wait; two posts ahead."""

    @ttl.operation(grid=(4, 3))
    def operation(a, y):
        net = ttl.PipeNet([ttl.Pipe(src=(1, 1), dst=(slice(0, 4), slice(0, 3)))])
        out = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        into = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        done = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        @ttl.compute()
        def forward():
            if net.is_src():
                for _ in range(4):
                    with out.wait() as block, into.wait() as other, done.reserve() as copy:
                        copy.store(other + 0 * block)
            else:
                for _ in range(4):
                    with into.wait() as block, done.reserve() as copy:
                        copy.store(block)

        @ttl.datamovement()
        def move():
            for i in range(4):
                with into.reserve() as block:
                    posts = ttl.GroupTransfer()
                    net.if_dst(lambda pipe: posts.add(ttl.copy(pipe, block)))

                    def send(pipe):
                        with out.reserve() as own:
                            ttl.copy(a[0, i], own).wait()
                            ttl.copy(own, pipe).wait()

                    net.if_src(send)
                    posts.wait_all()

        @ttl.datamovement()
        def write():
            for i in range(4):
                with done.wait() as block:
                    ttl.copy(block, y[i, ttl.node(1)]).wait()

    def expected(a, y):
        for i in range(4):
            for node in range(12):
                tile(y, i, node)[:] = tile(a, 0, i)

    return operation, expected


def all_to_all(columns: int, rows: int) -> Any:
    """Every node multicasts its block to all, itself among them; each adds them up."""
    count = columns * rows

    @ttl.operation(grid=(columns, rows))
    def operation(a, y):
        net = ttl.PipeNet(
            [
                ttl.Pipe(src=(x, y), dst=(slice(0, columns), slice(0, rows)))
                for y in range(rows)
                for x in range(columns)
            ]
        )
        out = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        into = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=count)
        total = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        @ttl.compute()
        def add():
            with out.wait() as own, total.reserve() as result:
                result.store(own * 0)
                for _ in range(count):
                    with into.wait() as block:
                        result += block

        @ttl.datamovement()
        def send():
            with out.reserve() as own:
                ttl.copy(a[0, ttl.node(1)], own).wait()
                net.if_src(lambda pipe: ttl.copy(own, pipe).wait())

        @ttl.datamovement()
        def receive():
            def take(pipe):
                with into.reserve() as block:
                    ttl.copy(pipe, block).wait()

            net.if_dst(take)
            with total.wait() as block:
                ttl.copy(block, y[0, ttl.node(1)]).wait()

    def expected(a, y):
        for node in range(count):
            tile(y, 0, node)[:] = sum(tile(a, 0, other) for other in range(count))

    return operation, expected


@pattern((1, 4), (1, 4))
def all_to_all_1d() -> Any:
    return all_to_all(4, 1)


@pattern((1, 6), (1, 6))
def all_to_all_2d() -> Any:
    return all_to_all(3, 2)


def overlapping(ranges: list[tuple[int, int]], width: int) -> Any:
    """Node (i, 0) multicasts to the columns ranges[i] of row 1; how much a node gets differs."""

    @ttl.operation(grid=(4, 2))
    def operation(a, y):
        net = ttl.PipeNet([ttl.Pipe((i, 0), (slice(*ends), 1)) for i, ends in enumerate(ranges)])
        out = ttl.make_dataflow_buffer_like(a, shape=(1, width))
        into = ttl.make_dataflow_buffer_like(a, shape=(1, width))

        @ttl.datamovement()
        def send():
            def give(pipe):
                x, _ = ttl.node()
                with out.reserve() as block:
                    ttl.copy(a[0, x * width : x * width + width], block).wait()
                    ttl.copy(block, pipe).wait()
                with out.wait() as block:
                    ttl.copy(block, a[0, x * width : x * width + width]).wait()

            net.if_src(give)

        @ttl.datamovement()
        def receive():
            def take(pipe):
                x, _ = ttl.node()
                source, _ = pipe.src
                with into.reserve() as block:
                    ttl.copy(pipe, block).wait()
                with into.wait() as block:
                    ttl.copy(block, y[source, x * width : x * width + width]).wait()

            net.if_dst(take)

    def expected(a, y):
        for i, ends in enumerate(ranges):
            for x in range(*ends):
                tile(y, i, x * width, width=width)[:] = tile(a, 0, i * width, width=width)

    return operation, expected


@pattern((1, 4), (4, 4))
def overlapping_multicast() -> Any:
    return overlapping([(0, 4)] * 4, 1)


@pattern((1, 8), (4, 8))
def partial_overlap() -> Any:
    return overlapping([(0, 2), (1, 4), (2, 3), (0, 4)], 2)


RANGES_OVER_COLUMNS = {0: range(2, 7), 1: range(1, 5), 2: range(4, 6)}  # by the source's column


@pattern((1, 9), (9, 9))
def ranges_over_the_ends_of_columns() -> Any:
    """Receivers that are no rectangle, one source among its own, beside a rectangle in one net."""

    @ttl.operation(grid=(3, 3))
    def operation(a, y):
        over_columns = ttl.Pipe(src=(0, 0), dst=(slice(2, 7),))
        with_itself = ttl.Pipe(src=(1, 1), dst=(slice(1, 5),))
        net = ttl.PipeNet([over_columns, with_itself, ttl.Pipe((2, 2), (1, slice(1, 3)))])
        go = ttl.Semaphore(0)
        out = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=1)
        into = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=2)

        @ttl.datamovement()
        def send():
            x, y_ = ttl.node(dims=2)
            if x == 0 and y_ == 0:
                go.get_remote_multicast((slice(1, 8),)).set(1)
                go.get_remote((2, 2)).set(1)
            else:
                go.wait_eq(1)

            def to(pipe):
                for i in range(3):
                    with out.reserve() as block:
                        ttl.copy(a[0, 3 * x + i], block).wait()
                        ttl.copy(block, pipe).wait()
                    with out.wait() as block:
                        ttl.copy(block, y[8, 3 * x + i]).wait()

            net.if_src(to)

        @ttl.datamovement()
        def receive():
            x, y_ = ttl.node(dims=2)

            def come(pipe):
                for i in range(3):
                    with into.reserve() as block:
                        ttl.copy(pipe, block).wait()
                    with into.wait() as block:
                        ttl.copy(block, y[3 * x + y_, 3 * pipe.src[0] + i]).wait()

            net.if_dst(come)

    def expected(a: Array, y: Array) -> None:
        for source, nodes in RANGES_OVER_COLUMNS.items():
            for i in range(3 * source, 3 * source + 3):
                for row in (*nodes, 8):
                    tile(y, row, i)[...] = tile(a, 0, i)

    return operation, expected


@pattern((1, 1), (3, 2))
def each_node_sets_a_range_over_columns() -> Any:
    """The body, which each node runs, makes the range; node after node it is set."""

    @ttl.operation(grid=(2, 3))
    def operation(a, y):
        x, row = ttl.node(dims=2)
        first = min(3 * x + row, 3)
        turn, value = ttl.Semaphore(0), ttl.Semaphore(0)
        there = value.get_remote_multicast((slice(first, first + 3),))
        buffer = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        @ttl.datamovement()
        def change():
            x, row = ttl.node(dims=2)
            if x + row > 0:
                turn.wait_eq(1)
                there.set(5)
            if x == 0:
                turn.get_remote((1, row)).set(1)
            elif row < 2:
                turn.get_remote((0, row + 1)).set(1)

        @ttl.datamovement()
        def look():
            x, row = ttl.node(dims=2)
            if x + row > 0:
                value.wait_eq(5)
            with buffer.reserve() as block:
                ttl.copy(a[0, 0], block).wait()
            with buffer.wait() as block:
                ttl.copy(block, y[row, x]).wait()

    def expected(a: Array, y: Array) -> None:
        for row in range(3):
            for column in range(2):
                tile(y, row, column)[...] = a

    return operation, expected


@pattern((1, 12), (2, 12))
def both_kernels_multicast() -> Any:
    """Each through a net of its own: the counts that they send are not the same."""

    @ttl.operation(grid=(3, 1))
    def operation(a, y):
        many_net = ttl.PipeNet([ttl.Pipe((0, 0), (slice(1, 3), 0))])
        few_net = ttl.PipeNet([ttl.Pipe((0, 0), (slice(1, 3), 0))])
        begun = ttl.Semaphore()
        many_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        few_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        def exchange(net, dfb, numbers):
            x, _ = ttl.node()

            def give(pipe):
                for i in numbers:
                    with dfb.reserve() as block:
                        ttl.copy(a[0, i], block).wait()
                    with dfb.wait() as block:
                        ttl.copy(block, pipe).wait()

            def take(pipe):
                for i in numbers:
                    with dfb.reserve() as block:
                        ttl.copy(pipe, block).wait()
                    with dfb.wait() as block:
                        ttl.copy(block, y[x - 1, i]).wait()

            net.if_src(give)
            net.if_dst(take)

        @ttl.datamovement()
        def many():
            exchange(many_net, many_dfb, range(3))
            begun.set(1)
            exchange(many_net, many_dfb, range(3, 9))

        @ttl.datamovement()
        def few():
            begun.wait_eq(1)
            exchange(few_net, few_dfb, range(9, 12))

    def expected(a: Array, y: Array) -> None:
        for row in range(2):
            tile(y, row, 0, width=12)[:] = a

    return operation, expected


@pattern((1, 2), (2, 2))
def late_signal_of_the_other_kernel() -> Any:
    """What the first kernel has sent must not arrive when the second has sent after it."""

    @ttl.operation(grid=(3, 1))
    def operation(a, y):
        net = ttl.PipeNet([ttl.Pipe((0, 0), (slice(1, 3), 0))])
        turn, sent = ttl.Semaphore(), ttl.Semaphore()
        first = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        second = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        into = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        def send(dfb, i):
            def give(pipe):
                with dfb.reserve() as block:
                    ttl.copy(a[0, i], block).wait()
                with dfb.wait() as block:
                    ttl.copy(block, pipe).wait()

            net.if_src(give)

        @ttl.datamovement()
        def before():
            x, _ = ttl.node()
            if x == 0:
                send(first, 0)
                turn.set(1)
                turn.wait_eq(2)
                for receiver in range(1, 3):
                    sent.get_remote((receiver, 0)).inc(1)

            def take(pipe):
                with into.reserve() as one, into.reserve() as two:
                    posted = ttl.copy(pipe, one)
                    posted_next = ttl.copy(pipe, two)
                    posted.wait()
                    sent.wait_ge(1)
                    posted_next.wait()
                for i in range(2):
                    with into.wait() as block:
                        ttl.copy(block, y[x - 1, i]).wait()

            net.if_dst(take)

        @ttl.datamovement()
        def after():
            x, _ = ttl.node()
            if x == 0:
                turn.wait_eq(1)
                send(second, 1)
                turn.set(2)

    def expected(a: Array, y: Array) -> None:
        for row in range(2):
            tile(y, row, 0, width=2)[:] = a

    return operation, expected


@pattern((8, 4), (8, 4))
def gather_and_broadcast_in_a_loop() -> Any:
    """In stripes of two rows: the blocks of three nodes go to the first, their sum to all."""

    @ttl.operation(grid=(4, 1))
    def operation(a, y):
        up = ttl.PipeNet([ttl.Pipe((x, 0), (0, 0)) for x in range(1, 4)])
        down = ttl.PipeNet([ttl.Pipe((0, 0), (slice(1, 4), 0))])
        own = ttl.make_dataflow_buffer_like(a, shape=(2, 1))
        into = ttl.make_dataflow_buffer_like(a, shape=(2, 1), block_count=3)
        total = ttl.make_dataflow_buffer_like(a, shape=(2, 1))
        sent = ttl.make_dataflow_buffer_like(a, shape=(2, 1))

        @ttl.compute()
        def add():
            if down.is_src():
                for _ in range(4):
                    with own.wait() as mine, total.reserve() as result:
                        result.store(mine)
                        for _ in range(3):
                            with into.wait() as block:
                                result += block
            else:
                for _ in range(4):
                    with own.wait() as mine, sent.reserve() as copy:
                        copy.store(mine)

        @ttl.datamovement()
        def out():
            x, _ = ttl.node()
            for i in range(4):
                with own.reserve() as block:
                    ttl.copy(a[2 * i : 2 * i + 2, x], block).wait()
                if up.is_src():
                    with sent.wait() as block:
                        up.if_src(lambda pipe: ttl.copy(block, pipe).wait())
                else:
                    with total.wait() as block:
                        down.if_src(lambda pipe: ttl.copy(block, pipe).wait())
                        ttl.copy(block, y[2 * i : 2 * i + 2, x]).wait()

        @ttl.datamovement()
        def back():
            x, _ = ttl.node()

            def receive(pipe):
                with into.reserve() as block:
                    ttl.copy(pipe, block).wait()

            for i in range(4):
                up.if_dst(receive)
                if down.is_dst():
                    with into.reserve() as block:
                        down.if_dst(lambda pipe: ttl.copy(pipe, block).wait())
                    with into.wait() as block:
                        ttl.copy(block, y[2 * i : 2 * i + 2, x]).wait()

    def expected(a, y):
        for row in range(8):
            for x in range(4):
                tile(y, row, x)[:] = sum(tile(a, row, other) for other in range(4))

    return operation, expected


@pattern((1, 6), (1, 6))
def rendezvous_state() -> Any:
    """Nets with the same sources and receivers, unicast and multicast: none takes another's."""

    @ttl.operation(grid=(3, 1))
    def operation(a, y):
        first = ttl.PipeNet([ttl.Pipe((0, 0), (1, 0)), ttl.Pipe((0, 0), (2, 0))])
        second = ttl.PipeNet([ttl.Pipe((0, 0), (1, 0)), ttl.Pipe((2, 0), (1, 0))])
        third = ttl.PipeNet([ttl.Pipe((0, 0), (slice(1, 3), 0))])
        out = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        into = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        @ttl.datamovement()
        def send():
            def give(pipe):
                with out.reserve() as block:
                    ttl.copy(a[0, place], block).wait()
                    ttl.copy(block, pipe).wait()
                with out.wait() as block:
                    ttl.copy(block, a[0, place]).wait()

            x, _ = ttl.node()
            place = x
            first.if_src(give)
            place = x + 1
            second.if_src(give)
            place = x + 2
            third.if_src(give)

        @ttl.datamovement()
        def receive():
            def take(pipe):
                nonlocal place
                with into.reserve() as block:
                    ttl.copy(pipe, block).wait()
                with into.wait() as block:
                    ttl.copy(block, y[0, place]).wait()
                place += 1

            x, _ = ttl.node()
            place = 0 if x == 1 else 4
            first.if_dst(take)
            second.if_dst(take)
            third.if_dst(take)

    def expected(a, y):
        for place, source in enumerate((0, 1, 3, 2, 0, 2)):
            tile(y, 0, place)[:] = tile(a, 0, source)

    return operation, expected


@pattern((1, 2), (2, 6))
def cross_buffer_loopback() -> Any:
    """The block goes from one buffer of the source to another one of all nodes, twice."""

    @ttl.operation(grid=(3, 1))
    def operation(a, y):
        net = ttl.PipeNet([ttl.Pipe((2, 0), (slice(0, 3), 0))])
        out = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        into = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        @ttl.datamovement()
        def send():
            def give(pipe):
                for i in range(2):
                    with out.reserve() as block:
                        ttl.copy(a[0, i], block).wait()
                        ttl.copy(block, pipe).wait()
                    with out.wait() as block:
                        ttl.copy(block, y[i, 5]).wait()

            net.if_src(give)

        @ttl.datamovement()
        def receive():
            x, _ = ttl.node()
            for i in range(2):
                with into.reserve() as block:
                    net.if_dst(lambda pipe: ttl.copy(pipe, block).wait())
                with into.wait() as block:
                    ttl.copy(block, y[i, x]).wait()

    def expected(a, y):
        for i in range(2):
            for place in (0, 1, 2, 5):
                tile(y, i, place)[:] = tile(a, 0, i)

    return operation, expected


@pattern((1, 8), (8, 3))
def own_blocks() -> Any:
    """The source receives into the block that it sends, others into another buffer; its second
    block of two is posted before it is sent. The last node posts later than the first."""

    @ttl.operation(grid=(3, 1))
    def operation(a, y):
        net = ttl.PipeNet([ttl.Pipe((1, 0), (slice(0, 3), 0))])
        posted = ttl.Semaphore()
        out = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        spare = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        into = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=3)

        @ttl.datamovement()
        def move():
            x, _ = ttl.node()

            def send(block, i):
                ttl.copy(a[0, i], block).wait()
                net.if_src(lambda pipe: ttl.copy(block, pipe).wait())

            def receive(block):
                net.if_dst(lambda pipe: ttl.copy(pipe, block).wait())

            def save(dfb, i):
                with dfb.wait() as block:
                    ttl.copy(block, y[i, x]).wait()

            for i in range(4):
                if x == 1:
                    with out.reserve() as block:
                        send(block, 2 * i)
                        receive(block)
                    save(out, 2 * i)
                    posts = ttl.GroupTransfer()
                    with into.reserve() as block:
                        net.if_dst(lambda pipe: posts.add(ttl.copy(pipe, block)))
                        with spare.reserve() as other:
                            send(other, 2 * i + 1)
                        posts.wait_all()
                    save(spare, 2 * i + 1)
                    save(into, 2 * i + 1)
                else:
                    for j in range(2):
                        posts = ttl.GroupTransfer()
                        with into.reserve() as block:
                            if x == 2:
                                posted.wait_ge(2 * i + j + 1)
                            net.if_dst(lambda pipe: posts.add(ttl.copy(pipe, block)))
                            if x == 0:
                                posted.get_remote((2, 0)).inc(1)
                            posts.wait_all()
                        save(into, 2 * i + j)

    def expected(a, y):
        for i in range(8):
            for x in range(3):
                tile(y, i, x)[:] = tile(a, 0, i)

    return operation, expected


# Scopes -------------------------------------------------------------------------------------------

MODULE_NET = ttl.PipeNet([ttl.Pipe(1, 0)])


@pattern((1, 2), (1, 3))
def nets_of_all_scopes() -> Any:
    """One of the module, one captured from around the operation, one of the operation."""
    captured = ttl.PipeNet([ttl.Pipe(1, 0)])

    @ttl.operation(grid=(2, 1))
    def operation(a, y):
        own = ttl.PipeNet([ttl.Pipe(1, 0)])
        out = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        into = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        @ttl.datamovement()
        def send():
            def give(pipe):
                with out.reserve() as block:
                    ttl.copy(a[0, 0], block).wait()
                    ttl.copy(block, pipe).wait()
                with out.wait() as block:
                    ttl.copy(block, a[0, 1]).wait()

            MODULE_NET.if_src(give)
            captured.if_src(give)
            own.if_src(give)

        @ttl.datamovement()
        def receive():
            def take(pipe, place):
                with into.reserve() as block:
                    ttl.copy(pipe, block).wait()
                with into.wait() as block:
                    ttl.copy(block, y[0, place]).wait()

            MODULE_NET.if_dst(lambda pipe: take(pipe, 0))
            captured.if_dst(lambda pipe: take(pipe, 1))
            own.if_dst(lambda pipe: take(pipe, 2))

    def expected(a, y):
        for place in range(3):
            tile(y, 0, place)[:] = tile(a, 0, 0)
        tile(a, 0, 1)[:] = tile(a, 0, 0)

    return operation, expected


@pattern((1, 4), (1, 4))
def two_nets_on_one_route() -> Any:
    """Their transfers are matched net by net, in whatever order the posts and sends come."""

    @ttl.operation(grid=(2, 1))
    def operation(a, y):
        one = ttl.PipeNet([ttl.Pipe((0, 0), (1, 0))])
        other = ttl.PipeNet([ttl.Pipe((0, 0), (1, 0))])
        out = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        first = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        second = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        @ttl.datamovement()
        def send():
            def give(pipe):
                with out.reserve() as block:
                    ttl.copy(a[0, place], block).wait()
                    ttl.copy(block, pipe).wait()
                with out.wait() as block:
                    ttl.copy(block, a[0, place]).wait()

            for i in range(2):
                place = i
                other.if_src(give)
                place = i + 2
                one.if_src(give)

        @ttl.datamovement()
        def receive():
            for i in range(2):
                if one.is_dst():
                    with first.reserve() as x_blk, second.reserve() as y_blk:
                        posts = ttl.GroupTransfer()
                        one.if_dst(lambda pipe: posts.add(ttl.copy(pipe, x_blk)))
                        other.if_dst(lambda pipe: posts.add(ttl.copy(pipe, y_blk)))
                        posts.wait_all()
                    with first.wait() as x_blk, second.wait() as y_blk:
                        ttl.copy(x_blk, y[0, 2 * i]).wait()
                        ttl.copy(y_blk, y[0, 2 * i + 1]).wait()

    def expected(a, y):
        for i in range(2):
            tile(y, 0, 2 * i)[:] = tile(a, 0, i + 2)
            tile(y, 0, 2 * i + 1)[:] = tile(a, 0, i)

    return operation, expected


@pattern((1, 4), (1, 4))
def one_buffer_sends_and_receives() -> Any:
    """Neighbours swap their blocks in one kernel: a block of the buffer goes, another comes."""

    @ttl.operation(grid=(4, 1))
    def operation(a, y):
        net = ttl.PipeNet([ttl.Pipe((x, 0), (x ^ 1, 0)) for x in range(4)])
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=2)

        @ttl.datamovement()
        def move():
            x, _ = ttl.node()
            with dfb.reserve() as own, dfb.reserve() as other:
                ttl.copy(a[0, x], own).wait()
                posts = ttl.GroupTransfer()
                net.if_dst(lambda pipe: posts.add(ttl.copy(pipe, other)))
                net.if_src(lambda pipe: ttl.copy(own, pipe).wait())
                posts.wait_all()

        @ttl.datamovement()
        def write():
            x, _ = ttl.node()
            with dfb.wait() as own:
                ttl.copy(own, a[0, x]).wait()
            with dfb.wait() as other:
                ttl.copy(other, y[0, x]).wait()

    def expected(a, y):
        for x in range(4):
            tile(y, 0, x)[:] = tile(a, 0, x ^ 1)

    return operation, expected


@pattern((2, 4), (2, 4))
def sends_before_posts() -> Any:
    """Neighbours send first, then post, and wait for both at the end."""

    @ttl.operation(grid=(4, 1))
    def operation(a, y):
        net = ttl.PipeNet([ttl.Pipe((x, 0), (x ^ 1, 0)) for x in range(4)])
        out = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        into = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        @ttl.datamovement()
        def move():
            x, _ = ttl.node()
            for i in range(2):
                with out.reserve() as own:
                    ttl.copy(a[i, x], own).wait()
                with out.wait() as own, into.reserve() as other:
                    transfers = ttl.GroupTransfer()
                    net.if_src(lambda pipe: transfers.add(ttl.copy(own, pipe)))
                    net.if_dst(lambda pipe: transfers.add(ttl.copy(pipe, other)))
                    transfers.wait_all()

        @ttl.datamovement()
        def write():
            x, _ = ttl.node()
            for i in range(2):
                with into.wait() as other:
                    ttl.copy(other, y[i, x]).wait()

    def expected(a, y):
        for i in range(2):
            for x in range(4):
                tile(y, i, x)[:] = tile(a, i, x ^ 1)

    return operation, expected


@pattern((1, 4), (2, 3))
def receivers_with_other_addresses() -> Any:
    """A receiver has taken a block of the buffer before: its blocks are not where others' are."""

    @ttl.operation(grid=(3, 1))
    def operation(a, y):
        net = ttl.PipeNet([ttl.Pipe((0, 0), (slice(1, 3), 0))])
        out = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        into = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=3)

        @ttl.datamovement()
        def send():
            def give(pipe):
                for i in range(3):
                    with out.reserve() as block:
                        ttl.copy(a[0, i], block).wait()
                    with out.wait() as block:
                        ttl.copy(block, pipe).wait()

            net.if_src(give)

        @ttl.datamovement()
        def receive():
            x, _ = ttl.node()
            if x == 2:
                with into.reserve() as block:
                    ttl.copy(a[0, 3], block).wait()
                with into.wait() as block:
                    ttl.copy(block, a[0, 3]).wait()

            def take(pipe):
                for i in range(3):
                    with into.reserve() as block:
                        ttl.copy(pipe, block).wait()
                    with into.wait() as block:
                        ttl.copy(block, y[x - 1, i]).wait()

            net.if_dst(take)

    def expected(a, y):
        for row in range(2):
            tile(y, row, 0, width=3)[:] = tile(a, 0, 0, width=3)

    return operation, expected


def taking_turns(receivers: int) -> Any:
    """Both kernels of a node use the same end, by turns: transfers are counted over both."""

    @ttl.operation(grid=(1 + receivers, 1))
    def operation(a, y):
        net = ttl.PipeNet([ttl.Pipe((0, 0), (slice(1, 1 + receivers), 0))])
        turn = ttl.Semaphore()
        first = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        second = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        def exchange(dfb, mine, following, i):
            turn.wait_eq(mine)

            def give(pipe):
                with dfb.reserve() as block:
                    ttl.copy(a[0, i], block).wait()
                with dfb.wait() as block:
                    ttl.copy(block, pipe).wait()

            def take(pipe):
                with dfb.reserve() as block:
                    ttl.copy(pipe, block).wait()
                with dfb.wait() as block:
                    x, _ = ttl.node()
                    ttl.copy(block, y[x - 1, i]).wait()

            net.if_src(give)
            net.if_dst(take)
            turn.set(following)

        @ttl.datamovement()
        def even():
            for i in range(3):
                exchange(first, 2 * i, 2 * i + 1, 2 * i)

        @ttl.datamovement()
        def odd():
            for i in range(3):
                exchange(second, 2 * i + 1, 2 * i + 2, 2 * i + 1)

    def expected(a, y):
        for row in range(receivers):
            tile(y, row, 0, width=6)[:] = a

    return operation, expected


@pattern((1, 6), (1, 6))
def both_kernels_use_one_pipe() -> Any:
    return taking_turns(1)


@pattern((1, 6), (2, 6))
def both_kernels_use_one_multicast() -> Any:
    return taking_turns(2)


# Algorithms ---------------------------------------------------------------------------------------


@pattern((1, 8), (1, 1))
def tree_reduction() -> Any:
    """At each level half of the nodes that are left send their sum to the other half."""

    @ttl.operation(grid=(8, 1))
    def operation(a, y):
        nets = [
            ttl.PipeNet([ttl.Pipe((x + step, 0), (x, 0)) for x in range(0, 8, 2 * step)])
            for step in (1, 2, 4)
        ]
        low, mid, high = nets
        own = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        into = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        total = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        @ttl.compute()
        def add():
            x, _ = ttl.node()
            with own.wait() as mine, total.reserve() as result:
                result.store(mine)
                if x % 2 == 0:
                    with into.wait() as block:
                        result += block
                if x % 4 == 0:
                    with into.wait() as block:
                        result += block
                if x == 0:
                    with into.wait() as block:
                        result += block

        @ttl.datamovement()
        def receive():
            x, _ = ttl.node()
            with own.reserve() as block:
                ttl.copy(a[0, x], block).wait()

            def take(pipe):
                with into.reserve() as block:
                    ttl.copy(pipe, block).wait()

            low.if_dst(take)
            mid.if_dst(take)
            high.if_dst(take)

        @ttl.datamovement()
        def send():
            x, _ = ttl.node()
            with total.wait() as block:
                low.if_src(lambda pipe: ttl.copy(block, pipe).wait())
                mid.if_src(lambda pipe: ttl.copy(block, pipe).wait())
                high.if_src(lambda pipe: ttl.copy(block, pipe).wait())
                if x == 0:
                    ttl.copy(block, y[0, 0]).wait()

    def expected(a, y):
        y[:] = sum(tile(a, 0, x) for x in range(8))

    return operation, expected


@pattern((1, 4), (1, 4))
def ring_all_reduce() -> Any:
    """Every block goes once around; each node adds what passes."""

    @ttl.operation(grid=(4, 1))
    def operation(a, y):
        net = ttl.PipeNet([ttl.Pipe((x, 0), ((x + 1) % 4, 0)) for x in range(4)])
        first = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        into = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        out = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        total = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        @ttl.compute()
        def add():
            with total.reserve() as result:
                with first.wait() as mine:
                    result.store(mine)
                    with out.reserve() as copy:
                        copy.store(mine)
                for step in range(3):
                    with into.wait() as block:
                        result += block
                        if step < 2:
                            with out.reserve() as copy:
                                copy.store(block)

        @ttl.datamovement()
        def send():
            x, _ = ttl.node()
            with first.reserve() as block:
                ttl.copy(a[0, x], block).wait()
            for _ in range(3):
                with out.wait() as block:
                    net.if_src(lambda pipe: ttl.copy(block, pipe).wait())

        @ttl.datamovement()
        def receive():
            x, _ = ttl.node()
            for _ in range(3):
                with into.reserve() as block:
                    net.if_dst(lambda pipe: ttl.copy(pipe, block).wait())
            with total.wait() as block:
                ttl.copy(block, y[0, x]).wait()

    def expected(a, y):
        for x in range(4):
            tile(y, 0, x)[:] = sum(tile(a, 0, other) for other in range(4))

    return operation, expected


def multicast_matmul(size: int, steps: int) -> Any:
    """Rows of `a` and columns of `b` come from the nodes of the first column and the first row."""

    @ttl.operation(grid=(size, size), fp32_dest_acc_en=True)
    def operation(a, b, y):
        rows = ttl.PipeNet([ttl.Pipe((0, r), (slice(0, size), r)) for r in range(size)])
        columns = ttl.PipeNet([ttl.Pipe((c, 0), (c, slice(0, size))) for c in range(size)])
        a_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        b_dfb = ttl.make_dataflow_buffer_like(b, shape=(1, 1))
        a_src = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        b_src = ttl.make_dataflow_buffer_like(b, shape=(1, 1))
        y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))

        @ttl.compute()
        def multiply():
            with y_dfb.reserve() as result:
                for step in range(steps):
                    with a_dfb.wait() as a_blk, b_dfb.wait() as b_blk:
                        if step == 0:
                            result.store(a_blk @ b_blk)
                        else:
                            result += a_blk @ b_blk

        @ttl.datamovement()
        def left():
            _, row = ttl.node()
            for k in range(steps):
                with a_dfb.reserve() as block:
                    posts = ttl.GroupTransfer()
                    rows.if_dst(lambda pipe: posts.add(ttl.copy(pipe, block)))

                    def send(pipe):
                        with a_src.reserve() as own:
                            ttl.copy(a[row, k], own).wait()
                        with a_src.wait() as own:
                            ttl.copy(own, pipe).wait()

                    rows.if_src(send)
                    posts.wait_all()

        @ttl.datamovement()
        def right():
            column, row = ttl.node()
            for k in range(steps):
                with b_dfb.reserve() as block:
                    posts = ttl.GroupTransfer()
                    columns.if_dst(lambda pipe: posts.add(ttl.copy(pipe, block)))

                    def send(pipe):
                        with b_src.reserve() as own:
                            ttl.copy(b[k, column], own).wait()
                        with b_src.wait() as own:
                            ttl.copy(own, pipe).wait()

                    columns.if_src(send)
                    posts.wait_all()
            with y_dfb.wait() as block:
                ttl.copy(block, y[row, column]).wait()

    def expected(a, b, y):
        y[:] = a.astype(np.float64) @ b.astype(np.float64)

    return operation, expected


@pattern((8, 4), (4, 8), (8, 8))
def multicast_matmul_8x8() -> Any:
    return multicast_matmul(8, 4)


@pattern((8, 4), (4, 8), (8, 8))
def minimal_matmul_mirror() -> Any:
    """The sources feed themselves from the tensor and multicast to the others of the line."""
    size, steps = 8, 4

    @ttl.operation(grid=(size, size), fp32_dest_acc_en=True)
    def operation(a, b, y):
        rows = ttl.PipeNet([ttl.Pipe((0, r), (slice(1, size), r)) for r in range(size)])
        columns = ttl.PipeNet([ttl.Pipe((c, 0), (c, slice(1, size))) for c in range(size)])
        a_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=3)
        b_dfb = ttl.make_dataflow_buffer_like(b, shape=(1, 1), block_count=2)
        y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))

        @ttl.compute()
        def multiply():
            with y_dfb.reserve() as result:
                total = ttl.math.fill(0.0, shape=(1, 1))
                for _ in range(steps):
                    with a_dfb.wait() as a_blk, b_dfb.wait() as b_blk:
                        total += a_blk @ b_blk
                result.store(total)

        @ttl.datamovement()
        def left():
            _, row = ttl.node()
            for k in range(steps):
                with a_dfb.reserve() as block:

                    def send(pipe):
                        ttl.copy(a[row, k], block).wait()
                        ttl.copy(block, pipe).wait()

                    rows.if_src(send)
                    rows.if_dst(lambda pipe: ttl.copy(pipe, block).wait())

        @ttl.datamovement()
        def right():
            column, row = ttl.node()
            for k in range(steps):
                with b_dfb.reserve() as block:

                    def send(pipe):
                        ttl.copy(b[k, column], block).wait()
                        ttl.copy(block, pipe).wait()

                    columns.if_src(send)
                    columns.if_dst(lambda pipe: ttl.copy(pipe, block).wait())
            with y_dfb.wait() as block:
                ttl.copy(block, y[row, column]).wait()

    def expected(a, b, y):
        y[:] = a.astype(np.float64) @ b.astype(np.float64)

    return operation, expected


@pattern((3, 3), (3, 3), (3, 3))
def cannons_matmul() -> Any:
    """Blocks of `a` move left and those of `b` up, after each has been used."""
    size = 3

    @ttl.operation(grid=(size, size), fp32_dest_acc_en=True)
    def operation(a, b, y):
        left = ttl.PipeNet(
            [ttl.Pipe((x, r), ((x - 1) % size, r)) for r in range(size) for x in range(size)]
        )
        up = ttl.PipeNet(
            [ttl.Pipe((x, r), (x, (r - 1) % size)) for r in range(size) for x in range(size)]
        )
        a_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=2)
        b_dfb = ttl.make_dataflow_buffer_like(b, shape=(1, 1), block_count=2)
        a_out = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        b_out = ttl.make_dataflow_buffer_like(b, shape=(1, 1))
        y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))

        @ttl.compute()
        def multiply():
            with y_dfb.reserve() as result:
                for step in range(size):
                    with a_dfb.wait() as a_blk, b_dfb.wait() as b_blk:
                        if step == 0:
                            result.store(a_blk @ b_blk)
                        else:
                            result += a_blk @ b_blk
                        if step < size - 1:
                            with a_out.reserve() as a_next, b_out.reserve() as b_next:
                                a_next.store(a_blk)
                                b_next.store(b_blk)

        @ttl.datamovement()
        def move_a():
            x, r = ttl.node()
            with a_dfb.reserve() as block:
                ttl.copy(a[r, (x + r) % size], block).wait()
            for _ in range(size - 1):
                with a_dfb.reserve() as block, a_out.wait() as own:
                    posts = ttl.GroupTransfer()
                    left.if_dst(lambda pipe: posts.add(ttl.copy(pipe, block)))
                    left.if_src(lambda pipe: ttl.copy(own, pipe).wait())
                    posts.wait_all()

        @ttl.datamovement()
        def move_b():
            x, r = ttl.node()
            with b_dfb.reserve() as block:
                ttl.copy(b[(x + r) % size, x], block).wait()
            for _ in range(size - 1):
                with b_dfb.reserve() as block, b_out.wait() as own:
                    posts = ttl.GroupTransfer()
                    up.if_dst(lambda pipe: posts.add(ttl.copy(pipe, block)))
                    up.if_src(lambda pipe: ttl.copy(own, pipe).wait())
                    posts.wait_all()
            with y_dfb.wait() as block:
                ttl.copy(block, y[r, x]).wait()

    def expected(a, b, y):
        y[:] = a.astype(np.float64) @ b.astype(np.float64)

    return operation, expected


@pattern((8, 8), (8, 8))
def senders_63_to_one() -> Any:
    """More counters than there are semaphores: those of the receiver are in the scratch memory."""

    @ttl.operation(grid=(8, 8))
    def operation(a, y):
        net = ttl.PipeNet([ttl.Pipe(node, 0) for node in range(1, 64)])
        out = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        into = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        @ttl.datamovement()
        def send():
            def give(pipe):
                x, row = ttl.node()
                with out.reserve() as block:
                    ttl.copy(a[row, x], block).wait()
                    ttl.copy(block, pipe).wait()
                with out.wait() as block:
                    ttl.copy(block, a[row, x]).wait()

            net.if_src(give)

        @ttl.datamovement()
        def receive():
            def take(pipe):
                with into.reserve() as block:
                    ttl.copy(pipe, block).wait()
                with into.wait() as block:
                    ttl.copy(block, y[pipe.src % 8, pipe.src // 8]).wait()

            net.if_dst(take)

    def expected(a, y):
        y[:] = a
        tile(y, 0, 0)[:] = 0

    return operation, expected


# Several posts under way --------------------------------------------------------------------------


@pattern((1, 4), (2, 4))
def slow_receiver() -> Any:
    """A multicast to two nodes that post two blocks at a time; one of them, each time, only when
    the other has posted both of its own, and has been asked for it."""

    @ttl.operation(grid=(3, 1))
    def operation(a, y):
        net = ttl.PipeNet([ttl.Pipe((0, 0), (slice(1, 3), 0))])
        posted = ttl.Semaphore()
        asked = ttl.Semaphore()
        out = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        into = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        @ttl.datamovement()
        def send():
            def give(pipe):
                for i in range(4):
                    with out.reserve() as block:
                        ttl.copy(a[0, i], block).wait()
                    with out.wait() as block:
                        ttl.copy(block, pipe).wait()

            net.if_src(give)

        @ttl.datamovement()
        def receive():
            x, _ = ttl.node()
            for i in range(2):
                if x > 0:
                    with into.reserve() as one, into.reserve() as other:
                        posts = ttl.GroupTransfer()
                        if x == 2:
                            posted.wait_ge(2 * i + 1)
                            asked.get_remote((1, 0)).inc(1)
                            posted.wait_ge(2 * i + 2)
                        net.if_dst(lambda pipe: posts.add(ttl.copy(pipe, one)))
                        net.if_dst(lambda pipe: posts.add(ttl.copy(pipe, other)))
                        if x == 1:
                            posted.get_remote((2, 0)).inc(1)
                            asked.wait_ge(i + 1)
                            posted.get_remote((2, 0)).inc(1)
                        posts.wait_all()
                    with into.wait() as one:
                        ttl.copy(one, y[x - 1, 2 * i]).wait()
                    with into.wait() as other:
                        ttl.copy(other, y[x - 1, 2 * i + 1]).wait()

    def expected(a, y):
        for row in range(2):
            tile(y, row, 0, width=4)[:] = a

    return operation, expected


@pattern((1, 20), (1, 20))
def two_posts_at_a_time() -> Any:
    """Unicast, 20 transfers; the blocks are waited for in the order in which they were not posted.

    Whoever receives reads the result when it is complete: it waits for both.
    """

    @ttl.operation(grid=(2, 1))
    def operation(a, y):
        net = ttl.PipeNet([ttl.Pipe((0, 0), (1, 0))])
        out = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        into = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=2)

        @ttl.datamovement()
        def send():
            def give(pipe):
                for i in range(20):
                    with out.reserve() as block:
                        ttl.copy(a[0, i], block).wait()
                    with out.wait() as block:
                        ttl.copy(block, pipe).wait()

            net.if_src(give)

        @ttl.datamovement()
        def receive():
            def take(pipe):
                for i in range(10):
                    with into.reserve() as one, into.reserve() as other:
                        first = ttl.copy(pipe, one)
                        second = ttl.copy(pipe, other)
                        second.wait()
                        first.wait()
                    with into.wait() as one:
                        ttl.copy(one, y[0, 2 * i]).wait()
                    with into.wait() as other:
                        ttl.copy(other, y[0, 2 * i + 1]).wait()

            net.if_dst(take)

    def expected(a, y):
        y[:] = a

    return operation, expected


@pattern((1, 3), (2, 3))
def multicasts_of_blocks_and_of_a_semaphore() -> Any:
    """Both go out from the same word of the source's kernel."""

    @ttl.operation(grid=(3, 1))
    def operation(a, y):
        net = ttl.PipeNet([ttl.Pipe((0, 0), (slice(1, 3), 0))])
        finished = ttl.Semaphore(initial=7)
        out = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
        into = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        @ttl.datamovement()
        def send():
            def give(pipe):
                for i in range(3):
                    with out.reserve() as block:
                        ttl.copy(a[0, i], block).wait()
                    with out.wait() as block:
                        ttl.copy(block, pipe).wait()
                        finished.get_remote_multicast().set(100 * i + 100)
                        finished.get_remote((1, 0)).inc(1)
                        finished.wait_eq(100 * i + 100)

            net.if_src(give)

        @ttl.datamovement()
        def receive():
            x, _ = ttl.node()

            def take(pipe):
                for i in range(3):
                    with into.reserve() as block:
                        ttl.copy(pipe, block).wait()
                    with into.wait() as block:
                        ttl.copy(block, y[x - 1, i]).wait()
                finished.wait_eq(301 if x == 1 else 300)

            net.if_dst(take)

    def expected(a, y):
        for row in range(2):
            tile(y, row, 0, width=3)[:] = a

    return operation, expected


@pattern((1, 1), (1, 2))
def written_before_it_is_read() -> Any:
    """Through a tensor: the second node says when the first may read."""

    @ttl.operation(grid=(2, 1))
    def operation(a, y):
        is_there = ttl.Semaphore()
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        def move(source, target):
            with dfb.reserve() as block:
                ttl.copy(source, block).wait()
            with dfb.wait() as block:
                ttl.copy(block, target).wait()

        @ttl.datamovement()
        def dm():
            if ttl.node(dims=1) == 0:
                is_there.wait_eq(1)
                move(y[0, 0], y[0, 1])
            else:
                move(a[0, 0], y[0, 0])
                is_there.get_remote((0, 0)).set(1)

    def expected(a, y):
        y[:] = np.concatenate([a, a], axis=1)

    return operation, expected


@pattern((2, 12), (4, 12))
def two_kernels_multicast() -> Any:
    """Both kernels of the first node at once, the other three blocks after the one."""

    @ttl.operation(grid=(3, 1))
    def operation(a, y):
        nets = [ttl.PipeNet([ttl.Pipe((0, 0), (slice(1, 3), 0))]) for _ in range(2)]
        start = ttl.Semaphore()
        buffers = [ttl.make_dataflow_buffer_like(a, shape=(1, 1)) for _ in range(2)]

        def move(k, first, count):
            dfb, net = buffers[k], nets[k]
            x, _ = ttl.node()
            for i in range(first, count):
                with dfb.reserve() as block:

                    def send(pipe):
                        ttl.copy(a[k, i], block).wait()
                        ttl.copy(block, pipe).wait()

                    net.if_src(send)
                    net.if_dst(lambda pipe: ttl.copy(pipe, block).wait())
                with dfb.wait() as block:
                    if x > 0:
                        ttl.copy(block, y[2 * k + x - 1, i]).wait()
                    else:
                        ttl.copy(block, a[k, i]).wait()

        @ttl.datamovement()
        def one():
            move(0, 0, 3)
            if ttl.node(dims=1) == 0:
                start.set(1)
            move(0, 3, 12)

        @ttl.datamovement()
        def other():
            if ttl.node(dims=1) == 0:
                start.wait_ge(1)
            move(1, 0, 12)

    def expected(a, y):
        for k in range(2):
            for x in range(2):
                tile(y, 2 * k + x, 0, width=12)[:] = tile(a, k, 0, width=12)

    return operation, expected


@pattern((1, 1), (1, 1))
def changes_stay_in_order() -> Any:
    """An increment and a set of one semaphore, and one of another that says that both are done."""

    @ttl.operation(grid=(2, 1))
    def operation(a, y):
        value = ttl.Semaphore(initial=3)
        over = ttl.Semaphore()
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

        @ttl.datamovement()
        def move():
            x, _ = ttl.node()
            if x == 0:
                value.get_remote((1, 0)).inc(1)
                value.get_remote((1, 0)).set(20)
                value.get_remote((1, 0)).inc(4)
                over.get_remote((1, 0)).inc(1)
            else:
                over.wait_ge(1)
                value.wait_eq(24)
                with dfb.reserve() as block:
                    ttl.copy(a[0, 0], block).wait()
                with dfb.wait() as block:
                    ttl.copy(block, y[0, 0]).wait()

    def expected(a, y):
        y[:] = a

    return operation, expected

"""Small operations for estimates, and tensors for them."""

from __future__ import annotations

from typing import Any

import ttnn

import ttl


def zeros(rows: int, columns: int) -> Any:
    device = ttnn.open_device(device_id=0)
    return ttnn.zeros((rows, columns), dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device)


def stream(tiles: int) -> Any:
    """Reads so many tiles and waits for all of them."""

    @ttl.operation(grid=(1, 1))
    def stream(x, y):  # type: ignore[no-untyped-def]
        dfb = ttl.make_dataflow_buffer_like(x, shape=(1, tiles), block_count=1)

        @ttl.datamovement()
        def read():  # type: ignore[no-untyped-def]
            with dfb.reserve() as blk:
                x_copy = ttl.copy(x[0:1, 0:tiles], blk)
                x_copy.wait()

        @ttl.datamovement()
        def write():  # type: ignore[no-untyped-def]
            with dfb.wait() as blk:
                y_copy = ttl.copy(blk, y[0:1, 0:tiles])
                y_copy.wait()

    return stream


def exponential(
    grid: tuple[int, int], tiles: int, block_count: int = 2, function: Any = ttl.math.exp
) -> Any:
    """y = exp(x), or another function; a row of tiles for each node."""

    @ttl.operation(grid=grid)
    def exponential(x, y):  # type: ignore[no-untyped-def]
        x_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 1), block_count=block_count)
        y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1), block_count=block_count)

        @ttl.compute()
        def compute():  # type: ignore[no-untyped-def]
            for _ in range(tiles):
                with x_dfb.wait() as x_blk, y_dfb.reserve() as y_blk:
                    y_blk.store(function(x_blk))

        @ttl.datamovement()
        def read():  # type: ignore[no-untyped-def]
            column, row = ttl.node(dims=2)
            node = row * grid[0] + column
            for i in range(tiles):
                with x_dfb.reserve() as x_blk:
                    x_copy = ttl.copy(x[node : node + 1, i : i + 1], x_blk)
                    x_copy.wait()

        @ttl.datamovement()
        def write():  # type: ignore[no-untyped-def]
            column, row = ttl.node(dims=2)
            node = row * grid[0] + column
            for i in range(tiles):
                with y_dfb.wait() as y_blk:
                    y_copy = ttl.copy(y_blk, y[node : node + 1, i : i + 1])
                    y_copy.wait()

    return exponential


def chain(nodes: int) -> Any:
    """Each node passes on what it got: the nodes between wait for others that do the same."""

    @ttl.operation(grid=(nodes, 1))
    def chain(x, y):  # type: ignore[no-untyped-def]
        net = ttl.PipeNet([ttl.Pipe((n, 0), (n + 1, 0)) for n in range(nodes - 1)])
        dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 1), block_count=1)

        @ttl.datamovement()
        def read():  # type: ignore[no-untyped-def]
            column, _ = ttl.node(dims=2)
            with dfb.reserve() as blk:
                if column == 0:
                    x_copy = ttl.copy(x[0:1, 0:1], blk)
                    x_copy.wait()

                def receive(pipe):  # type: ignore[no-untyped-def]
                    received = ttl.copy(pipe, blk)
                    received.wait()

                def send(pipe):  # type: ignore[no-untyped-def]
                    sent = ttl.copy(blk, pipe)
                    sent.wait()

                net.if_dst(receive)
                net.if_src(send)

        @ttl.datamovement()
        def write():  # type: ignore[no-untyped-def]
            column, _ = ttl.node(dims=2)
            with dfb.wait() as blk:
                y_copy = ttl.copy(blk, y[0:1, column : column + 1])
                y_copy.wait()

    return chain


def grid_stream(grid: tuple[int, int], tiles: int, is_crossed: bool) -> Any:
    """Each node reads a row of tiles and writes it; crossed: reads on NoC 1, writes on NoC 0."""

    def read(x: Any, dfb: Any) -> Any:
        @ttl.datamovement()
        def read():  # type: ignore[no-untyped-def]
            column, row = ttl.node(dims=2)
            node = row * grid[0] + column
            with dfb.reserve() as blk:
                x_copy = ttl.copy(x[node : node + 1, 0:tiles], blk)
                x_copy.wait()

    def write(y: Any, dfb: Any) -> Any:
        @ttl.datamovement()
        def write():  # type: ignore[no-untyped-def]
            column, row = ttl.node(dims=2)
            node = row * grid[0] + column
            with dfb.wait() as blk:
                y_copy = ttl.copy(blk, y[node : node + 1, 0:tiles])
                y_copy.wait()

    @ttl.operation(grid=grid)
    def grid_stream(x, y):  # type: ignore[no-untyped-def]
        dfb = ttl.make_dataflow_buffer_like(x, shape=(1, tiles), block_count=1)
        if is_crossed:
            write(y, dfb)
            read(x, dfb)
        else:
            read(x, dfb)
            write(y, dfb)

    return grid_stream


def same_tile(grid: tuple[int, int]) -> Any:
    """All nodes read the same tile, and each writes one of its own."""

    @ttl.operation(grid=grid)
    def same_tile(x, y):  # type: ignore[no-untyped-def]
        dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 1), block_count=1)

        @ttl.datamovement()
        def read():  # type: ignore[no-untyped-def]
            with dfb.reserve() as blk:
                x_copy = ttl.copy(x[0:1, 0:1], blk)
                x_copy.wait()

        @ttl.datamovement()
        def write():  # type: ignore[no-untyped-def]
            column, row = ttl.node(dims=2)
            node = row * grid[0] + column
            with dfb.wait() as blk:
                y_copy = ttl.copy(blk, y[node : node + 1, 0:1])
                y_copy.wait()

    return same_tile

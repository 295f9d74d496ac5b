"""Small operations to tune: y = 2 x for a row of eight tiles."""

from __future__ import annotations

from typing import Any

import ttl

TILES = 8
BLOCK = 2  # tiles of a block, for `captured`


def body(x: Any, y: Any, block: int, count: int, tiles: int = TILES) -> None:
    """Of an operation. With `tiles` less than there are, the end of y keeps what it held."""
    x_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, block), block_count=count)
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, block), block_count=count)

    @ttl.compute()
    def compute():  # type: ignore[no-untyped-def]
        for _ in range(tiles // block):
            with x_dfb.wait() as x_blk, y_dfb.reserve() as y_blk:
                y_blk.store(x_blk + x_blk)

    @ttl.datamovement()
    def read():  # type: ignore[no-untyped-def]
        for tile in range(0, tiles, block):
            with x_dfb.reserve() as x_blk:
                x_copy = ttl.copy(x[0:1, tile : tile + block], x_blk)
                x_copy.wait()

    @ttl.datamovement()
    def write():  # type: ignore[no-untyped-def]
        for tile in range(0, tiles, block):
            with y_dfb.wait() as y_blk:
                y_copy = ttl.copy(y_blk, y[0:1, tile : tile + block])
                y_copy.wait()


@ttl.operation(grid=(1, 1))
def double(x, y, block=1, count=2, tiles=TILES):  # type: ignore[no-untyped-def]
    body(x, y, block, count, tiles)


@ttl.operation(grid=(1, 1))
def captured(x, y):  # type: ignore[no-untyped-def]
    body(x, y, BLOCK, 2)


def make_double(tiles: int, block: int = 1) -> Any:
    if block == 5:
        raise ValueError("five is right out")

    @ttl.operation(grid=(1, 1))
    def operation(x, y):  # type: ignore[no-untyped-def]
        body(x, y, block, 2, tiles)

    return operation


@ttl.operation(grid=(1, 1))
def crossed(x, y, count):  # type: ignore[no-untyped-def]
    """The reader fills x_dfb twice before z_dfb, and compute begins with z_dfb."""
    x_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 1), block_count=count)
    z_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 1), block_count=2)
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1), block_count=2)

    @ttl.compute()
    def compute():  # type: ignore[no-untyped-def]
        with z_dfb.wait() as z_blk:
            for _ in range(2):
                with x_dfb.wait() as x_blk, y_dfb.reserve() as y_blk:
                    y_blk.store(x_blk + z_blk)

    @ttl.datamovement()
    def read():  # type: ignore[no-untyped-def]
        for tile in range(2):
            with x_dfb.reserve() as x_blk:
                x_copy = ttl.copy(x[0:1, tile : tile + 1], x_blk)
                x_copy.wait()
        with z_dfb.reserve() as z_blk:
            z_copy = ttl.copy(x[0:1, 7:8], z_blk)
            z_copy.wait()

    @ttl.datamovement()
    def write():  # type: ignore[no-untyped-def]
        for tile in range(2):
            with y_dfb.wait() as y_blk:
                y_copy = ttl.copy(y_blk, y[0:1, tile : tile + 1])
                y_copy.wait()

"""`grid_stream.py WAY GRID_X GRID_Y TILES`: all nodes read so many tiles at the same time and wait
for them, then they write them. WAY `ttnn`: reads on NoC 0, writes on NoC 1, as the first kernel
that moves data has NoC 0; `crossed`: the other way round.
"""

import sys

import ttnn

import ttl

WAY = sys.argv[1]
GRID_X, GRID_Y, TILES = map(int, sys.argv[2:5])


@ttl.operation(grid=(GRID_X, GRID_Y))
def ttnn_stream(x, y):
    dfb = ttl.make_dataflow_buffer_like(x, shape=(1, TILES), block_count=1)

    @ttl.datamovement()
    def read():
        column, row = ttl.node(dims=2)
        node = row * GRID_X + column
        with dfb.reserve() as blk:
            x_copy = ttl.copy(x[node : node + 1, 0:TILES], blk)
            x_copy.wait()

    @ttl.datamovement()
    def write():
        column, row = ttl.node(dims=2)
        node = row * GRID_X + column
        with dfb.wait() as blk:
            y_copy = ttl.copy(blk, y[node : node + 1, 0:TILES])
            y_copy.wait()


@ttl.operation(grid=(GRID_X, GRID_Y))
def crossed_stream(x, y):
    dfb = ttl.make_dataflow_buffer_like(x, shape=(1, TILES), block_count=1)

    @ttl.datamovement()
    def write():
        column, row = ttl.node(dims=2)
        node = row * GRID_X + column
        with dfb.wait() as blk:
            y_copy = ttl.copy(blk, y[node : node + 1, 0:TILES])
            y_copy.wait()

    @ttl.datamovement()
    def read():
        column, row = ttl.node(dims=2)
        node = row * GRID_X + column
        with dfb.reserve() as blk:
            x_copy = ttl.copy(x[node : node + 1, 0:TILES], blk)
            x_copy.wait()


device = ttnn.open_device(device_id=0)
x, y = (
    ttnn.zeros(
        (32 * GRID_X * GRID_Y, 32 * TILES),
        dtype=ttnn.bfloat16,
        layout=ttnn.TILE_LAYOUT,
        device=device,
    )
    for _ in range(2)
)
(crossed_stream if WAY == "crossed" else ttnn_stream)(x, y)

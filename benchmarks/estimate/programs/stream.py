"""`stream.py WAY TILES DTYPE`: one node moves so many tiles and then waits for all of them."""

import sys

import ttnn

import ttl

WAY, TILES, DTYPE = sys.argv[1], int(sys.argv[2]), sys.argv[3]


@ttl.operation(grid=(1, 1))
def stream(x, y):
    dfb = ttl.make_dataflow_buffer_like(x, shape=(1, TILES), block_count=1)

    @ttl.datamovement()
    def read():
        with dfb.reserve() as blk:
            x_copy = ttl.copy(x[0:1, 0:TILES], blk)
            x_copy.wait()

    @ttl.datamovement()
    def write():
        with dfb.wait() as blk:
            y_copy = ttl.copy(blk, y[0:1, 0:TILES])
            y_copy.wait()


device = ttnn.open_device(device_id=0)
x, y = (
    ttnn.zeros((32, 32 * TILES), dtype=getattr(ttnn, DTYPE), layout=ttnn.TILE_LAYOUT, device=device)
    for _ in range(2)
)
stream(x, y)

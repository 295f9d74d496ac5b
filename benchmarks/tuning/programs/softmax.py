"""`softmax.py ROWS COLUMNS`: softmax of rows on 8x8 nodes, to be tuned.

A block is some whole rows of tiles. `division="reciprocal"` multiplies by 1 / s instead of dividing
by s: a choice of the decorator of the operation.
"""

import sys

import numpy as np
import ttnn

import ttl


@ttl.autotune(
    configs=ttl.Config(
        block_rows=ttl.powers_of_two(1, 8),
        block_count=ttl.choice(1, 2, 3),
        division=ttl.choice("exact", "reciprocal"),
    ),
    key=["x"],
)
@ttl.operation(grid=(8, 8))
def softmax(x, y, block_rows, block_count):
    tile_rows, width = (size // ttl.TILE_SIZE for size in x.shape)
    grid_columns, grid_rows = ttl.grid_size(dims=2)
    blocks_of_node = tile_rows // (grid_columns * grid_rows) // block_rows
    shape = (block_rows, width)
    x_dfb = ttl.make_dataflow_buffer_like(x, shape=shape, block_count=block_count)
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=shape, block_count=block_count)

    @ttl.compute()
    def compute():
        for _ in range(blocks_of_node):
            with x_dfb.wait() as x_blk, y_dfb.reserve() as y_blk:
                largest = ttl.math.reduce_max(x_blk, dims=[-1])
                shifted = x_blk - ttl.block.broadcast(largest, dims=[-1])
                powers = ttl.math.exp(shifted)
                total = ttl.math.reduce_sum(powers, dims=[-1])
                y_blk.store(powers / ttl.block.broadcast(total, dims=[-1]))

    @ttl.datamovement()
    def read():
        first = ttl.node(dims=1) * blocks_of_node
        for block in range(first, first + blocks_of_node):
            row = block * block_rows
            with x_dfb.reserve() as x_blk:
                x_copy = ttl.copy(x[row : row + block_rows, 0:width], x_blk)
                x_copy.wait()

    @ttl.datamovement()
    def write():
        first = ttl.node(dims=1) * blocks_of_node
        for block in range(first, first + blocks_of_node):
            row = block * block_rows
            with y_dfb.wait() as y_blk:
                y_copy = ttl.copy(y_blk, y[row : row + block_rows, 0:width])
                y_copy.wait()


ROWS, COLUMNS = map(int, sys.argv[1:3])
device = ttnn.open_device(device_id=0)
numbers = np.random.default_rng(0).uniform(-3, 3, (ROWS, COLUMNS)).astype(np.float32)
x = ttl.from_numpy(numbers, dtype=ttnn.bfloat16, device=device)
y = ttnn.zeros_like(x)
softmax(x, y)

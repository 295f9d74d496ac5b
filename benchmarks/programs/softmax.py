"""`softmax.py ROWS COLUMNS`: softmax along the rows, a block is one row of tiles, 8x8 nodes."""

import sys

import numpy as np
from measure import measure, random_array

import ttl

ROWS, COLUMNS = map(int, sys.argv[1:])
GRID = 8
WIDTH = COLUMNS // 32
BLOCKS = ROWS // 32 // GRID // GRID  # of a node


@ttl.operation(grid=(GRID, GRID), fp32_dest_acc_en=True)
def softmax(x, y):
    x_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, WIDTH), block_count=2)
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, WIDTH), block_count=2)

    @ttl.compute()
    def compute():
        for _ in range(BLOCKS):
            with x_dfb.wait() as x_blk, y_dfb.reserve() as y_blk:
                largest = ttl.math.reduce_max(x_blk, dims=[-1], shape=(1, 1))
                shifted = x_blk - ttl.block.broadcast(largest, dims=[-1], shape=(1, WIDTH))
                powers = ttl.math.exp(shifted)
                total = ttl.math.reduce_sum(powers, dims=[-1], shape=(1, 1))
                y_blk.store(powers / ttl.block.broadcast(total, dims=[-1], shape=(1, WIDTH)))

    @ttl.datamovement()
    def read():
        node_column, node_row = ttl.node(dims=2)
        first = (node_row * GRID + node_column) * BLOCKS
        for row in range(first, first + BLOCKS):
            with x_dfb.reserve() as x_blk:
                x_copy = ttl.copy(x[row : row + 1, 0:WIDTH], x_blk)
                x_copy.wait()

    @ttl.datamovement()
    def write():
        node_column, node_row = ttl.node(dims=2)
        first = (node_row * GRID + node_column) * BLOCKS
        for row in range(first, first + BLOCKS):
            with y_dfb.wait() as y_blk:
                y_copy = ttl.copy(y_blk, y[row : row + 1, 0:WIDTH])
                y_copy.wait()


def inputs(random):
    yield 4 * random_array(random, ROWS, COLUMNS)


def reference(x):
    powers = np.exp(x - x.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


measure(softmax, inputs, (ROWS, COLUMNS), reference)

"""`add.py SIZE BLOCK`: y = a + b, square, BLOCK tiles along each side of a block, 8x8 nodes."""

import sys

from measure import measure, random_array

import ttl

SIZE, BLOCK = map(int, sys.argv[1:])
GRID = 8
BLOCKS = SIZE // 32 // BLOCK // GRID  # of a node, along each side


@ttl.operation(grid=(GRID, GRID), fp32_dest_acc_en=True)
def add(a, b, y):
    a_dfb = ttl.make_dataflow_buffer_like(a, shape=(BLOCK, BLOCK), block_count=2)
    b_dfb = ttl.make_dataflow_buffer_like(b, shape=(BLOCK, BLOCK), block_count=2)
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(BLOCK, BLOCK), block_count=2)

    @ttl.compute()
    def compute():
        for _ in range(BLOCKS * BLOCKS):
            with a_dfb.wait() as a_blk, b_dfb.wait() as b_blk, y_dfb.reserve() as y_blk:
                y_blk.store(a_blk + b_blk)

    @ttl.datamovement()
    def read():
        node_column, node_row = ttl.node(dims=2)
        for i in range(BLOCKS):
            row = (node_row * BLOCKS + i) * BLOCK
            for j in range(BLOCKS):
                column = (node_column * BLOCKS + j) * BLOCK
                with a_dfb.reserve() as a_blk, b_dfb.reserve() as b_blk:
                    a_copy = ttl.copy(a[row : row + BLOCK, column : column + BLOCK], a_blk)
                    b_copy = ttl.copy(b[row : row + BLOCK, column : column + BLOCK], b_blk)
                    a_copy.wait()
                    b_copy.wait()

    @ttl.datamovement()
    def write():
        node_column, node_row = ttl.node(dims=2)
        for i in range(BLOCKS):
            row = (node_row * BLOCKS + i) * BLOCK
            for j in range(BLOCKS):
                column = (node_column * BLOCKS + j) * BLOCK
                with y_dfb.wait() as y_blk:
                    y_copy = ttl.copy(y_blk, y[row : row + BLOCK, column : column + BLOCK])
                    y_copy.wait()


def inputs(random):
    return (random_array(random, SIZE, SIZE) for _ in range(2))


def reference(a, b):
    return a + b


measure(add, inputs, (SIZE, SIZE), reference)

"""`multicast_matmul.py SIZE BLOCK`: y = a @ b on 8x8 nodes, blocks shared by multicast.

The first node of a row of nodes reads the blocks of a and hands them to the others of the row; the
first node of a column does so with the blocks of b.
"""
# ruff: noqa: B023 - if_src and if_dst call the function at once, the loop has not gone on

import sys

from measure import measure, random_array

import ttl

SIZE, BLOCK = map(int, sys.argv[1:])
GRID = 8
STEPS = SIZE // 32 // BLOCK  # along the inner dimension
BLOCKS = STEPS // GRID  # of a node, along each side of y


@ttl.operation(grid=(GRID, GRID), fp32_dest_acc_en=True)
def matmul(a, b, y):
    a_net = ttl.PipeNet([ttl.Pipe((0, row), (slice(1, GRID), row)) for row in range(GRID)])
    b_net = ttl.PipeNet([ttl.Pipe((column, 0), (column, slice(1, GRID))) for column in range(GRID)])
    a_dfb = ttl.make_dataflow_buffer_like(a, shape=(BLOCK, BLOCK), block_count=2)
    b_dfb = ttl.make_dataflow_buffer_like(b, shape=(BLOCK, BLOCK), block_count=2)
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(BLOCK, BLOCK), block_count=2)

    @ttl.compute()
    def compute():
        for _ in range(BLOCKS * BLOCKS):
            total = ttl.block.fill(0.0, shape=(BLOCK, BLOCK))
            for _ in range(STEPS):
                with a_dfb.wait() as a_blk, b_dfb.wait() as b_blk:
                    total += a_blk @ b_blk
            with y_dfb.reserve() as y_blk:
                y_blk.store(total)

    @ttl.datamovement()
    def read():
        node_column, node_row = ttl.node(dims=2)
        for i in range(BLOCKS):
            row = (node_row * BLOCKS + i) * BLOCK
            for j in range(BLOCKS):
                column = (node_column * BLOCKS + j) * BLOCK
                for step in range(0, STEPS * BLOCK, BLOCK):
                    with a_dfb.reserve() as a_blk:

                        def send_a(pipe):
                            a_copy = ttl.copy(a[row : row + BLOCK, step : step + BLOCK], a_blk)
                            a_copy.wait()
                            a_send = ttl.copy(a_blk, pipe)
                            a_send.wait()

                        def receive_a(pipe):
                            a_receive = ttl.copy(pipe, a_blk)
                            a_receive.wait()

                        a_net.if_src(send_a)
                        a_net.if_dst(receive_a)

                    with b_dfb.reserve() as b_blk:

                        def send_b(pipe):
                            b_copy = ttl.copy(
                                b[step : step + BLOCK, column : column + BLOCK], b_blk
                            )
                            b_copy.wait()
                            b_send = ttl.copy(b_blk, pipe)
                            b_send.wait()

                        def receive_b(pipe):
                            b_receive = ttl.copy(pipe, b_blk)
                            b_receive.wait()

                        b_net.if_src(send_b)
                        b_net.if_dst(receive_b)

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
    return a @ b


measure(matmul, inputs, (SIZE, SIZE), reference)

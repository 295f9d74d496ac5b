"""`matmul.py M N K`: y = a @ b on 8x8 nodes, blocks shared by multicast, to be tuned.

The first node of a row of nodes reads the blocks of a and passes them to the others of the row; the
first node of a column does so with the blocks of b. A node computes its part of y in PARTS x PARTS
blocks.
"""
# ruff: noqa: B023 - if_src and if_dst call the function at once, the loop has not gone on

import sys

import numpy as np
import ttnn

import ttl

GRID = 8


@ttl.autotune(
    configs=ttl.Config(
        PARTS=ttl.powers_of_two(1, 4),
        K_BLOCK=ttl.powers_of_two(1, 16),
        block_count=ttl.choice(2, 3),
    ),
    key=["m", "n", "k"],
)
def make_matmul(m, n, k, PARTS, K_BLOCK, block_count):
    rows, columns = m // 32 // GRID // PARTS, n // 32 // GRID // PARTS  # tiles of a block of y
    steps = k // 32 // K_BLOCK

    @ttl.operation(grid=(GRID, GRID), math_fidelity="HiFi2")
    def matmul(a, b, y):
        a_net = ttl.PipeNet([ttl.Pipe((0, row), (slice(1, GRID), row)) for row in range(GRID)])
        b_net = ttl.PipeNet([ttl.Pipe((node, 0), (node, slice(1, GRID))) for node in range(GRID)])
        a_dfb = ttl.make_dataflow_buffer_like(a, shape=(rows, K_BLOCK), block_count=block_count)
        b_dfb = ttl.make_dataflow_buffer_like(b, shape=(K_BLOCK, columns), block_count=block_count)
        y_dfb = ttl.make_dataflow_buffer_like(y, shape=(rows, columns), block_count=1)

        @ttl.compute()
        def compute():
            for _ in range(PARTS * PARTS):
                total = ttl.block.fill(0.0, shape=(rows, columns))
                for _ in range(steps):
                    with a_dfb.wait() as a_blk, b_dfb.wait() as b_blk:
                        total += a_blk @ b_blk
                with y_dfb.reserve() as y_blk:
                    y_blk.store(total)

        @ttl.datamovement()
        def read_a():
            _, node_row = ttl.node(dims=2)
            for part in range(PARTS * PARTS):
                row = (node_row * PARTS + part // PARTS) * rows
                for step in range(0, steps * K_BLOCK, K_BLOCK):
                    with a_dfb.reserve() as a_blk:

                        def send_a(pipe):
                            a_copy = ttl.copy(a[row : row + rows, step : step + K_BLOCK], a_blk)
                            a_copy.wait()
                            a_send = ttl.copy(a_blk, pipe)
                            a_send.wait()

                        def receive_a(pipe):
                            a_receive = ttl.copy(pipe, a_blk)
                            a_receive.wait()

                        a_net.if_src(send_a)
                        a_net.if_dst(receive_a)

        @ttl.datamovement()
        def read_b_and_write():
            node_column, node_row = ttl.node(dims=2)
            for part in range(PARTS * PARTS):
                row = (node_row * PARTS + part // PARTS) * rows
                column = (node_column * PARTS + part % PARTS) * columns
                for step in range(0, steps * K_BLOCK, K_BLOCK):
                    with b_dfb.reserve() as b_blk:

                        def send_b(pipe):
                            b_copy = ttl.copy(
                                b[step : step + K_BLOCK, column : column + columns], b_blk
                            )
                            b_copy.wait()
                            b_send = ttl.copy(b_blk, pipe)
                            b_send.wait()

                        def receive_b(pipe):
                            b_receive = ttl.copy(pipe, b_blk)
                            b_receive.wait()

                        b_net.if_src(send_b)
                        b_net.if_dst(receive_b)
                with y_dfb.wait() as y_blk:
                    y_copy = ttl.copy(y_blk, y[row : row + rows, column : column + columns])
                    y_copy.wait()

    return matmul


M, N, K = map(int, sys.argv[1:4])
device = ttnn.open_device(device_id=0)
random = np.random.default_rng(0)
a, b = (
    ttl.from_numpy(
        random.uniform(-1, 1, shape).astype(np.float32), dtype=ttnn.bfloat16, device=device
    )
    for shape in ((M, K), (K, N))
)
y = ttnn.zeros((M, N), dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device)
make_matmul(M, N, K)(a, b, y)

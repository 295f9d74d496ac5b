"""`matmul.py M K N DTYPE FIDELITY GRID_X GRID_Y K_BLOCK PARTS`: blocks shared by multicast.

The first node of a row of nodes reads the blocks of a and hands them to the others of the row; the
first node of a column does so with the blocks of b: ttnn's 2D multicast. A node computes its part
of y in PARTS x PARTS blocks.
"""
# ruff: noqa: B023 - if_src and if_dst call the function at once, the loop has not gone on

import sys

import ttnn

import ttl

M, K, N = map(int, sys.argv[1:4])
DTYPE, FIDELITY = sys.argv[4:6]
GRID_X, GRID_Y, K_BLOCK, PARTS = map(int, sys.argv[6:10])
ROWS = M // 32 // GRID_Y // PARTS  # tiles of a block of y
COLUMNS = N // 32 // GRID_X // PARTS
STEPS = K // 32 // K_BLOCK


@ttl.operation(grid=(GRID_X, GRID_Y), math_fidelity=FIDELITY, fp32_dest_acc_en=False)
def matmul(a, b, y):
    a_net = ttl.PipeNet([ttl.Pipe((0, row), (slice(1, GRID_X), row)) for row in range(GRID_Y)])
    b_net = ttl.PipeNet(
        [ttl.Pipe((column, 0), (column, slice(1, GRID_Y))) for column in range(GRID_X)]
    )
    a_dfb = ttl.make_dataflow_buffer_like(a, shape=(ROWS, K_BLOCK), block_count=2)
    b_dfb = ttl.make_dataflow_buffer_like(b, shape=(K_BLOCK, COLUMNS), block_count=2)
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(ROWS, COLUMNS), block_count=1)

    @ttl.compute()
    def compute():
        for _ in range(PARTS * PARTS):
            total = ttl.block.fill(0.0, shape=(ROWS, COLUMNS))
            for _ in range(STEPS):
                with a_dfb.wait() as a_blk, b_dfb.wait() as b_blk:
                    total += a_blk @ b_blk
            with y_dfb.reserve() as y_blk:
                y_blk.store(total)

    @ttl.datamovement()
    def read_b_and_write():
        node_column, node_row = ttl.node(dims=2)
        for part in range(PARTS * PARTS):
            row = (node_row * PARTS + part // PARTS) * ROWS
            column = (node_column * PARTS + part % PARTS) * COLUMNS
            for step in range(0, STEPS * K_BLOCK, K_BLOCK):
                with b_dfb.reserve() as b_blk:

                    def send_b(pipe):
                        b_copy = ttl.copy(
                            b[step : step + K_BLOCK, column : column + COLUMNS], b_blk
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
                y_copy = ttl.copy(y_blk, y[row : row + ROWS, column : column + COLUMNS])
                y_copy.wait()

    @ttl.datamovement()
    def read_a():
        _, node_row = ttl.node(dims=2)
        for part in range(PARTS * PARTS):
            row = (node_row * PARTS + part // PARTS) * ROWS
            for step in range(0, STEPS * K_BLOCK, K_BLOCK):
                with a_dfb.reserve() as a_blk:

                    def send_a(pipe):
                        a_copy = ttl.copy(a[row : row + ROWS, step : step + K_BLOCK], a_blk)
                        a_copy.wait()
                        a_send = ttl.copy(a_blk, pipe)
                        a_send.wait()

                    def receive_a(pipe):
                        a_receive = ttl.copy(pipe, a_blk)
                        a_receive.wait()

                    a_net.if_src(send_a)
                    a_net.if_dst(receive_a)


device = ttnn.open_device(device_id=0)
a, b, y = (
    ttnn.zeros(shape, dtype=getattr(ttnn, DTYPE), layout=ttnn.TILE_LAYOUT, device=device)
    for shape in ((M, K), (K, N), (M, N))
)
matmul(a, b, y)

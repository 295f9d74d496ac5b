"""y = a @ b on a 2x2 grid, as one body: the first node of a row or column loads and sends.

Sends and receives stand on different threads. So what is sent is loaded into a buffer of its own,
and every node, the sending one too, receives into another.
"""

import ttnn

import ttl

BLOCK = 2  # tiles along each side of a block
GRID = 2  # nodes along each side


@ttl.operation(grid=(GRID, GRID))
def multicast_matmul(a: ttnn.Tensor, b: ttnn.Tensor, y: ttnn.Tensor) -> None:
    a_net = ttl.PipeNet([ttl.Pipe((0, row), (slice(0, GRID), row)) for row in range(GRID)])
    b_net = ttl.PipeNet([ttl.Pipe((column, 0), (column, slice(0, GRID))) for column in range(GRID)])
    a_sent = ttl.make_dataflow_buffer_like(a, shape=(BLOCK, BLOCK), block_count=2)
    b_sent = ttl.make_dataflow_buffer_like(b, shape=(BLOCK, BLOCK), block_count=2)
    a_dfb = ttl.make_dataflow_buffer_like(a, shape=(BLOCK, BLOCK), block_count=2)
    b_dfb = ttl.make_dataflow_buffer_like(b, shape=(BLOCK, BLOCK), block_count=2)
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(BLOCK, BLOCK), block_count=2)

    m_blocks = a.shape[0] // (BLOCK * ttl.TILE_SIZE) // GRID
    n_blocks = b.shape[1] // (BLOCK * ttl.TILE_SIZE) // GRID
    k_blocks = a.shape[1] // (BLOCK * ttl.TILE_SIZE)

    node_column, node_row = ttl.node(dims=2)
    for i in range(m_blocks):
        row = (node_row * m_blocks + i) * BLOCK
        for j in range(n_blocks):
            column = (node_column * n_blocks + j) * BLOCK
            total = ttl.math.fill(0, shape=(BLOCK, BLOCK))
            for step in range(0, k_blocks * BLOCK, BLOCK):
                if a_net.is_src():
                    with a_sent.reserve() as a_blk:
                        ttl.copy(a[row : row + BLOCK, step : step + BLOCK], a_blk).wait()
                    with a_sent.wait() as a_blk:
                        a_net.if_src(lambda pipe: ttl.copy(a_blk, pipe).wait())
                if b_net.is_src():
                    with b_sent.reserve() as b_blk:
                        ttl.copy(b[step : step + BLOCK, column : column + BLOCK], b_blk).wait()
                    with b_sent.wait() as b_blk:
                        b_net.if_src(lambda pipe: ttl.copy(b_blk, pipe).wait())
                with a_dfb.reserve() as a_blk:
                    a_net.if_dst(lambda pipe: ttl.copy(pipe, a_blk).wait())
                with b_dfb.reserve() as b_blk:
                    b_net.if_dst(lambda pipe: ttl.copy(pipe, b_blk).wait())
                with a_dfb.wait() as a_blk, b_dfb.wait() as b_blk:
                    total += a_blk @ b_blk
            with y_dfb.reserve() as y_blk:
                y_blk.store(total)
            with y_dfb.wait() as y_blk:
                ttl.copy(y_blk, y[row : row + BLOCK, column : column + BLOCK]).wait()

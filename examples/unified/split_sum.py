"""y = the sum of the column blocks of a, as one body: the semaphore orders its two halves."""

import ttnn

import ttl

BLOCK = 2  # tiles along each side of a block
NODES = 4


@ttl.operation(grid=(NODES, 1))
def split_sum(a: ttnn.Tensor, partial: ttnn.Tensor, y: ttnn.Tensor) -> None:
    a_dfb = ttl.make_dataflow_buffer_like(a, shape=(BLOCK, BLOCK), block_count=2)
    sum_dfb = ttl.make_dataflow_buffer_like(y, shape=(BLOCK, BLOCK), block_count=2)
    part_dfb = ttl.make_dataflow_buffer_like(partial, shape=(BLOCK, BLOCK), block_count=2)
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(BLOCK, BLOCK), block_count=2)
    is_written = ttl.Semaphore(0)

    rows = a.shape[0] // (BLOCK * ttl.TILE_SIZE)
    columns = a.shape[1] // (BLOCK * ttl.TILE_SIZE) // NODES

    node, _ = ttl.node(dims=2)
    own = node * BLOCK
    for i in range(rows):
        row = i * BLOCK
        total = ttl.math.fill(0, shape=(BLOCK, BLOCK))
        for j in range(columns):
            column = (node * columns + j) * BLOCK
            with a_dfb.reserve() as a_blk:
                a_copy = ttl.copy(a[row : row + BLOCK, column : column + BLOCK], a_blk)
                a_copy.wait()
            with a_dfb.wait() as a_blk:
                total += a_blk
        with sum_dfb.reserve() as sum_blk:
            sum_blk.store(total)
        with sum_dfb.wait() as sum_blk:
            sum_copy = ttl.copy(sum_blk, partial[row : row + BLOCK, own : own + BLOCK])
            sum_copy.wait()
    is_written.get_remote((0, 0)).inc(1)
    if node == 0:
        is_written.wait_ge(NODES)
        for i in range(rows):
            row = i * BLOCK
            whole = ttl.math.fill(0, shape=(BLOCK, BLOCK))
            for j in range(NODES):
                column = j * BLOCK
                with part_dfb.reserve() as part_blk:
                    part_copy = ttl.copy(
                        partial[row : row + BLOCK, column : column + BLOCK], part_blk
                    )
                    part_copy.wait()
                with part_dfb.wait() as part_blk:
                    whole += part_blk
            with y_dfb.reserve() as y_blk:
                y_blk.store(whole)
            with y_dfb.wait() as y_blk:
                y_copy = ttl.copy(y_blk, y[row : row + BLOCK, 0:BLOCK])
                y_copy.wait()

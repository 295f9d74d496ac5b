"""y = a * b + exp(c), as one body: see ../elementwise.py for the kernels written by hand."""

import ttnn

import ttl

BLOCK = 2  # tiles along each side of a block


@ttl.operation(grid=(2, 2))
def multiply_add_exp(a: ttnn.Tensor, b: ttnn.Tensor, c: ttnn.Tensor, y: ttnn.Tensor) -> None:
    a_dfb = ttl.make_dataflow_buffer_like(a, shape=(BLOCK, BLOCK), block_count=2)
    b_dfb = ttl.make_dataflow_buffer_like(b, shape=(BLOCK, BLOCK), block_count=2)
    c_dfb = ttl.make_dataflow_buffer_like(c, shape=(BLOCK, BLOCK), block_count=2)
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(BLOCK, BLOCK), block_count=2)

    grid_columns, grid_rows = ttl.grid_size(dims=2)
    block_rows = a.shape[0] // (BLOCK * ttl.TILE_SIZE) // grid_rows
    block_columns = a.shape[1] // (BLOCK * ttl.TILE_SIZE) // grid_columns
    node_column, node_row = ttl.node(dims=2)
    for i in range(block_rows):
        row = (node_row * block_rows + i) * BLOCK
        for j in range(block_columns):
            column = (node_column * block_columns + j) * BLOCK
            with (
                a_dfb.reserve() as a_blk,
                b_dfb.reserve() as b_blk,
                c_dfb.reserve() as c_blk,
            ):
                a_copy = ttl.copy(a[row : row + BLOCK, column : column + BLOCK], a_blk)
                b_copy = ttl.copy(b[row : row + BLOCK, column : column + BLOCK], b_blk)
                c_copy = ttl.copy(c[row : row + BLOCK, column : column + BLOCK], c_blk)
                a_copy.wait()
                b_copy.wait()
                c_copy.wait()
            with (
                a_dfb.wait() as a_blk,
                b_dfb.wait() as b_blk,
                c_dfb.wait() as c_blk,
                y_dfb.reserve() as y_blk,
            ):
                y_blk.store(a_blk * b_blk + ttl.math.exp(c_blk))
            with y_dfb.wait() as y_blk:
                y_copy = ttl.copy(y_blk, y[row : row + BLOCK, column : column + BLOCK])
                y_copy.wait()

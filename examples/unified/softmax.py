"""y = softmax of the rows of x, as one body."""

import ttnn

import ttl


@ttl.operation(grid=(2, 2))
def softmax(x: ttnn.Tensor, y: ttnn.Tensor) -> None:
    tile_rows, width = (size // ttl.TILE_SIZE for size in x.shape)
    grid_columns, grid_rows = ttl.grid_size(dims=2)
    rows_of_node = tile_rows // (grid_columns * grid_rows)

    x_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, width), block_count=2)
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, width), block_count=2)

    first = ttl.node(dims=1) * rows_of_node
    for row in range(first, first + rows_of_node):
        with x_dfb.reserve() as x_blk:
            x_copy = ttl.copy(x[row : row + 1, 0:width], x_blk)
            x_copy.wait()
        with x_dfb.wait() as x_blk, y_dfb.reserve() as y_blk:
            largest = ttl.math.reduce_max(x_blk, dims=[-1])
            shifted = x_blk - ttl.block.broadcast(largest, dims=[-1])
            powers = ttl.math.exp(shifted)
            total = ttl.math.reduce_sum(powers, dims=[-1])
            y_blk.store(powers / ttl.block.broadcast(total, dims=[-1]))
        with y_dfb.wait() as y_blk:
            y_copy = ttl.copy(y_blk, y[row : row + 1, 0:width])
            y_copy.wait()

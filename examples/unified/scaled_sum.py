"""y = exp(a) + b * b, the operation of the README, as one body."""

import ttnn

import ttl


@ttl.operation(grid=(2, 2))
def scaled_sum(a: ttnn.Tensor, b: ttnn.Tensor, y: ttnn.Tensor) -> None:
    a_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 2), block_count=2)
    b_dfb = ttl.make_dataflow_buffer_like(b, shape=(1, 2), block_count=2)
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 2), block_count=2)
    column, row = ttl.node(dims=2)
    with a_dfb.reserve() as a_blk, b_dfb.reserve() as b_blk:
        a_copy = ttl.copy(a[row : row + 1, column * 2 : column * 2 + 2], a_blk)
        b_copy = ttl.copy(b[row : row + 1, column * 2 : column * 2 + 2], b_blk)
        a_copy.wait()
        b_copy.wait()
    with a_dfb.wait() as a_blk, b_dfb.wait() as b_blk, y_dfb.reserve() as y_blk:
        y_blk.store(ttl.math.exp(a_blk) + b_blk * b_blk)
    with y_dfb.wait() as y_blk:
        y_copy = ttl.copy(y_blk, y[row : row + 1, column * 2 : column * 2 + 2])
        y_copy.wait()

"""Running sums along rows: a triangle of ones adds up inside a tile, a carry joins tiles.

Thirty-two additions that depend on each other become one matrix product, and what is left of the
dependence is one column for each tile.
"""

import numpy as np
import ttnn
from against_numpy import agree, tensor, values

import ttl

NODES = 4
ROWS, WIDTH = 128, 256


@ttl.operation(grid=(NODES, 1))
def prefix_sum(x: ttnn.Tensor, triangle: ttnn.Tensor, y: ttnn.Tensor) -> None:
    rows, width = (size // ttl.TILE_SIZE for size in x.shape)
    x_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 1), block_count=2)
    triangle_dfb = ttl.make_dataflow_buffer_like(triangle, shape=(1, 1), block_count=1)
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1), block_count=2)

    with triangle_dfb.reserve() as triangle_blk:
        ttl.copy(triangle[0, 0], triangle_blk).wait()
    with triangle_dfb.wait() as triangle_blk:
        for row in range(ttl.node(dims=1), rows, NODES):
            carry = ttl.block.fill(0, shape=(1, 1))
            for column in range(width):
                with x_dfb.reserve() as x_blk:
                    ttl.copy(x[row, column], x_blk).wait()
                with x_dfb.wait() as x_blk, y_dfb.reserve() as y_blk:
                    y_blk.store(x_blk @ triangle_blk + ttl.block.broadcast(carry, dims=[-1]))
                    carry += ttl.math.reduce_sum(x_blk, dims=[-1])
                with y_dfb.wait() as y_blk:
                    ttl.copy(y_blk, y[row, column]).wait()


def main() -> None:
    generator = np.random.default_rng(0)
    x = tensor(generator.standard_normal((ROWS, WIDTH)))
    triangle = tensor(np.triu(np.ones((ttl.TILE_SIZE, ttl.TILE_SIZE))))
    y = tensor(np.zeros((ROWS, WIDTH)), ttnn.float32)
    prefix_sum(x, triangle, y)
    agree("prefix_sum", y, np.cumsum(values(x), axis=1), 1e-3)


if __name__ == "__main__":
    main()

"""RMS normalization, the one of Llama: each row divided by its root mean square, times a weight."""

import numpy as np
import ttnn
from against_numpy import agree, tensor, values

import ttl

NODES = 4
ROWS, WIDTH = 256, 128
EPSILON = 1e-5


@ttl.operation(grid=(NODES, 1))
def rmsnorm(x: ttnn.Tensor, weight: ttnn.Tensor, y: ttnn.Tensor) -> None:
    width = x.shape[1] // ttl.TILE_SIZE
    rows = x.shape[0] // ttl.TILE_SIZE // NODES
    x_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, width), block_count=2)
    weight_dfb = ttl.make_dataflow_buffer_like(weight, shape=(1, width), block_count=1)
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, width), block_count=2)

    with weight_dfb.reserve() as weight_blk:
        ttl.copy(weight[0, :], weight_blk).wait()
    first = ttl.node(dims=1) * rows
    with weight_dfb.wait() as weight_blk:
        for row in range(first, first + rows):
            with x_dfb.reserve() as x_blk:
                ttl.copy(x[row, :], x_blk).wait()
            with x_dfb.wait() as x_blk, y_dfb.reserve() as y_blk:
                mean = ttl.math.reduce_mean(ttl.math.square(x_blk), dims=[-1])
                factor = ttl.block.broadcast(ttl.math.rsqrt(mean + EPSILON), dims=[-1])
                y_blk.store(x_blk * factor * ttl.block.broadcast(weight_blk, dims=[-2]))
            with y_dfb.wait() as y_blk:
                ttl.copy(y_blk, y[row, :]).wait()


def main() -> None:
    generator = np.random.default_rng(0)
    x = tensor(generator.standard_normal((ROWS, WIDTH)))
    weight = tensor(generator.uniform(0.5, 1.5, (1, WIDTH)))
    y = ttnn.zeros_like(x)
    rmsnorm(x, weight, y)

    exact = values(x)
    root = np.sqrt(np.square(exact).mean(axis=1, keepdims=True) + EPSILON)
    agree("rmsnorm", y, exact / root * values(weight), 0.02)


if __name__ == "__main__":
    main()

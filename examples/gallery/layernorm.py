"""Layer normalization: each row less its mean, divided by its deviation, then scaled and shifted.

Two reductions, four broadcasts and the arithmetic between them are one expression; nothing goes
back to memory before the row is done.
"""

import numpy as np
import ttnn
from against_numpy import agree, tensor, values

import ttl

NODES = 4
ROWS, WIDTH = 256, 128
EPSILON = 1e-5


@ttl.operation(grid=(NODES, 1))
def layernorm(x: ttnn.Tensor, gamma: ttnn.Tensor, beta: ttnn.Tensor, y: ttnn.Tensor) -> None:
    width = x.shape[1] // ttl.TILE_SIZE
    rows = x.shape[0] // ttl.TILE_SIZE // NODES
    x_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, width), block_count=2)
    gamma_dfb = ttl.make_dataflow_buffer_like(gamma, shape=(1, width), block_count=1)
    beta_dfb = ttl.make_dataflow_buffer_like(beta, shape=(1, width), block_count=1)
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, width), block_count=2)

    with gamma_dfb.reserve() as gamma_blk, beta_dfb.reserve() as beta_blk:
        ttl.copy(gamma[0, :], gamma_blk).wait()
        ttl.copy(beta[0, :], beta_blk).wait()
    first = ttl.node(dims=1) * rows
    with gamma_dfb.wait() as gamma_blk, beta_dfb.wait() as beta_blk:
        for row in range(first, first + rows):
            with x_dfb.reserve() as x_blk:
                ttl.copy(x[row, :], x_blk).wait()
            with x_dfb.wait() as x_blk, y_dfb.reserve() as y_blk:
                mean = ttl.math.reduce_mean(x_blk, dims=[-1])
                centred = x_blk - ttl.block.broadcast(mean, dims=[-1])
                variance = ttl.math.reduce_mean(ttl.math.square(centred), dims=[-1])
                factor = ttl.block.broadcast(ttl.math.rsqrt(variance + EPSILON), dims=[-1])
                scale = ttl.block.broadcast(gamma_blk, dims=[-2])
                shift = ttl.block.broadcast(beta_blk, dims=[-2])
                y_blk.store(centred * factor * scale + shift)
            with y_dfb.wait() as y_blk:
                ttl.copy(y_blk, y[row, :]).wait()


def main() -> None:
    generator = np.random.default_rng(0)
    x = tensor(3 * generator.standard_normal((ROWS, WIDTH)) + 1)
    gamma, beta = (tensor(generator.uniform(-1, 1, (1, WIDTH))) for _ in range(2))
    y = ttnn.zeros_like(x)
    layernorm(x, gamma, beta, y)

    exact = values(x)
    centred = exact - exact.mean(axis=1, keepdims=True)
    normal = centred / np.sqrt(exact.var(axis=1, keepdims=True) + EPSILON)
    agree("layernorm", y, normal * values(gamma) + values(beta), 0.02)


if __name__ == "__main__":
    main()

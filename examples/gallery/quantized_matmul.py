"""A matrix product with weights in bfloat8_b: half the bytes from memory, one exponent for sixteen.

Activations are bfloat16, the sum is kept in f32. What the kernel reads is a property of the tensor:
the same body multiplies bfloat16 weights.
"""

import numpy as np
import ttnn
from against_numpy import agree, tensor, values

import ttl

NODES = 4
M, K, N = 128, 256, 128
STEP = 2  # tiles of the inner dimension in a step


@ttl.operation(grid=(NODES, 1))
def quantized_matmul(x: ttnn.Tensor, weight: ttnn.Tensor, y: ttnn.Tensor) -> None:
    rows = x.shape[0] // ttl.TILE_SIZE // NODES
    inner, columns = (size // ttl.TILE_SIZE for size in weight.shape)
    x_dfb = ttl.make_dataflow_buffer_like(x, shape=(rows, STEP), block_count=2)
    weight_dfb = ttl.make_dataflow_buffer_like(weight, shape=(STEP, columns), block_count=2)
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(rows, columns), block_count=1)

    first = ttl.node(dims=1) * rows
    total = ttl.block.fill(0, shape=(rows, columns))
    for step in range(0, inner, STEP):
        with x_dfb.reserve() as x_blk, weight_dfb.reserve() as weight_blk:
            ttl.copy(x[first : first + rows, step : step + STEP], x_blk).wait()
            ttl.copy(weight[step : step + STEP, :], weight_blk).wait()
        with x_dfb.wait() as x_blk, weight_dfb.wait() as weight_blk:
            total += x_blk @ weight_blk
    with y_dfb.reserve() as y_blk:
        y_blk.store(total)
    with y_dfb.wait() as y_blk:
        ttl.copy(y_blk, y[first : first + rows, :]).wait()


def main() -> None:
    generator = np.random.default_rng(0)
    x = tensor(generator.standard_normal((M, K)))
    given = generator.standard_normal((K, N))
    weight = tensor(given, ttnn.bfloat8_b)
    y = tensor(np.zeros((M, N)))
    quantized_matmul(x, weight, y)

    lost = np.abs(values(weight) - given).max() / np.abs(given).max()
    print(f"quantized_matmul: bfloat8_b keeps the weights within {lost:.2%}")
    agree("quantized_matmul", y, values(x) @ values(weight), 0.01)


if __name__ == "__main__":
    main()

"""y = x + gelu(x @ w1) @ w2: the wide layer is made and used a few columns at a time."""

import math

import numpy as np
import ttnn

import ttl

ROWS = 2  # tiles of rows in a block
STEP = 2  # tiles of the wide layer in a step
NODES = 2


@ttl.operation(grid=(NODES, 1))
def transformer_mlp(x: ttnn.Tensor, w1: ttnn.Tensor, w2: ttnn.Tensor, y: ttnn.Tensor) -> None:
    width = x.shape[1] // ttl.TILE_SIZE
    wide = w1.shape[1] // ttl.TILE_SIZE
    blocks_of_node = x.shape[0] // ttl.TILE_SIZE // ROWS // NODES
    x_dfb = ttl.make_dataflow_buffer_like(x, shape=(ROWS, width), block_count=2)
    w1_dfb = ttl.make_dataflow_buffer_like(w1, shape=(width, STEP), block_count=2)
    w2_dfb = ttl.make_dataflow_buffer_like(w2, shape=(STEP, width), block_count=2)
    wide_dfb = ttl.make_dataflow_buffer_like(x, shape=(ROWS, STEP), block_count=2)
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(ROWS, width), block_count=2)

    node = ttl.node(dims=1)
    for block in range(blocks_of_node):
        row = (node * blocks_of_node + block) * ROWS
        with x_dfb.reserve() as x_blk:
            ttl.copy(x[row : row + ROWS, 0:width], x_blk).wait()
        with x_dfb.wait() as x_blk, y_dfb.reserve() as y_blk:
            total = ttl.block.fill(0, shape=(ROWS, width))
            for step in range(0, wide, STEP):
                with w1_dfb.reserve() as w1_blk, w2_dfb.reserve() as w2_blk:
                    ttl.copy(w1[0:width, step : step + STEP], w1_blk).wait()
                    ttl.copy(w2[step : step + STEP, 0:width], w2_blk).wait()
                with w1_dfb.wait() as w1_blk, wide_dfb.reserve() as wide_blk:
                    wide_blk.store(ttl.math.gelu(x_blk @ w1_blk))
                with wide_dfb.wait() as wide_blk, w2_dfb.wait() as w2_blk:
                    total += wide_blk @ w2_blk
            y_blk.store(x_blk + total)
        with y_dfb.wait() as y_blk:
            ttl.copy(y_blk, y[row : row + ROWS, 0:width]).wait()


def run(
    rows: int = 128, width: int = 64, wide: int = 256, dtype: ttnn.DataType = ttnn.bfloat16
) -> tuple[np.ndarray, np.ndarray]:
    """The result for random numbers, and what it should be."""
    device = ttnn.open_device(device_id=0)
    generator = np.random.default_rng(0)
    sizes = [(rows, width), (width, wide), (wide, width)]
    arrays = [generator.standard_normal(size, np.float32) / size[0] ** 0.5 for size in sizes]
    given = [ttl.from_numpy(each, dtype=dtype, device=device) for each in arrays]
    y = ttnn.zeros_like(given[0])
    transformer_mlp(*given, y)
    x, w1, w2 = (ttl.to_numpy(each).astype(np.float32) for each in given)
    between = x @ w1
    active = 0.5 * between * (1 + np.vectorize(math.erf)(between / 2**0.5))
    return ttl.to_numpy(y).astype(np.float32), x + active @ w2


if __name__ == "__main__":
    result, exact = run()
    print(f"largest error {np.abs(result - exact).max() / np.abs(exact).max():.2%} of the largest")

"""y = softmax(q k^T / sqrt(width)) v without the whole matrix of scores: keys come in steps.

The largest score, the sum of the powers and the weighed values of a block of queries are corrected
with every step. Each node has its own rows of queries; all go over all keys.
"""

import numpy as np
import ttnn

import ttl

ROWS = 2  # tiles of queries in a block
STEP = 2  # tiles of keys in a step
NODES = 2
LOWEST = -1e30


@ttl.operation(grid=(NODES, 1))
def flash_attention(q: ttnn.Tensor, k: ttnn.Tensor, v: ttnn.Tensor, y: ttnn.Tensor) -> None:
    width = q.shape[1] // ttl.TILE_SIZE
    keys = k.shape[0] // ttl.TILE_SIZE
    blocks_of_node = q.shape[0] // ttl.TILE_SIZE // ROWS // NODES
    scale = q.shape[1] ** -0.5
    q_dfb = ttl.make_dataflow_buffer_like(q, shape=(ROWS, width), block_count=2)
    k_dfb = ttl.make_dataflow_buffer_like(k, shape=(STEP, width), block_count=2)
    v_dfb = ttl.make_dataflow_buffer_like(v, shape=(STEP, width), block_count=2)
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(ROWS, width), block_count=2)

    node = ttl.node(dims=1)
    for block in range(blocks_of_node):
        row = (node * blocks_of_node + block) * ROWS
        with q_dfb.reserve() as q_blk:
            ttl.copy(q[row : row + ROWS, 0:width], q_blk).wait()
        with q_dfb.wait() as q_blk, y_dfb.reserve() as y_blk:
            largest = ttl.block.fill(LOWEST, shape=(ROWS, 1))
            total = ttl.block.fill(0, shape=(ROWS, 1))
            weighed = ttl.block.fill(0, shape=(ROWS, width))
            for step in range(0, keys, STEP):
                with k_dfb.reserve() as k_blk, v_dfb.reserve() as v_blk:
                    ttl.copy(k[step : step + STEP, 0:width], k_blk).wait()
                    ttl.copy(v[step : step + STEP, 0:width], v_blk).wait()
                with k_dfb.wait() as k_blk, v_dfb.wait() as v_blk:
                    scores = (q_blk @ ttl.block.transpose(k_blk)) * scale
                    higher = ttl.math.max(largest, ttl.math.reduce_max(scores, dims=[-1]))
                    factor = ttl.math.exp(largest - higher)
                    powers = ttl.math.exp(scores - ttl.block.broadcast(higher, dims=[-1]))
                    total = total * factor + ttl.math.reduce_sum(powers, dims=[-1])
                    weighed = weighed * ttl.block.broadcast(factor, dims=[-1]) + powers @ v_blk
                    largest = higher
            y_blk.store(weighed / ttl.block.broadcast(total, dims=[-1]))
        with y_dfb.wait() as y_blk:
            ttl.copy(y_blk, y[row : row + ROWS, 0:width]).wait()


def run(
    rows: int = 256, width: int = 64, dtype: ttnn.DataType = ttnn.bfloat16
) -> tuple[np.ndarray, np.ndarray]:
    """The result for random numbers, and what it should be."""
    device = ttnn.open_device(device_id=0)
    generator = np.random.default_rng(0)
    arrays = [generator.standard_normal((rows, width), np.float32) for _ in range(3)]
    given = [ttl.from_numpy(each, dtype=dtype, device=device) for each in arrays]
    y = ttnn.zeros_like(given[0])
    flash_attention(*given, y)
    q, k, v = (ttl.to_numpy(each).astype(np.float32) for each in given)
    powers = np.exp(q @ k.T * width**-0.5)
    return ttl.to_numpy(y).astype(np.float32), powers / powers.sum(axis=1, keepdims=True) @ v


if __name__ == "__main__":
    result, exact = run()
    print(f"largest error {np.abs(result - exact).max() / np.abs(exact).max():.2%} of the largest")

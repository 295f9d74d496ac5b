"""y = relu(a @ b + bias), accumulated over K, on a 2x2 grid of nodes."""

import time

import numpy as np
import ttnn
from sample_inputs import sample_inputs

import ttl

BLOCK = 2  # tiles along each side of a block


@ttl.operation(grid=(2, 2))
def matmul_bias_relu(a: ttnn.Tensor, b: ttnn.Tensor, bias: ttnn.Tensor, y: ttnn.Tensor) -> None:
    a_dfb = ttl.make_dataflow_buffer_like(a, shape=(BLOCK, BLOCK), block_count=2)
    b_dfb = ttl.make_dataflow_buffer_like(b, shape=(BLOCK, BLOCK), block_count=2)
    bias_dfb = ttl.make_dataflow_buffer_like(bias, shape=(BLOCK, BLOCK), block_count=2)
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(BLOCK, BLOCK), block_count=2)

    grid_columns, grid_rows = ttl.grid_size(dims=2)
    m_blocks = a.shape[0] // (BLOCK * ttl.TILE_SIZE) // grid_rows
    n_blocks = b.shape[1] // (BLOCK * ttl.TILE_SIZE) // grid_columns
    k_blocks = a.shape[1] // (BLOCK * ttl.TILE_SIZE)

    @ttl.compute()
    def compute() -> None:
        for _ in range(m_blocks):
            for _ in range(n_blocks):
                total = ttl.math.fill(0, shape=(BLOCK, BLOCK))
                for _ in range(k_blocks):
                    with a_dfb.wait() as a_blk, b_dfb.wait() as b_blk:
                        total += a_blk @ b_blk
                with bias_dfb.wait() as bias_blk, y_dfb.reserve() as y_blk:
                    y_blk.store(ttl.math.relu(total + bias_blk))

    @ttl.datamovement()
    def read() -> None:
        node_column, node_row = ttl.node(dims=2)
        for i in range(m_blocks):
            row = (node_row * m_blocks + i) * BLOCK
            for j in range(n_blocks):
                column = (node_column * n_blocks + j) * BLOCK
                for k in range(k_blocks):
                    step = k * BLOCK
                    with a_dfb.reserve() as a_blk, b_dfb.reserve() as b_blk:
                        a_copy = ttl.copy(a[row : row + BLOCK, step : step + BLOCK], a_blk)
                        b_copy = ttl.copy(b[step : step + BLOCK, column : column + BLOCK], b_blk)
                        a_copy.wait()
                        b_copy.wait()
                with bias_dfb.reserve() as bias_blk:
                    bias_copy = ttl.copy(bias[row : row + BLOCK, column : column + BLOCK], bias_blk)
                    bias_copy.wait()

    @ttl.datamovement()
    def write() -> None:
        node_column, node_row = ttl.node(dims=2)
        for i in range(m_blocks):
            row = (node_row * m_blocks + i) * BLOCK
            for j in range(n_blocks):
                column = (node_column * n_blocks + j) * BLOCK
                with y_dfb.wait() as y_blk:
                    y_copy = ttl.copy(y_blk, y[row : row + BLOCK, column : column + BLOCK])
                    y_copy.wait()


def main() -> None:
    device = ttnn.open_device(device_id=0)
    for name, arrays in sample_inputs(3):
        inputs = [ttl.from_numpy(x, dtype=ttnn.bfloat16, device=device) for x in arrays]
        output = ttnn.zeros_like(inputs[0])
        start = time.perf_counter()
        matmul_bias_relu(*inputs, output)
        milliseconds = 1000 * (time.perf_counter() - start)
        a, b, bias = (ttl.to_numpy(x).astype(np.float32) for x in inputs)
        expected = np.maximum(a @ b + bias, 0)
        error = np.abs(ttl.to_numpy(output) - expected).max() / np.abs(expected).max()
        print(f"{name:10} {milliseconds:8.1f} ms   largest error {error:.2%} of the largest value")


if __name__ == "__main__":
    main()

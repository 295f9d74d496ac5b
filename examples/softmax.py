"""y = softmax of the rows of x, in one expression: a block is a whole row of tiles."""

import time

import numpy as np
import ttnn
from sample_inputs import sample_inputs

import ttl


@ttl.operation(grid=(2, 2))
def softmax(x: ttnn.Tensor, y: ttnn.Tensor) -> None:
    tile_rows, width = (size // ttl.TILE_SIZE for size in x.shape)
    grid_columns, grid_rows = ttl.grid_size(dims=2)
    rows_of_node = tile_rows // (grid_columns * grid_rows)

    x_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, width), block_count=2)
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, width), block_count=2)

    @ttl.compute()
    def compute() -> None:
        for _ in range(rows_of_node):
            with x_dfb.wait() as x_blk, y_dfb.reserve() as y_blk:
                largest = ttl.math.reduce_max(x_blk, dims=[-1])
                shifted = x_blk - ttl.block.broadcast(largest, dims=[-1])
                powers = ttl.math.exp(shifted)
                total = ttl.math.reduce_sum(powers, dims=[-1])
                y_blk.store(powers / ttl.block.broadcast(total, dims=[-1]))

    @ttl.datamovement()
    def read() -> None:
        first = ttl.node(dims=1) * rows_of_node
        for row in range(first, first + rows_of_node):
            with x_dfb.reserve() as x_blk:
                x_copy = ttl.copy(x[row : row + 1, 0:width], x_blk)
                x_copy.wait()

    @ttl.datamovement()
    def write() -> None:
        first = ttl.node(dims=1) * rows_of_node
        for row in range(first, first + rows_of_node):
            with y_dfb.wait() as y_blk:
                y_copy = ttl.copy(y_blk, y[row : row + 1, 0:width])
                y_copy.wait()


def main() -> None:
    device = ttnn.open_device(device_id=0)
    for name, arrays in sample_inputs(1):
        x = ttl.from_numpy(arrays[0], dtype=ttnn.bfloat16, device=device)
        y = ttnn.zeros_like(x)
        start = time.perf_counter()
        softmax(x, y)
        milliseconds = 1000 * (time.perf_counter() - start)
        numbers = ttl.to_numpy(x).astype(np.float32)
        powers = np.exp(numbers - numbers.max(axis=1, keepdims=True))
        expected = powers / powers.sum(axis=1, keepdims=True)
        error = np.abs(ttl.to_numpy(y) - expected).max() / np.abs(expected).max()
        print(f"{name:10} {milliseconds:8.1f} ms   largest error {error:.2%} of the largest value")


if __name__ == "__main__":
    main()

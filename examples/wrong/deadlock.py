"""elementwise.py with a mistake: the writer waits on a buffer to which no kernel pushes."""

import numpy as np
import ttnn

import ttl

BLOCK = 2  # tiles along each side of a block


@ttl.operation(grid=(2, 2))
def multiply_add_exp(a: ttnn.Tensor, b: ttnn.Tensor, c: ttnn.Tensor, y: ttnn.Tensor) -> None:
    a_dfb = ttl.make_dataflow_buffer_like(a, shape=(BLOCK, BLOCK), block_count=2)
    b_dfb = ttl.make_dataflow_buffer_like(b, shape=(BLOCK, BLOCK), block_count=2)
    c_dfb = ttl.make_dataflow_buffer_like(c, shape=(BLOCK, BLOCK), block_count=2)
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(BLOCK, BLOCK), block_count=2)
    z_dfb = ttl.make_dataflow_buffer_like(y, shape=(BLOCK, BLOCK), block_count=2)

    grid_columns, grid_rows = ttl.grid_size(dims=2)
    block_rows = a.shape[0] // (BLOCK * ttl.TILE_SIZE) // grid_rows
    block_columns = a.shape[1] // (BLOCK * ttl.TILE_SIZE) // grid_columns

    @ttl.compute()
    def compute() -> None:
        for _ in range(block_rows):
            for _ in range(block_columns):
                with (
                    a_dfb.wait() as a_blk,
                    b_dfb.wait() as b_blk,
                    c_dfb.wait() as c_blk,
                    y_dfb.reserve() as y_blk,
                ):
                    y_blk.store(a_blk * b_blk + ttl.math.exp(c_blk))

    @ttl.datamovement()
    def read() -> None:
        node_column, node_row = ttl.node(dims=2)
        for i in range(block_rows):
            row = (node_row * block_rows + i) * BLOCK
            for j in range(block_columns):
                column = (node_column * block_columns + j) * BLOCK
                with (
                    a_dfb.reserve() as a_blk,
                    b_dfb.reserve() as b_blk,
                    c_dfb.reserve() as c_blk,
                ):
                    a_copy = ttl.copy(a[row : row + BLOCK, column : column + BLOCK], a_blk)
                    b_copy = ttl.copy(b[row : row + BLOCK, column : column + BLOCK], b_blk)
                    c_copy = ttl.copy(c[row : row + BLOCK, column : column + BLOCK], c_blk)
                    a_copy.wait()
                    b_copy.wait()
                    c_copy.wait()

    @ttl.datamovement()
    def write() -> None:
        node_column, node_row = ttl.node(dims=2)
        for i in range(block_rows):
            row = (node_row * block_rows + i) * BLOCK
            for j in range(block_columns):
                column = (node_column * block_columns + j) * BLOCK
                with z_dfb.wait() as y_blk:
                    y_copy = ttl.copy(y_blk, y[row : row + BLOCK, column : column + BLOCK])
                    y_copy.wait()


def main() -> None:
    ones = np.ones((256, 256))
    device = ttnn.open_device(device_id=0)
    inputs = [ttl.from_numpy(ones, dtype=ttnn.bfloat16, device=device) for _ in "abc"]
    multiply_add_exp(*inputs, ttnn.zeros_like(inputs[0]))


if __name__ == "__main__":
    main()

"""y = the sum of the column blocks of a: nodes sum their own, the first adds the partial sums."""

import time

import numpy as np
import ttnn
from sample_inputs import sample_inputs

import ttl

BLOCK = 2  # tiles along each side of a block
NODES = 4


@ttl.operation(grid=(NODES, 1))
def split_sum(a: ttnn.Tensor, partial: ttnn.Tensor, y: ttnn.Tensor) -> None:
    a_dfb = ttl.make_dataflow_buffer_like(a, shape=(BLOCK, BLOCK), block_count=2)
    sum_dfb = ttl.make_dataflow_buffer_like(y, shape=(BLOCK, BLOCK), block_count=2)
    part_dfb = ttl.make_dataflow_buffer_like(partial, shape=(BLOCK, BLOCK), block_count=2)
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(BLOCK, BLOCK), block_count=2)
    is_written = ttl.Semaphore(0)

    rows = a.shape[0] // (BLOCK * ttl.TILE_SIZE)
    columns = a.shape[1] // (BLOCK * ttl.TILE_SIZE) // NODES

    @ttl.compute()
    def compute() -> None:
        node, _ = ttl.node(dims=2)
        for _ in range(rows):
            total = ttl.math.fill(0, shape=(BLOCK, BLOCK))
            for _ in range(columns):
                with a_dfb.wait() as a_blk:
                    total += a_blk
            with sum_dfb.reserve() as sum_blk:
                sum_blk.store(total)
        if node == 0:
            for _ in range(rows):
                whole = ttl.math.fill(0, shape=(BLOCK, BLOCK))
                for _ in range(NODES):
                    with part_dfb.wait() as part_blk:
                        whole += part_blk
                with y_dfb.reserve() as y_blk:
                    y_blk.store(whole)

    @ttl.datamovement()
    def read() -> None:
        node, _ = ttl.node(dims=2)
        for i in range(rows):
            row = i * BLOCK
            for j in range(columns):
                column = (node * columns + j) * BLOCK
                with a_dfb.reserve() as a_blk:
                    a_copy = ttl.copy(a[row : row + BLOCK, column : column + BLOCK], a_blk)
                    a_copy.wait()
        if node == 0:
            is_written.wait_ge(NODES)
            for i in range(rows):
                row = i * BLOCK
                for j in range(NODES):
                    column = j * BLOCK
                    with part_dfb.reserve() as part_blk:
                        part_copy = ttl.copy(
                            partial[row : row + BLOCK, column : column + BLOCK], part_blk
                        )
                        part_copy.wait()

    @ttl.datamovement()
    def write() -> None:
        node, _ = ttl.node(dims=2)
        column = node * BLOCK
        for i in range(rows):
            row = i * BLOCK
            with sum_dfb.wait() as sum_blk:
                sum_copy = ttl.copy(sum_blk, partial[row : row + BLOCK, column : column + BLOCK])
                sum_copy.wait()
        is_written.get_remote((0, 0)).inc(1)
        if node == 0:
            for i in range(rows):
                row = i * BLOCK
                with y_dfb.wait() as y_blk:
                    y_copy = ttl.copy(y_blk, y[row : row + BLOCK, 0:BLOCK])
                    y_copy.wait()


def main() -> None:
    device = ttnn.open_device(device_id=0)
    for name, arrays in sample_inputs(1):
        a = ttl.from_numpy(arrays[0], dtype=ttnn.bfloat16, device=device)
        width = BLOCK * ttl.TILE_SIZE
        kind = ttnn.bfloat16, ttnn.TILE_LAYOUT, device
        partial = ttnn.zeros((a.shape[0], NODES * width), *kind)
        output = ttnn.zeros((a.shape[0], width), *kind)
        start = time.perf_counter()
        split_sum(a, partial, output)
        milliseconds = 1000 * (time.perf_counter() - start)
        blocks = ttl.to_numpy(a).astype(np.float32).reshape(a.shape[0], -1, width)
        expected = blocks.sum(axis=1)
        error = np.abs(ttl.to_numpy(output) - expected).max() / np.abs(expected).max()
        print(f"{name:10} {milliseconds:8.1f} ms   largest error {error:.2%} of the largest value")


if __name__ == "__main__":
    main()

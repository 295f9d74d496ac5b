"""How many numbers fall into each of 16 bins: comparisons and sums instead of scattered additions.

A chip without atomic additions to memory counts a bin at a time: a block of ones where a number is
in it, added up. Every node counts its rows; the first one adds up what they all wrote.
"""

import numpy as np
import ttnn
from against_numpy import alike, tensor, values

import ttl

NODES = 4
ROWS, WIDTH = 128, 128
BINS = 16


@ttl.operation(grid=(NODES, 1))
def histogram(
    x: ttnn.Tensor, index: ttnn.Tensor, partial: ttnn.Tensor, counts: ttnn.Tensor
) -> None:
    rows, width = (size // ttl.TILE_SIZE for size in x.shape)
    x_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, width), block_count=2)
    index_dfb = ttl.make_dataflow_buffer_like(index, shape=(1, 1), block_count=1)
    sum_dfb = ttl.make_dataflow_buffer_like(partial, shape=(1, 1), block_count=1)
    part_dfb = ttl.make_dataflow_buffer_like(partial, shape=(1, 1), block_count=2)
    counts_dfb = ttl.make_dataflow_buffer_like(counts, shape=(1, 1), block_count=1)
    is_written = ttl.Semaphore(0)

    node = ttl.node(dims=1)
    with index_dfb.reserve() as index_blk:
        ttl.copy(index[0, 0], index_blk).wait()
    with index_dfb.wait() as index_blk, sum_dfb.reserve() as sum_blk:
        total = ttl.block.fill(0, shape=(1, 1))
        for row in range(node, rows, NODES):
            with x_dfb.reserve() as x_blk:
                ttl.copy(x[row, :], x_blk).wait()
            with x_dfb.wait() as x_blk:
                bins = ttl.math.floor(x_blk * BINS)
                for n in range(BINS):
                    count = ttl.math.reduce_sum(bins == n, dims=[-1, -2])
                    total += (index_blk == n) * ttl.block.broadcast(count, dims=[-1, -2])
        sum_blk.store(total)
    with sum_dfb.wait() as sum_blk:
        ttl.copy(sum_blk, partial[0, node]).wait()
    is_written.get_remote((0, 0)).inc(1)
    if node == 0:
        is_written.wait_ge(NODES)
        whole = ttl.block.fill(0, shape=(1, 1))
        for n in range(NODES):
            with part_dfb.reserve() as part:
                ttl.copy(partial[0, n], part).wait()
            with part_dfb.wait() as part:
                whole += part
        with counts_dfb.reserve() as counts_blk:
            counts_blk.store(whole)
        with counts_dfb.wait() as counts_blk:
            ttl.copy(counts_blk, counts[0, 0]).wait()


def main() -> None:
    generator = np.random.default_rng(0)
    x = tensor(generator.beta(2, 5, (ROWS, WIDTH)), ttnn.float32)
    index = tensor(np.tile(np.arange(ttl.TILE_SIZE), (ttl.TILE_SIZE, 1)), ttnn.float32)
    partial = tensor(np.zeros((1, NODES * ttl.TILE_SIZE)), ttnn.float32)
    counts = tensor(np.zeros((1, BINS)), ttnn.float32)
    histogram(x, index, partial, counts)
    expected, _ = np.histogram(values(x), bins=BINS, range=(0, 1))
    alike("histogram", counts, expected[None])


if __name__ == "__main__":
    main()

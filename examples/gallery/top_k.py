"""The K largest numbers of each row, with their places, one maximum after the other.

A maximum is found, its place is the smallest index that holds it, and just that element is taken
out before the next one. Equal numbers therefore come in the order in which they stand.
"""

import numpy as np
import ttnn
from against_numpy import agree, alike, tensor, values

import ttl

NODES = 4
ROWS, WIDTH = 128, 128
K = 5
LOWEST, NOWHERE = -1e30, 1e6


@ttl.operation(grid=(NODES, 1))
def top_k(x: ttnn.Tensor, index: ttnn.Tensor, largest: ttnn.Tensor, places: ttnn.Tensor) -> None:
    width = x.shape[1] // ttl.TILE_SIZE
    rows = x.shape[0] // ttl.TILE_SIZE
    x_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, width), block_count=2)
    index_dfb = ttl.make_dataflow_buffer_like(index, shape=(1, width), block_count=1)
    slot_dfb = ttl.make_dataflow_buffer_like(index, shape=(1, 1), block_count=1)
    largest_dfb = ttl.make_dataflow_buffer_like(largest, shape=(1, 1), block_count=2)
    places_dfb = ttl.make_dataflow_buffer_like(places, shape=(1, 1), block_count=2)

    with index_dfb.reserve() as index_blk, slot_dfb.reserve() as slot_blk:
        ttl.copy(index[0, :], index_blk).wait()
        ttl.copy(index[0, 0], slot_blk).wait()
    with index_dfb.wait() as index_blk, slot_dfb.wait() as slot_blk:
        for row in range(ttl.node(dims=1), rows, NODES):
            with x_dfb.reserve() as x_blk:
                ttl.copy(x[row, :], x_blk).wait()
            with x_dfb.wait() as x_blk:
                left = x_blk * 1
                found = ttl.block.fill(0, shape=(1, 1))
                where_found = ttl.block.fill(0, shape=(1, 1))
                for k in range(K):
                    best = ttl.math.reduce_max(left, dims=[-1], exact_f32=True)
                    is_best = left == ttl.block.broadcast(best, dims=[-1])
                    candidates = ttl.block.where(is_best, index_blk, ttl.block.fill(NOWHERE))
                    place = ttl.math.reduce_min(candidates, dims=[-1], exact_f32=True)
                    slot = slot_blk == k  # column k of the result
                    found += slot * ttl.block.broadcast(best, dims=[-1])
                    where_found += slot * ttl.block.broadcast(place, dims=[-1])
                    is_taken = index_blk == ttl.block.broadcast(place, dims=[-1])
                    left = ttl.block.where(is_taken, ttl.block.fill(LOWEST), left)
                with largest_dfb.reserve() as largest_blk, places_dfb.reserve() as places_blk:
                    largest_blk.store(found)
                    places_blk.store(where_found)
            with largest_dfb.wait() as largest_blk, places_dfb.wait() as places_blk:
                ttl.copy(largest_blk, largest[row, 0]).wait()
                ttl.copy(places_blk, places[row, 0]).wait()


def main() -> None:
    generator = np.random.default_rng(0)
    x = tensor(generator.integers(-100, 100, (ROWS, WIDTH)) / 7, ttnn.float32)
    index = tensor(np.tile(np.arange(WIDTH), (ttl.TILE_SIZE, 1)), ttnn.float32)
    largest, places = (tensor(np.zeros((ROWS, K)), ttnn.float32) for _ in range(2))
    top_k(x, index, largest, places)

    order = np.argsort(-values(x), axis=1, kind="stable")[:, :K]
    agree("top_k, numbers", largest, np.take_along_axis(values(x), order, axis=1), 0)
    alike("top_k, places", places, order)


if __name__ == "__main__":
    main()

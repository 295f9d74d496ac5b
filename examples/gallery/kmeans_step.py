"""One step of k-means: points join the nearest centre, centres move to their points.

Distances are a matrix product, and so are the sums: a block of ones where a point belongs to a
centre, transposed, times the points.
"""

import numpy as np
import ttnn
from against_numpy import agree, tensor, values

import ttl

POINTS, FEATURES = 512, 64
CENTRES = ttl.TILE_SIZE


@ttl.operation(grid=(1, 1))
def kmeans_step(points: ttnn.Tensor, centres: ttnn.Tensor, y: ttnn.Tensor) -> None:
    rows, width = (size // ttl.TILE_SIZE for size in points.shape)
    points_dfb = ttl.make_dataflow_buffer_like(points, shape=(1, width), block_count=2)
    centres_dfb = ttl.make_dataflow_buffer_like(centres, shape=(1, width), block_count=1)
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, width), block_count=1)

    with centres_dfb.reserve() as centres_blk:
        ttl.copy(centres[0, :], centres_blk).wait()
    with centres_dfb.wait() as centres_blk:
        sums = ttl.block.fill(0, shape=(1, width))
        counts = ttl.block.fill(0, shape=(1, width))
        lengths = ttl.math.reduce_sum(ttl.math.square(centres_blk), dims=[-1])
        for row in range(rows):
            with points_dfb.reserve() as points_blk:
                ttl.copy(points[row, :], points_blk).wait()
            with points_dfb.wait() as points_blk:
                # |p - c|^2 without |p|^2, which is the same for all centres
                products = points_blk @ ttl.block.transpose(centres_blk)
                across = ttl.block.broadcast(ttl.block.transpose(lengths), dims=[-2])
                distances = across - 2 * products
                # It is compared with what it was chosen from, so every digit must be there.
                nearest = ttl.math.reduce_min(distances, dims=[-1], exact_f32=True)
                is_nearest = distances == ttl.block.broadcast(nearest, dims=[-1])
                belongs = ttl.block.transpose(is_nearest)
                sums += belongs @ points_blk
                counts += belongs @ ttl.block.fill(1, shape=(1, width))
        with y_dfb.reserve() as y_blk:
            y_blk.store(sums / ttl.math.max(counts, 1))
    with y_dfb.wait() as y_blk:
        ttl.copy(y_blk, y[0, :]).wait()


def main() -> None:
    generator = np.random.default_rng(0)
    lengths = generator.uniform(1, 4, (CENTRES, 1))
    start = lengths * generator.standard_normal((CENTRES, FEATURES))
    cloud = start[generator.integers(0, CENTRES, POINTS)]
    points = tensor(cloud + 0.5 * generator.standard_normal(cloud.shape), ttnn.float32)
    centres = tensor(start, ttnn.float32)
    y = ttnn.zeros_like(centres)
    kmeans_step(points, centres, y)

    p, c = values(points), values(centres)
    nearest = ((p[:, None] - c[None]) ** 2).sum(axis=2).argmin(axis=1)
    sums = np.stack([p[nearest == n].sum(axis=0) for n in range(CENTRES)])
    counts = np.bincount(nearest, minlength=CENTRES)[:, None]
    agree("kmeans_step", y, sums / np.maximum(counts, 1), 0.01)


if __name__ == "__main__":
    main()

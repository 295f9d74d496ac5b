"""Pi by throwing darts: random points, drawn where they are counted.

Each lane starts from its own random point and then walks with two irrational steps, modulo one: the
points it visits are spread evenly, and a step is an addition and a fraction. Only counts leave the
chip.
"""

import numpy as np
import ttnn
from against_numpy import agree, tensor, values

import ttl

NODES = 4
ROWS, WIDTH = 128, 32
DARTS = 64  # of each element
STEP_X, STEP_Y = 0.7548776662, 0.5698402910


@ttl.operation(grid=(NODES, 1))
def monte_carlo(x: ttnn.Tensor, y: ttnn.Tensor, hits: ttnn.Tensor) -> None:
    rows, width = (size // ttl.TILE_SIZE for size in x.shape)
    x_dfb, y_dfb, hits_dfb = (
        ttl.make_dataflow_buffer_like(each, shape=(1, width), block_count=2)
        for each in (x, y, hits)
    )
    for row in range(ttl.node(dims=1), rows, NODES):
        with x_dfb.reserve() as x_blk, y_dfb.reserve() as y_blk:
            ttl.copy(x[row, :], x_blk).wait()
            ttl.copy(y[row, :], y_blk).wait()
        with x_dfb.wait() as x_blk, y_dfb.wait() as y_blk, hits_dfb.reserve() as hits_blk:
            across = x_blk * 1
            down = y_blk * 1
            count = ttl.block.fill(0, shape=(1, width))
            for _ in range(DARTS):
                across = ttl.math.frac(across + STEP_X)
                down = ttl.math.frac(down + STEP_Y)
                count += ttl.math.square(across) + ttl.math.square(down) <= 1
            hits_blk.store(count)
        with hits_dfb.wait() as hits_blk:
            ttl.copy(hits_blk, hits[row, :]).wait()


def main() -> None:
    generator = np.random.default_rng(0)
    x, y = (tensor(generator.random((ROWS, WIDTH)), ttnn.float32) for _ in range(2))
    hits = ttnn.zeros_like(x)
    monte_carlo(x, y, hits)

    across, down, count = values(x), values(y), np.zeros(())
    for _ in range(DARTS):
        across = (across + np.float32(STEP_X)) % 1
        down = (down + np.float32(STEP_Y)) % 1
        count = count + (across * across + down * down <= 1)
    agree("monte_carlo", hits, count, 0.05)
    print(f"monte_carlo: pi is about {4 * values(hits).mean() / DARTS:.4f}")


if __name__ == "__main__":
    main()

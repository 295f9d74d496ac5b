"""Heat that spreads over a torus: each node keeps a strip and exchanges its edges every step.

The field stays in the nodes' own memory from the first step to the last. What a node sends to its
neighbours goes through two pipe nets, one in each direction; rows and columns move inside a tile by
products with matrices that shift by one.
"""

import numpy as np
import ttnn
from against_numpy import agree, tensor, values

import ttl

NODES = 4
STEPS = 6
SPREAD = 0.2
TILE = ttl.TILE_SIZE


@ttl.operation(grid=(NODES, 1))
def stencil_halo(field: ttnn.Tensor, shifts: ttnn.Tensor, y: ttnn.Tensor) -> None:
    down_net = ttl.PipeNet([ttl.Pipe((n, 0), ((n + 1) % NODES, 0)) for n in range(NODES)])
    up_net = ttl.PipeNet([ttl.Pipe((n, 0), ((n - 1) % NODES, 0)) for n in range(NODES)])
    start_dfb, down_dfb, up_dfb, above_dfb, below_dfb, y_dfb = (
        ttl.make_dataflow_buffer_like(field, shape=(1, 1), block_count=2) for _ in range(6)
    )
    shifts_dfb = ttl.make_dataflow_buffer_like(shifts, shape=(1, 1), block_count=6)

    node = ttl.node(dims=1)
    with start_dfb.reserve() as start:
        ttl.copy(field[node, 0], start).wait()
    for n in range(6):
        with shifts_dfb.reserve() as shift:
            ttl.copy(shifts[n, 0], shift).wait()
    with (
        shifts_dfb.wait() as up,  # row n gets row n + 1 of the same tile
        shifts_dfb.wait() as down,
        shifts_dfb.wait() as first_to_last,  # the last row gets the first one of the tile below
        shifts_dfb.wait() as last_to_first,
        shifts_dfb.wait() as left,
        shifts_dfb.wait() as right,
    ):
        with start_dfb.wait() as start:
            heat = start * 1
        for _ in range(STEPS):
            with down_dfb.reserve() as to_below, up_dfb.reserve() as to_above:
                to_below.store(heat)
                to_above.store(heat)
            with down_dfb.wait() as to_below:
                down_net.if_src(lambda pipe: ttl.copy(to_below, pipe).wait())
            with up_dfb.wait() as to_above:
                up_net.if_src(lambda pipe: ttl.copy(to_above, pipe).wait())
            with above_dfb.reserve() as above:
                down_net.if_dst(lambda pipe: ttl.copy(pipe, above).wait())
            with below_dfb.reserve() as below:
                up_net.if_dst(lambda pipe: ttl.copy(pipe, below).wait())
            with above_dfb.wait() as above, below_dfb.wait() as below:
                vertical = up @ heat + down @ heat + first_to_last @ below + last_to_first @ above
                around = vertical + heat @ left + heat @ right
                heat = heat * (1 - 4 * SPREAD) + around * SPREAD
        with y_dfb.reserve() as y_blk:
            y_blk.store(heat)
        with y_dfb.wait() as y_blk:
            ttl.copy(y_blk, y[node, 0]).wait()


def shift_matrices() -> np.ndarray:
    up, round_up = np.eye(TILE, k=1), np.roll(np.eye(TILE), 1, axis=1)
    first_to_last = np.zeros((TILE, TILE))
    first_to_last[-1, 0] = 1
    return np.vstack([up, up.T, first_to_last, first_to_last.T, round_up.T, round_up])


def main() -> None:
    generator = np.random.default_rng(0)
    field = tensor(generator.random((NODES * TILE, TILE)) ** 8, ttnn.float32)
    y = ttnn.zeros_like(field)
    stencil_halo(field, tensor(shift_matrices(), ttnn.float32), y)

    heat = values(field)
    for _ in range(STEPS):
        around = sum(np.roll(heat, step, axis) for axis in (0, 1) for step in (-1, 1))
        heat = heat * (1 - 4 * SPREAD) + around * SPREAD
    agree("stencil_halo", y, heat, 0.01)


if __name__ == "__main__":
    main()

"""Conway's Game of Life on a torus: neighbours are counted by two matrix products.

A circulant matrix with three ones in each row adds up a cell and its neighbours in one direction;
once from the left and once from the right it counts all nine. Both nodes play a board of their own.
"""

import numpy as np
import ttnn
from against_numpy import alike, tensor, values

import ttl

BOARDS = 2
SIZE = 64
GENERATIONS = 12


@ttl.operation(grid=(BOARDS, 1))
def game_of_life(board: ttnn.Tensor, ring: ttnn.Tensor, y: ttnn.Tensor) -> None:
    size = ring.shape[0] // ttl.TILE_SIZE
    board_dfb = ttl.make_dataflow_buffer_like(board, shape=(size, size), block_count=1)
    ring_dfb = ttl.make_dataflow_buffer_like(ring, shape=(size, size), block_count=1)
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(size, size), block_count=1)

    row = ttl.node(dims=1) * size
    with board_dfb.reserve() as board_blk, ring_dfb.reserve() as ring_blk:
        ttl.copy(board[row : row + size, :], board_blk).wait()
        ttl.copy(ring[:, :], ring_blk).wait()
    with board_dfb.wait() as board_blk, ring_dfb.wait() as ring_blk, y_dfb.reserve() as y_blk:
        cells = board_blk * 1
        for _ in range(GENERATIONS):
            count = (ring_blk @ cells) @ ring_blk  # of a cell and its eight neighbours
            cells = (count == 3) + cells * (count == 4)
        y_blk.store(cells)
    with y_dfb.wait() as y_blk:
        ttl.copy(y_blk, y[row : row + size, :]).wait()


def next_generation(cells: np.ndarray) -> np.ndarray:
    around = [(a, b) for a in (-1, 0, 1) for b in (-1, 0, 1) if (a, b) != (0, 0)]
    count = sum(np.roll(cells, shift, axis=(0, 1)) for shift in around)
    return ((count == 3) | (cells & (count == 2))).astype(int)


def main() -> None:
    generator = np.random.default_rng(0)
    board = tensor(generator.integers(0, 2, (BOARDS * SIZE, SIZE)))
    one = np.eye(SIZE)
    y = ttnn.zeros_like(board)
    game_of_life(board, tensor(one + np.roll(one, 1, axis=1) + np.roll(one, -1, axis=1)), y)

    boards = np.split(values(board).astype(int), BOARDS)
    for _ in range(GENERATIONS):
        boards = [next_generation(cells) for cells in boards]
    alike("game_of_life", y, np.vstack(boards))


if __name__ == "__main__":
    main()

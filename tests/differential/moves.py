"""Programs that move tiles: the kernel under test chooses which, the simulator says what is right.

`agree(read)` runs an operation whose first data movement kernel is `read(...)`'s: it reserves
blocks of `dfb` and copies tiles of `a` into them; the second kernel writes `count` of them to y.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ttl
from ttl import ttnn
from ttl.language.operation import Operation

ROWS, COLUMNS = 8, 8
Kernel = Callable[[], None]
Read = Callable[[Any, Any], Kernel]


def distinct_tiles(rows: int = ROWS, columns: int = COLUMNS) -> np.ndarray:
    """Every tile has a number of its own everywhere."""
    numbers = np.arange(rows * columns, dtype=np.float32).reshape(rows, columns) + 1
    return np.kron(numbers, np.ones((32, 32), np.float32))


def mover(
    read: Read, count: int | Callable[[], int], grid: tuple[int, int] = (1, 1), blocks: int = 2
) -> Operation:
    """Every node writes its blocks to rows of y of its own."""

    @ttl.operation(grid=grid)
    def operation(a, y):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=blocks)
        columns, _ = ttl.grid_size(dims=2)
        ttl.datamovement()(read(a, dfb))

        @ttl.datamovement()
        def write():
            x, y_ = ttl.node(dims=2)
            for i in range(count):
                with dfb.wait() as block:
                    ttl.copy(block, y[y_ * columns + x, i]).wait()

    return operation


def run(operation: Operation, count: int, nodes: int = 1) -> np.ndarray:
    device = ttnn.open_device(device_id=0)
    a = ttl.from_numpy(distinct_tiles(), dtype=ttnn.float32, device=device)
    y = ttnn.zeros(
        (32 * nodes, 32 * count), dtype=ttnn.float32, layout=ttnn.TILE_LAYOUT, device=device
    )
    operation(a, y)
    return ttl.to_numpy(y)[::32, ::32]


def agree(
    read: Read,
    count: int,
    grid: tuple[int, int] = (1, 1),
    blocks: int = 2,
) -> np.ndarray:
    """The first element of every tile that was written; both engines write the same."""
    nodes = grid[0] * grid[1]
    with pytest.MonkeyPatch.context() as patch:
        simulated = run(mover(read, count, grid, blocks), count, nodes)
        patch.setenv("TTL_BACKEND", "host")
        compiled = run(mover(read, count, grid, blocks), count, nodes)
    np.testing.assert_array_equal(compiled, simulated)
    return simulated

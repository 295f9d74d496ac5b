"""grid_size() and node() in fewer and more dimensions, as the language page has them."""

from __future__ import annotations

import pytest

import ttl
from ttl import ttnn
from ttl.language.grid import flatten_coordinate, flatten_size


@pytest.mark.parametrize(
    ("grid", "dims", "size"),
    [
        ((8, 8), 1, 64),
        ((8, 8), 2, (8, 8)),
        ((8, 8, 8), 2, (8, 64)),
        ((8, 8), 3, (8, 8, 1)),
        ((5,), 1, 5),
        ((5,), 2, (5, 1)),
        ((2, 3, 4, 5), 3, (2, 3, 20)),
    ],
)
def test_size(grid: tuple[int, ...], dims: int, size: object) -> None:
    assert flatten_size(grid, dims) == size


@pytest.mark.parametrize(
    ("coordinate", "grid", "dims", "flat"),
    [
        ((3, 2), (8, 4), 1, 3 * 4 + 2),
        ((3, 2), (8, 4), 2, (3, 2)),
        ((3, 2), (8, 4), 3, (3, 2, 0)),
        ((3,), (8,), 2, (3, 0)),
        ((1, 2, 3), (4, 5, 6), 2, (1, 2 * 6 + 3)),
        ((1, 2, 3), (4, 5, 6), 1, (1 * 5 + 2) * 6 + 3),
    ],
)
def test_coordinate(
    coordinate: tuple[int, ...], grid: tuple[int, ...], dims: int, flat: object
) -> None:
    assert flatten_coordinate(coordinate, grid, dims) == flat


def test_a_grid_of_one_dimension_is_a_row_of_nodes() -> None:
    @ttl.operation(grid=(5,))
    def operation(a):
        @ttl.datamovement()
        def kernel():
            pass

    program = operation.program((ttnn.zeros((32, 32), layout=ttnn.TILE_LAYOUT),), {}, (8, 8))
    assert program.grid == (5, 1)


def test_flat_coordinates_number_the_nodes() -> None:
    grid = (3, 4, 2)
    nodes = [(x, y, z) for x in range(3) for y in range(4) for z in range(2)]
    assert [flatten_coordinate(node, grid, 1) for node in nodes] == list(range(24))

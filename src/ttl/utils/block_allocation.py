"""Divides work among the nodes of a grid. Coordinates are rows first, as in the grid."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import prod
from typing import NamedTuple

Coord = tuple[int, ...]
Range = tuple[Coord, Coord]  # the first and the last node of a rectangle


def get_number_of_nodes_from_ranges(ranges: Iterable[Range]) -> int:
    return sum(
        prod(last - first + 1 for first, last in zip(*corners, strict=True)) for corners in ranges
    )


def split_work_to_nodes(
    grid_size: Coord, units_to_divide: int, row_wise: bool = True
) -> tuple[int, list[Range], list[Range], int, int]:
    """Divide units evenly among nodes.

    Returns the number of working nodes, the rectangles of nodes with one unit more and of the
    others, and the units per node of both.
    """
    assert prod(grid_size[:-2]) == 1, f"{grid_size}: a grid has two dimensions that are not 1"
    used = min(prod(grid_size), units_to_divide)
    units, more = divmod(units_to_divide, used) if used else (0, 0)
    if not more:
        return used, list(_rectangles(grid_size, 0, used, row_wise)), [], units, 0
    first = list(_rectangles(grid_size, 0, more, row_wise))
    return used, first, list(_rectangles(grid_size, more, used, row_wise)), units + 1, units


def _rectangles(grid: Coord, start: int, end: int, row_wise: bool) -> Iterator[Range]:
    """Yield nodes `start` to `end` as rectangles: a line's rest, whole lines, a line's start."""
    rows, columns = (1, *grid)[-2:]
    length = columns if row_wise else rows
    leading = (0,) * (len(grid) - 2)

    def corner(line: int, place: int) -> Coord:
        both = (line, place) if row_wise else (place, line)
        return (*leading, *both)[-len(grid) :]

    while start < end:
        line, place = divmod(start, length)
        whole = (end - start) // length if place == 0 else 0
        count = whole * length or min(end - start, length - place)
        last_line, last_place = divmod(start + count - 1, length)
        yield corner(line, place), corner(last_line, last_place)
        start += count


class MatmulParams(NamedTuple):
    """Sizes of blocks in tiles; all zero if nothing fits."""

    block_h: int
    block_w: int
    subblock_h: int
    subblock_w: int


MOST_TILES = 400  # for the blocks of a product in L1, with double-buffered operands
MOST_IN_DST = 8
# Sorted by size, largest first, then squarest, then highest.
SUBBLOCKS = sorted(
    ((h, w) for h in range(1, 9) for w in range(1, 9) if h * w <= MOST_IN_DST),
    key=lambda size: (-size[0] * size[1], max(size), -size[0]),
)


def get_large_matmul_params(
    Mt: int, Nt: int, num_cores_y: int, num_cores_x: int, in0_block_w: int
) -> MatmulParams:
    """Return each node's block of the result of a matrix product of Mt x Nt tiles.

    Nodes cannot share a prime factor larger than the grid: it stays in the block.
    """
    rows, least_rows = _divisors(Mt, num_cores_y)
    columns, least_columns = _divisors(Nt, num_cores_x)
    if least_columns > _other_size(least_rows, in0_block_w):
        return MatmulParams(0, 0, 0, 0)
    height = least_rows
    widths = columns if least_rows == least_columns == 1 else [least_columns]
    if least_rows > 1:
        widths = [_largest(columns, _other_size(height, in0_block_w), least_columns)]
    for width in widths:
        if least_rows == 1:
            height = _largest(rows, _other_size(width, in0_block_w), height)
        if Mt // height <= num_cores_y and Nt // width <= num_cores_x:
            subblock = next(s for s in SUBBLOCKS if height % s[0] == 0 and width % s[1] == 0)
            return MatmulParams(height, width, *subblock)
    return MatmulParams(0, 0, 0, 0)


def _divisors(size: int, nodes: int) -> tuple[list[int], int]:
    """Return the possible sizes of a block along a dimension, and the least of them."""
    least, rest, factor = 1, size, 2
    while rest > 1:
        if rest % factor == 0:
            rest //= factor
            least *= factor if factor > nodes else 1
        else:
            factor += 1
    return [d for d in range(least, size + 1, least) if size % d == 0], least


def _other_size(size: int, depth: int) -> int:
    """Return how large a block may be along the other dimension."""
    return max(0, (MOST_TILES - 2 * depth * size) // (2 * depth + size))


def _largest(sizes: list[int], most: int, otherwise: int) -> int:
    return max((size for size in sizes if size <= most), default=otherwise)

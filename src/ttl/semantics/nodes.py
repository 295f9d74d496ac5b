"""Coordinates and ranges of nodes, in any number of dimensions.

rule FLAT   fewer entries than the grid: the last entry counts the nodes of all remaining
            dimensions, the last of them fastest
rule ONES   more entries than the grid: the grid's missing sizes are 1
rule RANGE  a range has an int or a slice for each dimension: step 1, not empty, ends may be open
"""

from __future__ import annotations

from itertools import product
from math import prod
from operator import index
from typing import Any

from ttl.diagnostics import RuleBroken, codes, wrong_argument

from .ttnn_values import as_place
from .types import Shape

NodePlace = tuple[int | slice, ...]  # a coordinate, or a range if there is a slice in it


def read_place(value: object, what: str, *, may_be_range: bool) -> NodePlace:
    """Return a place as a tuple, an int as one entry; raise RuleBroken if it is no place."""
    place = as_place(value)
    items = place if isinstance(place, tuple) else (place,)
    try:
        if items and (isinstance(place, tuple) or not isinstance(place, slice)):
            return tuple([_read_item(item, may_be_range) for item in items])
    except TypeError:
        pass
    kind = "a node coordinate or a range of nodes" if may_be_range else "a node coordinate"
    example = "(x, y) or (x, slice(0, 4)); the step must be 1 or None" if may_be_range else "(x, y)"
    raise wrong_argument(f"{what}={value!r} is not {kind}", f"write {example}")


def _read_item(item: Any, may_be_range: bool) -> int | slice:
    if not isinstance(item, slice):
        return index(item)
    if not may_be_range or item.step not in (None, 1):
        raise TypeError
    ends = (None if end is None else index(end) for end in (item.start, item.stop))
    return slice(*ends)


def check_closed(place: NodePlace, what: str) -> None:
    """Raise RuleBroken if a slice is open, empty or reversed: pipes need explicit ends."""
    for item in (item for item in place if isinstance(item, slice)):
        is_open = None in (item.start, item.stop)
        if is_open or item.start >= item.stop:
            raise wrong_argument(
                f"{what}={describe_place(place)}: {_describe_item(item)} "
                f"{'needs an explicit start and stop' if is_open else 'has no node in it'}",
                "write both ends; start must be < stop: slice(0, rows)",
            )


def is_range(place: NodePlace) -> bool:
    return any(isinstance(item, slice) for item in place)


def close_range(place: NodePlace, grid: Shape) -> NodePlace:
    """Return the place with its open ends filled in."""
    sizes = _sizes(grid, len(place))
    return tuple(
        [
            slice(item.start or 0, size if item.stop is None else item.stop)
            if isinstance(item, slice)
            else item
            for item, size in zip(place, sizes, strict=True)
        ]
    )


def nodes_at(place: NodePlace, grid: Shape) -> tuple[Shape, ...]:
    """Return the nodes' full coordinates, last entry fastest; raise RuleBroken outside the grid."""
    sizes = _sizes(grid, len(place))
    ranges = []
    for item, size in zip(close_range(place, grid), sizes, strict=True):
        extent = range(item.start, item.stop) if isinstance(item, slice) else (item,)
        if not extent or not 0 <= extent[0] <= extent[-1] < size:
            raise _outside_grid(place, sizes, grid)
        ranges.append(extent)
    return tuple([_node(entries, grid) for entries in product(*ranges)])


def _sizes(grid: Shape, dims: int) -> Shape:
    flat = (*grid[: dims - 1], prod(grid[dims - 1 :]))  # rule FLAT
    return (*flat, *(1,) * (dims - len(flat)))[:dims]  # rule ONES


def _node(entries: tuple[int, ...], grid: Shape) -> Shape:
    if len(entries) >= len(grid):
        return entries[: len(grid)]  # rule ONES: the other entries are 0
    *head, number = entries
    tail: list[int] = []
    for size in reversed(grid[len(head) :]):  # rule FLAT
        number, entry = divmod(number, size)
        tail.insert(0, entry)
    return (*head, *tail)


def _outside_grid(place: NodePlace, sizes: Shape, grid: Shape) -> RuleBroken:
    what = "range" if is_range(place) else "node"
    flat = "" if len(sizes) == len(grid) else f", {sizes} in {len(sizes)} dimensions"
    return codes.NODE_OUTSIDE_GRID.broken(
        f"{what} {describe_place(place)} does not lie in the grid {grid}{flat}",
        "coordinates count from 0 and stay below ttl.grid_size()",
        grid=grid,
    )


def describe_place(place: NodePlace) -> str:
    """Write a place as in an index: (0, 1:4)."""
    items = [_describe_item(item) for item in place]
    return f"({', '.join(items)}{',' if len(items) == 1 else ''})"


def _describe_item(item: int | slice) -> str:
    if not isinstance(item, slice):
        return str(item)
    return ":".join("" if end is None else str(end) for end in (item.start, item.stop))


def without_role(pipe: str, role: str) -> RuleBroken:
    """Describe a copy from or to a pipe on a node that is not at that end of the pipe."""
    verb, end, ask = {
        "src": ("send through", "start", "is_src"),
        "dst": ("receive from", "end", "is_dst"),
    }[role]
    return codes.PIPE_ROLE.broken(
        f"this node cannot {verb} pipe {pipe}, which does not {end} here",
        f"test ttl.node(), or {ask}() of the pipe net, around the copy",
    )

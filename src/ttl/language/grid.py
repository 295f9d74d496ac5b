"""The grid of an operation, and the nodes on it."""

from __future__ import annotations

from itertools import product
from math import prod
from typing import Any, Literal, overload

from ttl.diagnostics import codes
from ttl.semantics.types import Shape

from .engine import LAUNCH_HOOK, SCOPE, outside, running_engine, scope


def check_dims(dims: int) -> None:
    if not isinstance(dims, int) or isinstance(dims, bool) or dims < 1:
        raise codes.WRONG_ARGUMENT.broken(
            f"dims={dims!r}: a grid has one or more dimensions",
            "write for example ttl.node(dims=2)",
        )


@overload
def grid_size(dims: Literal[1]) -> int: ...
@overload
def grid_size(dims: Literal[2] = 2) -> tuple[int, int]: ...
@overload
def grid_size(dims: Literal[3]) -> tuple[int, int, int]: ...
@overload
def grid_size(dims: int) -> Any: ...
def grid_size(dims: int = 2) -> int | Shape:
    """Return the grid's size in `dims` dimensions: flatten the highest, or add ones.

    Between calls of operations, return the last one's.
    """
    check_dims(dims)
    around = running_engine(None) or SCOPE.get(None)
    grid = LAUNCH_HOOK.last_grid if around is None else around.grid
    if grid is None:
        place = "in an operation, or after one was called"
        raise outside("ttl.grid_size()", place, "@ttl.operation(...)")
    return flatten_size(grid, dims)


@overload
def node(dims: Literal[1]) -> int: ...
@overload
def node(dims: Literal[2] = 2) -> tuple[int, int]: ...
@overload
def node(dims: Literal[3]) -> tuple[int, int, int]: ...
@overload
def node(dims: int) -> Any: ...
def node(dims: int = 2) -> int | Shape:
    """Return this node's coordinates, x first, in `dims` dimensions like grid_size()."""
    check_dims(dims)
    running = running_engine(None)
    if running is not None:
        return flatten_coordinate(running.node(), running.grid, dims)
    collected = scope("ttl.node()")
    collected.asked_for_node = True
    return flatten_coordinate(collected.node, collected.grid, dims)


def nodes_of(grid: Shape) -> list[Shape]:
    """Return all nodes, row by row."""
    return [node[::-1] for node in product(*(range(size) for size in reversed(grid)))]


def flatten_size(grid: Shape, dims: int) -> int | Shape:
    sizes = (*grid[: dims - 1], prod(grid[dims - 1 :])) + (1,) * (dims - len(grid))
    return sizes[0] if dims == 1 else sizes[:dims]


def flatten_coordinate(coordinate: Shape, grid: Shape, dims: int) -> int | Shape:
    """Flatten: the last entry is (c[dims-1] * s[dims] + c[dims]) * s[dims+1] + ..."""
    if dims == len(coordinate) > 1:
        return coordinate
    last = 0
    for entry, size in zip(coordinate[dims - 1 :], grid[dims - 1 :], strict=True):
        last = last * size + entry
    head = coordinate[: dims - 1]
    head += (0,) * (dims - 1 - len(head))
    return last if dims == 1 else (*head, last)

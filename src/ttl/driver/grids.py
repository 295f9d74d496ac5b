"""Grids that are larger than the device, or than the chip: what is refused, and what to pass."""

from __future__ import annotations

from math import prod

from ttl.diagnostics import UsageError, codes
from ttl.language.operation import Program, definition_span
from ttl.target import CHOICES, Target, choice_with, load

Grid = tuple[int, ...]


def larger_grid_helps(asked: Grid, largest: Grid, is_simulated: bool) -> tuple[str, ...]:
    """A target that has the grid, if there is one, and for runs the option that simulates one."""
    columns, rows = (max(sizes) for sizes in zip((*asked, 1)[:2], largest, strict=True))
    simulate = f"pass --grid {rows},{columns} (rows, columns) to simulate a device of that size"
    smaller = 'use a smaller grid, or grid="auto"'
    if (target := choice_with(asked)) is not None:
        return _choose(target), f"or {simulate}; or {smaller}" if is_simulated else f"or {smaller}"
    most = max(CHOICES, key=lambda name: prod(_grid(name)))
    first = f"{smaller}; the largest is {_grid(most)}, with --target {most}"
    return (first, f"or {simulate}") if is_simulated else (first,)


def check_on_chip(program: Program, target: Target) -> None:
    """UsageError where nodes are simulated that the chip lacks: they have no place on its NoCs."""
    grid = program.grid
    if len(grid) != 2 or all(size <= most for size, most in zip(grid, target.grid, strict=True)):
        return  # others are not compiled, which has a message of its own
    name = program.operation.__name__
    broken = codes.GRID_TOO_LARGE.broken(
        f"{name} has a grid of {grid}, {target.name} has {target.grid} (x, y): nodes that "
        "are only simulated have no artifact and no estimate",
        _choose(found) if (found := choice_with(grid)) else "use a smaller grid: no chip has it",
    )
    raise UsageError(broken.at(definition_span(program.operation.function)))


def _choose(target: str) -> str:
    return f"pass --target {target}, or set TTL_TARGET={target}: its grid is {_grid(target)}"


def _grid(name: str) -> tuple[int, int]:
    return load(name).default_grid

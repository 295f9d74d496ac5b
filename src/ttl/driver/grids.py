"""What to pass for an operation whose grid is larger than the device's."""

from __future__ import annotations

from math import prod

from ttl.target import CHOICES, load

Grid = tuple[int, ...]


def larger_grid_helps(asked: Grid, largest: Grid) -> tuple[str, ...]:
    """A target that has the grid, if there is one, and the option that simulates one."""
    columns, rows = (max(sizes) for sizes in zip((*asked, 1)[:2], largest, strict=True))
    simulate = f"--grid {rows},{columns} (rows, columns) to simulate a device of that size"
    smaller = 'use a smaller grid, or grid="auto"'
    target = _first_that_has(asked)
    if target is not None:
        chosen = f"pass --target {target}, or set TTL_TARGET={target}: its grid is {_grid(target)}"
        return chosen, f"or pass {simulate}; or {smaller}"
    most = max(CHOICES, key=lambda name: prod(_grid(name)))
    return f"{smaller}; the largest is {_grid(most)}, with --target {most}", f"or pass {simulate}"


def _first_that_has(asked: Grid) -> str | None:
    fitting = (
        name
        for name in CHOICES
        if all(size <= most for size, most in zip(asked, _grid(name), strict=False))
    )
    return next(fitting, None)


def _grid(name: str) -> tuple[int, int]:
    return load(name).default_grid

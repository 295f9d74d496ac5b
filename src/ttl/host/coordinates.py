"""Where the NoC sees the nodes of a chip: its coordinates are not those of the grid."""

from __future__ import annotations

from ttl.target import Target

# The first column and row, and the columns between that are not nodes.
_FIRST = {"wormhole_b0": (18, 18), "blackhole": (1, 2)}
_SKIPPED_COLUMNS = {"blackhole": (8, 9)}


def virtual_columns(target: Target) -> list[int]:
    """The NoC's x of each column of the grid."""
    first, _ = _FIRST[target.name]
    skipped = _SKIPPED_COLUMNS.get(target.name, ())
    columns = [x for x in range(first, first + target.grid[0] + len(skipped)) if x not in skipped]
    return columns[: target.grid[0]]


def virtual_rows(target: Target) -> list[int]:
    """The NoC's y of each row of the grid."""
    _, first = _FIRST[target.name]
    return list(range(first, first + target.grid[1]))

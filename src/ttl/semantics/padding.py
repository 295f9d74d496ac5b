"""Tracks the padding of ragged tensors through operations, and finds the masks that remove it."""

from __future__ import annotations

from collections.abc import Sequence

from ttl.diagnostics import RuleBroken, codes

from .ops import BlockOp

ZERO, ANY = "zero", "any"  # known values of padding
# Operations that replace padding, by what they put there; None: a value that the program chose.
MASKS = {"mask": ZERO, "mask_posinf": None, "where": None}
SELECTORS = {"mask": 1, "mask_posinf": 1, "where": 0}  # position of the operand that decides


# Masks whose value does not change the reduction; ttl.math.mask() for others.
MASKED = {"reduce_max": "-ttl.math.mask_posinf(-x, m)", "reduce_min": "ttl.math.mask_posinf(x, m)"}


def padding_reduced(op: BlockOp) -> RuleBroken:
    masked = MASKED.get(op.name, "ttl.math.mask(x, m)")
    return codes.PADDING_REDUCED.broken(
        f"{op.spelling} takes the padding of a ragged tensor into account",
        f"mask it before: {masked}, with 1 in m where the padding is",
    )


# Contents of the padding rows and columns; None: no padding there.
Held = tuple[str | None, str | None]
NONE: Held = (None, None)


def merge_paddings(*found: Held) -> Held:
    """Return the padding of a block that may come from any of these."""
    kinds = [{each[dim] for each in found} for dim in (-2, -1)]
    rows, columns = (next((kind for kind in (ANY, ZERO) if kind in of), None) for of in kinds)
    return rows, columns


def is_reduced(op: BlockOp, paddings: Sequence[Held], dims: Sequence[int], rank: int) -> bool:
    """Return whether the padding changes the result; zeros do not change a sum."""
    if not op.name.startswith("reduce_"):
        return False
    held = merge_paddings(*paddings)
    found = {held[dim] for dim in _inner(dims, rank)}
    return ANY in found or (ZERO in found and op.name != "reduce_sum")


def padding_after(op: BlockOp, paddings: Sequence[Held], dims: Sequence[int], rank: int) -> Held:
    """Return the padding of the result: any value, unless the operation removes the padding."""
    if not paddings:
        return NONE
    first = paddings[0]
    if op.name in MASKS:
        instead = MASKS[op.name]
        return instead if first[0] else None, instead if first[1] else None
    if op.name == "matmul":
        return first[0], paddings[1][1]
    if op.name == "transpose":
        return first[1], first[0]
    if op.name == "broadcast" or op.name.startswith("reduce_"):
        gone = _inner(dims, rank)
        rows, columns = (None if dim in gone else first[dim] for dim in (-2, -1))
        return rows, columns
    rows, columns = (ANY if each else None for each in merge_paddings(*paddings))
    return rows, columns


def _inner(dims: Sequence[int], rank: int) -> set[int]:
    """Return the dimensions that are rows or columns, as -2 and -1."""
    return {dim if dim < 0 else dim - rank for dim in dims} & {-2, -1}


# How much of a block is data ----------------------------------------------------------------------

# The possible numbers of rows and of columns with data; the rest is padding. None: unknown.
Size = frozenset[int] | None
Sizes = tuple[Size, Size]
UNKNOWN: Sizes = (None, None)
ONE = frozenset({1})
SUM = "operator +="
NAMES = ("row", "column")


def data_sizes(
    tensor: Sequence[int], starts: Sequence[int], units: Sequence[int], tile: int
) -> Sizes:
    """Return the data sizes of a part of a tensor, given its starts and sizes in shape units.

    A last row of several counts as unknown, not as ONE, which would ask for a broadcast.
    """
    shape, starts, units = ([1, 1, *each][-2:] for each in (tensor, starts, units))
    parts = zip(shape, starts, units, strict=True)
    rows, columns = (
        _data_size(size, size - start * tile, count * tile) for size, start, count in parts
    )
    return rows, columns


def _data_size(whole: int, left: int, part: int) -> Size:
    size = frozenset({max(0, min(left, part))})
    return None if size == ONE and whole > 1 else size


def broadcast_left_out(op: BlockOp, sizes: Sequence[Sizes]) -> RuleBroken | None:
    """Return the error if two operands surely have different numbers of rows or columns.

    A selector may cover data only, so it is wrong only with one row or column for several.
    """
    if not op.elementwise:
        return None
    if op.name in MASKS:
        place = SELECTORS[op.name]
        return _edge_for_more(op.spelling, sizes[place], [*sizes[:place], *sizes[place + 1 :]])
    for dim in (-2, -1):
        known = [size for each in sizes if (size := each[dim]) is not None]
        if known and not frozenset.intersection(*known):
            return _left_out(op.spelling, dim, min(known, key=min), max(known, key=max))
    return None


def accumulated_left_out(before: Sizes, added: Sizes) -> RuleBroken | None:
    """Return the error of `+=` if one side has one row or column and the other has more."""
    return _edge_for_more(SUM, added, [before]) or _edge_for_more(SUM, before, [added])


def _edge_for_more(spelling: str, edge: Sizes, others: Sequence[Sizes]) -> RuleBroken | None:
    for dim in (-2, -1):
        known = [size for each in others if (size := each[dim]) is not None]
        if edge[dim] == ONE and known and not any(1 in size for size in known):
            return _left_out(spelling, dim, ONE, max(known, key=max))
    return None


def _left_out(spelling: str, dim: int, less: frozenset[int], more: frozenset[int]) -> RuleBroken:
    name = NAMES[dim]
    counts = [" or ".join(map(str, sorted(each))) for each in (less, more)]
    return codes.BROADCAST_LEFT_OUT.broken(
        f"{spelling} combines {counts[0]} {name}{'s' * (less != {1})} of data with {counts[1]}: "
        "the rest of its tile holds none",
        f"write ttl.math.broadcast(x, dims=[{dim}]) for the operand with one {name}"
        if less == {1}
        else f"let both operands have as many {name}s, or one {name} for "
        f"ttl.math.broadcast(x, dims=[{dim}])",
    )


def sizes_after(op: BlockOp, sizes: Sequence[Sizes], dims: Sequence[int], rank: int) -> Sizes:
    """Return the data sizes of an operation's result."""
    if op.name == "matmul":
        return sizes[0][0], sizes[1][1]
    if op.name == "transpose":
        return sizes[0][1], sizes[0][0]
    if op.name in MASKS or not sizes:
        return UNKNOWN
    if op.elementwise:
        known = [[each[dim] for each in sizes if each[dim] is not None] for dim in (-2, -1)]
        rows, columns = (found[0] if found and len({*found}) == 1 else None for found in known)
        return rows, columns
    if op.name == "broadcast" or op.name.startswith("reduce_"):
        changed = None if op.name == "broadcast" else ONE  # the result of a reduction is an edge
        inner = _inner(dims, rank)
        rows, columns = (changed if dim in inner else sizes[0][dim] for dim in (-2, -1))
        return rows, columns
    return UNKNOWN


def merge_sizes(one: Sizes, other: Sizes) -> Sizes:
    """Return the data sizes of a block that may come from either."""
    rows, columns = (
        None if a is None or b is None else a | b for a, b in zip(one, other, strict=True)
    )
    return rows, columns

"""What is known of the padding of ragged tensors, and what takes it out."""

from __future__ import annotations

from collections.abc import Sequence

from ttl.diagnostics import RuleBroken, codes

from .ops import BlockOp

MASKS = ("mask", "mask_posinf", "where")
ZERO, ANY = "zero", "any"  # what the padding of a value is known to be


def padding_reduced(spelling: str) -> RuleBroken:
    return RuleBroken(
        codes.PADDING_REDUCED,
        f"{spelling} takes the padding of a ragged tensor into account",
        helps=("mask it before: ttl.math.mask(x, m), with 1 in m where the padding is",),
    )


def is_reduced(op_name: str, paddings: list[str]) -> bool:
    """Does the operation take these into account? A sum does not mind zeros."""
    is_reduction = op_name.startswith("reduce_")
    return is_reduction and bool(paddings) and (op_name != "reduce_sum" or ANY in paddings)


def after(op_name: str, paddings: list[str]) -> str | None:
    """What the operation leaves: it may have changed the padding, unless it takes it out."""
    takes_out = op_name in MASKS or op_name.startswith("reduce_")
    return None if takes_out or not paddings else ANY


# How much of a block is data ----------------------------------------------------------------------

# The rows and the columns that hold data, the rest is padding: all that they may be; None: unknown.
Size = frozenset[int] | None
Sizes = tuple[Size, Size]
UNKNOWN: Sizes = (None, None)
NAMES = ("row", "column")


def data_sizes(
    tensor: Sequence[int], starts: Sequence[int], units: Sequence[int], tile: int
) -> Sizes:
    """Of a part of a tensor of this shape, that starts there and is so many tiles large."""
    shape, starts, units = ([1, 1, *each][-2:] for each in (tensor, starts, units))
    parts = zip(shape, starts, units, strict=True)
    rows, columns = (
        frozenset({max(0, min(count * tile, size - start * tile))}) for size, start, count in parts
    )
    return rows, columns


def left_out_broadcast(op: BlockOp, sizes: Sequence[Sizes]) -> int | None:
    """-2 or -1: the dimension in which one operand has one element and another has more."""
    if not op.elementwise or op.name in MASKS or len(sizes) < 2:
        return None
    for dim in (-2, -1):
        known = [each[dim] for each in sizes if each[dim] is not None]
        if frozenset({1}) in known and any(each is not None and 1 not in each for each in known):
            return dim
    return None


def broadcast_left_out(spelling: str, dim: int) -> RuleBroken:
    name = NAMES[dim]
    return RuleBroken(
        codes.BROADCAST_LEFT_OUT,
        f"{spelling} combines an operand of one {name} with one of more: beside the first there is "
        "padding",
        helps=(f"write ttl.math.broadcast(x, dims=[{dim}]) for the operand with one {name}",),
    )


def sizes_after(op: BlockOp, sizes: Sequence[Sizes], dims: Sequence[int], rank: int) -> Sizes:
    """What of the result of an operation is data."""
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
        changed = {dim if dim < 0 else dim - rank for dim in dims}
        rows, columns = (None if dim in changed else sizes[0][dim] for dim in (-2, -1))
        return rows, columns
    return UNKNOWN


def joined(one: Sizes, other: Sizes) -> Sizes:
    """What blocks that come from either may have."""
    rows, columns = (
        None if a is None or b is None else a | b for a, b in zip(one, other, strict=True)
    )
    return rows, columns

"""What is known of the padding of ragged tensors, and what takes it out."""

from __future__ import annotations

from ttl.diagnostics import RuleBroken, codes

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

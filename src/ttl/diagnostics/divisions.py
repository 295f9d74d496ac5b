"""The rule of integers that are divided."""

from __future__ import annotations

from . import catalogue as codes
from .errors import RuleBroken


def divided_by_zero(sign: str) -> RuleBroken:
    """`sign` is // or %."""
    return RuleBroken(
        codes.NO_MEANING,
        f"an integer {sign} 0 has no value",
        helps=("replace the zeros first: ttl.math.where(b == 0, ttl.math.fill(1), b)",),
    )

"""The rule for dividing integers."""

from __future__ import annotations

from . import catalogue as codes
from .diagnostic import RuleBroken


def divided_by_zero(sign: str) -> RuleBroken:
    """Describe an integer division by zero; `sign` is // or %."""
    return codes.NO_MEANING.broken(
        f"an integer {sign} 0 has no value",
        "replace the zeros first: ttl.math.where(b == 0, ttl.math.fill(1), b)",
    )

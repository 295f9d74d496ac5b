"""How long an operation will take on its chip, and where the time goes."""

from .result import Change, Estimate, LineCost, Range, ThreadCost, estimate
from .text import estimate_text, estimate_values

__all__ = [
    "Change", "Estimate", "LineCost", "Range", "ThreadCost", "estimate", "estimate_text",
    "estimate_values",
]  # fmt: skip

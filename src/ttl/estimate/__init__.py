"""How long an operation will take on its chip, and where the time goes."""

from .result import Change, Estimate, LineCost, Range, ThreadCost, estimate
from .text import estimate_text, estimate_values
from .timeline import timeline_events

__all__ = [
    "Change", "Estimate", "LineCost", "Range", "ThreadCost", "estimate", "estimate_text",
    "estimate_values", "timeline_events",
]  # fmt: skip

"""Estimates an operation's time on its chip, and where the time goes."""

from .changes import most_valuable, wait_in_words
from .result import Change, Estimate, LineCost, Model, Range, ThreadCost, estimate
from .text import estimate_text, estimate_values
from .timeline import KernelTimeline, StepTime, Timeline, timeline, timeline_events

__all__ = [
    "Change",
    "Estimate",
    "KernelTimeline",
    "LineCost",
    "Model",
    "Range",
    "StepTime",
    "ThreadCost",
    "Timeline",
    "estimate",
    "estimate_text",
    "estimate_values",
    "most_valuable",
    "timeline",
    "timeline_events",
    "wait_in_words",
]

"""Finds the fastest configuration of tuned operations, and reports all that were tried."""

from .outcome import Outcome
from .result import Tuning
from .tuner import Tuner, tune

__all__ = ["Outcome", "Tuner", "Tuning", "tune"]

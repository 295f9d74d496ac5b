"""Finds the fastest configuration of tuned operations, and reports all that were tried."""

from .outcome import TrialOutcome
from .result import TuningResult
from .tuner import Tuner, tune

__all__ = ["TrialOutcome", "Tuner", "TuningResult", "tune"]

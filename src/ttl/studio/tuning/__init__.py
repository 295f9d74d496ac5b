"""The configurations of tuned operations: which of them takes least time, and what was tried."""

from .outcome import Outcome
from .result import Tuning
from .tuner import Tuner, tune

__all__ = ["Outcome", "Tuner", "Tuning", "tune"]

"""Runs compiled operations on this machine's CPU."""

from .launcher import launch
from .memory import PagedTensor

__all__ = ["PagedTensor", "launch"]

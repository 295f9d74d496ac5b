"""Runs compiled operations on this machine's CPU."""

from .counts import CallCounts, counts_table
from .launcher import launch
from .memory import PagedTensor
from .recording import record

__all__ = ["CallCounts", "PagedTensor", "counts_table", "launch", "record"]

"""Runs compiled operations on this machine's CPU."""

from .launcher import PagedTensor, launch

__all__ = ["PagedTensor", "launch"]

"""Runs a compiled operation on real hardware, through `ttnn.generic_op`."""

from .chip import Chip, chip_of
from .launcher import launch

__all__ = ["Chip", "chip_of", "launch"]

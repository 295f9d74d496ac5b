"""Costs of a chip from measurements: what is run, and what is made of the profiler's log."""

from pathlib import Path

PROGRAM = Path(__file__).with_name("kernels.py")

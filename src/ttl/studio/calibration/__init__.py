"""Measures a chip's costs: the program to run, and the reader of the profiler's log."""

from pathlib import Path

PROGRAM = Path(__file__).with_name("kernels.py")

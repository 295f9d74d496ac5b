"""The simulator: runs the Python of the kernels, one greenlet for each kernel on each node."""

from .simulation import run

__all__ = ["run"]

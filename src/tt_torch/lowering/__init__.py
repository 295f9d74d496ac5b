"""From FX graphs to StableHLO; importing this fills the table of lowerings."""

from . import along, calls, elementwise, matrix, random, shapes, windows
from .emitter import LOWERINGS, Drawn, UnsupportedOperation, emit_module

__all__ = [
    "LOWERINGS",
    "Drawn",
    "UnsupportedOperation",
    "along",
    "calls",
    "elementwise",
    "emit_module",
    "matrix",
    "random",
    "shapes",
    "windows",
]

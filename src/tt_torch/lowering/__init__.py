"""From FX graphs to StableHLO; importing this fills the table of lowerings."""

from . import along, calls, elementwise, matrix, pairs, random, shapes, windows
from .emitter import LOWERINGS, SEED_NAME, UnsupportedOperation, draws, emit_module

__all__ = [
    "LOWERINGS",
    "SEED_NAME",
    "UnsupportedOperation",
    "along",
    "calls",
    "draws",
    "elementwise",
    "emit_module",
    "matrix",
    "pairs",
    "random",
    "shapes",
    "windows",
]

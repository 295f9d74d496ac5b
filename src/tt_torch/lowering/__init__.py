"""Lowers FX graphs to StableHLO; importing this fills the table of lowerings."""

from . import along, calls, elementwise, matrix, pairs, random, shapes, windows  # noqa: F401
from .emitter import LOWERINGS, SEED_NAME, UnsupportedOperation, draws, emit_module

__all__ = ["LOWERINGS", "SEED_NAME", "UnsupportedOperation", "draws", "emit_module"]

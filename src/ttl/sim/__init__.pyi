"""The simulator, and the names that programs take from it."""

# ruff: noqa
# Written by `python tests/editor/stubs.py`; do not edit.

import ttl as ttl
from ttl import *
from ttl import BlockExpr as BlockExpr
from ttl import ttnn as ttnn
from ttl._flat import *
from ttl.sim.simulation import run

__all__ = [
    "run",
]

"""Calls that are compiled and not run, for whoever wants what a function of the program calls."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ttl.artifact import CompiledOperation

# With the tensors that it was compiled for.
CAPTURED: ContextVar[list[tuple[CompiledOperation, list[object]]] | None] = ContextVar(
    "captured", default=None
)

"""Whoever compiles without running finds here what was compiled, and for which tensors."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

from ttl.artifact import CompiledOperation

CAPTURED: ContextVar[list[tuple[CompiledOperation, list[Any]]] | None] = ContextVar(
    "captured", default=None
)

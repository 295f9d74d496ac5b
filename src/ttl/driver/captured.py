"""Where those who compile without running find what was compiled."""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ttl.artifact import CompiledOperation

# With the tensors that it was compiled for.
CAPTURED: ContextVar[list[tuple[CompiledOperation, list[Any]]] | None] = ContextVar(
    "captured", default=None
)

"""ttl.block: the functions of the op table that arrange, fill and select."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ttl.diagnostics.names import unknown_name
from ttl.semantics.ops import NAMESPACES

from .functions import functions

NAMES = tuple(NAMESPACES["block"])

__all__ = [*NAMES]  # of `from ttl.block import *`

globals().update(functions("block"))

if TYPE_CHECKING:
    from .functions import Function

    def __getattr__(name: str) -> Function: ...

else:

    def __getattr__(name: str) -> Any:
        raise unknown_name("ttl.block", name, NAMES)

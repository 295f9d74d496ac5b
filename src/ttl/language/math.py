"""ttl.math: the functions of the op table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ttl.diagnostics.names import unknown_name
from ttl.semantics.ops import NAMESPACES

from .functions import functions

NAMES = tuple(NAMESPACES["math"])

__all__ = [*NAMES]  # of `from ttl.math import *`

globals().update(functions("math"))

if TYPE_CHECKING:
    from .functions import Function

    def __getattr__(name: str) -> Function: ...

else:

    def __getattr__(name: str) -> Any:
        raise unknown_name("ttl.math", name, NAMES)

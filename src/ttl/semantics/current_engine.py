"""Context variables: the engine of a running kernel, the operation whose body runs.

Tensors of ttnn read them too; ttnn need not import the language.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from types import FunctionType
from typing import Any, Final

# Holds a ttl.language.engine.Engine in kernels.
ENGINE: Final[ContextVar[Any]] = ContextVar("ttl_engine")
# running_engine(None) equals ENGINE.get(None) without looking up the method each time, which takes
# longer than the call; kernels make a dozen such calls for each block.
running_engine: Final[Callable[[None], Any]] = ENGINE.get
# Holds the calls that a trace of ttnn has captured so far, for replay.
TRACE: Final[ContextVar[list[Callable[[], object]] | None]] = ContextVar("ttl_trace", default=None)
# Holds a ttl.language.declared.OperationScope while an operation's body runs.
SCOPE: Final[ContextVar[Any]] = ContextVar("ttl_operation_scope")
# Holds the function that makes the ttnn calls in the body of a pykernel function.
CALLS: Final[ContextVar[Callable[..., object] | None]] = ContextVar("ttl_ttnn_calls", default=None)


def _is_interpreted() -> bool:
    return True


# Compiled functions have no frames, so the innermost frame is in the user's code.
IS_COMPILED: Final = not isinstance(_is_interpreted, FunctionType)

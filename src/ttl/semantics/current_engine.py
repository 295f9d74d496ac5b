"""How calls find out where they are: the engine of a running kernel, the body of an operation.

Tensors of ttnn, which may not know the language, ask too.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from types import FunctionType
from typing import Any, Final

# Holds a ttl.language.engine.Engine in kernels.
ENGINE: Final[ContextVar[Any]] = ContextVar("ttl_engine")
# running_engine(None) is what ENGINE.get(None) is. Python looks up the method of an imported name
# anew at each call, which takes longer than the call; kernels make a dozen of them for each block.
running_engine: Final[Callable[[None], Any]] = ENGINE.get
# Holds the calls of a trace of ttnn while it is being captured, each to be made again.
TRACE: Final[ContextVar[list[Callable[[], object]] | None]] = ContextVar("ttl_trace", default=None)
# Holds a ttl.language.declared.OperationScope while the body of an operation is being run.
SCOPE: Final[ContextVar[Any]] = ContextVar("ttl_operation_scope")
# Holds what makes the calls of ttnn in the body of a pykernel function.
CALLS: Final[ContextVar[Callable[..., object] | None]] = ContextVar("ttl_ttnn_calls", default=None)


def _is_interpreted() -> bool:
    return True


# Compiled functions have no frames: the innermost one is then that of the user's code.
IS_COMPILED: Final = not isinstance(_is_interpreted, FunctionType)

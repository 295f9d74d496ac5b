"""The decorators that make functions the kernels of an operation."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any

from ttl.semantics.kernel_kinds import KernelKind

from .engine import scope
from .operation import KernelFunction, definition_span, no_parentheses, refused

Kernel = Callable[[], None]


def compute(*misplaced: Any, **unknown: Any) -> Callable[[Kernel], Kernel]:
    """Declare the compute kernel of an operation."""
    return _register(KernelKind.COMPUTE, misplaced, unknown)


def datamovement(*misplaced: Any, **unknown: Any) -> Callable[[Kernel], Kernel]:
    """Declare a data movement kernel of an operation."""
    return _register(KernelKind.DATAMOVEMENT, misplaced, unknown)


def _register(
    kind: KernelKind, misplaced: tuple[Any, ...], unknown: dict[str, Any]
) -> Callable[[Kernel], Kernel]:
    spelling = f"@ttl.{kind.value}()"
    if unknown or (misplaced and not isinstance(misplaced[0], FunctionType)):
        raise refused(f"{spelling} takes no arguments", f"write {spelling}")
    if misplaced:
        raise no_parentheses(kind.value, spelling)
    collected = scope(spelling)

    def decorate(function: Kernel) -> Kernel:
        _check_kernel(function)
        collected.kernels.append(KernelFunction(kind, function))
        return function

    return decorate


NEVER_RUN = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
TAKES_MORE = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS


def _check_kernel(function: Kernel) -> None:
    """Kernels are plain functions without parameters."""
    code, span = function.__code__, definition_span(function)
    if code.co_flags & NEVER_RUN:
        raise refused(
            f"kernel `{function.__name__}` is a generator or a coroutine, which would never run",
            "write a plain function, without yield, await or async",
            span,
        )
    if code.co_argcount or code.co_kwonlyargcount or code.co_flags & TAKES_MORE:
        raise refused(
            f"kernel `{function.__name__}` has parameters",
            "kernels take none: use the variables of the operation around them",
            span,
        )

"""The decorators that make functions kernels of an operation."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any, overload

from ttl.diagnostics import RuleBroken, codes
from ttl.semantics.kernel_kinds import KernelKind

from .calls import refused
from .engine import scope
from .operation import KernelFunction, definition_span

Kernel = Callable[[], None]
Decorated = Kernel | Callable[[Kernel], Kernel]


@overload
def compute(function: Kernel, /) -> Kernel: ...
@overload
def compute() -> Callable[[Kernel], Kernel]: ...
def compute(*function: object, **unknown: object) -> Decorated:
    """Declare the compute kernel of an operation; parentheses are optional."""
    return _register(KernelKind.COMPUTE, function, unknown)


@overload
def datamovement(function: Kernel, /) -> Kernel: ...
@overload
def datamovement() -> Callable[[Kernel], Kernel]: ...
def datamovement(*function: object, **unknown: object) -> Decorated:
    """Declare a data movement kernel of an operation; parentheses are optional."""
    return _register(KernelKind.DATAMOVEMENT, function, unknown)


def _register(kind: KernelKind, function: tuple[Any, ...], unknown: dict[str, object]) -> Decorated:
    spelling = f"@ttl.{kind.value}()"
    if unknown or len(function) > 1 or not all(isinstance(f, FunctionType) for f in function):
        message, help_text = f"{spelling} takes no arguments", f"write {spelling}"
        raise refused(message, help_text, None, codes.WRONG_DECLARATION)
    collected = scope(spelling)

    def decorate(function: Kernel) -> Kernel:
        _check_kernel(function)
        collected.kernels.append(KernelFunction(kind, function))
        return function

    return decorate(*function) if function else decorate


def kernel_returns_value(name: str) -> RuleBroken:
    return codes.WRONG_DECLARATION.broken(
        f"kernel `{name}` returns a value", "kernels return nothing: store results into blocks"
    )


NEVER_RUN = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
TAKES_MORE = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS


def _check_kernel(function: Kernel) -> None:
    """Raise UsageError unless the kernel is a plain function without parameters."""
    code, span = function.__code__, definition_span(function)
    if code.co_flags & NEVER_RUN:
        raise refused(
            f"kernel `{function.__name__}` is a generator or a coroutine, which would never run",
            "write a plain function, without yield, await or async",
            span,
            codes.WRONG_DECLARATION,
        )
    if code.co_argcount or code.co_kwonlyargcount or code.co_flags & TAKES_MORE:
        raise refused(
            f"kernel `{function.__name__}` has parameters",
            "kernels take none: write it as a function inside of the operation, and use the "
            "variables around it",
            span,
            codes.WRONG_DECLARATION,
        )

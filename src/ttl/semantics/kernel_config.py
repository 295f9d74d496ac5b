"""How wide the DST registers of a compute kernel are: one rule for simulator and compiler."""

from __future__ import annotations

import dis
from collections.abc import Callable, Iterable
from types import CodeType, FunctionType

from .dtypes import DType, bfloat16, float32


def needs_fp32_dest(explicit: bool | None, uses_matmul: bool, dtypes: Iterable[DType]) -> bool:
    """An explicit choice wins; a matmul or any f32 buffer of the kernel asks for 32 bits."""
    if explicit is not None:
        return explicit
    return uses_matmul or float32 in dtypes


def dest_dtype(fp32_dest_acc_en: bool) -> DType:
    """The format of every intermediate value of a block expression."""
    return float32 if fp32_dest_acc_en else bfloat16


def uses_matmul(function: Callable[[], None]) -> bool:
    """Does the kernel, or a Python function it can reach by name, contain `@`?"""
    return _reaches_matmul(function, set())


def _reaches_matmul(function: Callable[..., object], seen: set[CodeType]) -> bool:
    if not isinstance(function, FunctionType) or function.__code__ in seen:
        return False
    seen.add(function.__code__)
    return _has_matmul(function.__code__) or any(
        _reaches_matmul(callee, seen) for callee in _reachable_functions(function)
    )


def _has_matmul(code: CodeType) -> bool:
    instructions = dis.get_instructions(code)
    if any(i.opname == "BINARY_OP" and i.argrepr in ("@", "@=") for i in instructions):
        return True
    return any(_has_matmul(const) for const in code.co_consts if isinstance(const, CodeType))


def _reachable_functions(function: FunctionType) -> list[Callable[..., object]]:
    named = [function.__globals__.get(name) for name in function.__code__.co_names]
    captured = [_cell_value(cell) for cell in function.__closure__ or ()]
    return [value for value in named + captured if isinstance(value, FunctionType)]


def _cell_value(cell: object) -> object:
    try:
        return cell.cell_contents  # type: ignore[attr-defined]
    except ValueError:  # the name is not bound yet
        return None

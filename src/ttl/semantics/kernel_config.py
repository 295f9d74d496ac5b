"""How a compute kernel is configured: one rule for simulator and compiler."""

from __future__ import annotations

import dis
from collections.abc import Callable, Iterable
from functools import lru_cache
from types import CodeType, FunctionType

from .dtypes import DType, bfloat16, float16, float32, int32, uint8, uint16, uint32

MATH_FIDELITIES = ("LoFi", "HiFi2", "HiFi3", "HiFi4")

# An integer is 32 bits wide in a register, whatever its type. A float16 has digits that the 16-bit
# registers of the chip's own functions, which are bfloat16, would lose.
INTEGERS = (int32, uint32, uint16, uint8)
WIDE = (float32, float16, *INTEGERS)


def needs_fp32_dest(explicit: bool | None, uses_matmul: bool, dtypes: Iterable[DType]) -> bool:
    """An explicit choice wins; a matmul, and f32, float16 or integers among the `dtypes` of the
    buffers and of casts to integers, ask for 32 bits."""
    if explicit is not None:
        return explicit
    return uses_matmul or not set(dtypes).isdisjoint(WIDE)


def dest_dtype(fp32_dest_acc_en: bool, dtypes: Iterable[DType] = ()) -> DType:
    """The format of every intermediate float value; integers keep their own type.

    16 bits are bfloat16, or float16 in a kernel of which all 16-bit float buffers are float16.
    """
    if fp32_dest_acc_en:
        return float32
    dtypes = set(dtypes)
    all_float16 = float16 in dtypes and not any(_fits_bfloat16(dtype) for dtype in dtypes)
    return float16 if all_float16 else bfloat16


def _fits_bfloat16(dtype: DType) -> bool:
    return dtype is bfloat16 or dtype.is_block_float


def uses_matmul(function: Callable[[], None]) -> bool:
    """Does the kernel, or a Python function it can reach by name, contain `@`?"""
    return any(_has_matmul(reached.__code__) for reached in _reached(function))


def named_integers(function: Callable[[], None]) -> list[DType]:
    """The integer types that the kernel, or a Python function it can reach by name, mentions."""
    reached = _reached(function)
    names = {name for each in reached for name in _names(each.__code__)}  # `ttnn.int32`
    values = [value for each in reached for value in _named_values(each)]
    return [
        dtype
        for dtype in INTEGERS
        if dtype.name in names or any(value is dtype for value in values)
    ]


def _reached(function: Callable[..., object]) -> list[FunctionType]:
    found: dict[CodeType, FunctionType] = {}
    todo: list[object] = [function]
    while todo:
        value = todo.pop()
        if isinstance(value, FunctionType) and value.__code__ not in found:
            found[value.__code__] = value
            todo += _named_values(value)
    return list(found.values())


@lru_cache(maxsize=1024)
def _has_matmul(code: CodeType) -> bool:
    instructions = dis.get_instructions(code)
    if any(i.opname == "BINARY_OP" and i.argrepr in ("@", "@=") for i in instructions):
        return True
    return any(_has_matmul(const) for const in code.co_consts if isinstance(const, CodeType))


@lru_cache(maxsize=1024)
def _names(code: CodeType) -> frozenset[str]:
    """Also in the functions and comprehensions inside."""
    inner = [_names(const) for const in code.co_consts if isinstance(const, CodeType)]
    return frozenset(code.co_names).union(*inner)


def _named_values(function: FunctionType) -> list[object]:
    named = [function.__globals__.get(name) for name in sorted(_names(function.__code__))]
    return named + [_cell_value(cell) for cell in function.__closure__ or ()]


def _cell_value(cell: object) -> object:
    try:
        return cell.cell_contents  # type: ignore[attr-defined]
    except ValueError:  # the name is not bound yet
        return None

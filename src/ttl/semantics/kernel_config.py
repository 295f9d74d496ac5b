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
WIDE = (float32, float16, int32, uint32, uint16, uint8)


def needs_fp32_dest(explicit: bool | None, uses_matmul: bool, dtypes: Iterable[DType]) -> bool:
    """An explicit choice wins; a matmul, and any buffer of f32, float16 or integers, asks for 32
    bits."""
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
    return _reaches_matmul(function, set())


def _reaches_matmul(function: Callable[..., object], seen: set[CodeType]) -> bool:
    if not isinstance(function, FunctionType) or function.__code__ in seen:
        return False
    seen.add(function.__code__)
    return _has_matmul(function.__code__) or any(
        _reaches_matmul(callee, seen) for callee in _reachable_functions(function)
    )


@lru_cache(maxsize=1024)
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

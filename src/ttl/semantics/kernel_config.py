"""The configuration of a compute kernel, with the same rules for simulator and compiler."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from ttl.target.data_formats import MATH_FIDELITIES as MATH_FIDELITIES

from .compiler_options import DEFAULTS, Options
from .dtypes import TF32_DIGITS, DType, bfloat16, float16, float32, int32, uint8, uint16, uint32

# Every integer is 32 bits wide in a register. The chip's functions use bfloat16 in 16-bit
# registers, which would lose digits of a float16.
INTEGERS = (int32, uint32, uint16, uint8)
WIDE = (float32, float16, *INTEGERS)
# How f32 blocks reach the compute kernel: with all their digits, or rounded to TF32.
F32_WAYS = ("exact", "tf32")
# How to divide a block by a broadcast: tile by tile, or by multiplying with the reciprocal.
DIVISIONS = ("exact", "reciprocal")


class Sum(Enum):
    """An operation that adds up many values; its value is the option that keeps it at 32 bits."""

    MATMUL = "ttl-matmul-full-fp32"
    REDUCTION = "ttl-reduce-full-fp32"


def needs_fp32_dest(
    explicit: bool | None,
    sums: Iterable[Sum],
    dtypes: Iterable[DType],
    options: Options = DEFAULTS,
) -> bool:
    """Return whether the registers of a compute kernel are 32 bits wide.

    An explicit choice wins. Otherwise matmuls and reductions ask for 32 bits unless their option
    is off, and so do f32, float16 or integers among the `dtypes` of buffers and casts.
    """
    if explicit is not None:
        return explicit
    return any(options[each.value] for each in sums) or not set(dtypes).isdisjoint(WIDE)


@dataclass(frozen=True, slots=True)
class Product:
    """A multiplication in the matrix unit: a matmul, an elementwise product, or a scaled sum."""

    is_matmul: bool
    operands: tuple[DType, ...]


# The multipliers take 5 digits of source A and 7 of source B at a time (ISA documentation of the
# chip, SrcASrcB.md). Phase 1 takes the next digits of A, phase 2 those of B, phase 3 those of both.
FIRST_DIGITS_OF_A = 5
FIRST_DIGITS_OF_B = 7


def math_fidelity(products: Iterable[Product], results: Iterable[DType]) -> str:
    """Return the fidelity with the fewest phases that loses no digits.

    Matmuls of bfloat16 with equally narrow `results` may lose 2 ** -11 of a product, which is less
    than rounding the result loses.
    """
    products = tuple(products)
    digits = max((_digits(dtype) for one in products for dtype in one.operands), default=None)
    if digits is None:
        return "HiFi4"
    if digits <= FIRST_DIGITS_OF_A:
        return "LoFi"
    if digits <= FIRST_DIGITS_OF_B:
        return "HiFi2"
    are_matmuls = all(one.is_matmul for one in products)
    is_narrow = digits == _digits(bfloat16) and set(results).isdisjoint(WIDE)
    return "HiFi3" if are_matmuls and is_narrow else "HiFi4"


def dest_dtype(fp32_dest_acc_en: bool, dtypes: Iterable[DType] = ()) -> DType:
    """Return the format of every intermediate float value; integers keep their own type.

    16-bit registers are bfloat16, or float16 if all 16-bit float buffers of the kernel are.
    """
    if fp32_dest_acc_en:
        return float32
    dtypes = set(dtypes)
    all_float16 = float16 in dtypes and not any(_fits_bfloat16(dtype) for dtype in dtypes)
    return float16 if all_float16 else bfloat16


def _fits_bfloat16(dtype: DType) -> bool:
    return dtype is bfloat16 or dtype.is_block_float


def _digits(dtype: DType) -> int:
    """Return the digits that a source of the matrix unit holds, including the leading 1."""
    if dtype.is_block_float:
        return dtype.mantissa_bits
    return 8 if dtype is bfloat16 else TF32_DIGITS + 1

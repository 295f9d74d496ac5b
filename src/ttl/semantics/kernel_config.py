"""How a compute kernel is configured: one rule for simulator and compiler."""

from __future__ import annotations

from collections.abc import Iterable

from ttl.target.data_formats import MATH_FIDELITIES as MATH_FIDELITIES

from .dtypes import DType, bfloat16, float16, float32, int32, uint8, uint16, uint32

# An integer is 32 bits wide in a register, whatever its type. A float16 has digits that the 16-bit
# registers of the chip's own functions, which are bfloat16, would lose.
INTEGERS = (int32, uint32, uint16, uint8)
WIDE = (float32, float16, *INTEGERS)
# How f32 blocks come to the compute kernel: with all their digits, or with those of a TF32.
F32_WAYS = ("exact", "tf32")
# How a block is divided by a broadcast: tile by tile, or multiplied by the broadcast reciprocal.
DIVISIONS = ("exact", "reciprocal")


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

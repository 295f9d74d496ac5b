"""Numbers with rules of their own, for every element type: zeros, denormals, the largest and the
smallest, infinities, NaN, halves and ties."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from ttl.semantics.dtypes import DType

SIDE = 32  # as many numbers, so that a tile has all pairs
MINUS_NAN = np.array(0xFFC00000, np.uint32).view(np.float32)[()]


def special_values(dtype: DType) -> np.ndarray:
    return _floats(dtype) if dtype.is_float else _integers(dtype)


def _floats(dtype: DType) -> np.ndarray:
    """As f32; what a type cannot hold it rounds. The last digits that an f32 has and a bfloat16 has
    not are such that a TF32 has them."""
    held = ml_dtypes.bfloat16 if dtype.is_block_float else dtype.storage
    info: Any = ml_dtypes.finfo(held)  # type: ignore[no-untyped-call]
    least, denormal = float(info.smallest_normal), float(info.smallest_subnormal)
    largest = float(info.max)
    values = [
        0.0,
        -0.0,
        least,
        -least,
        denormal,
        -denormal,
        least - denormal,
        largest,
        -largest,
        np.inf,
        -np.inf,
        np.nan,
        MINUS_NAN,
        0.5,
        1.5,
        2.5,
        -0.5,
        -1.5,
        -2.5,
        1.0,
        -1.0,
        3.0,
        -3.0,
        1 + 2.0**-8,
        1 + 3 * 2.0**-8,
        -88.0,
        88.0,
        1e-20,
        3.0e38,
        6.0,
        7.25,
        -7.25,
    ]
    assert len(values) == SIDE
    return np.array(values, np.float32)


def _integers(dtype: DType) -> np.ndarray:
    limits = np.iinfo(dtype.storage)  # type: ignore[type-var]
    near = [0, 1, 2, 3, 5, 7, 16, 100, 127, 128, 255]
    far = [limits.max, limits.max - 1, limits.max // 2, limits.max // 2 + 1, limits.max // 3]
    negative = [-1, -2, -3, -7, -100, limits.min, limits.min + 1] if limits.min else []
    values = [*near, *far, *negative]
    return np.resize(np.array(values, np.int64), SIDE)


def pairs(dtype: DType) -> tuple[np.ndarray, np.ndarray]:
    """Two blocks in which every number meets every other; the elements of a group of a block float
    are alike, or they would share an exponent."""
    values = special_values(dtype)
    width = 16 if dtype.is_block_float else 1
    columns = np.repeat(values, width)[np.newaxis, :]
    return np.repeat(values[:, np.newaxis], SIDE * width, 1), np.repeat(columns, SIDE, 0)

"""The chip's own rules for NaN, infinities, denormals and both zeros.

ORDER    The vector unit compares signs and magnitudes (SFPSWAP), and so do the maxima of the matrix
         unit (GMPOOL): -0 is less than +0, and a NaN is beyond the infinity of its sign.
PRODUCT  In 16-bit registers a product is +0 where a factor is 0, even if the other one is
         infinite or NaN (calculate_sfpu_binary_mul; the matrix unit treats an infinity as a large
         number).
FLUSH    Exponentials below the least normal number are 0 (exp_tile).
NAN      A computed NaN has no sign, whatever the processor gives it; a NaN that is moved or chosen
         keeps its own. (On the chip it may have either: ISA documentation, SFPMAD.md.)

Most arrays have neither NaN nor zeros, so a quick look decides whether the rules matter.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .. import block_math
from ..dtypes import Array

LEAST_NORMAL = float(np.finfo(np.float32).tiny)
_MAGNITUDE = np.int32(0x7FFFFFFF)
_NAN = np.float32(np.nan)


def clear_nan_signs(values: Array) -> Array:
    """Remove the signs of NaNs (rule NAN)."""
    if values.dtype.kind != "f" or not _has_nan(values):
        return values
    return np.where(np.isnan(values), _NAN, values)


def larger(a: Array, b: Array | float) -> Array:
    """Return the larger elements (rule ORDER)."""
    found = np.maximum(a, b)
    return found if _is_plain(found) else _floats(np.maximum(_places(a), _places(b)))


def smaller(a: Array, b: Array | float) -> Array:
    """Return the smaller elements (rule ORDER)."""
    found = np.minimum(a, b)
    return found if _is_plain(found) else _floats(np.minimum(_places(a), _places(b)))


def clamp(x: Array, min: Array | float, max: Array | float) -> Array:
    return smaller(larger(x, min), max)


def largest(x: Array, dims: tuple[int, ...]) -> Array:
    """Return the largest elements along dimensions, which stay with size 1 (rule ORDER)."""
    if dims == (x.ndim - 1,) and (of_rows := block_math.row_max(x)) is not None:
        rows: Array = of_rows
        return rows
    found = np.maximum.reduce(x, axis=dims, keepdims=True)
    if _is_plain(found):
        return found
    return _floats(np.maximum.reduce(_places(x), axis=dims, keepdims=True))


def smallest(x: Array, dims: tuple[int, ...]) -> Array:
    found = np.minimum.reduce(x, axis=dims, keepdims=True)
    if _is_plain(found):
        return found
    return _floats(np.minimum.reduce(_places(x), axis=dims, keepdims=True))


def relu(x: Array) -> Array:
    """Return x, or +0 where x has a sign (rule ORDER)."""
    if x.dtype.kind == "i":
        return np.maximum(x, 0)
    return np.where(np.signbit(x), np.float32(0), x)


def has_no_sign(x: Array) -> Array:
    """Return whether there is no sign bit, which NaN and zero may have too."""
    return x >= 0 if x.dtype.kind == "i" else ~np.signbit(x)


def narrow_product(a: Array, b: Array) -> Array:
    """Multiply (rule PRODUCT)."""
    found = np.multiply(a, b)
    if found.dtype.kind != "f":
        return found
    found = found + np.float32(0)
    if not _has_nan(found):
        return found
    return np.where((a == 0) | (b == 0), np.float32(0), found)


def flush_denormals(values: Array) -> Array:
    """Flush denormals (rule FLUSH), in place if the native module is there."""
    if block_math.flushed(values):
        return values
    return np.where(values < LEAST_NORMAL, np.float32(0), values)


_NATIVE: dict[object, int] = {
    meaning: block_math.OPERATIONS.index(name)
    for name, meaning in {
        "add": np.add,
        "sub": np.subtract,
        "mul": np.multiply,
        "div": np.divide,
        "max": larger,
        "min": smaller,
        "narrow_mul": narrow_product,
        "matmul": block_math.matrix_product,
    }.items()
}


def native_operation(meaning: Callable[..., object]) -> int:
    """Return the number of a meaning in block_math.binary(), or -1."""
    return _NATIVE.get(meaning, -1)


def _is_plain(values: Array) -> bool:
    """Return whether these are integers, or floats without NaN and zero."""
    return values.dtype.kind != "f" or bool(values.all() and not _has_nan(values))


def _has_nan(values: Array) -> bool:
    """Return whether there is a NaN: squares cannot cancel, so only a NaN makes their sum NaN."""
    if (found := block_math.has_nan(values)) is not None:
        return bool(found)
    flat = values.reshape(-1)
    return bool(np.isnan(np.dot(flat, flat)))


def _places(x: object) -> Array:
    """Map floats to integers of the same order; _floats() is the inverse."""
    bits = np.asarray(x, np.float32).view(np.int32)
    return bits ^ ((bits >> 31) & _MAGNITUDE)


def _floats(places: Array) -> Array:
    found: Array = (places ^ ((places >> 31) & _MAGNITUDE)).view(np.float32)
    return found

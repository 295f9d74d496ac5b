"""The simulator's arithmetic on whole blocks, in the native module that wheels contain.

Each function returns None if it does not apply, and always without the module. The caller then uses
numpy, which gives the same bits. docs/decisions/0038 has the reasons.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from .dtypes import Array

# In the order of OPERATIONS_ON_ROWS in block_math.c.
OPERATIONS: Final = ("add", "sub", "mul", "div", "max", "min", "narrow_mul", "matmul")
ROW_REDUCTIONS: Final = ("reduce_max", "reduce_sum")  # in the order of row_reduced() there
LANES: Final = 32

try:
    _native: object = import_module("._block_math", __package__)
except ImportError:
    _native = None


def _not_done(*arguments: object) -> None:
    return None


def _function(name: str) -> Callable[..., Any]:  # the results are of several types
    found: Callable[..., object] = getattr(_native, name, _not_done)
    return found


binary: Final = _function("binary")  # an operation on two arrays, rounded to registers
widened: Final = _function("widened")  # bfloat16 to f32
stored: Final = _function("stored")  # f32 to bfloat16
filled: Final = _function("filled")  # words with one word
loaded: Final = _function("loaded")  # tiles of a matrix to a block
saved: Final = _function("saved")  # a block to tiles of a matrix
marked: Final = _function("marked")  # a box of a map, with a number
claimed: Final = _function("claimed")  # marked(), but only if the box was 0
flushed: Final = _function("flushed")  # denormal numbers to 0, in place
has_nan: Final = _function("has_nan")
row_max: Final = _function("row_max")
row_reduced: Final = _function("row_reduced")  # one of ROW_REDUCTIONS, in tiles
_row_sum: Final = _function("row_sum")


def matrix_product(a: Array, b: Array) -> Array:
    """Return the matrix product, whose order of summation numpy's BLAS chooses by processor.

    The native product, binary() of "matmul", sums over k in order, like the executor.
    """
    # np.dot() gives the same product of two dimensions, and is faster if they are small.
    found: Array = np.dot(a, b) if a.ndim == 2 else np.matmul(a, b)
    return found


def row_sum(values: Array) -> Array:
    """Sum each row in doubles: column by column of its tiles, then these columns in halves.

    The order is fixed and a NaN has no sign, so all engines give the same bits.
    """
    found: Array | None = _row_sum(values)
    if found is not None:
        return found
    *leading, size = values.shape
    tiles = values.reshape(-1, size // LANES, LANES).swapaxes(0, 1)  # numpy adds whole rows fast
    sums: Array = np.add.reduce(np.ascontiguousarray(tiles, np.float64), axis=0, initial=0.0)
    half = LANES // 2
    while half:
        sums = sums[:, :half] + sums[:, half:]
        half //= 2
    return np.where(np.isnan(sums), np.nan, sums).reshape(*leading, 1)

"""Memory for arrays, aligned to cache lines.

numpy's own starts 16 or 48 bytes later, so each row of a bfloat16 tile would span two lines.
"""

from __future__ import annotations

from math import prod

import numpy as np

from .dtypes import Array
from .types import Shape

LINE_BYTES = 64


def zeros(shape: Shape, dtype: np.dtype[np.generic]) -> Array:
    return _at_line(np.zeros(_room(shape, dtype), np.uint8), shape, dtype)


def empty(shape: Shape, dtype: np.dtype[np.generic]) -> Array:
    return _at_line(np.empty(_room(shape, dtype), np.uint8), shape, dtype)


def _room(shape: Shape, dtype: np.dtype[np.generic]) -> int:
    return prod(shape) * dtype.itemsize + LINE_BYTES


def _at_line(room: Array, shape: Shape, dtype: np.dtype[np.generic]) -> Array:
    start = -room.__array_interface__["data"][0] % LINE_BYTES
    found: Array = room[start : start + room.size - LINE_BYTES].view(dtype).reshape(shape)
    return found

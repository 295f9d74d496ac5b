"""Memory for arrays, beginning where a line of the processor's cache does.

numpy's own begins 16 or 48 bytes later: then each row of a tile of bfloat16 lies in two lines.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from .dtypes import Array
from .types import Shape

LINE_BYTES = 64


def zeros(shape: Shape, dtype: np.dtype[Any]) -> Array:
    return _at_line(np.zeros(_room(shape, dtype), np.uint8), shape, dtype)


def empty(shape: Shape, dtype: np.dtype[Any]) -> Array:
    return _at_line(np.empty(_room(shape, dtype), np.uint8), shape, dtype)


def _room(shape: Shape, dtype: np.dtype[Any]) -> int:
    return prod(shape) * dtype.itemsize + LINE_BYTES


def _at_line(room: Array, shape: Shape, dtype: np.dtype[Any]) -> Array:
    start = -room.__array_interface__["data"][0] % LINE_BYTES
    found: Array = room[start : start + room.size - LINE_BYTES].view(dtype).reshape(shape)
    return found

"""Memory for the slots of dataflow buffers, kept from one run for the next.

A run on a full grid takes tens of megabytes of it. Fresh memory comes from the system page by
page, which costs more than small operations compute.
"""

from __future__ import annotations

import threading
from collections import defaultdict

import numpy as np

from ttl.semantics.dtypes import Array
from ttl.semantics.types import Shape

MOST_KEPT_BYTES = 64 * 1024 * 1024


class _Kept(threading.local):
    """What the finished runs of a thread left."""

    def __init__(self) -> None:
        self.arrays: dict[tuple[Shape, np.dtype[np.generic]], list[Array]] = defaultdict(list)
        self.bytes = 0


_KEPT = _Kept()


def take(shape: Shape, dtype: np.dtype[np.generic]) -> Array:
    """An array with anything in it."""
    kept = _KEPT.arrays.get((shape, dtype))
    if not kept:
        return np.empty(shape, dtype)
    array = kept.pop()
    _KEPT.bytes -= array.nbytes
    return array


def give_back(array: Array) -> None:
    """Nobody uses the array any more."""
    if _KEPT.bytes + array.nbytes <= MOST_KEPT_BYTES:
        _KEPT.arrays[array.shape, array.dtype].append(array)
        _KEPT.bytes += array.nbytes

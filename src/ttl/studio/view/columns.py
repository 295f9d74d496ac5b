"""Packs columns of numbers into few bytes of text, which a page unpacks into typed arrays.

A column is 32-bit words, split into planes: first the lowest byte of every word, then the next.
Repetitions then have a short period, which compresses well; planes of only zeros are left out.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

WORD_BYTES = 4
LEVEL = 6  # of compression; higher levels take twice as long for 2% less


def pack(columns: Sequence[NDArray[np.int64]]) -> tuple[list[int], bytes]:
    """Return the number of planes of each column, and all columns concatenated."""
    parts, counts = [], []
    for column in columns:
        words = np.ascontiguousarray(column.astype("<i4", casting="unsafe"))
        planes = words.view(np.uint8).reshape(-1, WORD_BYTES).T
        used = [n + 1 for n in range(WORD_BYTES) if planes[n].any()]
        counts.append(max(used, default=0))
        parts.append(planes[: counts[-1]].tobytes())
    return counts, b"".join(parts)


def as_text(data: bytes) -> str:
    return base64.b64encode(zlib.compress(data, LEVEL)).decode("ascii")


def deltas(starts: NDArray[np.int64], first_of_track: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return each number minus the one before it; the first of each track is unchanged."""
    steps = np.diff(starts, prepend=0)
    steps[first_of_track] = starts[first_of_track]
    return steps

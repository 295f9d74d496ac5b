"""Random bits that are a function of a key and a counter: Threefry-2x32 with 20 rounds.

Equal words give equal bits, in any order and on any machine; bits of different counters are
independent. The algorithm is from Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy
as 1, 2, 3"; results come in the order of XLA's THREE_FRY.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .dtypes import Array

STATE_WORDS = 4  # two of a key, then a counter, its lower half first
_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = 0x1BD11BDA


def random_bits(words: object, shape: Sequence[int]) -> Array:
    """Return `shape[0]` random uint32 for the four words of the state."""
    (count,) = shape
    words = np.asarray(words).astype(np.uint32)
    start = int(words[2]) | int(words[3]) << 32
    counters = np.arange(-(-count // 2), dtype=np.uint64) + np.uint64(start)
    found = np.empty((len(counters), 2), np.uint32)
    low = counters.astype(np.uint32)
    high = (counters >> np.uint64(32)).astype(np.uint32)
    found[:, 0], found[:, 1] = _threefry(words[:2], low, high)
    return found.reshape(-1)[:count]


def _threefry(key: Array, x: Array, y: Array) -> tuple[Array, Array]:
    """Encrypt the two halves of each counter in place."""
    keys = (*key, key[0] ^ key[1] ^ np.uint32(_PARITY))
    x += keys[0]
    y += keys[1]
    turned = np.empty_like(y)
    for part in range(5):
        for distance in _ROTATIONS[part % 2]:
            x += y
            np.left_shift(y, np.uint32(distance), out=turned)
            y >>= np.uint32(32 - distance)
            y |= turned
            y ^= x
        x += keys[(part + 1) % 3]
        y += keys[(part + 2) % 3]
        y += np.uint32(part + 1)
    return x, y

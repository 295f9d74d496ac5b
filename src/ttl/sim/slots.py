"""Memory for the slots of dataflow buffers, kept for the next node and the next run.

Nodes that need nothing of each other run one after the other, and so in the same memory. Else a run
on a full grid takes tens of megabytes of it. Fresh memory comes from the system page by page, which
costs more than small operations compute.
"""

from __future__ import annotations

import threading
from collections import defaultdict

import numpy as np

from ttl.semantics.dtypes import Array
from ttl.semantics.memory import empty
from ttl.semantics.types import Shape

MOST_KEPT_BYTES = 64 * 1024 * 1024

# The blocks of one buffer, in their element type and as unsigned integers.
Slots = tuple[list[Array], list[Array]]


class _Kept(threading.local):
    """What the finished nodes and runs of a thread left."""

    def __init__(self) -> None:
        self.slots: dict[tuple[int, Shape, np.dtype[np.generic]], list[Slots]] = defaultdict(list)
        self.bytes = 0


_KEPT = _Kept()


def take(count: int, extent: Shape, dtype: np.dtype[np.generic]) -> Slots:
    """So many blocks with anything in them."""
    kept = _KEPT.slots.get((count, extent, dtype))
    if not kept:
        memory = empty((count, *extent), dtype)
        return list(memory), list(memory.view(f"u{dtype.itemsize}"))
    slots = kept.pop()
    _KEPT.bytes -= _bytes(slots[0])
    return slots


def give_back(slots: list[Array], words: list[Array]) -> None:
    """Nobody uses the blocks any more."""
    size, first = _bytes(slots), slots[0]
    if _KEPT.bytes + size <= MOST_KEPT_BYTES:
        _KEPT.slots[len(slots), first.shape, first.dtype].append((slots, words))
        _KEPT.bytes += size


def _bytes(slots: list[Array]) -> int:
    return len(slots) * slots[0].nbytes

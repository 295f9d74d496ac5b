"""Memory for the slots of dataflow buffers, kept for the next node and the next run.

Nodes that need no data from each other run one after the other and reuse the same memory.
Otherwise, a full grid takes tens of megabytes. The system hands out fresh memory page by page,
which costs more than small operations compute.
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
    """Slots left by a thread's finished nodes and runs."""

    def __init__(self) -> None:
        self.slots: dict[tuple[int, Shape, np.dtype[np.generic]], list[Slots]] = defaultdict(list)
        self.bytes = 0


_KEPT = _Kept()


def take_slots(count: int, extent: Shape, dtype: np.dtype[np.generic]) -> Slots:
    """Return `count` uninitialized blocks."""
    kept = _KEPT.slots.get((count, extent, dtype))
    if not kept:
        memory = empty((count, *extent), dtype)
        return list(memory), list(memory.view(f"u{dtype.itemsize}"))
    slots = kept.pop()
    _KEPT.bytes -= _bytes(slots[0])
    return slots


def keep_slots(slots: list[Array], words: list[Array]) -> None:
    """Keep the memory of unused blocks, if there is not too much already."""
    size, first = _bytes(slots), slots[0]
    if _KEPT.bytes + size <= MOST_KEPT_BYTES:
        _KEPT.slots[len(slots), first.shape, first.dtype].append((slots, words))
        _KEPT.bytes += size


def _bytes(slots: list[Array]) -> int:
    return len(slots) * slots[0].nbytes

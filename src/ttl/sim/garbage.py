"""Fewer garbage collections while a simulation runs.

Reference counts free blocks, transfers and values; looking for cycles among them every 700 objects
costs a few percent of a run and half of a small launch.
"""

from __future__ import annotations

import gc
from collections.abc import Callable

from ttl.loading.forks import WhileRunning

OBJECTS_BETWEEN_COLLECTIONS = 50000


def _collect_rarely() -> Callable[[], None]:
    before = gc.get_threshold()
    ours = (max(before[0], OBJECTS_BETWEEN_COLLECTIONS), *before[1:])
    if before[0]:  # 0 means never
        gc.set_threshold(*ours)

    def undo() -> None:
        if gc.get_threshold() == ours:  # the program may have set others meanwhile
            gc.set_threshold(*before)

    return undo


rare_collections = WhileRunning(_collect_rarely)

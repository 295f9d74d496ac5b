"""Keeps the garbage collector away from loaded modules, while a command runs and ends.

The collector belongs to the program: only commands, which start the program, freeze objects.
Loading this package, calling operations and compiling them keep the program's frozen objects, its
thresholds and whether the collector is on.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from functools import cache

from .forks import WhileRunning


def _stop_collecting() -> Callable[[], None]:
    collects = gc.isenabled()
    gc.disable()

    def undo() -> None:
        if collects:
            gc.enable()

    return undo


# For code that makes many objects, all of which stay.
without_collecting = WhileRunning(_stop_collecting)


@cache
def settle() -> None:
    """Exclude everything loaded so far from garbage collection.

    For commands, before a user's program begins: Python visits all objects several times when it
    ends, which took longer than compiling a kernel. At most once, because objects that a first
    program leaves behind are ordinary garbage.
    """
    gc.freeze()

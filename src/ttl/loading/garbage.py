"""What is loaded is never garbage: nobody looks for some in it while a command runs and ends.

The collector is the program's: only commands, which start the program, put objects aside. Loading
this package, calling operations and compiling them leave what the program has put aside, its
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


# While many objects are made that all stay.
without_collecting = WhileRunning(_stop_collecting)


@cache
def settle() -> None:
    """What is loaded by now stays until the process ends, and nobody looks for garbage in it again.

    For commands, before a user's program begins: Python goes through all objects several times when
    it ends, which took longer than compiling a kernel. Once: what a first program leaves behind is
    garbage like any other.
    """
    gc.freeze()

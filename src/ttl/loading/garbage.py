"""What is loaded is never garbage: nobody looks for some in it, here and when a command ends."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Event

FROZEN_AT_START = gc.get_freeze_count()  # 3.12 has put some of its own aside
_SOMETHING_IS_ASIDE = Event()  # Python counts object by object, so it is not asked twice


@contextmanager
def without_collecting() -> Iterator[None]:
    """What is imported is never garbage; looking for some costs a tenth of the time."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        count_as_old()
        if collects:
            gc.enable()


def count_as_old() -> None:
    """All objects that there are: the next look for garbage need not go through what was loaded."""
    if not _is_something_aside():  # what somebody has put aside stays there
        gc.freeze()
        gc.unfreeze()


def _is_something_aside() -> bool:
    if not _SOMETHING_IS_ASIDE.is_set() and gc.get_freeze_count() > FROZEN_AT_START:
        _SOMETHING_IS_ASIDE.set()
    return _SOMETHING_IS_ASIDE.is_set()


@cache
def settle() -> None:
    """What is loaded by now stays until the process ends, and nobody looks for garbage in it again.

    For commands, before a user's program begins: Python goes through all objects several times when
    it ends, which took longer than compiling a kernel. Once: what a first program leaves behind is
    garbage like any other.
    """
    gc.freeze()
    _SOMETHING_IS_ASIDE.set()

"""Locks, changes and properties that leave a child of fork() in order.

A child has one thread, the one that forked. Locks that other threads held would stay locked in it
forever, and the process state that their runs changed would stay changed.

rule FREE     a child gets new locks for all of ours
rule ALONE    in a child only the runs of its own thread continue
rule LOADED   a fork waits for modules that other threads are importing, which a child could never
              import; only for ours and Python's, whose imports wait for nobody
rule WHOLE    a fork waits while another thread defines a class or starts a process: a child would
              have half of the class, or keep the pipes of the process
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib import _bootstrap
from threading import RLock, get_ident
from typing import Generic, TypeVar, overload
from weakref import WeakMethod

from .packages import PACKAGES

AWAITED = {*PACKAGES, "ttnn", "xdsl", *sys.stdlib_module_names}
MOST_ROUNDS = 1000  # a module in its import imports others

Owner = TypeVar("Owner")
Value = TypeVar("Value")


def call_in_children(method: Callable[[], None]) -> None:
    """Call a bound method in every forked child, as long as its object exists."""
    reference = WeakMethod(method)

    def call() -> None:
        if (found := reference()) is not None:
            found()

    if hasattr(os, "register_at_fork"):  # everywhere but on Windows
        os.register_at_fork(after_in_child=call)


def _finish_imports() -> None:  # rule LOADED
    wait_for = getattr(_bootstrap, "_lock_unlock_module")  # noqa: B009  # as an import waits
    for _ in range(MOST_ROUNDS):
        if not (found := [*_imported_by_others()]):
            return
        for name in found:
            wait_for(name)


def _imported_by_others() -> Iterator[str]:
    for name, reference in list(getattr(_bootstrap, "_module_locks", {}).items()):
        owner = getattr(reference(), "owner", None)
        if owner not in (None, get_ident()) and name.partition(".")[0] in AWAITED:
            yield name


UNDIVIDED = RLock()  # held during steps that a fork must not cut in two


def _finish_steps() -> None:  # rule WHOLE
    """Wait for imports, even those that start during the wait, and take UNDIVIDED."""
    while True:
        _finish_imports()
        UNDIVIDED.acquire()
        if not any(_imported_by_others()):
            return
        UNDIVIDED.release()


def keep_forks_in_order() -> None:
    """Make forks of this process wait, from now on."""
    if hasattr(os, "register_at_fork"):
        end = UNDIVIDED.release
        os.register_at_fork(before=_finish_steps, after_in_parent=end, after_in_child=end)


class ForkLock:  # rule FREE
    """A reentrant lock: `with lock():`.

    A call returns the lock of this process, so a thread that forks while it holds a lock releases
    that same lock, in the parent and in the child.
    """

    def __init__(self) -> None:
        self._renew()
        call_in_children(self._renew)

    def _renew(self) -> None:
        self._lock = RLock()

    def __call__(self) -> AbstractContextManager[bool]:
        return self._lock


class WhileRunning:  # rule ALONE
    """Calls `change` when the first run enters, and its result when the last one leaves.

    Runs of all threads count, because the change affects the process.
    """

    def __init__(self, change: Callable[[], Callable[[], None]]):
        self._change = change
        self._lock = ForkLock()
        self._threads: list[int] = []  # of the current runs
        self._undo: Callable[[], None] | None = None
        call_in_children(self._forget_others)

    @contextmanager
    def __call__(self) -> Iterator[None]:
        with self._lock():
            if not self._threads:
                self._undo = self._change()
            self._threads.append(get_ident())
        try:
            yield
        finally:
            with self._lock():
                self._threads.remove(get_ident())
                self._undo_after_last()

    def _forget_others(self) -> None:
        self._threads = [thread for thread in self._threads if thread == get_ident()]
        self._undo_after_last()

    def _undo_after_last(self) -> None:
        if not self._threads and self._undo is not None:
            undo, self._undo = self._undo, None
            undo()


class computed_once(Generic[Owner, Value]):  # a decorator, like `property`
    """A property that keeps its first value; threads that ask at once all get one of theirs.

    functools.cached_property of Python 3.11 has one lock for all objects of a class.
    """

    def __init__(self, compute: Callable[[Owner], Value]):
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> computed_once[Owner, Value]: ...

    @overload
    def __get__(self, instance: Owner, owner: type) -> Value: ...

    def __get__(self, instance: Owner | None, owner: type) -> computed_once[Owner, Value] | Value:
        if instance is None:
            return self
        found: Value = vars(instance).setdefault(self._name, self._compute(instance))
        return found

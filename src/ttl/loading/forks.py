"""Locks, changes and properties that leave a child of fork() in order.

A child has one thread, the one that forked. Locks that other threads held then would stay locked in
it forever, and what their runs had changed in the process would stay changed.

rule FREE     in a child every lock of ours is a new one
rule ALONE    in a child only the runs of its own thread are under way
rule LOADED   a fork waits for modules that other threads are importing: a child could never import
              them. Only for those that wait for nobody, ours and Python's
rule WHOLE    a fork waits for a class that another thread is defining, and for a process that it
              is starting: a child would have half of the class, or keep the pipes of the process
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import _bootstrap
from threading import RLock, get_ident
from typing import Any, Generic, TypeVar, overload
from weakref import WeakMethod

from .packages import PACKAGES

AWAITED = {*PACKAGES, "ttnn", "xdsl", *sys.stdlib_module_names}
MOST_ROUNDS = 1000  # a module that is being imported imports others

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
    """Also of modules whose import starts during the wait."""
    while True:
        _finish_imports()
        UNDIVIDED.acquire()
        if not any(_imported_by_others()):
            return
        UNDIVIDED.release()


def keep_forks_in_order() -> None:
    """From now on, in this process."""
    if hasattr(os, "register_at_fork"):
        end = UNDIVIDED.release
        os.register_at_fork(before=_finish_steps, after_in_parent=end, after_in_child=end)


class ForkLock:  # rule FREE
    """A lock that a thread may take again while it has it: `with lock():`.

    A call gives the lock of this process, so that a thread that forks while it holds a lock gives
    back that one, in the parent and in the child.
    """

    def __init__(self) -> None:
        self._renew()
        call_in_children(self._renew)

    def _renew(self) -> None:
        self._lock = RLock()

    def __call__(self) -> Any:
        return self._lock


class WhileRunning:  # rule ALONE
    """Calls `change` when the first run enters and what that returns when the last one leaves.

    Runs of all threads count: the changes are those of the process.
    """

    def __init__(self, change: Callable[[], Callable[[], None]]):
        self._change = change
        self._lock = ForkLock()
        self._threads: list[int] = []  # of the runs that are under way
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


class computed_once(Generic[Owner, Value]):  # a decorator, as `property`
    """A property that keeps its first value. Threads that ask at once all get that of one of them.

    functools.cached_property has a lock in Python 3.11, one for all objects of a class.
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

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self
        return vars(instance).setdefault(self._name, self._compute(instance))

"""Stop a kernel that never lets another one run, such as `while True: pass`.

A thread regularly checks whether the simulation has made progress. It counts CPU time, so a kernel
that is paused in a debugger is left alone.

rule STEPS   no progress, but more than STEP_BUDGET block expressions: no kernel needs so many
             between two calls that others can see
rule IDLE    no progress, and rarely seen inside pyttlang or a call it made: `budget` seconds
rule BUSY    no progress, but seen there (long expressions): BUSY_FACTOR times as long
"""

from __future__ import annotations

import ctypes
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache

from ttl.diagnostics.frames import is_pyttlang_file, is_user_file
from ttl.loading.forks import ForkLock, call_in_children

STEP_BUDGET = 200_000
BUSY_FACTOR = 10
LONGEST_INTERVAL = 0.25  # seconds between checks
LOOKS_WHEN_IDLE = 8  # checks before the thread ends


class Spinning(BaseException):
    """Raised inside the kernel; a BaseException, so that `except Exception` does not catch it."""

    used = ""  # the exhausted budget, in words


@contextmanager
def watchdog(
    budget: float, progress: Callable[[], int], steps: Callable[[], int]
) -> Iterator[None]:
    """Raise Spinning in this thread if `progress()` stays the same for `budget` CPU seconds, or
    while `steps()` grows by STEP_BUDGET.
    """
    watch = ThreadWatch(threading.get_ident(), budget, progress, steps)
    watchers = _watchers()
    watchers.add(watch)
    try:
        yield
    finally:
        with suppress(Spinning):
            watchers.remove(watch)
            _await_late_interrupt()


@dataclass(slots=True, eq=False)
class ThreadWatch:
    """A watched thread, and observations since its last progress."""

    thread_id: int
    budget: float
    progress: Callable[[], int]
    steps: Callable[[], int]
    clock: Callable[[], float] = field(init=False)
    seen: int = -1
    since: float = 0.0
    first_step: int = 0
    looks: int = 0
    inside: int = 0

    def __post_init__(self) -> None:
        self.start_clock()

    def start_clock(self) -> None:
        self.clock = _cpu_clock(self.thread_id)  # first read at the first check
        self.seen = -1

    def _start_again(self) -> None:
        self.since = self.clock()
        self.first_step = self.steps()
        self.looks = self.inside = 0

    def look(self) -> None:
        now = self.progress()
        if now != self.seen:
            self.seen = now
            self._start_again()
            return
        self.looks += 1
        self.inside += _is_in_pyttlang(self.thread_id)
        seconds = self.clock() - self.since
        steps = self.steps() - self.first_step
        is_busy = self.inside * 10 > self.looks
        if steps > STEP_BUDGET:
            self._stop(f"computed {steps} block expressions")
        elif seconds > (self.budget * BUSY_FACTOR if is_busy else self.budget):
            self._stop(f"ran for {seconds:.3g} s")

    def _stop(self, used: str) -> None:
        self._start_again()
        _interrupt(self.thread_id, type("Spinning", (Spinning,), {"used": used}))


class Watchers:
    """The watching thread. It stays for a while, because starting it costs more than launching a
    small operation.
    """

    def __init__(self) -> None:
        self.lock = ForkLock()
        self.watches: list[ThreadWatch] = []
        self.thread: threading.Thread | None = None
        call_in_children(self._forget_others)

    def add(self, watch: ThreadWatch) -> None:
        with self.lock():
            self.watches.append(watch)
            if self.thread is None or not self.thread.is_alive():  # not in a forked process
                self.thread = threading.Thread(target=self._run, name="ttl-watchdog", daemon=True)
                self.thread.start()

    def remove(self, watch: ThreadWatch) -> None:
        with self.lock():
            self.watches.remove(watch)

    def _forget_others(self) -> None:
        """Reset in a forked child, which has one thread with a clock of its own."""
        self.watches = [each for each in self.watches if each.thread_id == threading.get_ident()]
        self.thread = None
        for watch in self.watches:
            watch.start_clock()

    def _run(self) -> None:
        idle = 0
        while idle < LOOKS_WHEN_IDLE:
            intervals = [watch.budget / 4 for watch in self.watches]
            time.sleep(min(LONGEST_INTERVAL, *intervals) if intervals else LONGEST_INTERVAL)
            with self.lock():
                idle = 0 if self.watches else idle + 1
                self._look()
                if idle == LOOKS_WHEN_IDLE:
                    self.thread = None

    def _look(self) -> None:
        """Check each watch; a loop variable of _run() would keep the last run alive."""
        for watch in self.watches:
            watch.look()


@cache
def _watchers() -> Watchers:
    return Watchers()


def _cpu_clock(thread_id: int) -> Callable[[], float]:
    """Return the CPU time of a thread, or of the process if the system has no clock per thread."""
    if not hasattr(time, "pthread_getcpuclockid"):
        return time.process_time
    clock_id = time.pthread_getcpuclockid(thread_id)
    return lambda: time.clock_gettime(clock_id)


def _is_in_pyttlang(thread_id: int) -> bool:
    """Is the thread in pyttlang or in something it calls, outside the user's code?"""
    frame = sys._current_frames().get(thread_id)
    while frame is not None and not is_user_file(frame.f_code.co_filename):
        if is_pyttlang_file(frame.f_code.co_filename):
            return True
        frame = frame.f_back
    return False


def _interrupt(thread_id: int, exception: type[BaseException]) -> None:
    set_exception = ctypes.pythonapi.PyThreadState_SetAsyncExc
    set_exception(ctypes.c_ulong(thread_id), ctypes.py_object(exception))


def _await_late_interrupt() -> None:
    """Let a late interrupt arrive. If it were withdrawn, Python 3.11 would check for it in every
    call, and never stop in a call that a debugger traces.
    """
    for _ in range(10):  # the interpreter checks for interrupts at the end of a loop's body
        pass

"""Runs jobs on the cores of this machine, each in its own process.

A forked process has everything loaded and only gets its job. Forking is safe if no other thread can
hold a lock; otherwise jobs, as plain values, go to fresh processes.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
import warnings
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import TypeVar

from .job import CRASHED, Job, failed, perform, run_job
from .store import Result

Item = TypeVar("Item")
# The index and result of each job, as they finish.
Done = Generator[tuple[int, Result], None, None]


def cores() -> int:
    """Count the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def may_fork() -> bool:
    """Is forking safe? It is not beside threads of Python or jax."""
    return hasattr(os, "fork") and threading.active_count() == 1 and "jax" not in sys.modules


def on_cores(jobs: Sequence[Job], at_a_time: int) -> Done:
    if may_fork():
        yield from forked(perform, jobs, at_a_time)
        return
    with ThreadPoolExecutor(max(1, at_a_time)) as threads:  # threads that wait for processes
        futures = {threads.submit(run_job, job): number for number, job in enumerate(jobs)}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        finally:
            threads.shutdown(cancel_futures=True)


def forked(call: Callable[[Item], Result], items: Iterable[Item], at_a_time: int) -> Done:
    """Call `call` with each item, in a fork of this process; does not copy the items."""
    running: dict[Connection, tuple[int, BaseProcess]] = {}
    left = iter(enumerate(items))
    try:
        while True:
            while len(running) < max(1, at_a_time) and (next_one := next(left, None)) is not None:
                connection, process = _fork(call, next_one[1])
                running[connection] = next_one[0], process
            if not running:
                return
            for ready in wait(list(running)):
                assert isinstance(ready, Connection)
                number, process = running.pop(ready)
                yield number, _result(ready, process)
    finally:  # after an interrupt, or if the caller stops early
        for _, process in running.values():
            process.terminate()
            process.join()


class _TooLong(BaseException):
    """A time limit was reached; no Exception, so that programs do not catch it."""


def limited(call: Callable[[Item], Result], item: Item, seconds: int) -> Result:
    """Call in a fork with a limit of CPU time; more, as in an endless loop, is a crash."""
    import resource  # every system with fork has it
    import signal

    def stop(number: int, frame: object) -> None:
        signal.signal(number, signal.SIG_IGN)  # the signal repeats every second
        raise _TooLong

    signal.signal(signal.SIGXCPU, stop)
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, most))
    try:
        return call(item)
    except _TooLong:
        return {CRASHED: f"it takes more than {seconds} s of CPU: does it end?"}


def _fork(call: Callable[[Item], Result], item: Item) -> tuple[Connection, BaseProcess]:
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_child, args=(theirs, call, item), daemon=False)
    with warnings.catch_warnings():  # Python 3.12 also warns of numpy's idle threads
        warnings.simplefilter("ignore", DeprecationWarning)
        process.start()
    theirs.close()
    return ours, process


def _child(connection: Connection, call: Callable[[Item], Result], item: Item) -> None:
    """Run the call without output, and exit without the parent's exit handlers."""
    quiet = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(quiet, stream)
    status = 1
    try:
        connection.send(call(item))
        status = 0
    finally:
        os._exit(status)


def _result(connection: Connection, process: BaseProcess) -> Result:
    try:
        result: Result = connection.recv()
    except EOFError:
        process.join()
        return failed(process.exitcode or 1)
    finally:
        connection.close()
    process.join()
    return result

"""Jobs on the cores of this machine, each in a process of its own.

A process that is forked has everything loaded, and is given nothing but its job. Forking is safe
where no other thread may hold a lock; where there are others, jobs as plain values go to fresh
processes.
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

from .job import CRASHED, Job, Result, failed, perform, run_job

Item = TypeVar("Item")
# The number of a job and its result, as they are done.
Done = Generator[tuple[int, Result], None, None]


def cores() -> int:
    """Those that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def may_fork() -> bool:
    """Not beside threads: those of Python, or those that jax keeps busy."""
    return hasattr(os, "fork") and threading.active_count() == 1 and "jax" not in sys.modules


def on_cores(jobs: Sequence[Job], at_a_time: int) -> Done:
    if may_fork():
        yield from forked(perform, jobs, at_a_time)
        return
    with ThreadPoolExecutor(max(1, at_a_time)) as threads:  # that wait for processes
        futures = {threads.submit(run_job, job): number for number, job in enumerate(jobs)}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        finally:
            threads.shutdown(cancel_futures=True)


def forked(call: Callable[[Item], Result], items: Iterable[Item], at_a_time: int) -> Done:
    """`call` of each item, in a fork of this process; the items are not copied."""
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
    finally:  # an interrupt, or nobody wants the others any more
        for _, process in running.values():
            process.terminate()
            process.join()


class _TooLong(BaseException):
    """Not an Exception: nobody is to take it for one of the program."""


def limited(call: Callable[[Item], Result], item: Item, seconds: int) -> Result:
    """In a fork: what takes more time of the CPU, such as a loop without end, crashes."""
    import resource  # where there is a fork there is this
    import signal

    def stop(number: int, frame: object) -> None:
        signal.signal(number, signal.SIG_IGN)  # it comes every second from now on
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
    with warnings.catch_warnings():  # 3.12 counts the idle threads of numpy's library too
        warnings.simplefilter("ignore", DeprecationWarning)
        process.start()
    theirs.close()
    return ours, process


def _child(connection: Connection, call: Callable[[Item], Result], item: Item) -> None:
    """Nothing is shown, and nothing that the parent wanted done at its end is done."""
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

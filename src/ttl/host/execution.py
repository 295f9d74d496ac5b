"""The call into the runtime, which runs the kernels in threads of its own.

Python handles signals in the main thread, between two instructions: inside one call for the whole
run it would see Ctrl-C only when the run has ended. So it waits for a moment, and again.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from typing import Any

from .program import SPINNING, STOPPED, Program, ProgramStruct, ReportStruct

LOOK_MILLISECONDS = 50  # how long Ctrl-C may wait
# For a run to end. Of this process's own time: on a busy machine it may hardly get any.
GRACE_SECONDS = 5
LONGEST_GRACE_SECONDS = 60
# Nothing that the runtime does for a kernel takes this long: one that made no call meanwhile spins.
SILENT_MILLISECONDS = 20_000

in_flight: list[Any] = []  # what threads of the runtime use; one may be impossible to stop


def declare(library: ctypes.CDLL) -> None:
    library.ttl_run.argtypes = [ctypes.POINTER(ProgramStruct), ctypes.POINTER(ReportStruct)]
    library.ttl_run.restype = None
    library.ttl_stop.argtypes = [ctypes.POINTER(ProgramStruct), ctypes.c_uint32]
    library.ttl_stop.restype = None
    library.ttl_begin.argtypes = library.ttl_run.argtypes
    library.ttl_begin.restype = ctypes.c_void_p
    library.ttl_wait.argtypes = [ctypes.c_void_p, ctypes.POINTER(ProgramStruct), ctypes.c_uint32]


def execute(
    runtime: ctypes.CDLL,
    program: Program,
    report: ReportStruct,
    while_waiting: Callable[[], None] = lambda: None,
) -> BaseException | None:
    """Fills the report. Gives what interrupted the run, if that happened: then it was stopped.

    A run stops at one of a kernel's next calls of the runtime. A kernel that makes none,
    `while (true);`, is stopped by a signal where the runtime has one (Linux on x86-64 and ARM);
    elsewhere the interruption is raised, and the thread goes on until the process ends.
    """
    used = (program, report)
    in_flight.append(used)  # before the call: Ctrl-C is seen as soon as that returns
    runner = runtime.ttl_begin(ctypes.byref(program.struct), ctypes.byref(report))
    if runner is None:  # no threads to be had: as it is, but without Ctrl-C
        runtime.ttl_run(ctypes.byref(program.struct), ctypes.byref(report))
        in_flight.remove(used)
        return None
    try:
        _wait(runtime, program, runner, while_waiting)
    except BaseException as interruption:  # KeyboardInterrupt, or what a signal handler raises
        if not _stop(runtime, program, runner, STOPPED):
            raise
        in_flight.remove(used)
        return interruption
    in_flight.remove(used)
    return None


def _wait(
    runtime: ctypes.CDLL, program: Program, runner: int, while_waiting: Callable[[], None]
) -> None:
    before, silent = 0, 0
    while not runtime.ttl_wait(runner, ctypes.byref(program.struct), LOOK_MILLISECONDS):
        while_waiting()
        beats = sum(program.heartbeats)
        silent = silent + LOOK_MILLISECONDS if beats == before else 0
        before = beats
        if silent >= SILENT_MILLISECONDS:
            runtime.ttl_stop(ctypes.byref(program.struct), SPINNING)


def _stop(runtime: ctypes.CDLL, program: Program, runner: int, status: int) -> bool:
    """Asks until the run has ended; False if it does not."""
    until, longest = time.process_time() + GRACE_SECONDS, time.monotonic() + LONGEST_GRACE_SECONDS
    while time.process_time() < until and time.monotonic() < longest:
        runtime.ttl_stop(ctypes.byref(program.struct), status)
        if runtime.ttl_wait(runner, ctypes.byref(program.struct), LOOK_MILLISECONDS):
            return True
    return False

"""The call into the runtime, which runs the kernels in threads of its own.

Python handles signals in the main thread, between two instructions: inside one call for the whole
run it would see Ctrl-C only when the run has ended. So it waits for a moment, and again.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable

from .program import SPINNING, STOPPED, HostProgram, ProgramStruct, ReportStruct

LOOK_MILLISECONDS = 50  # how long Ctrl-C may wait
# For a run to end. Of this process's own time: on a busy machine it may hardly get any.
GRACE_SECONDS = 5
LONGEST_GRACE_SECONDS = 60
# Nothing that the runtime does for a kernel takes this long: one that made no call meanwhile spins.
SILENT_MILLISECONDS = 20_000

in_flight: dict[int, object] = {}  # what threads of the runtime use; one may be impossible to stop
# Such a thread goes on while the interpreter ends, which takes its modules apart: a reference that
# nobody gives back keeps what the thread writes to.
ctypes.pythonapi.Py_IncRef(ctypes.py_object(in_flight))


def declare(library: ctypes.CDLL) -> None:
    program, number = ctypes.POINTER(ProgramStruct), ctypes.c_uint32
    library.ttl_begin.argtypes = [program, ctypes.POINTER(ReportStruct), number]
    library.ttl_wait.argtypes = [program, number]
    library.ttl_stop.argtypes = [program, number]
    library.ttl_stop.restype = None


def execute(
    runtime: ctypes.CDLL,
    program: HostProgram,
    report: ReportStruct,
    while_waiting: Callable[[], None] = lambda: None,
) -> BaseException | None:
    """Fills the report. Gives what interrupted the run, if that happened: then it was stopped.

    A run stops at one of a kernel's next calls of the runtime. A kernel that makes none,
    `while (true);`, is stopped by a signal where the runtime has one (Linux on x86-64 and ARM);
    elsewhere the interruption is raised, and the thread goes on until the process ends.
    """
    used = (program, report)
    in_flight[id(used)] = used  # before the call: Ctrl-C is seen as soon as that returns
    struct = ctypes.byref(program.struct)
    try:
        if not runtime.ttl_begin(struct, ctypes.byref(report), LOOK_MILLISECONDS):
            _wait(runtime, program, while_waiting)
    except BaseException as interruption:  # KeyboardInterrupt, or what a signal handler raises
        if not _stop(runtime, program, STOPPED):
            raise
        del in_flight[id(used)]
        return interruption
    del in_flight[id(used)]
    return None


def _wait(runtime: ctypes.CDLL, program: HostProgram, while_waiting: Callable[[], None]) -> None:
    before, silent = 0, 0
    while not runtime.ttl_wait(ctypes.byref(program.struct), LOOK_MILLISECONDS):
        while_waiting()
        beats = sum(program.heartbeats)
        silent = silent + LOOK_MILLISECONDS if beats == before else 0
        before = beats
        if silent >= SILENT_MILLISECONDS:
            runtime.ttl_stop(ctypes.byref(program.struct), SPINNING)


def _stop(runtime: ctypes.CDLL, program: HostProgram, status: int) -> bool:
    """Asks until the run has ended; False if it does not."""
    until, longest = time.process_time() + GRACE_SECONDS, time.monotonic() + LONGEST_GRACE_SECONDS
    while time.process_time() < until and time.monotonic() < longest:
        runtime.ttl_stop(ctypes.byref(program.struct), status)
        if runtime.ttl_wait(ctypes.byref(program.struct), LOOK_MILLISECONDS):
            return True
    return False

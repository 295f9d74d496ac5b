"""The call into the runtime, in a thread of its own.

Python handles signals in the main thread, between two instructions: inside the call it would see
Ctrl-C only when the run has ended. All kernels still run in one thread, the one made here.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable

from .program import SPINNING, STOPPED, Program, ReportStruct

LOOK_SECONDS = 0.25  # a signal that another thread took does not end a wait: look for it
GRACE_SECONDS = 5.0
# Nothing that the runtime does for a kernel takes this long: one that made no call meanwhile spins.
SILENT_SECONDS = 20.0


def execute(
    runtime: ctypes.CDLL,
    program: Program,
    report: ReportStruct,
    while_waiting: Callable[[], None] = lambda: None,
) -> BaseException | None:
    """Fills the report. Gives what interrupted the run, if that happened: then it was stopped.

    A run stops at a kernel's next call of the runtime. A kernel that makes none, `while (true);`,
    is stopped by a signal where the runtime has one (Linux on x86-64 and ARM); elsewhere the
    interruption is raised, and the thread goes on until the process ends.
    """
    ended = threading.Event()

    def run() -> None:  # holds on to all that the runtime uses
        runtime.ttl_run(ctypes.byref(program.struct), ctypes.byref(report))
        ended.set()

    thread = threading.Thread(target=run, name="ttl-host", daemon=True)
    try:
        thread.start()
        _wait(runtime, program, ended, while_waiting)
    except BaseException as interruption:  # KeyboardInterrupt, or what a signal handler raises
        if not _stop(runtime, program, ended, STOPPED):
            raise
        return interruption
    return None


def _wait(
    runtime: ctypes.CDLL,
    program: Program,
    ended: threading.Event,
    while_waiting: Callable[[], None],
) -> None:
    calls, silent = 0, 0.0
    while not ended.wait(LOOK_SECONDS):
        while_waiting()
        silent = silent + LOOK_SECONDS if program.struct.calls == calls else 0.0
        calls = program.struct.calls
        if silent >= SILENT_SECONDS:
            runtime.ttl_stop(ctypes.byref(program.struct), SPINNING)


def _stop(runtime: ctypes.CDLL, program: Program, ended: threading.Event, status: int) -> bool:
    """Asks until the run has ended; False if it does not."""
    waited = 0.0
    while waited < GRACE_SECONDS:
        runtime.ttl_stop(ctypes.byref(program.struct), status)
        if ended.wait(LOOK_SECONDS):
            return True
        waited += LOOK_SECONDS
    return False

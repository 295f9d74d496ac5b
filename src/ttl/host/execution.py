"""The call into the runtime, in a thread of its own.

Python handles signals in the main thread, between two instructions: inside the call it would see
Ctrl-C only when the run has ended. All kernels still run in one thread, the one made here.
"""

from __future__ import annotations

import ctypes
import threading

from .program import Program, ReportStruct

LOOK_SECONDS = 0.25  # a signal that another thread took does not end a wait: look for it
GRACE_SECONDS = 5.0


def execute(runtime: ctypes.CDLL, program: Program, report: ReportStruct) -> BaseException | None:
    """Fills the report. Gives what interrupted the run, if that happened: then it was stopped.

    A run stops at a kernel's next call of the runtime. A kernel that makes none, `while (true);`,
    cannot be stopped: the interruption is raised, and the thread goes on until the process ends.
    """
    ended = threading.Event()

    def run() -> None:  # holds on to all that the runtime uses
        runtime.ttl_run(ctypes.byref(program.struct), ctypes.byref(report))
        ended.set()

    thread = threading.Thread(target=run, name="ttl-host", daemon=True)
    try:
        thread.start()
        while not ended.wait(LOOK_SECONDS):
            pass
    except BaseException as interruption:  # KeyboardInterrupt, or what a signal handler raises
        program.struct.stop = 1
        if not ended.wait(GRACE_SECONDS):
            raise
        return interruption
    return None

"""Greenlets that run one kernel after the other.

Making a greenlet costs as much as twenty switches, and a small operation on a full grid has
hundreds of kernels. So those that are done wait for the next launch of their thread.
"""

from __future__ import annotations

import threading
from contextvars import Context
from typing import TYPE_CHECKING

from greenlet import greenlet

from ttl.semantics.current_engine import ENGINE

if TYPE_CHECKING:
    from .kernel import KernelRun

MOST_IDLE = 1024


class Worker(greenlet):  # type: ignore[misc]  # greenlet has no types
    """Runs the kernel it was given, then waits; meanwhile it keeps nothing of a run alive."""

    kernel: KernelRun | None = None  # not an argument of switch(): those stay on the stack

    def run(self) -> None:
        idle = _IDLE.workers
        while self.kernel is not None:
            ENGINE.set(self.kernel)
            self.kernel.main()
            self.kernel = None
            ENGINE.set(None)
            if len(idle) < MOST_IDLE:
                idle.append(self)
                assert self.parent is not None
                self.parent.switch()


class _Idle(threading.local):
    """The workers of a thread that wait for a kernel."""

    def __init__(self) -> None:
        self.workers: list[Worker] = []


_IDLE = _Idle()


def start(kernel: KernelRun, hub: greenlet, context: Context) -> None:
    """Run `kernel` in a greenlet until it sleeps or ends; what it raises is raised in `hub`."""
    idle = _IDLE.workers
    worker = idle.pop() if idle else Worker()
    while worker.dead:  # an interrupt ended it while it was about to wait
        worker = idle.pop() if idle else Worker()
    worker.parent = hub
    worker.gr_context = context.copy()
    worker.kernel = kernel
    kernel.greenlet = worker
    worker.switch()

"""Greenlets that run one kernel after the other.

Making a greenlet costs as much as twenty switches, and a small operation on a full grid has
hundreds of kernels. So those that are done wait for the next launch of their thread.
"""

from __future__ import annotations

import threading
from contextvars import Context
from typing import TYPE_CHECKING

from greenlet import getcurrent, greenlet

from ttl.semantics.current_engine import ENGINE

if TYPE_CHECKING:
    from .kernel import KernelRun

MOST_IDLE = 1024


class _Idle(threading.local):
    """The greenlets of a thread that wait for a kernel."""

    def __init__(self) -> None:
        self.greenlets: list[greenlet] = []


_IDLE = _Idle()


def start(kernel: KernelRun, hub: greenlet, context: Context) -> None:
    """Run `kernel` in a greenlet until it sleeps or ends; what it raises is raised in `hub`."""
    idle = _IDLE.greenlets
    worker = idle.pop() if idle else greenlet(_work)
    worker.parent = hub
    worker.gr_context = context.copy()
    kernel.greenlet = worker
    worker.switch(kernel)


def _work(kernel: KernelRun | None) -> None:
    idle = _IDLE.greenlets
    this = getcurrent()
    while kernel is not None:
        ENGINE.set(kernel)
        kernel.main()
        kernel = None  # whoever waits keeps nothing alive
        if len(idle) < MOST_IDLE:
            idle.append(this)
            assert this.parent is not None
            kernel = this.parent.switch()

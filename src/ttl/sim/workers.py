"""Greenlets that run one kernel after the other.

Making a greenlet costs as much as twenty switches, and a small operation on a full grid has
hundreds of kernels. So finished ones wait for the next launch of their thread.
"""

from __future__ import annotations

import threading
from contextvars import Context
from typing import TYPE_CHECKING

from greenlet import greenlet

from ttl.diagnostics import RuleBroken, TTLError
from ttl.semantics.current_engine import ENGINE
from ttl.trace import EventKind

from .block import SimBlock
from .faults import exception_fault, is_raised_by_program, rule_fault, spinning_fault
from .kernel_end import check_end, returned_value_fault
from .watchdog import Spinning

if TYPE_CHECKING:
    from .kernel import KernelRun

MOST_IDLE = 1024


class Worker(greenlet):  # type: ignore[misc]  # greenlet has no types
    """Runs its kernel, then waits for the next; while waiting it keeps nothing of a run alive."""

    kernel: KernelRun | None = None  # no argument of switch(): arguments stay on the stack

    def run(self) -> None:
        idle = _IDLE.workers
        while self.kernel is not None:
            ENGINE.set(self.kernel)
            main(self.kernel)
            self.kernel = None
            ENGINE.set(None)
            if len(idle) < MOST_IDLE:
                idle.append(self)
                assert self.parent is not None
                self.parent.switch()


def main(kernel: KernelRun) -> None:
    """Run a kernel in its greenlet; exceptions surface at the scheduler's switch.

    This is not in kernel.py, because a compiled `raise` ignores `from`.
    """
    recorder = kernel.recorder
    if recorder is not None:
        recorder.record(EventKind.KERNEL_START, kernel.coordinate, kernel.name)
    try:
        if kernel.function() is not None:
            raise returned_value_fault(kernel)
        if kernel.broken is not None:  # a bare `except` or a `finally` has swallowed it
            raise kernel.broken
        check_end(kernel)
    except RuleBroken as broken:
        if isinstance(broken.subject, SimBlock):
            broken = broken.with_labels(*broken.subject.history())
        raise rule_fault(kernel, broken) from None
    except TTLError:
        raise
    except Spinning as spinning:
        raise spinning_fault(kernel, spinning) from None
    except (Exception, SystemExit) as error:
        raise exception_fault(kernel, error) from error
    except BaseException as error:
        if not is_raised_by_program(error):
            raise
        raise exception_fault(kernel, error) from error
    finally:
        kernel.is_finished = True
    if recorder is not None:
        recorder.record(EventKind.KERNEL_END, kernel.coordinate, kernel.name)


class _Idle(threading.local):
    """A thread's workers that wait for a kernel."""

    def __init__(self) -> None:
        self.workers: list[Worker] = []


_IDLE = _Idle()


def start(kernel: KernelRun, hub: greenlet, context: Context) -> None:
    """Run `kernel` in a greenlet until it sleeps or ends; its exceptions are raised in `hub`."""
    idle = _IDLE.workers
    worker = idle.pop() if idle else Worker()
    while worker.dead:  # an interrupt ended it just before it waited
        worker = idle.pop() if idle else Worker()
    worker.parent = hub
    worker.gr_context = context.copy()
    worker.kernel = kernel
    kernel.greenlet = worker
    worker.switch()

"""Races in programs with semaphores: what a run did, followed again when it is over.

Which increments made a wait pass depends on the schedule, and those that come later in the run
might have come first: what the wait orders is known when all changes are.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from ttl.diagnostics import Diagnostic, KernelFault, RuleBroken
from ttl.diagnostics.accesses import Changer, semaphore_race, waits_for_some
from ttl.semantics.types import Shape
from ttl.trace import EventKind

from .faults import rule_fault
from .place import labels, user_place
from .races import Access, Copied, Known, Races, written_by
from .semaphore_clocks import Change, History
from .semaphores import SemaphoreWait

if TYPE_CHECKING:
    from .buffer import BufferEnd
    from .copies import TensorTransfer
    from .kernel import KernelRun
    from .pipes import Meeting
    from .semaphores import NodeSemaphore

Step = tuple["KernelRun", Callable[..., None], tuple[Any, ...]]  # a method of Replay


class SemaphoreRaces(Races):
    """Keeps what happens; accesses to tensors only if they are looked for."""

    __slots__ = ("_histories", "_looks_at_tensors", "_steps")

    def __init__(self, looks_at_tensors: bool) -> None:
        super().__init__()
        self._looks_at_tensors = looks_at_tensors
        self._steps: list[Step] = []
        self._histories: dict[NodeSemaphore, History] = {}

    def at_buffer(self, kernel: KernelRun, kind: EventKind, end: BufferEnd) -> None:
        self._steps.append((kernel, Replay.at_buffer, (kernel, kind, end)))

    def at_pipe(self, kernel: KernelRun, meeting: Meeting, is_end: bool) -> None:
        self._steps.append((kernel, Replay.at_pipe, (kernel, meeting, is_end)))

    def at_tensor(self, transfer: TensorTransfer, is_end: bool) -> None:
        if not self._looks_at_tensors:
            return
        kernel, number = transfer.kernel, id(transfer)
        if not is_end:
            self._steps.append((kernel, Replay.copy_starts, (kernel, number)))
            return
        written = [b""] * len(list(Copied.of(transfer).units))
        if transfer.is_write:  # a digest: the run may write much more than there is memory
            written = [blake2b(each, digest_size=16).digest() for each in written_by(transfer)]
        self._steps.append((kernel, Replay.copy_ends, (number, Copied.of(transfer), written)))

    def _history(self, semaphore: NodeSemaphore) -> History:
        found = self._histories.get(semaphore)
        return found or self._histories.setdefault(semaphore, History(semaphore))

    def semaphore_changed(
        self, kernel: KernelRun, semaphore: NodeSemaphore, value: int, is_set: bool
    ) -> None:
        history = self._history(semaphore)
        history.add(Change(kernel, is_set, value, user_place()))
        self._steps.append((kernel, Replay.changed, (history, len(history.changes) - 1)))

    def semaphore_waits(self, kernel: KernelRun, wait: SemaphoreWait) -> None:
        self._history(wait.semaphore).is_waited_for = True

    def semaphore_passed(self, kernel: KernelRun, wait: SemaphoreWait) -> None:
        history = self._history(wait.semaphore)
        self._steps.append((kernel, Replay.passed, (kernel, history, wait, len(history.changes))))

    # When the run is over

    def check(self) -> None:
        """Raises KernelFault for the first race; what is alike is known afterwards."""
        if self._looks_at_tensors or self._has_set_against_others:
            self.written_alike = self._replayed().written_alike

    def cause_of_deadlock(self) -> Diagnostic | None:
        """A set that may have come before or after what another kernel did."""
        self._steps = [each for each in self._steps if each[1] is not Replay.copy_ends]
        if not self._has_set_against_others:
            return None
        try:
            self._replayed()
        except KernelFault as fault:
            return fault.diagnostics[0]
        return None

    @property
    def _has_set_against_others(self) -> bool:
        return any(
            history.is_waited_for
            and any(each.is_set for each in history.changes)
            and len({each.kernel for each in history.changes}) > 1
            for history in self._histories.values()
        )

    def _replayed(self) -> Replay:
        while self._replay(Replay(is_last=False)).has_changed:
            pass  # rule LATER
        return self._replay(Replay(is_last=True))

    def _replay(self, replay: Replay) -> Replay:
        for kernel, step, arguments in self._steps:
            try:
                step(replay, *arguments)
            except RuleBroken as broken:
                raise rule_fault(kernel, broken) from None
        return replay


class Replay(Races):
    """The clocks of a run that is followed again; the last time, what races is an error."""

    __slots__ = ("_is_last", "_passed", "has_changed")

    def __init__(self, is_last: bool) -> None:
        super().__init__()
        self._is_last = is_last
        self.has_changed = False
        self._passed: dict[KernelRun, list[tuple[History, SemaphoreWait]]] = {}

    def copy_ends(self, number: int, copied: Copied, written: Any) -> None:
        if self._is_last:
            super().copy_ends(number, copied, written)
        else:
            self.clock(copied.kernel).step += 1

    def changed(self, history: History, number: int) -> None:
        change = history.changes[number]
        clock = self.clock(change.kernel)
        if self._is_last and history.is_waited_for:
            other = history.unordered(number, clock)
            if other is not None:
                raise _set_in_no_order(history.semaphore, change, other)
        known: Known = clock.hand_on()
        self.has_changed |= known != change.known
        change.known = known

    def passed(self, kernel: KernelRun, history: History, wait: SemaphoreWait, seen: int) -> None:
        clock = self.clock(kernel)
        clock.take_over(history.known_by(wait, clock, seen))
        self._passed.setdefault(kernel, []).append((history, wait))

    def race(self, access: Access, other: Access, copied: Copied, unit: Shape) -> RuleBroken:
        broken = super().race(access, other, copied, unit)
        for waiting, changing in ((access.kernel, other.kernel), (other.kernel, access.kernel)):
            waits = self._passed.get(waiting, ())
            for history, wait in waits:
                if sum(1 for each, _ in waits if each is history) > 1:
                    continue  # in rounds: how many increments come before it is not known
                if total := history.needed_for_all(wait, changing):
                    name = history.semaphore.declared.name
                    return broken.with_first_help(waits_for_some(name, wait.wanted, total))
        return broken


def _set_in_no_order(semaphore: NodeSemaphore, one: Change, other: Change) -> RuleBroken:
    first, second = (one, other) if one.is_set else (other, one)
    broken = semaphore_race(
        semaphore.declared.name,
        semaphore.node,
        _changer(first),
        _changer(second),
        labels([(second.place, _changer(second).label)] if second.place else []),
    )
    return broken.with_place(first.place)


def _changer(change: Change) -> Changer:
    kernel = change.kernel
    return Changer(kernel.name, kernel.coordinate, change.is_set)

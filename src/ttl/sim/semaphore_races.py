"""Find races in programs with semaphores: record the run, and replay it afterwards.

The schedule decides which increments end a wait, and later ones could have come first. So the order
that a wait creates is known only when all changes are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from ttl.diagnostics import Diagnostic, KernelFault, RuleBroken
from ttl.diagnostics.accesses import SemaphoreUse, semaphore_race, waits_for_some
from ttl.semantics.types import Shape
from ttl.trace import EventKind

from .faults import rule_fault
from .place import labels, user_place
from .races import Clock, Copied, Known, Races, TensorAccess, read_written
from .semaphore_clocks import History, SemaphoreChange, Wait

if TYPE_CHECKING:
    from .buffer import BufferEnd
    from .copies import TensorTransfer
    from .kernel import KernelRun
    from .pipes import Meeting
    from .semaphores import NodeSemaphore, SemaphoreWait

Step = tuple["KernelRun", Callable[..., None], tuple[Any, ...]]  # with a method of Replay


class SemaphoreRaces(Races):
    """Records events for a replay; accesses to tensors only if the run looks for their races."""

    __slots__ = ("_histories", "_looks_at_tensors", "_steps", "_waiting")

    def __init__(self, looks_at_tensors: bool) -> None:
        super().__init__()
        self._looks_at_tensors = looks_at_tensors
        self._steps: list[Step] = []
        self._histories: dict[NodeSemaphore, History] = {}
        self._waiting: dict[KernelRun, Wait] = {}  # each kernel's latest

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
        if transfer.is_write:  # digests: a run may write more than fits in memory
            written = [blake2b(each, digest_size=16).digest() for each in read_written(transfer)]
        self._steps.append((kernel, Replay.copy_ends, (number, Copied.of(transfer), written)))

    def _history(self, semaphore: NodeSemaphore) -> History:
        found = self._histories.get(semaphore)
        return found or self._histories.setdefault(semaphore, History(semaphore))

    def on_semaphore_change(
        self, kernel: KernelRun, semaphore: NodeSemaphore, value: int, is_set: bool
    ) -> None:
        history = self._history(semaphore)
        history.add(SemaphoreChange(kernel, is_set, value, user_place()))
        self._steps.append((kernel, Replay.on_change, (history, len(history.changes) - 1)))

    def on_semaphore_wait(self, kernel: KernelRun, wait: SemaphoreWait) -> None:
        found = Wait(kernel, wait.wanted, wait.at_least, user_place())
        history = self._history(wait.semaphore)
        history.waits.append(found)
        self._waiting[kernel] = found
        self._steps.append((kernel, Replay.on_wait, (found,)))

    def on_semaphore_pass(self, kernel: KernelRun, wait: SemaphoreWait) -> None:
        history = self._history(wait.semaphore)
        found = self._waiting[kernel]
        self._steps.append((kernel, Replay.on_pass, (history, found, len(history.changes))))

    # When the run is over

    def check(self) -> None:
        """Raise KernelFault for the first race; fill in `written_alike`."""
        if self._looks_at_tensors or self._may_race:
            self.written_alike = self._replay_all().written_alike
            self._check_waits()

    def cause_of_deadlock(self) -> Diagnostic | None:
        """Find a set or a wait that may have come before or after another kernel's change."""
        self._steps = [each for each in self._steps if each[1] is not Replay.copy_ends]
        if not self._may_race:
            return None
        try:
            self._replay_all()
            self._check_waits()
        except KernelFault as fault:
            return fault.diagnostics[0]
        return None

    @property
    def _may_race(self) -> bool:
        return any(history.may_race for history in self._histories.values())

    def _check_waits(self) -> None:
        for history in self._histories.values():
            if history.may_race and (found := history.find_spoiled_wait()) is not None:
                raise rule_fault(found[0].kernel, _unordered(history.semaphore, *found))

    def _replay_all(self) -> Replay:
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
    """The clocks of a replayed run; only the last replay raises races."""

    __slots__ = ("_is_last", "_passed", "has_changed")

    def __init__(self, is_last: bool) -> None:
        super().__init__()
        self._is_last = is_last
        self.has_changed = False
        self._passed: dict[KernelRun, list[tuple[History, Wait]]] = {}

    def copy_ends(self, number: int, copied: Copied, written: Iterable[bytes]) -> None:
        if self._is_last:
            super().copy_ends(number, copied, written)
        else:
            self.clock(copied.kernel).step += 1

    def on_change(self, history: History, number: int) -> None:
        change = history.changes[number]
        clock = self.clock(change.kernel)
        if self._is_last and history.may_race:
            other = history.find_unordered(number, clock)
            if other is not None:
                pair = (change, other) if change.is_set else (other, change)
                raise _unordered(history.semaphore, *pair)
        known: Known = clock.release()
        self.has_changed |= known != change.known
        change.known = known

    def on_wait(self, wait: Wait) -> None:
        clock = self.clock(wait.kernel)
        wait.clock, wait.is_over = Clock(wait.kernel, clock.known, clock.step), False

    def on_pass(self, history: History, wait: Wait, seen: int) -> None:
        clock = self.clock(wait.kernel)
        clock.acquire(history.find_known(wait, clock, seen))
        wait.clock, wait.is_over = Clock(wait.kernel, clock.known, clock.step), True
        self._passed.setdefault(wait.kernel, []).append((history, wait))

    def race(
        self, access: TensorAccess, other: TensorAccess, copied: Copied, unit: Shape
    ) -> RuleBroken:
        broken = super().race(access, other, copied, unit)
        for waiting, changing in ((access.kernel, other.kernel), (other.kernel, access.kernel)):
            waits = self._passed.get(waiting, ())
            for history, wait in waits:
                if sum(1 for each, _ in waits if each is history) > 1:
                    continue  # repeated waits: the number of earlier increments is not known
                if total := history.value_for_all(wait, changing):
                    name = history.semaphore.declared.name
                    return broken.with_first_help(waits_for_some(name, wait.wanted, total))
        return broken


def _unordered(
    semaphore: NodeSemaphore, one: SemaphoreChange | Wait, other: SemaphoreChange
) -> RuleBroken:
    """Report that a set or a wait, and another change, have no order."""
    second = _use(other)
    broken = semaphore_race(
        semaphore.declared.name,
        semaphore.node,
        _use(one),
        second,
        labels([(other.place, second.label)] if other.place else []),
    )
    return broken.with_place(one.place)


def _use(found: SemaphoreChange | Wait) -> SemaphoreUse:
    if isinstance(found, Wait):
        call, value = "wait_ge" if found.at_least else "wait_eq", found.wanted
    else:
        call, value = "set" if found.is_set else "inc", found.value
    return SemaphoreUse(found.kernel.name, found.kernel.coordinate, call, value)

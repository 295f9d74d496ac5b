"""Find the changes of a semaphore that happened before a wait passed, in every schedule.

rule NEEDED   a wait is ordered after a step of a kernel if the wait cannot end before that step. If
              several sets of increments could end it, it takes over only facts common to all
rule LEVEL    this is computed for each kernel by itself: if the wait needs `n` more, sort the
              increments by how much they know of that kernel; the wait knows as much as the n-th
rule EPOCH    a set starts a new epoch; a wait belongs to the first epoch that can end it, at or
              after the last set that its kernel knows of
rule SUM      a wait for one value ends when increments add up to it, the first ones of each kernel;
              if there are too many sums to try, every sum counts as possible
rule SET      a change must be ordered with every set, except between sets of the same value;
              otherwise it is a race, if any kernel waits for the semaphore
rule WAIT     a change after which a wait could not end must be ordered with the wait: an increment
              if the wait is for one value, a set of another value; otherwise it is a race
rule LATER    increments that come after the wait in this run may come before it in another, and
              their facts may depend on the wait: repeat the computation until nothing changes
rule AFTER    a change that knows that the wait was over cannot have ended it: neither a later one
              of the same kernel, nor one ordered after the wait in another way
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import accumulate
from typing import TYPE_CHECKING

from ttl.language.semaphores import SEMAPHORE_VALUES

from .place import Place
from .races import Clock, Known, join_known

if TYPE_CHECKING:
    from .kernel import KernelRun
    from .semaphores import NodeSemaphore


MOST_SUMS = 4096


@dataclass(slots=True, eq=False)
class SemaphoreChange:
    """A set or an increment of a semaphore on one node."""

    kernel: KernelRun
    is_set: bool
    value: int
    place: Place | None
    known: Known | None = None  # facts it passes on; None before the first replay of the run

    def is_after(self, clock: Clock) -> bool:
        """Does the change know that the current step of the clock's kernel was over?"""
        return self.known is not None and self.known.get(clock.kernel, 0) >= clock.step

    def is_known_to(self, clock: Clock) -> bool:
        """Does the clock's kernel know that the change has happened?"""
        if self.known is None:
            return False
        step = self.known[self.kernel]
        if self.kernel is clock.kernel:
            return step < clock.step
        return clock.known.get(self.kernel, 0) >= step


@dataclass(slots=True, eq=False)
class Wait:
    """A wait, and its kernel's clock at its end, or when it started if it never ended."""

    kernel: KernelRun
    wanted: int
    at_least: bool
    place: Place | None
    clock: Clock | None = None  # when it ended or started
    is_over: bool = False

    def is_spoiled_by(self, change: SemaphoreChange) -> bool:  # rule WAIT
        if not change.is_set:
            return not self.at_least and bool(change.value)
        return change.value < self.wanted if self.at_least else change.value != self.wanted

    def precedes(self, change: SemaphoreChange) -> bool:
        assert self.clock is not None
        step = (change.known or {}).get(self.kernel, 0)
        return self.is_over and step >= self.clock.step


@dataclass(slots=True)
class Epoch:
    """The initial value or sets of one value, and the increments until the next set."""

    base: int
    sets: list[SemaphoreChange] = field(default_factory=list)
    increments: list[SemaphoreChange] = field(default_factory=list)

    def before(self, clock: Clock) -> Epoch | None:  # rule AFTER
        """Leave out changes after the clock; None if no set that starts the epoch is left."""
        sets = [each for each in self.sets if each.known is not None and not each.is_after(clock)]
        if self.sets and not sets:
            return None
        increments = [each for each in self.increments if not each.is_after(clock)]
        return Epoch(self.base, sets, increments)

    @property
    def known_increments(self) -> list[SemaphoreChange]:
        return [each for each in self.increments if each.known is not None and each.value]

    @property
    def wraps(self) -> bool:
        return self.base + sum([each.value for each in self.increments]) >= SEMAPHORE_VALUES

    def can_end(self, wait: Wait, clock: Clock) -> bool:
        increments, needed = self.known_increments, wait.wanted - self.base
        if sum([each.value for each in increments]) < needed:
            return False
        return wait.at_least or _can_add_up(increments, needed, clock)

    def find_common(self, wait: Wait, clock: Clock) -> Known:
        """Return the facts a wait that ended in this epoch takes over."""
        knows_base = not self.sets or any(each.is_known_to(clock) for each in self.sets)
        of_base = {} if knows_base else _find_common([_known(each) for each in self.sets])
        needed = wait.wanted - self.base
        return join_known(of_base, _common_of_choices(self.known_increments, needed))


@dataclass(slots=True)
class History:
    """All changes of one semaphore on one node, in the order of this run."""

    semaphore: NodeSemaphore
    changes: list[SemaphoreChange] = field(default_factory=list)
    epochs: list[Epoch] = field(default_factory=list)
    waits: list[Wait] = field(default_factory=list)

    @property
    def may_race(self) -> bool:
        """Do several kernels use it, at least one waiting, in ways other than counting up?"""
        users = {each.kernel for each in self.changes} | {each.kernel for each in self.waits}
        is_special = any(each.is_set for each in self.changes) or not all(
            each.at_least for each in self.waits
        )
        return bool(self.waits) and len(users) > 1 and is_special

    def add(self, change: SemaphoreChange) -> None:
        if not self.epochs:
            self.epochs.append(Epoch(self.semaphore.declared.initial))
        self.changes.append(change)
        last = self.epochs[-1]
        if not change.is_set:
            last.increments.append(change)
        elif last.sets and not last.increments and last.base == change.value:
            last.sets.append(change)
        else:
            self.epochs.append(Epoch(change.value, [change]))

    def find_known(self, wait: Wait, clock: Clock, seen: int) -> Known:
        """Return the facts that a wait takes over, if it passed after `seen` changes."""
        first = 0
        for number, epoch in enumerate(self.epochs):  # rule EPOCH
            if any(each.is_known_to(clock) for each in epoch.sets):
                first = number
        for epoch in self.epochs[first:]:
            if epoch.wraps:
                break
            possible = epoch.before(clock)
            if possible is not None and possible.can_end(wait, clock):
                return possible.find_common(wait, clock)
        return reduce(join_known, [_known(each) for each in self.changes[:seen]], {})

    def find_spoiled_wait(self) -> tuple[Wait, SemaphoreChange] | None:
        """Find a wait and a change without an order between them (rule WAIT)."""
        by_kernel: dict[KernelRun, list[SemaphoreChange]] = {}
        for change in self.changes:
            by_kernel.setdefault(change.kernel, []).append(change)
        for wait in self.waits:
            assert wait.clock is not None
            possible = (epoch.can_end(wait, wait.clock) for epoch in self.epochs)
            if not wait.is_over and not any(possible):
                continue  # it never ends in any order
            others = [own for kernel, own in by_kernel.items() if kernel is not wait.kernel]
            for changes in others:
                if (found := _first_spoiling(wait, changes)) is not None:
                    return wait, found
        return None

    def value_for_all(self, wait: Wait, changer: KernelRun) -> int | None:
        """Return the value for wait_ge() that waits for all increments, `changer`'s too."""
        if len(self.epochs) != 1 or not wait.at_least:
            return None
        epoch = self.epochs[0]
        total = epoch.base + sum([each.value for each in epoch.increments])
        is_changed = any(each.kernel is changer for each in epoch.increments)
        is_one_each = all(each.value == 1 for each in epoch.increments) and not epoch.base
        return total if is_changed and is_one_each and total > wait.wanted else None

    def find_unordered(self, number: int, clock: Clock) -> SemaphoreChange | None:
        """Find an earlier change that races with this one, made just now (rule SET)."""
        change = self.changes[number]
        last: SemaphoreChange | None = None  # latest set the kernel knows of
        for other in reversed(self.changes[:number]):
            is_known = other.is_known_to(clock)
            if last is not None and not (other.is_set and other.value == last.value):
                return None  # `last` comes after all changes except sets of its value
            if other.is_set and is_known:
                last = other
            if is_known or not (change.is_set or other.is_set):
                continue
            if not (change.is_set and other.is_set and change.value == other.value):
                return other
        return None


def _first_spoiling(wait: Wait, changes: Sequence[SemaphoreChange]) -> SemaphoreChange | None:
    """Find a kernel's first spoiling change that has no order with the wait."""
    assert wait.clock is not None
    known = wait.clock.known.get(changes[0].kernel, 0)
    start = bisect_right(changes, known, key=lambda each: _known(each).get(each.kernel, 0))
    for change in changes[start:]:
        if wait.precedes(change):
            return None
        if wait.is_spoiled_by(change):
            return change
    return None


def _known(change: SemaphoreChange) -> Known:
    return change.known or {}


def _can_add_up(
    increments: Sequence[SemaphoreChange], needed: int, clock: Clock
) -> bool:  # rule SUM
    """Can certain increments, and each kernel's first uncertain ones, add up to what is needed?"""
    needed -= sum([each.value for each in increments if each.is_known_to(clock)])
    by_kernel: dict[KernelRun, list[int]] = {}
    for each in increments:
        if not each.is_known_to(clock):
            by_kernel.setdefault(each.kernel, []).append(each.value)
    sums = {0}
    for values in by_kernel.values():
        own = [each for each in accumulate(values, initial=0) if each <= needed]
        if len(own) * len(sums) > MOST_SUMS:
            return needed >= 0
        sums = {one + other for one in sums for other in own if one + other <= needed}
    return needed in sums


def _find_common(given: Sequence[Known]) -> Known:
    """Return the facts common to all."""
    if len(given) == 1:
        return given[0]
    common = set.intersection(*(set(each) for each in given))
    return {kernel: min(each[kernel] for each in given) for kernel in common}


def _common_of_choices(increments: Sequence[SemaphoreChange], needed: int) -> Known:
    """Return the facts common to all choices of increments that add up to what is needed."""
    if needed <= 0 or not increments:
        return {}
    total = sum([each.value for each in increments])
    if total - min(each.value for each in increments) < needed:  # all are needed
        return reduce(join_known, [_known(each) for each in increments], {})
    found: Known = {}
    for kernel in dict.fromkeys(k for each in increments for k in _known(each)):
        levels = sorted((_known(each).get(kernel, 0), each.value) for each in increments)
        if level := _find_level(levels, needed):  # rule LEVEL
            found[kernel] = level
    return found


def _find_level(levels: Iterable[tuple[int, int]], needed: int) -> int:
    for level, value in levels:
        needed -= value
        if needed <= 0:
            return level
    return 0

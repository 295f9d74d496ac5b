"""Which of two things comes first may depend on the schedule: two schedules prove that it does.

rule LATE      each of two kernels is held back as far as the others allow (machine.py); what comes
               first once and second the other time is in no order
rule TOUCHED   a node reads a tile that another writes: a race if all these reads may come before
               the first of the writes, and all the writes before the first of the reads
rule SET       so it is with a set of a semaphore and another change, unless both set the same value
What the schedules do not show stays unknown; nothing that is ordered is ever called a race.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import NamedTuple

from xdsl.ir import Operation

from ttl.diagnostics import Diagnostic, Label
from ttl.diagnostics.accesses import Changer, semaphore_race, waits_for_some
from ttl.dialects.locations import span_of

from .events import SEMAPHORE_VALUES, Event, Kind, counted
from .machine import Cell, Machine, Start, Task
from .semaphores import increments_of, set_by_some
from .statements import BudgetSpent
from .walk import WalkedModule

Owner = tuple[int, int]  # a node and a kernel
MOST_CHANGES = 64  # of a semaphore on a node that are compared


class Span(NamedTuple):
    """Where the first and the last of some events are in a schedule."""

    first: int
    last: int


class Schedules:
    """Those in which one kernel comes last, each made at the first question."""

    def __init__(self, walked: WalkedModule, start: Start, most_events: int):
        self.walked = walked
        self.start = start
        self.budget = most_events
        self._noted: dict[Owner, list[tuple[Owner, Event]]] = {}

    def with_late(self, late: Owner) -> list[tuple[Owner, Event]]:
        """Touches and changes of semaphores in their order; nothing if that takes too long."""
        found = self._noted.get(late)
        if found is None:
            found = self._noted[late] = self._run(late)
        return found

    def _run(self, late: Owner) -> list[tuple[Owner, Event]]:
        traces = dict(enumerate(self.walked.traces))
        machine = Machine(replace(self.start, late=late), traces, self.budget)
        try:
            machine.run()
        except BudgetSpent:
            self.budget = 0
            return []
        self.budget = machine.budget
        return [(_owner(task), event) for task, event in machine.noted]

    # rule TOUCHED

    def are_unordered(self, read: tuple[Owner, Operation], write: tuple[Owner, Operation]) -> bool:
        return self._precedes(read, write) and self._precedes(write, read)

    def _precedes(self, one: tuple[Owner, Operation], other: tuple[Owner, Operation]) -> bool:
        """Are all of `one` before the first of `other`, whose kernel comes last?"""
        noted = self.with_late(other[0])
        first, second = _places(noted, one), _places(noted, other)
        return first is not None and second is not None and first.last < second.first


def _owner(task: Task) -> Owner:
    return task.node, task.kernel


def _places(noted: Sequence[tuple[Owner, Event]], what: tuple[Owner, Operation]) -> Span | None:
    found = [place for place, (owner, event) in enumerate(noted) if (owner, event[2]) == what]
    return Span(found[0], found[-1]) if found else None


def wait_for_all(walked: WalkedModule, one: Owner, other: Owner) -> str | None:
    """Help if one of these kernels waits for some of the increments that the other adds to."""
    for (node, kernel), changer in ((one, other), (other, one)):
        waits = [
            (event, times)
            for event, times in counted(walked.traces[node][kernel])
            if event[0] is Kind.SEMAPHORE_WAIT
        ]
        for event, times in waits:
            is_alone = times == 1 and sum(each[1] == event[1] for each, _ in waits) == 1
            total = increments_of(walked, (event[1], node), changer)
            if is_alone and event[4] and total is not None and total > event[3]:
                return waits_for_some(walked.semaphores[event[1]].name, event[3], total)
    return None


# Semaphores ---------------------------------------------------------------------------------------


class Changed(NamedTuple):
    """The n-th change that a kernel makes of a semaphore on a node."""

    owner: Owner
    number: int
    event: Event

    @property
    def is_set(self) -> bool:
        return self.event[0] is Kind.SEMAPHORE_SET

    def may_follow(self, other: Changed) -> bool:
        """Is the order of the two nobody's business?"""
        if self.owner == other.owner or not (self.is_set or other.is_set):
            return True
        same = self.event[3] % SEMAPHORE_VALUES == other.event[3] % SEMAPHORE_VALUES
        return self.is_set and other.is_set and same


def check_semaphore_sets(walked: WalkedModule, schedules: Schedules) -> list[Diagnostic]:
    """rule SET: the first race for each semaphore."""
    found: dict[int, Diagnostic] = {}
    if walked.is_complete:
        for cell, owners in sorted(set_by_some(walked).items()):
            if cell[0] not in found and (pair := _unordered_pair(cell, owners, schedules)):
                found[cell[0]] = _reported(walked, cell, *pair)
    return list(found.values())


def _unordered_pair(
    cell: Cell, owners: set[Owner], schedules: Schedules
) -> tuple[Changed, Changed] | None:
    orders = [_changes(schedules.with_late(owner), cell) for owner in sorted(owners)]
    for one, other in combinations(orders, 2):
        places = {change[:2]: place for place, change in enumerate(other)}
        for first, second in _pairs(one):
            before, after = places.get(first[:2]), places.get(second[:2])
            if before is not None and after is not None and after < before:
                return (first, second) if first.is_set else (second, first)
            if before is None and after is not None:  # the other waits for ever for it
                return (first, second) if first.is_set else (second, first)
    return None


def _pairs(changes: Sequence[Changed]) -> Iterator[tuple[Changed, Changed]]:
    return (pair for pair in combinations(changes, 2) if not pair[0].may_follow(pair[1]))


def _changes(noted: Sequence[tuple[Owner, Event]], cell: Cell) -> list[Changed]:
    found: list[Changed] = []
    numbers: dict[Owner, int] = {}
    for owner, event in noted:
        if event[0] is Kind.TOUCH or event[1] != cell[0] or cell[1] not in event[4]:
            continue
        numbers[owner] = number = numbers.get(owner, 0) + 1
        found.append(Changed(owner, number, event))
        if len(found) == MOST_CHANGES:
            break
    return found


def _reported(walked: WalkedModule, cell: Cell, one: Changed, other: Changed) -> Diagnostic:
    semaphore, node = cell
    first, second = (_changer(walked, each) for each in (one, other))
    where = span_of(other.event[2].location)
    places = () if where is None else (Label(where, second.label),)
    name = walked.semaphores[semaphore].name
    broken = semaphore_race(name, walked.nodes[node], first, second, places)
    return broken.at(span_of(one.event[2].location), first.label)


def _changer(walked: WalkedModule, change: Changed) -> Changer:
    node, kernel = change.owner
    return Changer(walked.kernels[kernel].name, walked.nodes[node], change.is_set)

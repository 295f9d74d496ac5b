"""Find out whether the schedule decides which of two actions comes first: two schedules prove that
it does, and one that it does not.

rule LATE      each of two kernels is held back as far as the others allow (machine.py); actions
               that come in both orders are unordered
rule TOUCHED   a node reads a tile that another writes: a race if all these reads may come before
               the first of the writes, and all the writes before the first of the reads
rule MEANWHILE it is also a race if the only write has started and not ended when the only read
               starts, or the other way round
rule ENDED     they are ordered if one kernel's accesses end before the first of the other's starts,
               even though their kernel is held back; not if the order at a semaphore decides
rule SET       the same holds for a set of a semaphore and another change, unless both set equal
               values
rule WAIT      and for a wait and a change that would keep it from ending

If the schedules do not decide, the order stays unknown; ordered actions are never called a race.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations, permutations
from typing import NamedTuple

from xdsl.ir import Operation

from ttl.diagnostics import Diagnostic, Label
from ttl.diagnostics.accesses import SemaphoreUse, semaphore_race, waits_for_some
from ttl.dialects.locations import span_of

from .events import SEMAPHORE_VALUES, Event, WalkEventKind, count_events
from .machine import Cell, MachineStart, TraceMachine, TraceTask
from .semaphores import find_special_uses, increments_of, loose_semaphores
from .statements import BudgetSpent
from .walk import WalkedModule

Owner = tuple[int, int]  # a node and a kernel
MOST_USES = 64  # most compared uses of a semaphore on a node
SEMAPHORE_KINDS = (
    WalkEventKind.SEMAPHORE_WAIT,
    WalkEventKind.SEMAPHORE_SET,
    WalkEventKind.SEMAPHORE_INC,
)
CALLS = {WalkEventKind.SEMAPHORE_SET: "set", WalkEventKind.SEMAPHORE_INC: "inc"}


Touches = tuple[Owner, Operation]  # touches of a copy, by a kernel on a node


@dataclass(slots=True)
class TouchSpan:
    """The first and last position of some touches in a schedule, and how many are open."""

    first: int
    last: int
    count: int = 0
    open: int = 0


class Schedules:
    """The schedules in which one kernel comes last or first, each made on first use."""

    def __init__(self, walked: WalkedModule, start: MachineStart, most_events: int):
        self.walked = walked
        self.start = start
        self.budget = most_events
        self._noted: dict[object, list[tuple[Owner, Event]]] = {}
        self._spans: dict[Owner, dict[Touches, TouchSpan]] = {}
        self._loose: frozenset[Cell] | None = None

    def run_late(self, late: Owner) -> list[tuple[Owner, Event]]:
        """Return touches and semaphore uses in their order; [] if that takes too long."""
        return self._with(replace(self.start, late=late))

    def run_early(self, early: Owner) -> list[tuple[Owner, Event]]:
        return self._with(replace(self.start, early=early))

    def _with(self, start: MachineStart) -> list[tuple[Owner, Event]]:
        key = start.late, start.early
        found = self._noted.get(key)
        if found is None:
            found = self._noted[key] = self._run(start)
        return found

    def _run(self, start: MachineStart) -> list[tuple[Owner, Event]]:
        traces = dict(enumerate(self.walked.traces))
        machine = TraceMachine(start, traces, self.budget)
        try:
            machine.run()
        except BudgetSpent:
            self.budget = 0
            return []
        self.budget = machine.budget
        return [(_owner(task), event) for task, event in machine.noted]

    # rule TOUCHED

    def are_unordered(self, read: Touches, write: Touches) -> bool:
        if self._precedes(read, write) and self._precedes(write, read):
            return True
        return self._is_meanwhile(read, write) or self._is_meanwhile(write, read)

    def _precedes(self, one: Touches, other: Touches) -> bool:
        """Are all of `one` before the first of `other`, whose kernel comes last?"""
        spans = self._spans_run_late(other[0])
        first, second = spans.get(one), spans.get(other)
        return first is not None and second is not None and first.last < second.first

    # rule MEANWHILE

    def _is_meanwhile(self, one: Touches, other: Touches) -> bool:
        """Does `one` start before `other` and end after its start?"""
        spans = self._spans_run_late(one[0])
        first, second = spans.get(one), spans.get(other)
        if first is None or second is None or not first.count == second.count == 1:
            return False
        return not first.open and first.first < second.first < first.last

    def _spans_run_late(self, late: Owner) -> dict[Touches, TouchSpan]:
        if late not in self._spans:
            self._spans[late] = _spans_of(self.run_late(late))
        return self._spans[late]

    # rule ENDED

    def are_ordered(self, one: Touches, other: Touches) -> bool:
        if self._loose is None:
            self._loose = loose_semaphores(self.walked, range(len(self.walked.nodes)))
        if self._loose:  # the order of kernels at a semaphore may decide later events
            return False
        return self._ends_before(one, other) or self._ends_before(other, one)

    def _ends_before(self, one: Touches, other: Touches) -> bool:
        spans = self._spans_run_late(one[0])
        first, second = spans.get(one), spans.get(other)
        if first is None or second is None or first.open:
            return False
        return first.last < second.first


def _owner(task: TraceTask) -> Owner:
    return task.node, task.kernel


def _spans_of(noted: Sequence[tuple[Owner, Event]]) -> dict[Touches, TouchSpan]:
    found: dict[Touches, TouchSpan] = {}
    for place, (owner, event) in enumerate(noted):
        if event[0] in (WalkEventKind.TOUCH, WalkEventKind.TOUCHED):
            span = found.setdefault((owner, event[2]), TouchSpan(place, place))
            span.last = place
            is_start = event[0] is WalkEventKind.TOUCH
            span.count += is_start
            span.open += 1 if is_start else -1
    return found


def wait_for_all(walked: WalkedModule, one: Owner, other: Owner) -> str | None:
    """Suggest a larger wait if one kernel waits for only some increments the other adds to."""
    for (node, kernel), changer in ((one, other), (other, one)):
        waits = [
            (event, times)
            for event, times in count_events(walked.traces[node][kernel])
            if event[0] is WalkEventKind.SEMAPHORE_WAIT
        ]
        for event, times in waits:
            is_alone = times == 1 and sum(each[1] == event[1] for each, _ in waits) == 1
            total = increments_of(walked, (event[1], node), changer)
            if is_alone and event[4] and total is not None and total > event[3]:
                return waits_for_some(walked.semaphores[event[1]].name, event[3], total)
    return None


# Semaphores ---------------------------------------------------------------------------------------


class Use(NamedTuple):
    """The n-th time that a kernel changes, or has waited for, a semaphore on a node."""

    owner: Owner
    number: int
    event: Event

    @property
    def kind(self) -> WalkEventKind:
        kind: WalkEventKind = self.event[0]
        return kind

    @property
    def value(self) -> int:
        return int(self.event[3]) % SEMAPHORE_VALUES

    def is_spoiled_by(self, change: Use) -> bool:
        """Does their order matter? This one is a set or a wait (rules SET and WAIT)."""
        if self.owner == change.owner or change.kind is WalkEventKind.SEMAPHORE_WAIT:
            return False
        is_set = change.kind is WalkEventKind.SEMAPHORE_SET
        if self.kind is WalkEventKind.SEMAPHORE_SET:
            return not is_set or change.value != self.value
        if self.kind is not WalkEventKind.SEMAPHORE_WAIT:
            return False
        at_least = self.event[4]
        if not is_set:
            return not at_least and bool(change.value)
        return change.value < self.value if at_least else change.value != self.value


def check_semaphore_orders(walked: WalkedModule, schedules: Schedules) -> list[Diagnostic]:
    """Find the first race for each semaphore (rules SET and WAIT)."""
    found: dict[int, Diagnostic] = {}
    if walked.is_complete:
        for cell, owners in sorted(find_special_uses(walked).items()):
            if cell[0] not in found and (pair := _unordered_pair(cell, owners, schedules)):
                found[cell[0]] = _report(walked, cell, *pair)
    return list(found.values())


def _unordered_pair(cell: Cell, owners: set[Owner], schedules: Schedules) -> tuple[Use, Use] | None:
    made = [
        each(owner)
        for each in (schedules.run_late, schedules.run_early)
        for owner in sorted(owners)
    ]
    orders = [_uses(noted, cell) for noted in made]
    for one, other in permutations(orders, 2):
        places = {use[:2]: place for place, use in enumerate(other)}
        for first, second in combinations(one, 2):
            pair = (first, second) if first.is_spoiled_by(second) else (second, first)
            if not pair[0].is_spoiled_by(pair[1]):
                continue
            before, after = places.get(first[:2]), places.get(second[:2])
            # A missing use waits forever, whether or not the other one comes after it.
            if after is not None and (before is None or after < before):
                return pair
    return None


def _uses(noted: Sequence[tuple[Owner, Event]], cell: Cell) -> list[Use]:
    found: list[Use] = []
    numbers: dict[Owner, int] = {}
    for owner, event in noted:
        if event[0] not in SEMAPHORE_KINDS or event[1] != cell[0]:
            continue
        nodes = (owner[0],) if event[0] is WalkEventKind.SEMAPHORE_WAIT else event[4]
        if cell[1] in nodes:
            numbers[owner] = number = numbers.get(owner, 0) + 1
            found.append(Use(owner, number, event))
        if len(found) == MOST_USES:
            break
    return found


def _report(walked: WalkedModule, cell: Cell, one: Use, other: Use) -> Diagnostic:
    semaphore, node = cell
    first, second = (_describe_use(walked, each) for each in (one, other))
    where = span_of(other.event[2].location)
    places = () if where is None else (Label(where, second.label),)
    name = walked.semaphores[semaphore].name
    broken = semaphore_race(name, walked.nodes[node], first, second, places)
    return broken.at(span_of(one.event[2].location), first.label)


def _describe_use(walked: WalkedModule, use: Use) -> SemaphoreUse:
    node, kernel = use.owner
    call = CALLS.get(use.kind) or ("wait_ge" if use.event[4] else "wait_eq")
    return SemaphoreUse(walked.kernels[kernel].name, walked.nodes[node], call, use.value)

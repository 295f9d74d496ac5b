"""Find semaphores for which the order of the kernels does not matter.

rule GROWS   the value only grows: it is only incremented, or one kernel sets it, never to less
rule PASSED  a wait that has ended stays so: it is for at least a value, or for the last one
rule ALONE   only one kernel waits for it and changes it

One order proves a semaphore on a node that follows the first two rules, or the third, or that no
kernel waits for.
"""

from __future__ import annotations

from collections.abc import Sequence

from .events import SEMAPHORE_VALUES, WalkEventKind, count_events
from .machine import Cell
from .walk import WalkedModule

TRIED_ORDERS = 8
CHANGES = (WalkEventKind.SEMAPHORE_SET, WalkEventKind.SEMAPHORE_INC)


class _Use:
    """The use of one semaphore on one node by the kernels of some nodes."""

    def __init__(self, initial: int):
        self.initial = initial
        self.incremented = 0
        self.sets: list[int] = []
        self.setters: set[tuple[int, int]] = set()
        self.users: set[tuple[int, int]] = set()
        self.exact_waits: set[int] = set()
        self.is_waited_for = False
        self.falls = False
        self.is_repeated = False  # a set in a loop: the first of two then follows the second

    def set(self, value: int, times: int, setter: tuple[int, int]) -> None:
        before = self.sets[-1] if self.sets else self.initial
        again = times > 1 and any(value != other for other in self.sets)
        self.falls = self.falls or value < before or again or (self.is_repeated and value != before)
        self.is_repeated = self.is_repeated or times > 1
        self.sets.append(value)
        self.setters.add(setter)

    def wait(self, value: int, at_least: bool) -> None:
        self.is_waited_for = True
        if not at_least:
            self.exact_waits.add(value)

    @property
    def last(self) -> int:
        return self.sets[-1] if self.sets else self.initial + self.incremented

    @property
    def is_loose(self) -> bool:
        if not self.is_waited_for or len(self.users) == 1:  # rule ALONE
            return False
        mixed = bool(self.sets) and bool(self.incremented)
        wraps = self.initial + self.incremented >= SEMAPHORE_VALUES
        grows = not (mixed or wraps or self.falls or len(self.setters) > 1)  # rule GROWS
        return not grows or not self.exact_waits <= {self.last}  # rule PASSED


def loose_semaphores(walked: WalkedModule, nodes: Sequence[int]) -> frozenset[Cell]:
    """Return the semaphores for which the order of these nodes' kernels may matter."""
    if not walked.semaphores:
        return frozenset()
    return frozenset(cell for cell, found in _uses(walked, nodes).items() if found.is_loose)


def find_special_uses(walked: WalkedModule) -> dict[Cell, set[tuple[int, int]]]:
    """Return users of semaphores that kernels use in ways other than counting up and wait_ge()."""
    if not walked.semaphores:
        return {}
    uses = _uses(walked, range(len(walked.nodes)))
    return {
        cell: found.users
        for cell, found in uses.items()
        if found.is_waited_for
        and len(found.users) > 1
        and (found.setters or not found.exact_waits <= {found.last})
    }


def increments_of(walked: WalkedModule, cell: Cell, changer: tuple[int, int]) -> int | None:
    """Return how often a semaphore that starts at 0 is incremented by 1; None for other uses."""
    changes = [
        ((node, kernel), event, times)
        for node, of_kernels in enumerate(walked.traces)
        for kernel, items in enumerate(of_kernels)
        for event, times in count_events(items)
        if event[0] in CHANGES and event[1] == cell[0] and cell[1] in event[4]
    ]
    is_plain = all(
        event[0] is WalkEventKind.SEMAPHORE_INC and event[3] == 1 for _, event, _ in changes
    )
    if walked.semaphores[cell[0]].initial or not is_plain:
        return None
    has_part = any(owner == changer for owner, _, _ in changes)
    return sum(times for _, _, times in changes) if has_part else None


def _uses(walked: WalkedModule, nodes: Sequence[int]) -> dict[Cell, _Use]:
    uses: dict[Cell, _Use] = {}

    def use(semaphore: int, node: int, user: tuple[int, int]) -> _Use:
        found = uses.setdefault((semaphore, node), _Use(walked.semaphores[semaphore].initial))
        found.users.add(user)
        return found

    for node in nodes:
        for kernel, items in enumerate(walked.traces[node]):
            user = (node, kernel)
            for event, times in count_events(items):
                kind = event[0]
                if kind is WalkEventKind.SEMAPHORE_WAIT:
                    use(event[1], node, user).wait(event[3], event[4])
                elif kind is WalkEventKind.SEMAPHORE_SET:
                    for other in event[4]:
                        use(event[1], other, user).set(event[3], times, user)
                elif kind is WalkEventKind.SEMAPHORE_INC:
                    for other in event[4]:
                        use(event[1], other, user).incremented += event[3] * times
    return uses

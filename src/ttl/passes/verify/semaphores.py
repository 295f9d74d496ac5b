"""Which semaphores are used so that the order of the kernels does not matter.

rule GROWS   the value only grows: it is only incremented, or one kernel sets it, never to less
rule PASSED  a wait is over and stays over: it is for at least a value, or for the last one
A semaphore on a node that keeps both, or that nobody waits for, is proven by one order.
"""

from __future__ import annotations

from collections.abc import Sequence

from .events import SEMAPHORE_VALUES, Kind, counted
from .machine import Cell
from .walk import WalkedModule

TRIED_ORDERS = 8


class _Use:
    """What the kernels of some nodes do with one semaphore on one node."""

    def __init__(self, initial: int):
        self.initial = initial
        self.incremented = 0
        self.sets: list[int] = []
        self.setters: set[tuple[int, int]] = set()
        self.exact_waits: set[int] = set()
        self.is_waited_for = False
        self.falls = False
        self.is_repeated = False  # a set in a loop: of two of them the first follows the second

    def set(self, value: int, times: int, setter: tuple[int, int]) -> None:
        before = self.sets[-1] if self.sets else self.initial
        again = times > 1 and any(value != other for other in self.sets)
        self.falls = self.falls or value < before or again or (self.is_repeated and value != before)
        self.is_repeated = self.is_repeated or times > 1
        self.sets.append(value)
        self.setters.add(setter)

    @property
    def last(self) -> int:
        return self.sets[-1] if self.sets else self.initial + self.incremented

    @property
    def is_loose(self) -> bool:
        if not self.is_waited_for:
            return False
        mixed = bool(self.sets) and bool(self.incremented)
        wraps = self.initial + self.incremented >= SEMAPHORE_VALUES
        grows = not (mixed or wraps or self.falls or len(self.setters) > 1)  # rule GROWS
        return not grows or not self.exact_waits <= {self.last}  # rule PASSED


def loose_semaphores(walked: WalkedModule, nodes: Sequence[int]) -> frozenset[Cell]:
    """Those for which the order of the kernels of these nodes may matter."""
    if not walked.semaphores:
        return frozenset()
    uses: dict[Cell, _Use] = {}

    def use(semaphore: int, node: int) -> _Use:
        return uses.setdefault(
            (semaphore, node), _Use(walked.semaphores[semaphore].initial)
        )

    for node in nodes:
        for kernel, items in enumerate(walked.traces[node]):
            for event, times in counted(items):
                kind = event[0]
                if kind is Kind.SEMAPHORE_WAIT:
                    found = use(event[1], node)
                    found.is_waited_for = True
                    if not event[4]:
                        found.exact_waits.add(event[3])
                elif kind is Kind.SEMAPHORE_SET:
                    for other in event[4]:
                        use(event[1], other).set(event[3], times, (node, kernel))
                elif kind is Kind.SEMAPHORE_INC:
                    for other in event[4]:
                        use(event[1], other).incremented += event[3] * times
    return frozenset(cell for cell, found in uses.items() if found.is_loose)

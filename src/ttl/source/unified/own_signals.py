"""Signals of a node to itself without which its wait for a semaphore cannot end."""

from __future__ import annotations

from collections.abc import Sequence

from ttl.language.semaphores import Semaphore
from ttl.semantics.types import Shape

from .rehearsal import Awaited, Does, Signal, Steps

Word = tuple[Semaphore, Shape]


class OwnSignals:
    """What all nodes do to each semaphore on each node, whenever they do it."""

    def __init__(self, steps: Steps):
        self._changes: dict[Word, list[Signal]] = {}
        for of_node in steps.values():
            for step in of_node:
                if step.does is Does.SIGNAL and isinstance(step.what, Signal):
                    for node in step.what.nodes:
                        self._changes.setdefault((step.what.semaphore, node), []).append(step.what)

    def is_needed(self, signal: Signal, awaited: Awaited, node: Shape) -> bool:
        """Without this signal, does the semaphore on the node never have the value waited for?"""
        if signal.semaphore is not awaited.semaphore or node not in signal.nodes:
            return False
        others = [each for each in self._changes[signal.semaphore, node] if each is not signal]
        return _most(signal.semaphore.initial, others) < awaited.value


def _most(initial: int, changes: Sequence[Signal]) -> int:
    """No less than a semaphore ever has after these changes, in whatever order they come."""
    start = max([initial, *(each.value for each in changes if each.is_set)])
    return start + sum(each.value for each in changes if not each.is_set)

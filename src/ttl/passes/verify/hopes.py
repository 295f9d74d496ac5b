"""Possible values of semaphores whose value does not only grow."""

from __future__ import annotations

from .events import SEMAPHORE_VALUES

MOST_SUMS = 4096


class Hope:
    """The values a semaphore could have now in some order of the kernels."""

    __slots__ = ("bases", "sums")

    def __init__(self, initial: int):
        self.bases = {initial}  # values it was set to
        self.sums = {0}  # sums of some of the increments

    def add(self, added: int) -> None:
        if len(self.sums) <= MOST_SUMS:
            self.sums |= {(total + added) % SEMAPHORE_VALUES for total in self.sums}

    def can_be(self, wanted: int, at_least: bool) -> bool:
        if len(self.sums) > MOST_SUMS:  # too many to say no
            return True
        if at_least:
            return max(self.bases) + max(self.sums) >= wanted
        return any((wanted - base) % SEMAPHORE_VALUES in self.sums for base in self.bases)

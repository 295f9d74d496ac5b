"""Things that belong together."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import Generic, TypeVar

Member = TypeVar("Member", bound=Hashable)


class Groups(Generic[Member]):
    """A partition that is made coarser step by step; members keep the order they came in."""

    def __init__(self, members: Iterable[Member]):
        self._parents: dict[Member, Member] = {member: member for member in members}

    def __iter__(self) -> Iterator[Member]:
        return iter(list(self._parents))

    def first(self, member: Member) -> Member:
        """The one that stands for the group of a member."""
        while self._parents[member] is not member:
            self._parents[member] = self._parents[self._parents[member]]
            member = self._parents[member]
        return member

    def join(self, one: Member, other: Member) -> None:
        self._parents[self.first(other)] = self.first(one)

    def all(self) -> list[list[Member]]:
        found: dict[Member, list[Member]] = {}
        for member in self._parents:
            found.setdefault(self.first(member), []).append(member)
        return list(found.values())

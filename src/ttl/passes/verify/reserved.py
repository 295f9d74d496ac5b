"""The blocks that a kernel has reserved, by the names that they have in it.

Loops that carry a block give it another name in each iteration.
"""

from __future__ import annotations

from collections.abc import Hashable

from xdsl.ir import SSAValue

from .events import Event, Kind

HeldBlock = tuple[int, int]  # a buffer, and which of the blocks that were reserved in it


class Blocks:
    """Of one kernel on one node."""

    __slots__ = ("counts", "handed_over", "held", "names")

    def __init__(self) -> None:
        self.counts: dict[int, int] = {}  # by buffer: reserved so far
        self.held: dict[int, list[HeldBlock]] = {}  # oldest first
        self.handed_over: dict[int, list[HeldBlock]] = {}
        self.names: dict[SSAValue, HeldBlock] = {}

    def follow(self, event: Event) -> bool:
        """Was it one that changes what is held, or how it is called?"""
        kind, buffer, op = event[:3]
        if kind is Kind.RESERVE:
            count = self.counts[buffer] = self.counts.get(buffer, 0) + 1
            self._hold(op.block, (buffer, count))
        elif kind is Kind.PUSH:
            self._oldest(self.held, buffer)
        elif kind is Kind.HAND_OVER:
            self.handed_over.setdefault(buffer, []).extend(self._oldest(self.held, buffer))
        elif kind is Kind.RESUME:
            for block in self._oldest(self.handed_over, buffer):
                self._hold(op.block, block)
        else:
            return False
        return True

    def _hold(self, name: SSAValue, block: HeldBlock) -> None:
        self.held.setdefault(block[0], []).append(block)
        self.names[name] = block

    def _oldest(self, blocks: dict[int, list[HeldBlock]], buffer: int) -> list[HeldBlock]:
        """Taken out of there; the kernel is known to be right only later."""
        kept = blocks.get(buffer, [])
        oldest = kept[:1]
        del kept[:1]
        return oldest

    def age(self, block: HeldBlock | None) -> Hashable:
        """Counted from the last: what it is like in every iteration."""
        return None if block is None else (block[0], self.counts[block[0]] - block[1])

    def state(self) -> Hashable:
        """Of those that are held, the names and the ages."""
        held = {block for blocks in self.held.values() for block in blocks}
        return tuple([(name, self.age(b)) for name, b in self.names.items() if b in held])

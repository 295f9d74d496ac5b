"""The blocks that a kernel has reserved, by their names in it.

Loops that carry a block give it another name in each iteration.
"""

from __future__ import annotations

from collections.abc import Hashable

from xdsl.ir import SSAValue

from .events import Event, WalkEventKind

HeldBlock = tuple[int, int]  # a buffer, and the number of the reserve


class Blocks:
    """Reserved blocks of one kernel on one node."""

    __slots__ = ("counts", "handed_over", "held", "names")

    def __init__(self) -> None:
        self.counts: dict[int, int] = {}  # reserves so far, by buffer
        self.held: dict[int, list[HeldBlock]] = {}  # oldest first
        self.handed_over: dict[int, list[HeldBlock]] = {}
        self.names: dict[SSAValue, HeldBlock] = {}

    def follow(self, event: Event) -> bool:
        """Update blocks and names; return whether the event changes them."""
        kind, buffer, op = event[:3]
        if kind is WalkEventKind.RESERVE:
            count = self.counts[buffer] = self.counts.get(buffer, 0) + 1
            self._hold(op.block, (buffer, count))
        elif kind is WalkEventKind.PUSH:
            self._oldest(self.held, buffer)
        elif kind is WalkEventKind.HAND_OVER:
            self.handed_over.setdefault(buffer, []).extend(self._oldest(self.held, buffer))
        elif kind is WalkEventKind.RESUME:
            for block in self._oldest(self.handed_over, buffer):
                self._hold(op.block, block)
        else:
            return False
        return True

    def _hold(self, name: SSAValue, block: HeldBlock) -> None:
        self.held.setdefault(block[0], []).append(block)
        self.names[name] = block

    def _oldest(self, blocks: dict[int, list[HeldBlock]], buffer: int) -> list[HeldBlock]:
        """Remove and return the oldest; the kernel's correctness is checked only later."""
        kept = blocks.get(buffer, [])
        oldest = kept[:1]
        del kept[:1]
        return oldest

    def age(self, block: HeldBlock | None) -> Hashable:
        """Return the distance from the latest reserve, which is the same in every iteration."""
        return None if block is None else (block[0], self.counts[block[0]] - block[1])

    def state(self) -> Hashable:
        """Return names and ages of the held blocks."""
        held = {block for blocks in self.held.values() for block in blocks}
        return tuple([(name, self.age(b)) for name, b in self.names.items() if b in held])

"""The progress of a pipe's ends, for the machine that runs kernels against each other.

rule OWN  a send that misses only its own node's post also counts as that post, if the node later
          receives into the very block it sent. If it does not, or never receives, that send must
          wait: the machine starts over
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .events import Node, NumberedPipe
from .reserved import HeldBlock

if TYPE_CHECKING:
    from .machine import TraceTask


class NotOwn(Exception):
    """Raised for a send that must wait for its own node: with its pipe and number."""

    def __init__(self, pipe: int, number: int):
        self.send = pipe, number


@dataclass(frozen=True, slots=True)
class OwnSend:
    """A send that counted as its own node's post; the receive is still due."""

    task: TraceTask
    number: int
    block: HeldBlock | None  # None: not a reserved block


class PipeState:
    """The number of transfers that each end of a pipe has started."""

    __slots__ = (
        "blocks",
        "has_own",
        "must_wait",
        "number",
        "owed",
        "posted",
        "sent",
        "sleepers",
        "source",
    )

    def __init__(
        self,
        number: int,
        pipe: NumberedPipe,
        node_numbers: Mapping[Node, int],
        must_wait: set[tuple[int, int]],
    ):
        self.number = number
        self.sent = 0
        self.posted = dict.fromkeys([node_numbers[node] for node in pipe.receivers], 0)
        self.sleepers: list[TraceTask] = []
        # rule OWN: the source, if it can apply; sends that turned out to be of another kind, by
        # pipe and number; blocks sent but not yet posted for
        self.source = node_numbers[pipe.source] if pipe.is_own else None
        self.must_wait = must_wait
        self.blocks: dict[int, HeldBlock | None] = {}
        self.owed: list[OwnSend] = []
        self.has_own = False  # such a receive has happened

    def complete(self) -> int:
        """Return how many transfers all ends have started."""
        return min(self.sent, *self.posted.values())

    def post(self, task: TraceTask, op: object) -> int:
        """Post; return the number of the transfer."""
        if task.node == self.source and self.owed:
            return self._receive_own(task, op)
        number = self.posted[task.node]
        self.posted[task.node] += 1
        if task.node == self.source:
            self.blocks.pop(number, None)
        return number

    def prepare_send(self, task: TraceTask, op: Any) -> None:
        if task.node != self.source:
            return
        block = task.blocks.names.get(op.source)
        if any(own.block == block for own in self.owed):  # its data would differ
            raise NotOwn(self.number, self.owed[0].number)
        if self.posted[task.node] <= self.sent:
            self.blocks[self.sent] = block

    def has_all_posts(self, task: TraceTask, number: int) -> bool:
        """Have all receivers of a send posted? If only the source is missing, its send can post."""
        missing = [node for node, posted in self.posted.items() if posted <= number]
        if not missing:
            return True
        is_own = missing == [self.source] and task.node == self.source
        is_next = is_own and self.posted[task.node] == number
        if not is_next or (self.number, number) in self.must_wait:
            return False
        self.posted[task.node] += 1
        self.owed.append(OwnSend(task, number, self.blocks.pop(number)))
        return True

    def _receive_own(self, task: TraceTask, op: Any) -> int:
        own = self.owed.pop(0)
        if own.task is not task or own.block != task.blocks.names.get(op.destination):
            raise NotOwn(self.number, own.number)
        self.has_own = True
        return own.number

    def refuse_unreceived(self) -> None:
        """Reject sends whose data an ended kernel has not received."""
        for own in self.owed:
            if own.task.is_done:
                raise NotOwn(self.number, own.number)

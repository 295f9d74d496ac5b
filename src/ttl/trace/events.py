"""What happens in a run, in the same words on the simulator and on the host executor."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass
from enum import Enum
from json import dumps
from typing import TextIO

Node = tuple[int, ...]


class EventKind(Enum):
    """The subject of an event is the buffer, the semaphore, or the other end of a transfer.

    The host's runtime numbers its kinds in this order (program.h): new ones go to the end.
    """

    KERNEL_START = "kernel_start"
    KERNEL_END = "kernel_end"
    KERNEL_BLOCKED = "kernel_blocked"  # value: occupied blocks, or the semaphore's value
    KERNEL_RESUMED = "kernel_resumed"
    BUFFER_RESERVE = "buffer_reserve"  # value: occupied blocks, in all four
    BUFFER_PUSH = "buffer_push"
    BUFFER_WAIT = "buffer_wait"
    BUFFER_POP = "buffer_pop"
    COPY_START = "copy_start"  # value: bytes, in both
    COPY_END = "copy_end"
    SIGNPOST_BEGIN = "signpost_begin"  # the subject is its name
    SIGNPOST_END = "signpost_end"
    PIPE_SEND = "pipe_send"  # a copy to a pipe starts; value: bytes, in all four
    PIPE_SEND_END = "pipe_send_end"  # its wait() is over
    PIPE_RECEIVE = "pipe_receive"  # a block is posted
    PIPE_RECEIVE_END = "pipe_receive_end"
    SEMAPHORE_SET = "semaphore_set"  # value: what is set, added or waited for
    SEMAPHORE_INC = "semaphore_inc"
    SEMAPHORE_WAIT = "semaphore_wait"
    OPERATION_START = "operation_start"  # the subject is its name; no node, no kernel, in both
    OPERATION_END = "operation_end"

    __hash__ = object.__hash__

    @property
    def category(self) -> str:
        """The first word, but `dfb` where the public simulator's options have it."""
        return CATEGORY_OF_WORD[self.value.split("_")[0]]


CATEGORY_OF_WORD = {
    "operation": "operation",
    "kernel": "kernel",
    "buffer": "dfb",
    "copy": "copy",
    "pipe": "pipe",
    "semaphore": "semaphore",
    "signpost": "signpost",
}
CATEGORIES = tuple(CATEGORY_OF_WORD.values())


@dataclass(frozen=True, slots=True)
class Event:
    """`tick` orders the events of a run; `line` is the user's, 0 where there is none."""

    tick: int
    kind: EventKind
    node: Node
    kernel: str
    subject: str = ""
    value: int = 0
    line: int = 0


class Recorder:
    """Collects events. Engines hold `Recorder | None` and test for None: off costs one test.

    `categories` of CATEGORIES are kept, all of them if None.
    """

    def __init__(self, categories: Collection[str] | None = None) -> None:
        self.events: list[Event] = []
        self.kinds = frozenset(
            kind for kind in EventKind if categories is None or kind.category in categories
        )

    def record(
        self,
        kind: EventKind,
        node: Node,
        kernel: str,
        subject: str = "",
        value: int = 0,
        line: int = 0,
    ) -> None:
        if kind in self.kinds:
            tick = len(self.events)
            self.events.append(Event(tick, kind, node, kernel, subject, value, line))


def write_json_lines(events: Iterable[Event], out: TextIO) -> None:
    """One event a line, as `ttl run --trace FILE` writes them."""
    for event in events:
        out.write(dumps(asdict(event), default=lambda kind: kind.value) + "\n")

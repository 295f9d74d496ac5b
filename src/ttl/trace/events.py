"""What happens in a run, in the same words on the simulator and on the host executor."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from enum import Enum
from types import CodeType
from typing import NamedTuple

Node = tuple[int, ...]
Part = tuple[tuple[int, ...], tuple[int, ...]]  # where a slice starts and its sizes, in shape units


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

    def __init__(self, text: str) -> None:
        self.text = text  # the value, which takes longer to read

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


class Event(NamedTuple):
    """`tick` orders the events of a run; `line` is the user's, 0 where there is none."""

    tick: int
    kind: EventKind
    node: Node
    kernel: str
    subject: str = ""
    value: int = 0
    line: int = 0
    part: Part | None = None  # of the tensor, where a copy of it starts and that is known


# Kind, node, kernel, subject, value, code and the offset of an instruction in it, or None and a
# line, then the part of a tensor. Recording is what a traced run pays for each event: what can be
# made later is made later.
RawEvent = tuple[EventKind, Node, str, str, int, CodeType | None, int, Part | None]


class Recorder:
    """Collects events. Engines hold `Recorder | None` and test for None: off costs one test.

    `categories` of CATEGORIES are kept, all of them if None.
    """

    def __init__(self, categories: Collection[str] | None = None) -> None:
        self.raw: list[RawEvent] = []
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
            self.raw.append((kind, node, kernel, subject, value, None, line, None))

    @property
    def events(self) -> list[Event]:
        return list(events_of(self.raw))


def events_of(raw: Iterable[RawEvent], first_tick: int = 0) -> Iterator[Event]:
    """The events with their ticks and lines."""
    lines = Lines()
    for tick, (kind, node, kernel, subject, value, code, at, part) in enumerate(raw, first_tick):
        line = lines.of(code, at)
        yield Event(tick, kind, node, kernel, subject, value, line, part)


class Lines:
    """The lines of instructions."""

    def __init__(self) -> None:
        self.known: dict[int, list[int]] = {}  # by the identity of a code, which events keep alive

    def of(self, code: CodeType | None, offset: int) -> int:
        """`offset` itself is the line where there is no code."""
        if code is None:
            return offset
        found = self.known.get(id(code))
        if found is None:
            found = self.known[id(code)] = _lines(code)
        return found[offset >> 1]


def _lines(code: CodeType) -> list[int]:
    """The line of each instruction; all of them are two bytes long."""
    lines = [0] * (len(code.co_code) // 2)
    for start, end, line in code.co_lines():
        for index in range(start // 2, end // 2):
            lines[index] = line or 0
    return lines

"""Events of a run, with equal names on the simulator and on the host executor."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from enum import Enum
from types import CodeType
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

from ttl.diagnostics.frames import is_user_file

if TYPE_CHECKING:
    from .texts import TextForm

Node = tuple[int, ...]
Part = tuple[tuple[int, ...], tuple[int, ...]]  # where a slice starts and its sizes, in shape units
Record = Mapping[str, Any]  # an event that a trace has, checked by the reader


class EventKind(Enum):
    """A kind of event, whose subject is the buffer, the semaphore, or the transfer's other end.

    The host's runtime numbers its kinds in this order (program.h): add new ones at the end.
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
    PIPE_SEND_END = "pipe_send_end"  # its wait() ends
    PIPE_RECEIVE = "pipe_receive"  # a block is posted
    PIPE_RECEIVE_END = "pipe_receive_end"
    SEMAPHORE_SET = "semaphore_set"  # value: the number set, added or awaited
    SEMAPHORE_INC = "semaphore_inc"
    SEMAPHORE_WAIT = "semaphore_wait"
    OPERATION_START = "operation_start"  # the subject is its name; no node, no kernel, in both
    OPERATION_END = "operation_end"

    __hash__ = object.__hash__

    def __init__(self, text: str) -> None:
        self.text = text  # faster to read than `value`

    @property
    def category(self) -> str:
        """The first word of the value; `dfb` for buffers, as in the public simulator's options."""
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


# Kind, track, subject, value, the number of a code and the offset of an instruction in it, or 0 and
# a line; then the part of the tensor, if known, at the start of a copy, otherwise None.
# A traced run pays for recording each event, so all texts are made later, once for equal events.
# Events follow each other in a list, field by field: the garbage collector would visit tuples.
Event = tuple[EventKind, int, str, int, int, int, Part | None]
FIELDS = 7
NO_CODE = 0


class Bulk(Protocol):
    """Events of a compiled run, written all at once."""

    def __len__(self) -> int: ...

    def write(self, out: BinaryIO, form: TextForm, first_tick: int) -> None: ...


class Recorder:
    """Collects events. Engines hold `Recorder | None`, so recording nothing costs one test.

    Keeps the events of `categories`, by default all.
    """

    def __init__(self, categories: Collection[str] | None = None) -> None:
        self.raw: list[object] = []
        self.bulks: list[tuple[int, Bulk]] = []  # each with the length of `raw` before it
        self.tracks: list[tuple[Node, str]] = []  # kernels on nodes
        self.codes: dict[int, CodeType] = {}  # the program's, by id()
        self.passed: dict[int, CodeType] = {}  # pyttlang's, by id()
        self.kinds = frozenset(
            kind for kind in EventKind if categories is None or kind.category in categories
        )
        self.records_all = len(self.kinds) == len(EventKind)
        self._numbers: dict[tuple[Node, str], int] = {}

    def track(self, node: Node, kernel: str) -> int:
        number = self._numbers.setdefault((node, kernel), len(self.tracks))
        if number == len(self.tracks):
            self.tracks.append((node, kernel))
        return number

    def is_programs(self, code: CodeType) -> bool:
        """Return whether it is code of the program instead of pyttlang's."""
        if id(code) in self.passed:
            return False
        is_programs = is_user_file(code.co_filename)
        (self.codes if is_programs else self.passed)[id(code)] = code
        return is_programs

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
            self.raw += (kind, self.track(node, kernel), subject, value, NO_CODE, line, None)

    @property
    def size(self) -> int:
        return len(self.raw) // FIELDS + sum(len(bulk) for _, bulk in self.bulks)

    def sections(self) -> Iterator[list[object] | Bulk]:
        """Yield all events in their order."""
        start = 0
        for position, bulk in self.bulks:
            yield self.raw[start:position]
            yield bulk
            start = position
        yield self.raw[start:] if start else self.raw


def events_in(raw: list[object]) -> Iterator[Event]:
    return zip(*[iter(raw)] * FIELDS, strict=True)


class Lines:
    """The lines of instructions."""

    def __init__(self, codes: Mapping[int, CodeType]) -> None:
        self.codes = codes
        self.known: dict[int, list[int]] = {}

    def of(self, code: int, offset: int) -> int:
        """Return the line of an instruction; without a code, `offset` is the line."""
        if code == NO_CODE:
            return offset
        found = self.known.get(code)
        if found is None:
            found = self.known[code] = _lines(self.codes[code])
        return found[offset >> 1]


def _lines(code: CodeType) -> list[int]:
    """Return the line of each instruction; all are two bytes long."""
    lines = [0] * (len(code.co_code) // 2)
    for start, end, line in code.co_lines():
        for index in range(start // 2, end // 2):
            lines[index] = line or 0
    return lines

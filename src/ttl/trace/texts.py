"""Events as text: JSON lines, or what Perfetto loads.

Programs make very many events, and most say the same as one before. So what an event says is a
template, made once: pieces of text, and what comes after each of them.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum
from typing import Any, BinaryIO, NamedTuple, Protocol

from .events import EventKind, Lines, Node, Part, Recorder


class Slot(IntEnum):
    """What follows a piece of text. The host's runtime numbers them in this order (texts.cpp)."""

    NOTHING = 0
    TRACK = 1  # as Form.track() has it
    PROCESS = 2  # as Form.process() has it
    TICK = 3
    TRANSFER = 4  # the tick at which the transfer began
    VALUE = 5
    PART = 6


class Transfer(IntEnum):
    """Does the event begin a transfer, or end one?"""

    NONE = 0
    BEGIN = 1
    END = 2


Piece = tuple[str, Slot]


class Template(NamedTuple):
    transfer: Transfer
    pieces: tuple[Piece, ...]


class Form(Protocol):
    separator: str  # after each event

    def template(self, kind: EventKind, kernel: str, subject: str, line: int) -> Template: ...

    def track(self, node: Node, kernel: str) -> str: ...

    def process(self, node: Node) -> str: ...

    def names(self, tracks: Iterable[tuple[Node, str]]) -> Iterator[str]:
        """What a file says of tracks before their events."""
        ...


def part_text(part: Part) -> str:
    starts, sizes = part
    if len(starts) == 2:  # by far the most common
        return f', "part": [[{starts[0]}, {starts[1]}], [{sizes[0]}, {sizes[1]}]]'
    return f', "part": [{list(starts)}, {list(sizes)}]'


def channel(kind: EventKind) -> str:
    """The same for the start of a transfer and its end."""
    return kind.text.removesuffix("_end").removesuffix("_start")


def write_events(out: BinaryIO, recorder: Recorder, form: Form, first_tick: int = 0) -> None:
    """All events, each with the separator of the form after it."""
    out.write(form.separator.join((*form.names(recorder.tracks), "")).encode())
    for section in recorder.sections():
        if isinstance(section, list):
            out.write(_text(recorder, section, form, first_tick))
        else:
            section.write(out, form, first_tick)
        first_tick += len(section)


# What stands between the texts of an event of a track, in the forms that there are.
_TICK, _VALUE, _BEGIN, _PART = Slot.TICK, Slot.VALUE, Slot.TRANSFER, Slot.PART
_ORDERS: dict[tuple[Slot, ...], int] = {
    (_TICK, _VALUE): 0,
    (_TICK, _VALUE, _TICK, _VALUE): 1,
    (_TICK, _BEGIN, _VALUE, _PART): 2,
    (_TICK, _BEGIN, _VALUE): 3,
    (_TICK, _VALUE, _PART): 4,
}


class _Shape:
    """How events of a track are told that differ in value, tick and part only."""

    __slots__ = ("a", "b", "begun", "c", "d", "e", "order")

    def __init__(self, template: Template, track: str, process: str, begun: deque[str]):
        self.begun = begun  # the ticks of the transfers that are under way
        texts, slots = [""], []
        for text, slot in template.pieces:
            texts[-1] += text
            if slot is Slot.TRACK:
                texts[-1] += track
            elif slot is Slot.PROCESS:
                texts[-1] += process
            elif slot is not Slot.NOTHING:
                slots.append(slot)
                texts.append("")
        self.order = _ORDERS[tuple(slots)]
        self.a, self.b, self.c, self.d, self.e = (*texts, "", "")[:5]  # the longest order has five


class _Shapes:
    """Made once for all events that are alike."""

    __slots__ = ("form", "known", "lines", "tracks", "under_way")

    def __init__(self, recorder: Recorder, form: Form):
        self.form = form
        self.lines = Lines(recorder.codes)
        self.tracks = recorder.tracks
        self.known: dict[tuple[Any, ...], _Shape] = {}  # by kind, track, subject, code and place
        self.under_way: dict[tuple[int, str, str], deque[str]] = defaultdict(deque)

    def make(self, kind: EventKind, track: int, subject: str, code: int, at: int) -> _Shape:
        node, kernel = self.tracks[track]
        form, line = self.form, self.lines.of(code, at)
        template = form.template(kind, kernel, subject, line)
        begun = self.under_way[track, channel(kind), subject]
        found = _Shape(template, form.track(node, kernel), form.process(node), begun)
        self.known[kind, track, subject, code, at] = found
        return found


def _text(
    recorder: Recorder, raw: Sequence[tuple[Any, ...]], form: Form, first_tick: int
) -> bytes:
    shapes = _Shapes(recorder, form)
    known = shapes.known
    found: list[str] = []
    number = first_tick
    for event in raw:
        shape = known.get((event[0], event[1], event[2], event[4], event[5]))
        if shape is None:
            shape = shapes.make(event[0], event[1], event[2], event[4], event[5])
        a, b, c, d, e = shape.a, shape.b, shape.c, shape.d, shape.e
        tick, value, order = str(number), str(event[3]), shape.order
        if order == 0:
            found.append(f"{a}{tick}{b}{value}{c}")
        elif order == 1:
            found.append(f"{a}{tick}{b}{value}{c}{tick}{d}{value}{e}")
        elif order == 2:
            shape.begun.append(tick)
            part = part_text(event[6]) if len(event) == 7 else ""
            found.append(f"{a}{tick}{b}{tick}{c}{value}{d}{part}{e}")
        elif order == 3:
            begin = shape.begun.popleft() if shape.begun else tick
            found.append(f"{a}{tick}{b}{begin}{c}{value}{d}")
        else:
            part = part_text(event[6]) if len(event) == 7 else ""
            found.append(f"{a}{tick}{b}{value}{c}{part}{d}")
        number += 1
    return "".join(found).encode()

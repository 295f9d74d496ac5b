"""Events as text: JSON lines, or what Perfetto loads.

Programs make very many events, and most say the same as one before. So what an event says is a
template, made once: pieces of text, and what comes after each of them.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum
from itertools import count
from typing import BinaryIO, NamedTuple, Protocol

from .events import EventKind, Lines, Node, Part, RawEvent, Recorder


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


class _Shapes(dict[object, "_Shape"]):
    """How events are told that differ in node, value and tick only."""

    def __init__(self, recorder: Recorder, form: Form):
        super().__init__()
        self.form = form
        self.lines = Lines(recorder.codes)

    def __missing__(self, key: tuple[EventKind, str, int, int, str]) -> _Shape:
        kind, subject, code, at, kernel = key
        template = self.form.template(kind, kernel, subject, self.lines.of(code, at))
        slots = tuple(slot for _, slot in template.pieces if slot is not Slot.NOTHING)
        texts = [""]
        for text, slot in template.pieces:
            texts[-1] += text
            if slot is not Slot.NOTHING:
                texts.append("")
        found = self[key] = (_ORDERS[slots], tuple(texts), channel(kind))
        return found


# What stands between the texts of an event, in the forms that there are.
_TRACK, _VALUE, _TICK = Slot.TRACK, Slot.VALUE, Slot.TICK
_PERFETTO = (_TRACK, _TICK, _VALUE)
_COUNTED = (*_PERFETTO, Slot.PROCESS, _TICK, _VALUE)
_BEGIN = (_TRACK, _TICK, Slot.TRANSFER, _VALUE, Slot.PART)
_END = _BEGIN[:-1]
_LINE = (_TICK, Slot.PROCESS, _VALUE)
_LINE_WITH_PART = (*_LINE, Slot.PART)
_ORDERS = {
    order: number
    for number, order in enumerate((_PERFETTO, _COUNTED, _BEGIN, _END, _LINE, _LINE_WITH_PART))
}
_Shape = tuple[int, tuple[str, ...], str]  # number in _ORDERS, texts, channel


def _text(recorder: Recorder, raw: Sequence[RawEvent], form: Form, first_tick: int) -> bytes:
    shapes = _Shapes(recorder, form)
    kernels = [kernel for _, kernel in recorder.tracks]
    tracks = [form.track(*track) for track in recorder.tracks]
    processes = [form.process(node) for node, _ in recorder.tracks]
    under_way: dict[object, deque[str]] = defaultdict(deque)
    found: list[str] = []
    for tick, event in zip(map(str, count(first_tick)), raw, strict=False):
        kind, track, subject, number, code, at = event if len(event) == 6 else event[:6]
        order, texts, transfers = shapes[kind, subject, code, at, kernels[track]]
        value = str(number)
        if order == 0:
            found += (texts[0], tracks[track], texts[1], tick, texts[2], value, texts[3])
        elif order == 1:
            a, b, c, d, e, f, g = texts
            process = processes[track]
            found += (a, tracks[track], b, tick, c, value, d, process, e, tick, f, value, g)
        elif order == 2:
            a, b, c, d, e, f = texts
            under_way[track, transfers, subject].append(tick)
            part = part_text(event[6]) if len(event) == 7 else ""
            found += (a, tracks[track], b, tick, c, tick, d, value, e, part, f)
        elif order == 3:
            a, b, c, d, e = texts
            queue = under_way[track, transfers, subject]
            begin = queue.popleft() if queue else tick
            found += (a, tracks[track], b, tick, c, begin, d, value, e)
        else:
            a, b, c, d, *rest = texts
            found += (a, tick, b, processes[track], c, value, d)
            if rest:
                found += (part_text(event[6]) if len(event) == 7 else "", rest[0])
    return "".join(found).encode()

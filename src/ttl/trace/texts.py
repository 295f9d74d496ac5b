"""Events as text: JSON lines or Perfetto's form.

Programs make many events, most of them like an earlier one. Each kind of text is a template, made
once: pieces of text, and a slot after each of them.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from enum import IntEnum
from typing import BinaryIO, NamedTuple, Protocol

from .events import FIELDS, EventKind, Lines, Node, Part, Recorder, events_in


class TextSlot(IntEnum):
    """The value after a piece of text. The host's runtime uses these numbers (texts.cpp)."""

    NOTHING = 0
    TRACK = 1  # from Form.track()
    PROCESS = 2  # from Form.process()
    TICK = 3
    TRANSFER = 4  # the tick at which the transfer began
    VALUE = 5
    PART = 6


class TransferText(IntEnum):
    """Whether an event begins or ends a transfer."""

    NONE = 0
    BEGIN = 1
    END = 2


Piece = tuple[str, TextSlot]


class Template(NamedTuple):
    transfer: TransferText
    pieces: tuple[Piece, ...]


class TextForm(Protocol):
    separator: str  # after each event

    def template(self, kind: EventKind, kernel: str, subject: str, line: int) -> Template: ...

    def track(self, node: Node, kernel: str) -> str: ...

    def process(self, node: Node) -> str: ...

    def names(self, tracks: Iterable[tuple[Node, str]]) -> Iterator[str]:
        """Return the lines that name tracks, which come before their events."""
        ...


def part_text(part: Part) -> str:
    starts, sizes = part
    if len(starts) == 2:  # by far the most common
        return f', "part": [[{starts[0]}, {starts[1]}], [{sizes[0]}, {sizes[1]}]]'
    return f', "part": [{list(starts)}, {list(sizes)}]'


def channel(kind: EventKind) -> str:
    """Return a name that the start and the end of a transfer share."""
    return kind.text.removesuffix("_end").removesuffix("_start")


def write_events(out: BinaryIO, recorder: Recorder, form: TextForm, first_tick: int = 0) -> None:
    """Write all events, each with the form's separator after it."""
    out.write(form.separator.join((*form.names(recorder.tracks), "")).encode())
    for section in recorder.sections():
        if isinstance(section, list):
            _write(out, recorder, section, form, first_tick)
            first_tick += len(section) // FIELDS
        else:
            section.write(out, form, first_tick)
            first_tick += len(section)


def _write(
    out: BinaryIO, recorder: Recorder, raw: list[object], form: TextForm, first_tick: int
) -> None:
    shapes = _Shapes(recorder, form)
    kernels = [kernel for _, kernel in recorder.tracks]
    tracks = [form.track(*track) for track in recorder.tracks]
    processes = [form.process(node) for node, _ in recorder.tracks]
    out.write(_text(raw, kernels, tracks, processes, shapes, first_tick))


# The possible orders of slots, numbered.
_TRACK, _PROCESS, _PART = TextSlot.TRACK, TextSlot.PROCESS, TextSlot.PART
_TICK, _VALUE, _BEGIN = TextSlot.TICK, TextSlot.VALUE, TextSlot.TRANSFER
_ORDERS: dict[tuple[TextSlot, ...], int] = {
    (_TRACK, _TICK, _VALUE): 0,
    (_TRACK, _TICK, _VALUE, _PROCESS, _TICK, _VALUE): 1,
    (_TRACK, _TICK, _BEGIN, _VALUE, _PART): 2,
    (_TRACK, _TICK, _BEGIN, _VALUE): 3,
    (_TICK, _PROCESS, _VALUE): 4,
    (_TICK, _PROCESS, _VALUE, _PART): 5,
}
_MOST_TEXTS = 7


class _Shape:
    """The texts of events that differ only in track, value, tick and part."""

    __slots__ = ("a", "b", "c", "channel", "d", "e", "f", "g", "order")

    def __init__(self, template: Template, channel: str):
        self.channel = channel
        texts = [""]
        slots = tuple([slot for _, slot in template.pieces if slot is not TextSlot.NOTHING])
        for text, slot in template.pieces:
            texts[-1] += text
            if slot is not TextSlot.NOTHING:
                texts.append("")
        self.order = _ORDERS[slots]
        texts += [""] * (_MOST_TEXTS - len(texts))
        self.a, self.b, self.c, self.d, self.e, self.f, self.g = texts


class _Shapes:
    """The shapes of all events, each made once."""

    __slots__ = ("form", "known", "lines")

    def __init__(self, recorder: Recorder, form: TextForm):
        self.form = form
        self.lines = Lines(recorder.codes)
        # By kind, subject, code, place and kernel.
        self.known: dict[tuple[object, ...], _Shape] = {}

    def template(
        self, kind: EventKind, subject: str, code: int, at: int, kernel: str
    ) -> tuple[str, Template]:
        return channel(kind), self.form.template(kind, kernel, subject, self.lines.of(code, at))

    def make(self, kind: EventKind, subject: str, code: int, at: int, kernel: str) -> _Shape:
        channel, template = self.template(kind, subject, code, at, kernel)
        found = self.known[kind, subject, code, at, kernel] = _Shape(template, channel)
        return found


def _text(
    raw: list[object],
    kernels: list[str],
    tracks: list[str],
    processes: list[str],
    shapes: _Shapes,
    first_tick: int,
) -> bytes:
    known = shapes.known
    under_way: dict[tuple[int, str, str], deque[str]] = defaultdict(deque)
    found: list[str] = []
    number = first_tick
    for event in events_in(raw):
        index: int = event[1]
        kernel, track, subject = kernels[index], tracks[index], event[2]
        s = known.get((event[0], subject, event[4], event[5], kernel))
        if s is None:
            s = shapes.make(event[0], subject, event[4], event[5], kernel)
        tick, value, order = str(number), str(event[3]), s.order
        number += 1
        if order == 0:
            found.append(f"{s.a}{track}{s.b}{tick}{s.c}{value}{s.d}")
        elif order == 1:
            counter = f"{s.d}{processes[index]}{s.e}{tick}{s.f}{value}{s.g}"
            found.append(f"{s.a}{track}{s.b}{tick}{s.c}{value}{counter}")
        elif order == 2:
            under_way[index, s.channel, subject].append(tick)
            part = part_text(event[6]) if event[6] is not None else ""
            found.append(f"{s.a}{track}{s.b}{tick}{s.c}{tick}{s.d}{value}{s.e}{part}{s.f}")
        elif order == 3:
            queue = under_way[index, s.channel, subject]
            begin = queue.popleft() if queue else tick
            found.append(f"{s.a}{track}{s.b}{tick}{s.c}{begin}{s.d}{value}{s.e}")
        else:
            part = part_text(event[6]) if event[6] is not None else ""
            found.append(f"{s.a}{tick}{s.b}{processes[index]}{s.c}{value}{s.d}{part}{s.e}")
    return "".join(found).encode()

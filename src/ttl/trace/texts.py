"""Events as text: JSON lines, or what Perfetto loads.

Programs make very many events, and most say the same as one before. So what an event says is a
template, made once: pieces of text, and what comes behind each of them.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum
from itertools import count
from typing import NamedTuple, Protocol

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
    separator: str  # behind each event

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


def text_of(recorder: Recorder, form: Form, first_tick: int = 0) -> bytes:
    """All events, each with the separator of the form behind it."""
    texts = [form.separator.join((*form.names(recorder.tracks), "")).encode()]
    for section in recorder.sections():
        if isinstance(section, list):
            texts.append(_text(recorder, section, form, first_tick))
        else:
            texts.append(section.text(form, first_tick))
        first_tick += len(section)
    return b"".join(texts)


class _Filled(NamedTuple):
    """A template with all but ticks and parts: the texts around these."""

    transfer: Transfer
    slots: tuple[Slot, ...]
    texts: tuple[str, ...]
    under_way: deque[str]  # transfers, by the tick of their start


class _Templates(dict[RawEvent, _Filled]):
    def __init__(self, recorder: Recorder, form: Form):
        super().__init__()
        self.recorder, self.form = recorder, form
        self.lines = Lines(recorder.codes)
        self.known: dict[object, Template] = {}
        self.under_way: dict[object, deque[str]] = defaultdict(deque)

    def __missing__(self, event: RawEvent) -> _Filled:
        kind, track, subject, value, code, at = event[:6]
        node, kernel = self.recorder.tracks[track]
        key = (kind, kernel, subject, code, at)
        template = self.known.get(key)
        if template is None:
            line = self.lines.of(code, at)
            template = self.known[key] = self.form.template(kind, kernel, subject, line)
        fixed = {
            Slot.TRACK: self.form.track(node, kernel),
            Slot.PROCESS: self.form.process(node),
            Slot.VALUE: str(value),
            Slot.NOTHING: "",
        }
        slots, texts = _joined(template.pieces, fixed)
        role = kind.text.removesuffix("_end").removesuffix("_start")
        filled = self[event] = _Filled(
            template.transfer, slots, texts, self.under_way[track, role, subject]
        )
        return filled


def _joined(
    pieces: Sequence[Piece], fixed: dict[Slot, str]
) -> tuple[tuple[Slot, ...], tuple[str, ...]]:
    """The slots that are left, and the texts around them."""
    slots, texts = [], [""]
    for text, slot in pieces:
        texts[-1] += text + fixed.get(slot, "")
        if slot not in fixed:
            slots.append(slot)
            texts.append("")
    return tuple(slots), tuple(texts)


PLAIN, COUNTED = (Slot.TICK,), (Slot.TICK, Slot.TICK)


def _text(recorder: Recorder, raw: Sequence[RawEvent], form: Form, first_tick: int) -> bytes:
    templates = _Templates(recorder, form)
    found: list[str] = []
    for tick, event in zip(map(str, count(first_tick)), raw, strict=False):
        part = ""
        if len(event) == 7:
            part, event = part_text(event[6]), event[:6]
        transfer, slots, texts, under_way = templates[event]
        if slots == PLAIN:
            found += (texts[0], tick, texts[1])
        elif slots == COUNTED:
            found += (texts[0], tick, texts[1], tick, texts[2])
        else:
            begin = tick
            if transfer is Transfer.BEGIN:
                under_way.append(tick)
            elif transfer is Transfer.END and under_way:
                begin = under_way.popleft()
            values = {Slot.TICK: tick, Slot.TRANSFER: begin, Slot.PART: part}
            found.append(texts[0])
            for slot, text in zip(slots, texts[1:], strict=True):
                found += (values[slot], text)
    return "".join(found).encode()

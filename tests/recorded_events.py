"""What a recorder has heard, event by event, as a trace says it."""

from __future__ import annotations

import io
import json
from typing import NamedTuple

from ttl.trace import EventKind, Recorder
from ttl.trace.events import Part
from ttl.trace.files import JsonLines
from ttl.trace.texts import write_events


class Event(NamedTuple):
    tick: int
    kind: EventKind
    node: tuple[int, ...]
    kernel: str
    subject: str
    value: int
    line: int
    part: Part | None


def events_of(recorder: Recorder) -> list[Event]:
    out = io.BytesIO()
    write_events(out, recorder, JsonLines())
    return [_event(**json.loads(line)) for line in out.getvalue().splitlines()]


def _event(kind: str, node: list[int], part: list[list[int]] | None = None, **rest) -> Event:
    starts_and_sizes = None if part is None else (tuple(part[0]), tuple(part[1]))
    return Event(kind=EventKind(kind), node=tuple(node), part=starts_and_sizes, **rest)

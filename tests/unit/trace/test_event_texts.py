"""The native texts of events are those of Python, byte for byte."""

from __future__ import annotations

from io import BytesIO
from itertools import cycle
from typing import Any

import pytest

from native_modules import built
from ttl.trace import EventKind, Recorder, texts
from ttl.trace.events import NO_CODE
from ttl.trace.files import JsonLines
from ttl.trace.perfetto import PerfettoForm

FORMS = (JsonLines(), PerfettoForm())
VALUES = (0, 7, -3, 2048, 2**63 - 1, -(2**63), 2**70, True)
PARTS = (None, ((1, 2), (3, 4)), ((0,), (1,)), ((1, 2, 3), (4, 5, 6)), ((), ()))


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return built("ttl/trace/event_texts.c", tmp_path_factory.mktemp("native"))


def here() -> None:
    """Its code has the lines of events."""


def recorder(count: int) -> Recorder:
    """Every kind on several tracks; transfers end that never began, and some never do."""
    found = Recorder()
    tracks = [found.track((column, 1), kernel) for column in range(3) for kernel in ("a", "b")]
    found.codes[id(here.__code__)] = here.__code__
    places = ((NO_CODE, 12), (id(here.__code__), 0), (id(here.__code__), 2))
    kinds, values, parts = cycle(EventKind), cycle(VALUES), cycle(PARTS)
    for number in range(count):
        kind = next(kinds)
        subject = ("q", "\u00fc \"odd\"", f"of {number % 4}")[number % 3]  # equal, not the same
        part = next(parts) if kind is EventKind.COPY_START else None
        track = tracks[number * 5 % 6]
        found.raw += (kind, track, subject, next(values), *places[number % 3], part)
    return found


def written(found: Recorder, form: texts.Form, writer: Any) -> bytes:
    out = BytesIO()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(texts, "write_texts", writer)
        texts.write_events(out, found, form, 995)
    return out.getvalue()


@pytest.mark.parametrize("form", FORMS, ids=lambda form: type(form).__name__)
@pytest.mark.parametrize("count", (0, 1, 420, 5000))  # the last are more than are written at once
def test_the_same_bytes(native: Any, form: texts.Form, count: int) -> None:
    found = recorder(count)
    assert written(found, form, native.write_texts) == written(found, form, None)


def test_mistakes_are_told(native: Any) -> None:
    event = [EventKind.KERNEL_START, 0, "", 0, NO_CODE, 1, None]
    pieces = (("x", texts.Slot.NOTHING),)
    made = ("", texts.Template(texts.Transfer.NONE, pieces))

    def write(out: Any = len, events: Any = event, make: Any = lambda *_: made) -> None:
        native.write_texts(out, events, ["k"], ["t"], ["p"], make, 0)

    write()
    with pytest.raises(IndexError):
        write(events=[event[0], 1, *event[2:]])
    with pytest.raises(TypeError):
        write(events=[event[0], "0", *event[2:]])
    with pytest.raises(TypeError):
        write(make=lambda *_: ("",))
    with pytest.raises(ValueError, match="too many"):
        write(make=lambda *_: ("", texts.Template(texts.Transfer.NONE, pieces * 17)))
    with pytest.raises(ValueError, match="slot"):
        write(make=lambda *_: ("", (0, (("x", 7),))))
    with pytest.raises(OSError, match="full"):
        write(out=_full)


def _full(data: bytes) -> int:
    raise OSError("full")

"""Places in the user's code, remembered cheaply and made spans only for an error."""

from __future__ import annotations

from collections.abc import Iterable
from types import CodeType

from ttl.diagnostics import Label, Span
from ttl.diagnostics.frames import is_user_file

Place = tuple[CodeType, int]  # a code object and the offset of an instruction in it


def span_of(place: Place) -> Span | None:
    """None where the call came through pyttl itself: a wrong line is worse than no line."""
    code, offset = place
    return Span.of_instruction(code, offset) if is_user_file(code.co_filename) else None


def labels(places: Iterable[tuple[Place, str]]) -> tuple[Label, ...]:
    spans = ((span_of(place), text) for place, text in places)
    return tuple(Label(span, text) for span, text in spans if span is not None)

"""The note on pipe sources that receive into the block that they send, for every engine."""

from __future__ import annotations

from . import catalogue as codes
from .diagnostic import Diagnostic
from .span import Span


def source_left_out(net: str, span: Span | None) -> Diagnostic:
    """Make the note for a net; `span` is where the program makes the net."""
    found = codes.SOURCE_LEFT_OUT.broken(
        f"sources of `{net}` receive what they send into the block that they send",
        "it does so here; other tools need a `dst` without the source: slice(1, n)",
    )
    return found.at(span, "the source is left out of `dst`")

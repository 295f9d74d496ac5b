"""Source spans on operations: a fused location of the span's start and end."""

from __future__ import annotations

from xdsl.dialects.builtin import FileLineColLoc, FusedLoc, IntAttr, NoneAttr, StringAttr
from xdsl.ir import Attribute

from ttl.diagnostics import Span


def location_of(span: Span) -> FusedLoc:
    return FusedLoc(  # its parameter has a converter that mypy does not see
        [  # type: ignore[arg-type]
            FileLineColLoc(StringAttr(span.file), IntAttr(line), IntAttr(column))
            for line, column in ((span.line, span.column), (span.end_line, span.end_column))
        ],
        NoneAttr(),
    )


def span_of(location: Attribute) -> Span | None:
    """The span of an operation made from the user's source, None for others."""
    if isinstance(location, FileLineColLoc):
        line, column = location.line.data, location.column.data
        return Span(location.filename.data, line, column, line, column + 1)
    if not isinstance(location, FusedLoc):
        return None
    start, end = location.locations.data  # type: ignore[attr-defined]
    return Span(
        start.filename.data, start.line.data, start.column.data, end.line.data, end.column.data
    )

"""Source spans on operations: a fused location of the span's start and end.

For an operation in a called function, the location includes the call sites.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

from xdsl.dialects.builtin import (
    ArrayAttr,
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    IntAttr,
    LocationAttr,
    NameLoc,
    NoneAttr,
    StringAttr,
)
from xdsl.ir import Attribute

from ttl.diagnostics import Span
from ttl.diagnostics.span import Expansion


@lru_cache(maxsize=4096)  # many operations share a place
def location_of(span: Span, call_sites: tuple[Span, ...] = ()) -> LocationAttr:
    """Return the location of `span` in a function called at `call_sites`, innermost first."""
    if call_sites:
        return CallSiteLoc(location_of(span), location_of(call_sites[0], call_sites[1:]))
    return FusedLoc(  # its parameter has a converter that mypy does not see
        [  # type: ignore[arg-type]
            FileLineColLoc(StringAttr(span.file), IntAttr(line), IntAttr(column))
            for line, column in ((span.line, span.column), (span.end_line, span.end_column))
        ],
        _expansions(span),
    )


def _expansions(span: Span) -> Attribute:
    if not span.expanded:
        return NoneAttr()
    calls = [(f"{each.operation} {each.file}", each.line) for each in span.expanded]
    return ArrayAttr(
        [FileLineColLoc(StringAttr(name), IntAttr(line), IntAttr(1)) for name, line in calls]
    )


def _expansions_in(metadata: Attribute) -> Iterator[Expansion]:
    for each in metadata if isinstance(metadata, ArrayAttr) else ():
        operation, _, file = each.filename.data.partition(" ")
        yield Expansion(operation, file, each.line.data)


def span_of(location: Attribute) -> Span | None:
    """Return the span of an operation made from the user's source, None for others."""
    match location:
        case FusedLoc():
            return _fused_span(location)
        case CallSiteLoc():
            return span_of(location.callee)
        case NameLoc():
            return span_of(location.location)
        case FileLineColLoc():
            line, column = location.line.data, location.column.data
            return Span(location.filename.data, line, column, line, column + 1)
    return None


def _fused_span(location: FusedLoc) -> Span | None:
    parts: Sequence[Attribute] = location.locations.data  # type: ignore[attr-defined]
    match parts:
        case [FileLineColLoc() as start, FileLineColLoc() as end]:
            chain = tuple(_expansions_in(location.metadata))
            return Span(
                start.filename.data,
                start.line.data,
                start.column.data,
                end.line.data,
                end.column.data,
                chain,
            )
    return next((span for span in map(span_of, parts) if span is not None), None)


def call_sites_of(location: Attribute) -> tuple[Span, ...]:
    """Return where an operation's function is called, innermost first."""
    if isinstance(location, NameLoc):
        return call_sites_of(location.location)
    if not isinstance(location, CallSiteLoc):
        return ()
    site = span_of(location.caller)
    return (*(() if site is None else (site,)), *call_sites_of(location.caller))

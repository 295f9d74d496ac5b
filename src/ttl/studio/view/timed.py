"""Adds the estimate's times to the events of a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ttl.studio.estimate import Timeline
from ttl.studio.estimate.stamps import add_times
from ttl.trace.reader import read_trace

from .estimates import timeline_of
from .events import Events, events_of, read_events

if TYPE_CHECKING:
    from .page import ShownOperation

MOST_BYTES = 60_000_000  # of a trace that gets times: each event becomes an object for a while


def read_timed_events(
    file: Path, operations: Sequence[ShownOperation], calls: Sequence[int]
) -> Events:
    """Read events with times; `calls` are the traced operations' indices. Keeps their timelines."""
    for each in operations:
        if each.compiled is not None and each.recording is not None:
            each.timeline = timeline_of(each.compiled, each.recording)
    is_known = any(each.timeline is not None for each in operations)
    if not is_known or file.stat().st_size > MOST_BYTES:
        return read_events(file)
    in_order = iter([operations[call].timeline for call in calls])

    def next_of(name: str) -> Timeline | None:
        return next(in_order, None)

    return events_of(add_times(read_trace(file), next_of))

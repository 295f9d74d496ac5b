"""Adds estimated times to the events of a trace.

Rules
* buffer: a kernel's n-th reserve, push, wait or pop event is its n-th such call.
* line: the n-th of several events of one kind and line is at the same fraction of the line's steps.
* between: an event without an estimate gets the time of the one before it on its track; a blocked
  kernel continues when its next event happens.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ttl.trace.events import EventKind, Node
from ttl.trace.perfetto import process_of
from ttl.trace.stamped import US

from .timeline import KernelTimeline, StepTime, Timeline, kernel_events

Record = dict[str, Any]
FIRST_TRACK = 1000  # the estimated steps come after the kernels
THREADS = 3  # at most, of a kernel
_CALLS = {
    EventKind.BUFFER_RESERVE.value: "cb_reserve_back",
    EventKind.BUFFER_PUSH.value: "cb_push_back",
    EventKind.BUFFER_WAIT.value: "cb_wait_front",
    EventKind.BUFFER_POP.value: "cb_pop_front",
}
_STARTS = (EventKind.COPY_START.value, EventKind.PIPE_SEND.value, EventKind.PIPE_RECEIVE.value)
_BLOCKED, _RESUMED = EventKind.KERNEL_BLOCKED.value, EventKind.KERNEL_RESUMED.value


def add_times(
    records: Iterable[Record], timeline_of: Callable[[str], Timeline | None]
) -> list[Record]:
    """Return the events with `us`: microseconds from the start of the first operation.

    Calls `timeline_of` for each operation, in order; events of an operation without an estimate
    get no time.
    """
    found: list[Record] = []
    start = 0.0
    for name, own in _operations(records):
        made = timeline_of(name) if name else None
        if made is None:
            found += own
            continue
        found += _stamped_operation(own, made, start)
        start += made.microseconds
    return found


def _operations(records: Iterable[Record]) -> Iterator[tuple[str, list[Record]]]:
    """Yield each operation's name with all its events; '' for events outside operations."""
    name, own = "", list[Record]()
    for record in records:
        if record["kind"] == EventKind.OPERATION_START.value:
            if own:
                yield name, own
            name, own = record["subject"], []
        own.append(record)
        if record["kind"] == EventKind.OPERATION_END.value:
            yield name, own
            name, own = "", []
    if own:
        yield name, own


def _stamped_operation(own: list[Record], made: Timeline, start: float) -> list[Record]:
    tracks: dict[tuple[Node, str], list[int]] = defaultdict(list)
    for position, record in enumerate(own):
        tracks[tuple(record["node"]), record["kernel"]].append(position)
    times: dict[int, float] = {}
    for (node, kernel), positions in tracks.items():
        known = made.of(node, kernel)
        events = [own[position] for position in positions]
        if known is not None:
            times |= zip(positions, _track_times(events, known), strict=True)
        elif not kernel:  # the operation itself
            ends = (EventKind.OPERATION_END.value,)
            times |= {
                position: made.microseconds if own[position]["kind"] in ends else 0.0
                for position in positions
            }
    return [
        {**record, US: round(start + times[n], 4)} if n in times else record
        for n, record in enumerate(own)
    ]


def _track_times(events: list[Record], known: KernelTimeline) -> list[float]:
    by_kind: dict[tuple[str, object], list[int]] = defaultdict(list)
    for position, event in enumerate(events):
        subject = event["subject"] if event["kind"] in _CALLS else event["line"]
        by_kind[event["kind"], subject].append(position)
    times: list[float | None] = [None] * len(events)
    for (kind, subject), positions in by_kind.items():
        for position, time in zip(
            positions, _times(kind, subject, len(positions), known), strict=False
        ):
            times[position] = time
    return _fill_times(events, times, known)


def _times(kind: str, subject: object, count: int, known: KernelTimeline) -> list[float]:
    if kind == EventKind.KERNEL_END.value:
        return [known.end]
    if kind in (_BLOCKED, _RESUMED) or kind == EventKind.KERNEL_START.value:
        return []
    if kind in _CALLS:  # rule buffer
        steps = [
            step
            for step in known.steps
            if step.name == _CALLS[kind] and step.details["buffer"] == subject
        ]
    else:  # rule line
        steps = sorted(
            (step for step in known.steps if step.line == subject), key=lambda step: step.end
        )
    return [_time(kind, steps, n, count) for n in range(count)] if steps else []


def _time(kind: str, steps: list[StepTime], n: int, count: int) -> float:
    if kind in _STARTS:
        return steps[n * len(steps) // count].begin
    return steps[max(0, (n + 1) * len(steps) // count - 1)].end


def _fill_times(
    events: list[Record], times: list[float | None], known: KernelTimeline
) -> list[float]:  # rule between
    following = known.end
    for position in reversed(range(len(events))):
        if events[position]["kind"] == _RESUMED:
            times[position] = following
        elif (time := times[position]) is not None:
            following = time
    filled: list[float] = []
    before = known.start
    for event, time in zip(events, times, strict=True):
        is_slice = event["kind"].startswith(("kernel_", "signpost_"))
        before = max(before, time) if is_slice and time is not None else before
        filled.append(before if is_slice or time is None else time)
        before = max(before, filled[-1])
    return filled


def more_events(timelines: Iterable[Timeline]) -> Iterator[Record]:
    """Yield Perfetto events of the estimated steps, operation by operation; a node of each kind."""
    start = 0.0
    for made in timelines:
        for position, each in enumerate(made.kernels):
            process = process_of(each.nodes[0])
            yield from kernel_events(each, process, FIRST_TRACK + THREADS * position, start)
        start += made.microseconds

"""Statistics of a trace: kernels, dataflow buffers, copies and pipes, summed over nodes.

A tick is an event of the run: ticks show order and amount, not time. Traces with estimated times
have microseconds instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from .events import EventKind, Record


@dataclass(frozen=True, slots=True)
class Table:
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]

    def lines(self) -> list[str]:
        """Return aligned lines, numbers to the right."""
        texts = [self.columns, *[tuple(map(str, row)) for row in self.rows]]
        widths = [max(len(text[i]) for text in texts) for i in range(len(self.columns))]
        lines = [
            "  ".join(
                text.rjust(width) if text.isdecimal() else text.ljust(width)
                for text, width in zip(row, widths, strict=True)
            ).rstrip()
            for row in texts
        ]
        return [self.title, *lines]


def tables(records: Sequence[Record]) -> list[Table]:
    """Return the tables that have rows."""
    found = (_kernels(records), _buffers(records), _copies(records), _pipes(records))
    return [table for table in found if table.rows]


def _kernels(records: Sequence[Record]) -> Table:
    def row(name: object, events: Sequence[Record]) -> tuple[object, ...]:
        blocked = _sum_blocked(events, unit)
        times = _count(events, EventKind.KERNEL_BLOCKED)
        on = sorted(blocked, key=lambda subject: (-blocked[subject], subject))
        shown = ", ".join(f"{subject} {_show(blocked[subject])}" for subject in on[:MOST_SUBJECTS])
        nodes = _count(events, EventKind.KERNEL_START)
        busy = len(events) - 2 * times  # without "blocked" and "resumed"
        waited = _show(sum(blocked.values()))
        moved = sum(event["value"] for event in events if event["kind"] in MOVES)
        return name, nodes, busy, times, waited, shown, moved

    unit = unit_of(records)
    named = [record for record in records if record["kernel"]]
    columns = (
        "kernel",
        "nodes",
        "events (ticks)",
        "times blocked",
        f"blocked ({unit})",
        f"on ({unit})",
        "bytes moved",
    )
    return _table("Kernels", columns, named, lambda record: record["kernel"], row)


MOST_SUBJECTS = 3  # shown per kernel of those it waited for
MOVES = (EventKind.COPY_START.value, EventKind.PIPE_SEND.value)


def unit_of(records: Sequence[Record]) -> str:
    """Return the unit of durations: estimated us if all events have times, otherwise ticks."""
    return "us" if records and all("us" in record for record in records) else "ticks"


def _show(duration: float) -> object:
    return f"{duration:.1f}" if isinstance(duration, float) else duration


def _sum_blocked(events: Sequence[Record], unit: str) -> dict[str, float]:
    """Return the blocked time by awaited subject; ticks are other kernels' events."""
    key = "us" if unit == "us" else "tick"
    since: dict[object, tuple[float, str]] = {}  # start and subject
    ticks: dict[str, float] = {}
    for event in events:
        node = tuple(event["node"])
        if event["kind"] == EventKind.KERNEL_BLOCKED.value:
            since[node] = event[key], event["subject"]
            ticks.setdefault(event["subject"], 0)
        elif event["kind"] == EventKind.KERNEL_RESUMED.value and node in since:
            start, subject = since.pop(node)
            ticks[subject] += event[key] - start
    return ticks


def _buffers(records: Sequence[Record]) -> Table:
    def row(name: object, events: Sequence[Record]) -> tuple[object, ...]:
        counts = [_count(events, kind) for kind in (EventKind.BUFFER_PUSH, EventKind.BUFFER_POP)]
        most = max((event["value"] for event in events), default=0)
        waits = _count(events, EventKind.KERNEL_BLOCKED)
        return name, *counts, most, waits

    named = {r["subject"] for r in records if r["kind"].startswith("buffer_")}
    chosen = [record for record in records if record["subject"] in named]
    columns = ("dataflow buffer", "pushes", "pops", "high water", "kernels blocked")
    return _table("Dataflow buffers", columns, chosen, lambda record: record["subject"], row)


def _copies(records: Sequence[Record]) -> Table:
    def row(name: object, events: Sequence[Record]) -> tuple[object, ...]:
        return name, len(events), sum(event["value"] for event in events)

    started = [record for record in records if record["kind"] == EventKind.COPY_START.value]
    columns = ("tensor or buffer", "copies", "bytes")
    return _table("Copies", columns, started, lambda record: record["subject"], row)


def _pipes(records: Sequence[Record]) -> Table:
    def row(name: object, events: Sequence[Record]) -> tuple[object, ...]:
        sent = [event for event in events if event["kind"] == EventKind.PIPE_SEND.value]
        return name, len(sent), len(events) - len(sent), sum(event["value"] for event in sent)

    kinds = (EventKind.PIPE_SEND.value, EventKind.PIPE_RECEIVE.value)
    moved = [record for record in records if record["kind"] in kinds]
    columns = ("pipe", "sends", "receives", "bytes sent")
    return _table("Pipes", columns, moved, lambda record: record["subject"], row)


def _table(
    title: str,
    columns: tuple[str, ...],
    records: Iterable[Record],
    key: Callable[[Record], str],
    row: Callable[[object, Sequence[Record]], tuple[object, ...]],
) -> Table:
    grouped: dict[str, list[Record]] = {}
    for record in records:
        grouped.setdefault(key(record), []).append(record)
    return Table(title, columns, tuple(row(name, grouped[name]) for name in sorted(grouped)))


def _count(events: Iterable[Record], kind: EventKind) -> int:
    return sum(event["kind"] == kind.value for event in events)

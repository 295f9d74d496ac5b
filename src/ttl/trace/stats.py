"""What a trace says in numbers: kernels, dataflow buffers, copies, pipes. Nodes are added up."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .events import EventKind


@dataclass(frozen=True, slots=True)
class Table:
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]

    def lines(self) -> list[str]:
        """Columns as wide as they need to be; numbers to the right."""
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


Record = Mapping[str, Any]


def tables(records: Sequence[Record]) -> list[Table]:
    """Those of which the trace has any events."""
    found = (_kernels(records), _buffers(records), _copies(records), _pipes(records))
    return [table for table in found if table.rows]


def _kernels(records: Sequence[Record]) -> Table:
    def row(name: object, events: Sequence[Record]) -> tuple[object, ...]:
        waits: dict[str, int] = {}
        for event in events:
            if event["kind"] == EventKind.KERNEL_BLOCKED.value:
                waits[event["subject"]] = waits.get(event["subject"], 0) + 1
        most = max(waits, key=lambda subject: waits[subject], default="")
        nodes = _count(events, EventKind.KERNEL_START)
        return name, nodes, sum(waits.values()), most

    named = [record for record in records if record["kernel"]]
    columns = ("kernel", "nodes", "times blocked", "mostly on")
    return _table("Kernels", columns, named, lambda record: record["kernel"], row)


def _buffers(records: Sequence[Record]) -> Table:
    def row(name: object, events: Sequence[Record]) -> tuple[object, ...]:
        counts = [_count(events, kind) for kind in (EventKind.BUFFER_PUSH, EventKind.BUFFER_POP)]
        most = max((event["value"] for event in events), default=0)
        waits = _count(events, EventKind.KERNEL_BLOCKED)
        return name, *counts, most, waits

    named = {r["subject"] for r in records if r["kind"].startswith("buffer_")}
    chosen = [record for record in records if record["subject"] in named]
    columns = ("dataflow buffer", "pushes", "pops", "most blocks", "kernels blocked")
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

"""Traces with estimated times, and the events that finish a trace for Perfetto.

rule FLOW   an arrow leads from the n-th send through a pipe to the n-th receive of each node
rule SORT   nodes and kernels appear in the order of the grid and of the program
rule TIME   `ts` is the estimated time, `args` has the tick; without estimates `ts` is the tick
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from json import dumps
from pathlib import Path
from typing import Any

from .events import EventKind, Record
from .files import HEAD, PERFETTO_SUFFIX, TAIL
from .perfetto import ASYNC_BEGIN, ASYNC_END, BUFFER_KINDS, INSTANT, process_of, shown, thread_of
from .reader import read_trace

Event = dict[str, Any]
SEPARATOR = ",\n"
US = "us"


def write_stamped(
    file: Path, records: Sequence[Record], more: Iterable[Event], files: Mapping[str, str]
) -> None:
    """Replace the trace; `more` are events for Perfetto, `files` the kernels' files."""
    if file.suffix != PERFETTO_SUFFIX:
        file.write_text("".join(dumps(record) + "\n" for record in records))
        return
    timed = [record for record in records if US in record]
    events = [*_names(timed), *_sorting(timed, files), *_events(timed, files), *flows(timed), *more]
    file.write_text(HEAD + SEPARATOR.join(map(dumps, events)) + TAIL)


def finish_perfetto(file: Path, program: str) -> None:
    """Append what was unknown while the trace of ticks was written: order, the file, flows."""
    if file.suffix != PERFETTO_SUFFIX or not file.stat().st_size:
        return
    records = read_trace(file)
    kernels = dict.fromkeys(record["kernel"] for record in records if record["kernel"])
    name = Path(program).name
    events = [*_sorting(records, dict.fromkeys(kernels, name)), *flows(records)]
    if not events:
        return
    with file.open("r+b") as out:
        out.seek(-len(TAIL), 2)
        out.write((SEPARATOR + SEPARATOR.join(map(dumps, events)) + TAIL).encode())


def flows(records: Iterable[Record]) -> Iterator[Event]:  # rule FLOW
    sent: dict[str, list[Record]] = defaultdict(list)
    received: dict[tuple[str, tuple[int, ...]], list[Record]] = defaultdict(list)
    for record in records:
        if record["kind"] == EventKind.PIPE_SEND.value:
            sent[record["subject"]].append(record)
        elif record["kind"] == EventKind.PIPE_RECEIVE_END.value:
            received[record["subject"], tuple(record["node"])].append(record)
    number = 0
    for (pipe, _), ends in sorted(received.items()):
        for begin, end in zip(sent.get(pipe, ()), ends, strict=False):
            number += 1
            common = {"cat": "pipe", "name": pipe, "id": number}
            yield {"ph": "s", **_where(begin), **common, "args": {}}
            yield {"ph": "f", "bp": "e", **_where(end), **common, "args": {}}


def _where(record: Record) -> Event:
    track = {"pid": process_of(tuple(record["node"])), "tid": thread_of(record["kernel"])}
    return {**track, "ts": record.get(US, record["tick"])}


def _tracks(records: Iterable[Record]) -> dict[tuple[tuple[int, ...], str], None]:
    return dict.fromkeys((tuple(record["node"]), record["kernel"]) for record in records)


def _names(records: Sequence[Record]) -> Iterator[Event]:
    for node, kernel in _tracks(records):
        where = {"ph": "M", "pid": process_of(node), "tid": thread_of(kernel)}
        name = f"node {node}" if node else "operations"
        yield {**where, "name": "process_name", "args": {"name": name, "node": list(node)}}
        args = {"name": kernel or "operations", "kernel": kernel}
        yield {**where, "name": "thread_name", "args": args}


def _sorting(records: Sequence[Record], files: Mapping[str, str]) -> Iterator[Event]:  # rule SORT
    order: dict[str, int] = {}
    labelled: set[int] = set()
    for node, kernel in _tracks(records):
        place = order.setdefault(kernel, len(order))
        where = {"ph": "M", "pid": process_of(node), "tid": thread_of(kernel)}
        yield {**where, "name": "thread_sort_index", "args": {"sort_index": place}}
        if kernel in files and where["pid"] not in labelled:
            labelled.add(where["pid"])  # type: ignore[arg-type]
            index = {"sort_index": where["pid"]}
            yield {**where, "name": "process_sort_index", "args": index}
            yield {**where, "name": "process_labels", "args": {"labels": files[kernel]}}


def _events(records: Iterable[Record], files: Mapping[str, str]) -> Iterator[Event]:  # rule TIME
    under_way: dict[object, list[float]] = defaultdict(list)
    for record in records:
        kind = EventKind(record["kind"])
        phase, words = shown(kind)
        args = {key: record[key] for key in record if key not in ("node", "kernel")}
        if record["kernel"] in files:
            args["file"] = files[record["kernel"]]
        name = words + (record["subject"] or record["kernel"])
        event = {"ph": phase, **_where(record), "name": name, "cat": kind.category, "args": args}
        if phase == INSTANT:
            event["s"] = "t"
        elif phase in (ASYNC_BEGIN, ASYNC_END):
            event["id"] = _transfer(record, kind, under_way)
        yield event
        if kind in BUFFER_KINDS:
            counted = {key: event[key] for key in ("pid", "ts")}
            blocks = {"blocks": record["value"]}
            yield {"ph": "C", **counted, "name": record["subject"], "args": blocks}


def _transfer(record: Record, kind: EventKind, under_way: dict[object, list[float]]) -> str:
    word = kind.value.removesuffix("_end").removesuffix("_start")
    key = tuple(record["node"]), record["kernel"], record["subject"], word
    begun = under_way[key]
    if not kind.value.endswith("_end"):
        begun.append(record["tick"])
        return f"{key} {record['tick']}"
    return f"{key} {begun.pop(0) if begun else record['tick']}"

"""Traces on disk: JSON lines, or what Perfetto and chrome://tracing load. The name decides.

Either file is complete after every operation: the next one adds to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from json import JSONDecodeError, loads
from pathlib import Path
from typing import Any

from .events import EventKind, Lines, RawEvent
from .perfetto import Quoted, part_text, perfetto_lines, records_of

PERFETTO_SUFFIX = ".json"
HEAD = '{"displayTimeUnit": "ns", "traceEvents": [\n'
TAIL = "\n]}\n"

Record = dict[str, Any]


def append_events(file: Path, raw: Iterable[RawEvent], first_tick: int = 0) -> None:
    """Add the events of an operation. Ticks go on where the operation before it has stopped."""
    if file.suffix != PERFETTO_SUFFIX:
        with file.open("a", encoding="utf-8") as out:
            out.writelines(json_lines(raw, first_tick))
        return
    text = ",\n".join(perfetto_lines(raw, first_tick))
    is_new = not file.exists() or not file.stat().st_size
    with file.open("wb" if is_new else "r+b") as out:
        if is_new:
            out.write(HEAD.encode())
        else:
            out.seek(-len(TAIL), 2)
            out.write(b",\n")
        out.write((text + TAIL).encode())


def json_lines(raw: Iterable[RawEvent], first_tick: int = 0) -> Iterator[str]:
    """One JSON object a line, with the fields of Event. Put together by hand: dumps() takes longer
    than the run itself, and most events say the same as one before.
    """
    texts: dict[object, str] = {}
    lines, quoted = Lines(), Quoted()
    for tick, (kind, node, kernel, subject, value, code, at, part) in enumerate(raw, first_tick):
        key = (kind, node, kernel, subject, value, id(code), at)
        text = texts.get(key)
        if text is None:
            text = texts[key] = (
                f'"kind": "{kind.text}", "node": {quoted[node]}, "kernel": {quoted[kernel]}, '
                f'"subject": {quoted[subject]}, "value": {value}, "line": {lines.of(code, at)}'
            )
        if part is None:
            yield f'{{"tick": {tick}, {text}}}\n'
        else:
            yield f'{{"tick": {tick}, {text}{part_text(part)}}}\n'


def read_trace(file: Path) -> list[Record]:
    """The events of a trace of either form; ValueError says what is wrong with the file."""
    text = file.read_text(encoding="utf-8")
    if file.suffix == PERFETTO_SUFFIX and text.startswith("{"):
        try:
            whole = loads(text)
        except JSONDecodeError as error:
            raise ValueError(f"it is not JSON: {error.msg}") from None
        return records_of(whole)
    return list(_records(text.splitlines()))


def _records(lines: Iterable[str]) -> Iterator[Record]:
    kinds = {kind.value for kind in EventKind}
    for number, line in enumerate(lines, 1):
        try:
            record = loads(line)
        except JSONDecodeError as error:
            raise ValueError(f"line {number} is not JSON: {error.msg}") from None
        if not isinstance(record, dict) or record.get("kind") not in kinds:
            raise ValueError(f"line {number} is not an event of a trace")
        yield record

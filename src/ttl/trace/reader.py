"""Reads and checks traces; all code that reads traces uses this module.

rule FORM    JSON lines, one event each, or Perfetto's form; the suffix of the file decides
rule FIELDS  an event has the seven fields of docs/reference/trace.md, each of its type; `part` and
             `us` are optional; unknown fields are allowed
rule SIZES   numbers fit the tables and pages made from them

ValueError says what is wrong with a file, and where. Callers need not check types again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from json import loads
from math import isfinite
from pathlib import Path
from typing import Any

from .events import EventKind
from .files import PERFETTO_SUFFIX, TRACE_VERSION

Record = dict[str, Any]
KINDS = frozenset(kind.value for kind in EventKind)
MOST_TICKS, MOST_LINES, MOST_COORDINATE = 2**31 - 1, 2**31 - 1, 2**16
MOST_DIMENSIONS = 8  # a node's or a tensor's
MOST_VALUE = 2**63 - 1
MOST_MICROSECONDS = 1e15  # 30 years
WHOLE = "a whole number"


def read_trace(file: Path) -> list[Record]:
    """Return the events of a trace of either form."""
    if file.suffix != PERFETTO_SUFFIX:
        with file.open("rb") as lines:
            return list(read_lines(lines))
    content = file.read_bytes()
    if not content.startswith(b"{"):
        return list(read_lines(content.splitlines(keepends=True)))
    whole = parsed(content, "it")
    _check_version(whole.get("otherData"))
    return list(_events_of_perfetto(whole))


def read_lines(lines: Iterable[bytes]) -> Iterator[Record]:
    texts: dict[str, bool] = {}
    for number, line in enumerate(lines, 1):
        yield event_of_line(line, number, texts)


def event_of_line(line: bytes, number: int, texts: dict[str, bool]) -> Record:
    """Parse and check one line; `texts` remembers checked names."""
    where = f"line {number}"
    record = parsed(line, where)
    if number == 1:
        _check_version(record)
    return checked(record, where, texts)


def parsed(text: bytes, what: str) -> Any:
    try:
        return loads(text.decode())
    except (ValueError, RecursionError) as error:  # also for non-UTF-8 and too long numbers
        problem = getattr(error, "msg", None) or str(error).partition(";")[0]
        raise ValueError(f"{what} is not JSON: {problem}") from None


def _check_version(named: object) -> None:
    found = named.get("trace_version", TRACE_VERSION) if isinstance(named, dict) else TRACE_VERSION
    if found != TRACE_VERSION:
        shown = found if isinstance(found, int) else "of another type"
        raise ValueError(f"it has trace_version {shown}, and this pyttlang reads {TRACE_VERSION}")


# Perfetto's form


def _events_of_perfetto(whole: Mapping[str, object]) -> Iterator[Record]:
    """Yield the events; names of tracks must come before them."""
    nodes: dict[object, object] = {}
    kernels: dict[object, object] = {}
    texts: dict[str, bool] = {}
    for number, entry in enumerate(_entries(whole), 1):
        args, name = entry["args"], entry.get("name")
        process, thread = _track(entry)
        if name == "process_name":
            nodes[process] = args.get("node")
        elif name == "thread_name" and "kernel" in args:  # tracks of estimated steps have none
            kernels[process, thread] = args["kernel"]
        elif "kind" in args:
            if process not in nodes or (process, thread) not in kernels:
                raise ValueError(f"event {number} of it is on a track that has no name")
            where = {"node": nodes[process], "kernel": kernels[process, thread]}
            record = {"tick": entry.get("ts"), **where, **args}
            yield checked(record, f"event {number}", texts)


def _entries(whole: Mapping[str, object]) -> list[Record]:
    entries: object = whole.get("traceEvents")
    if not isinstance(entries, list) or not all(map(_has_args, entries)):
        raise ValueError("it is a trace of something else")
    return entries


def _has_args(entry: object) -> bool:
    return isinstance(entry, dict) and isinstance(entry.get("args"), dict)


def _track(entry: Mapping[str, object]) -> tuple[object, object]:
    track = entry.get("pid"), entry.get("tid")
    if any(isinstance(part, (list, dict)) for part in track):
        raise ValueError("it is a trace of something else")
    return track


# One event


def checked(record: object, where: str, texts: dict[str, bool]) -> Record:
    """Return the record, or raise ValueError if it is no event."""
    if not isinstance(record, dict) or not _is_kind(record.get("kind")):
        raise ValueError(f"{where} is not an event of a trace")
    for name, (is_right, wanted) in _FIELDS.items():
        if not is_right(record.get(name)):
            raise _wrong(record, where, name, wanted)
    for name in ("kernel", "subject"):
        text = record.get(name)
        if not isinstance(text, str) or not (texts.get(text) or _remember_text(text, texts)):
            raise _wrong(record, where, name, "a text")
    for name, (is_right, wanted) in _OPTIONAL.items():
        if name in record and not is_right(record[name]):
            raise _wrong(record, where, name, wanted)
    return record


def _wrong(record: Record, where: str, name: str, wanted: str) -> ValueError:
    if name not in record:
        return ValueError(f"{where} has no `{name}`")
    return ValueError(f"{where}: `{name}` is not {wanted}")


def _is_kind(value: object) -> bool:
    return isinstance(value, str) and value in KINDS


def _whole(least: int, most: int) -> Callable[[object], bool]:
    return lambda value: type(value) is int and least <= value <= most


def _list_of_whole(least: int, most: int) -> Callable[[object], bool]:
    is_right = _whole(least, most)
    return lambda value: (
        isinstance(value, list) and len(value) <= MOST_DIMENSIONS and all(map(is_right, value))
    )


def _remember_text(text: str, texts: dict[str, bool]) -> bool:
    """Remember a text, unless it has a lone surrogate, which cannot be printed."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    texts[text] = True
    return True


def _is_part(value: Any) -> bool:
    is_pair = isinstance(value, list) and len(value) == 2 and all(map(_is_place, value))
    return is_pair and len(value[0]) == len(value[1])


def _is_time(value: Any) -> bool:
    is_number = type(value) in (int, float)
    return is_number and isfinite(value) and 0 <= value <= MOST_MICROSECONDS


_is_place = _list_of_whole(0, MOST_VALUE)
_FIELDS: dict[str, tuple[Callable[[object], bool], str]] = {
    "tick": (_whole(0, MOST_TICKS), WHOLE),
    "node": (_list_of_whole(0, MOST_COORDINATE), "a list of coordinates"),
    "value": (_whole(-MOST_VALUE - 1, MOST_VALUE), WHOLE),
    "line": (_whole(0, MOST_LINES), WHOLE),
}
_OPTIONAL: dict[str, tuple[Callable[[object], bool], str]] = {
    "part": (_is_part, "where a slice starts, and its sizes"),
    "us": (_is_time, "a time in microseconds"),
}

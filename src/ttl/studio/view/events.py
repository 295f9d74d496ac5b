"""Stores a trace's events, which may be millions, as columns, track by track."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from math import nan
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ttl.trace import EventKind, Node
from ttl.trace.events import Record
from ttl.trace.files import PERFETTO_SUFFIX
from ttl.trace.reader import event_of_line, read_trace
from ttl.trace.stamped import US

from .columns import deltas, pack
from .sources import PageValues

KINDS = tuple(kind.value for kind in EventKind)
_NUMBER_OF_KIND = {kind: number for number, kind in enumerate(KINDS)}
# Matches lines of JsonLines: only tick, value and part differ between otherwise equal events. The
# JSON reader takes numbers that may be too large.
_NUMBER = r"(?:0|[1-9]\d{0,8})"
_PLACES = rf"\[(?:{_NUMBER}(?:, {_NUMBER}){{0,7}})?\]"
_LINE = re.compile(
    rf'\{{"tick": ({_NUMBER}), ("kind": [^\\]*"value": )(-?{_NUMBER})(, "line": {_NUMBER})'
    rf'(?:, "part": \[({_PLACES}), ({_PLACES})\])?(?:, "us": ({_NUMBER}\.\d{{1,12}}))?\}}\n?',
    re.ASCII,
)

Track = tuple[Node, str]
Shape = tuple[int, str, int]  # index of the kind, subject, line


@dataclass(slots=True)
class Events:
    """Events in the order of the run, with indices of tracks and shapes."""

    tracks: dict[Track, int] = field(default_factory=dict)
    shapes: dict[Shape, int] = field(default_factory=dict)
    ticks: array[int] = field(default_factory=lambda: array("q"))
    values: array[int] = field(default_factory=lambda: array("q"))
    times: array[float] = field(default_factory=lambda: array("d"))  # microseconds, or NaN
    track_of: array[int] = field(default_factory=lambda: array("l"))
    shape_of: array[int] = field(default_factory=lambda: array("l"))

    def __len__(self) -> int:
        return len(self.ticks)

    def numbers_of(self, record: Record) -> tuple[int, int]:
        """Return the indices of a record's track and shape."""
        track = tuple(record["node"]), record["kernel"]
        shape = _NUMBER_OF_KIND[record["kind"]], record["subject"], record["line"]
        return (
            self.tracks.setdefault(track, len(self.tracks)),
            self.shapes.setdefault(shape, len(self.shapes)),
        )

    def add(self, tick: int, value: int, numbers: tuple[int, int], time: float = nan) -> None:
        self.ticks.append(tick)
        self.times.append(time)
        self.values.append(value)
        self.track_of.append(numbers[0])
        self.shape_of.append(numbers[1])

    def columns(self) -> tuple[PageValues, bytes]:
        """Return a page's data: a description, and the columns tick, shape and value."""
        track = np.array(self.track_of, np.int64)
        order = np.argsort(track, kind="stable")
        counts = np.bincount(track, minlength=len(self.tracks))
        firsts = (np.cumsum(counts) - counts)[counts > 0]
        ticks = np.array(self.ticks, np.int64)[order]
        columns = [
            deltas(ticks, firsts),
            np.array(self.shape_of, np.int64)[order],
            np.clip(np.array(self.values, np.int64)[order], -(2**31), 2**31 - 1),
        ]
        times = self._times()
        if len(times):
            columns.append(deltas(np.rint(times[order] / self._unit).astype(np.int64), firsts))
        described: PageValues = {
            "kinds": KINDS,
            "tracks": [
                {"node": node, "kernel": kernel, "count": int(count)}
                for (node, kernel), count in zip(self.tracks, counts, strict=True)
            ],
            "shapes": list(self.shapes),
            "end": int(ticks.max()) + 1 if len(ticks) else 0,
            "unit": self._unit if len(times) else 0,
            "endTime": float(times.max()) if len(times) else 0,
        }
        described["planes"], data = pack(columns)
        return described, data

    def _times(self) -> NDArray[np.float64]:
        """Return the times of all events; empty if some have none, without an estimate."""
        times = np.array(self.times, np.float64)
        return np.zeros(0) if np.isnan(times).any() else times

    @property
    def _unit(self) -> float:
        """Return a unit in microseconds: small, and all times fit 31 bits."""
        return max(1e-4, max(self.times, default=0.0) / 2**30)


def read_events(file: Path) -> Events:
    """Read a trace of either form; ValueError says what is wrong with the file."""
    if file.suffix == PERFETTO_SUFFIX:
        return events_of(read_trace(file))
    with file.open(encoding="utf-8", errors="surrogateescape", newline="\n") as lines:
        return _events_of_lines(lines)


def events_of(records: Iterable[Record]) -> Events:
    found = Events()
    for record in records:
        found.add(record["tick"], record["value"], found.numbers_of(record), record.get(US, nan))
    return found


def _events_of_lines(lines: Iterator[str]) -> Events:
    """Read lines of JSON; parses lines that only differ in numbers once."""
    found = Events()
    known: dict[tuple[str, str], tuple[int, int]] = {}
    texts: dict[str, bool] = {}
    for number, line in enumerate(lines, 1):
        if (match := _LINE.fullmatch(line)) is None or not _is_part(match):
            record = event_of_line(_bytes(line), number, texts)
            time = record.get(US, nan)
            found.add(record["tick"], record["value"], found.numbers_of(record), time)
            continue
        tick, head, value, tail, *_, us = match.groups()
        numbers = known.get((head, tail))
        if numbers is None:
            same = event_of_line(_bytes(f'{{"tick": 0, {head}0{tail}}}'), number, texts)
            numbers = known[head, tail] = found.numbers_of(same)
        found.add(int(tick), int(value), numbers, nan if us is None else float(us))
    return found


def _is_part(match: re.Match[str]) -> bool:
    """Has a slice as many sizes as starts? An event without a slice has none."""
    starts, sizes = match[5] or "", match[6] or ""
    return starts.count(",") == sizes.count(",") and (starts == "[]") == (sizes == "[]")


def _bytes(line: str) -> bytes:
    """Return the line's bytes as in the file, which may not be valid text."""
    return line.encode(errors="surrogateescape")

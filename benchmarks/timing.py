"""Costs of calls, and rows of the table of `make bench`, as values and as JSON."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.processes import Cost


class NotMeasured(Exception):
    """A tool is missing, a program failed, or the machine is too small; the text is the reason."""


@dataclass(frozen=True, slots=True)
class Timing:
    """Calls of one or several processes: the first one, if it counts separately, and others."""

    first: Cost | None
    warm: tuple[Cost, ...]
    peak_bytes: int = 0

    @property
    def cpu(self) -> float:
        return statistics.median(cost.cpu_seconds for cost in self.warm)

    @property
    def wall(self) -> float:
        return statistics.median(cost.wall_seconds for cost in self.warm)

    @property
    def cpu_spread(self) -> tuple[float, float]:
        return _spread([cost.cpu_seconds for cost in self.warm])

    @property
    def wall_spread(self) -> tuple[float, float]:
        return _spread([cost.wall_seconds for cost in self.warm])


def _spread(values: Sequence[float]) -> tuple[float, float]:
    return min(values), max(values)


@dataclass(frozen=True, slots=True)
class Measured:
    """Figure of a row, and the times that it is made from."""

    figure: float | None
    ours: Timing | None = None
    other: Timing | None = None
    why: str = ""  # the reason why there is no figure


@dataclass(frozen=True, slots=True)
class Line:
    """Row of the table with its measurements."""

    name: str
    title: str
    unit: str
    wanted: float | None
    at_least: bool
    other_name: str  # the name of the other measurement
    measured: Measured
    load: float = 0.0  # one-minute load of the machine at the start

    @property
    def is_met(self) -> bool | None:
        figure, wanted = self.measured.figure, self.wanted
        if figure is None or wanted is None:
            return None
        return figure >= wanted if self.at_least else figure <= wanted


# JSON ---------------------------------------------------------------------------------------------


def timing_from(program: Mapping[str, Any]) -> Timing:
    """Read a program's output (programs/measure.py), or line_to_json()'s copy of it."""
    first = program.get("first")
    return Timing(
        None if first is None else _cost(first),
        tuple([_cost(each) for each in program["warm"]]),
        program.get("peak_bytes", 0),
    )


def line_to_json(line: Line) -> dict[str, Any]:
    measured = line.measured
    found: dict[str, Any] = {
        "name": line.name,
        "title": line.title,
        "unit": line.unit,
        "wanted": line.wanted,
        "at_least": line.at_least,
        "load": line.load,
        "figure": measured.figure,
    }
    if measured.why:
        found["not_measured"] = measured.why
    if measured.ours is not None:
        found["pyttlang"] = _timing(measured.ours)
    if measured.other is not None:
        found["compared_with"] = {"what": line.other_name, **_timing(measured.other)}
    return found


def line_from_json(found: Mapping[str, Any]) -> Line:
    ours, other = found.get("pyttlang"), found.get("compared_with")
    measured = Measured(
        found["figure"],
        None if ours is None else timing_from(ours),
        None if other is None else timing_from(other),
        found.get("not_measured", ""),
    )
    names = ("name", "title", "unit", "wanted", "at_least")
    kept = {name: found[name] for name in names}
    what = "" if other is None else other["what"]
    return Line(**kept, other_name=what, measured=measured, load=found["load"])


def _cost(pair: Sequence[float | None]) -> Cost:
    """Read a cost; older figures have no wall time."""
    cpu, wall = pair
    assert cpu is not None
    return Cost(wall_seconds=math.nan if wall is None else wall, cpu_seconds=cpu)


def _timing(timing: Timing) -> dict[str, Any]:
    """Return [CPU, wall] of each call, in seconds."""
    pairs = [_pair(cost) for cost in timing.warm]
    first = None if timing.first is None else _pair(timing.first)
    return {"first": first, "warm": pairs, "peak_bytes": timing.peak_bytes}


def _pair(cost: Cost) -> list[float]:
    return [float(f"{value:.4g}") for value in (cost.cpu_seconds, cost.wall_seconds)]

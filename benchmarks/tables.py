"""The table of `make bench`: on the terminal, and in README.md.

python -m benchmarks.tables RESULTS.json     puts the table into README.md, and keeps the results
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.processes import ROOT
from benchmarks.timing import Line, Timing, line_from_json

RESULTS = ROOT / "benchmarks" / "results.json"  # the results in README.md
README = ROOT / "README.md"
BEGIN, END = "<!-- from benchmarks/results.json: begin -->", "<!-- end -->"

HEADER = (
    "| what | measured | wanted | pyttlang: first call, CPU s | warm, CPU s (least to most) "
    "| warm, wall s (least to most) | compared with | first call, CPU s "
    "| warm, CPU s (least to most) | warm, wall s | load |"
)
RULE = "|---|---:|---:|---:|---:|---:|---|---:|---:|---:|---:|"
SHORT_HEADER = (
    "| what | measured | wanted | ours, CPU s: first, warm | compared with | CPU s: first, warm "
    "| peak MB, both |"
)
SHORT_RULE = "|---|---:|---:|---:|---|---:|---:|"


def line_text(line: Line) -> str:
    """Return a row's text."""
    ours, other = line.measured.ours, line.measured.other
    cells = (
        line.title,
        _figure(line),
        _wanted(line),
        *_cells(ours),
        _name(line),
        *_cells(other)[:2],
        "" if other is None else _seconds(other.wall),
        f"{line.load:.1f}",
    )
    return f"| {' | '.join(cells)} |"


def short_text(line: Line) -> str:
    cells = (
        line.title,
        _figure(line),
        _wanted(line),
        _both(line.measured.ours),
        _name(line),
        _both(line.measured.other),
        _peaks(line),
    )
    return f"| {' | '.join(cells)} |"


def _figure(line: Line) -> str:
    if line.measured.figure is None:
        return f"not measured: {line.measured.why}"
    missed = " (missed)" if line.is_met is False else ""
    return f"{line.measured.figure:.3g}{line.unit}{missed}"


def _wanted(line: Line) -> str:
    if line.wanted is None:
        return ""
    return f"{'>=' if line.at_least else '<='} {line.wanted:g}{line.unit}"


def _name(line: Line) -> str:
    return "" if line.measured.other is None else line.other_name


def _cells(timing: Timing | None) -> tuple[str, str, str]:
    if timing is None:
        return "", "", ""
    first = "" if timing.first is None else _seconds(timing.first.cpu_seconds)
    return (
        first,
        _with_spread(timing.cpu, timing.cpu_spread),
        _with_spread(timing.wall, timing.wall_spread),
    )


def _both(timing: Timing | None) -> str:
    if timing is None:
        return ""
    first = "" if timing.first is None else f"{_seconds(timing.first.cpu_seconds)}, "
    return first + _seconds(timing.cpu)


def _peaks(line: Line) -> str:
    timings = (line.measured.ours, line.measured.other)
    return ", ".join(f"{each.peak_bytes / 1e6:.0f}" for each in timings if each and each.peak_bytes)


def _with_spread(median: float, spread: tuple[float, float]) -> str:
    if spread[0] == spread[1]:
        return _seconds(median)
    return f"{_seconds(median)} ({_seconds(spread[0])} to {_seconds(spread[1])})"


def _seconds(value: float) -> str:
    return f"{value:.3g}" if value >= 0.001 else f"{1e6 * value:.3g} us"


# README.md ----------------------------------------------------------------------------------------


def readme_text(results: Mapping[str, Any]) -> str:
    lines = [line_from_json(row) for row in results["rows"]]
    table = "\n".join((SHORT_HEADER, SHORT_RULE, *map(short_text, lines)))
    return f"{_circumstances(results)}\n\n{table}"


def _circumstances(results: Mapping[str, Any]) -> str:
    words = f"{results['machine']}; {results['versions']}."
    if load := results["load"]:
        words += f" Load of the machine {min(load):g} to {max(load):g}."
    return words + (" Fewer calls than usual (`--quick`)." if results["quick"] else "")


def with_table(readme: str, results: Mapping[str, Any]) -> str:
    inside = f"{BEGIN}\n\n{readme_text(results)}\n\n{END}"
    between = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.DOTALL)
    text, count = between.subn(lambda _: inside, readme)
    if count != 1:
        raise SystemExit(f"README.md has no place for the table: {BEGIN} ... {END}")
    return text


def main(arguments: Sequence[str]) -> None:
    if arguments:
        shutil.copyfile(arguments[0], RESULTS)
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    README.write_text(with_table(README.read_text(encoding="utf-8"), results), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])

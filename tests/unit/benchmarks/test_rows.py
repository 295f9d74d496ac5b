"""The table of `make bench`: what it marks, what happens without a tool, and README.md's copy."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from benchmarks import __main__ as command_line
from benchmarks import bench, comparison, tables
from benchmarks.processes import Cost
from benchmarks.rows import rows
from benchmarks.timing import (
    Line,
    Measured,
    NotMeasured,
    Timing,
    line_from_json,
    line_to_json,
)

OURS = Timing(Cost(0.5, 0.4), (Cost(0.3, 0.1), Cost(0.3, 0.2), Cost(0.4, 0.25)), 2_000_000)
LINE = Line("name", "title", "x", 7, True, "tt-lang-sim", Measured(7.0, OURS, OURS), 0.5)


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


@pytest.mark.parametrize(
    ("figure", "at_least", "text", "wanted"),
    [
        (7.0, True, "7x", ">= 7x"),
        (6.9, True, "6.9x (missed)", ">= 7x"),
        (7.0, False, "7x", "<= 7x"),
        (7.1, False, "7.1x (missed)", "<= 7x"),
    ],
)
def test_a_line_marks_what_misses(figure: float, at_least: bool, text: str, wanted: str) -> None:
    found = replace(LINE, at_least=at_least, measured=Measured(figure, OURS, OURS))
    long, short = cells(tables.line_text(found)), cells(tables.short_text(found))
    assert len(long) == len(cells(tables.HEADER)) == len(cells(tables.RULE))
    assert len(short) == len(cells(tables.SHORT_HEADER)) == len(cells(tables.SHORT_RULE))
    assert long[1:3] == short[1:3] == [text, wanted]


def test_first_calls_medians_and_spread_of_both_clocks() -> None:
    times = ["0.4", "0.2 (0.1 to 0.25)", "0.3 (0.3 to 0.4)"]
    assert cells(tables.line_text(LINE))[3:] == [*times, "tt-lang-sim", *times[:2], "0.3", "0.5"]
    assert cells(tables.short_text(LINE))[3:] == [
        "0.4, 0.2",
        "tt-lang-sim",
        "0.4, 0.2",
        "2, 2",
    ]


@pytest.mark.parametrize(
    "line", [LINE, replace(LINE, other_name="", measured=Measured(None, OURS, None, "no memory"))]
)
def test_figures_are_read_back(line: Line) -> None:
    assert line_from_json(json.loads(json.dumps(line_to_json(line)))) == line


def run_rows(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *options: str) -> dict[str, Any]:
    out = tmp_path / "bench.json"
    monkeypatch.setattr(sys, "argv", ["benchmarks", "--out", str(out), *options])
    assert command_line.main() == 0
    found: dict[str, Any] = json.loads(out.read_text())
    return found


def test_a_missing_tool_does_not_hide_the_other_rows(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def figures(command: Sequence[str], variables: Mapping[str, str]) -> Timing:
        if "softmax.py" in command[1]:
            raise NotMeasured("python: no memory")
        return OURS

    monkeypatch.setattr(bench, "figures", figures)
    chosen = ("launch", "softmax", "first-add-4x4", "compile-process", "multicast-share")
    found = run_rows(monkeypatch, tmp_path, "--only", *chosen)
    by_name = {row["name"]: row for row in found["rows"]}
    assert by_name["launch"]["not_measured"] == "tt-lang-sim is not installed"
    assert by_name["launch"]["pyttlang"]["peak_bytes"] == 2_000_000
    assert by_name["softmax"]["not_measured"] == "python: no memory"
    assert by_name["compile-process"]["not_measured"].startswith("tt-lang is not installed")
    assert by_name["multicast-share"]["figure"] == 1
    assert by_name["first-add-4x4"]["figure"] == pytest.approx(200)
    table = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    assert len(table) == 2 + len(chosen) == 2 + len(found["load"])
    assert sum("not measured: " in line for line in table) == 3


def test_quick_leaves_out_what_takes_long(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(command_line, "measured", lambda chosen, _: (LINE for _ in chosen))
    found = run_rows(monkeypatch, tmp_path, "--quick")
    assert found["quick"]
    assert len(found["rows"]) == sum(not row.is_long for row in rows()) < len(list(rows()))


def test_names_are_used_once() -> None:
    names = [row.name for row in rows()]
    assert len(names) == len(set(names))


def test_the_table_of_the_readme_is_that_of_the_file() -> None:
    """`make bench bench-readme` writes both."""
    results = json.loads(tables.RESULTS.read_text(encoding="utf-8"))
    text = tables.README.read_text(encoding="utf-8")
    assert tables.with_table(text, results) == text
    changed = {**results, "machine": "another"}
    assert tables.with_table(text, changed) != text


@pytest.mark.parametrize(
    ("program", "complaint"),
    [
        (
            "import sys; sys.exit('error[TTL1]: wrong\\n   = more: ttl explain TTL1')",
            "TTL1]: wrong",
        ),
        ("raise ValueError('lost')", "ValueError: lost"),
    ],
)
def test_a_failed_program_says_why(tmp_path: Path, program: str, complaint: str) -> None:
    path = tmp_path / "program.py"
    path.write_text(program)
    with pytest.raises(NotMeasured, match="python") as failure:
        comparison.figures((sys.executable, str(path)))
    assert str(failure.value).endswith(complaint)

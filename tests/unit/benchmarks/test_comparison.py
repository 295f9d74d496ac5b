"""The table of the comparison: what it marks, and what happens when a program fails."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
PEER = Path("peer")


@pytest.fixture
def comparison(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(ROOT)
    module = importlib.import_module("benchmarks.comparison")
    monkeypatch.setattr(module, "versions", lambda _: "versions")
    return module


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


@pytest.mark.parametrize(
    ("ours", "theirs", "faster", "share"),
    [
        ((1.0, 40), (7.0, 80), "7.0", "50%"),
        ((1.0, 41), (6.9, 80), "6.9 (below the floor)", "51% (over half)"),
        ((0.5, 10), (6.0, 80), "12.0", "12%"),
    ],
)
def test_a_line_marks_what_misses(
    comparison: Any, ours: Any, theirs: Any, faster: str, share: str
) -> None:
    row = comparison.Row("name", "title", ("program.py",), 7, 12)
    line = comparison.line(row, comparison.Figures(*ours), comparison.Figures(*theirs))
    found = cells(line)
    assert len(found) == len(cells(comparison.HEADER)) == len(cells(comparison.RULE))
    assert (found[3], found[4], found[5], found[7]) == (faster, "7", "12", share)


def test_one_failure_does_not_hide_the_other_rows(
    comparison: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def figures(command: Sequence[str]) -> Any:
        if "softmax.py" in command[1] and "tt-lang-sim" in command[0]:
            raise comparison.ProgramFailed("tt-lang-sim: no memory")
        return comparison.Figures(1.0, 100)

    monkeypatch.setattr(comparison, "figures", figures)
    assert not comparison.compare([], PEER)
    table = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    assert len(table) == len(comparison.ROWS) + 2
    assert [line for line in table if "failed" in line] == [
        "| softmax 4096x1024, row blocks | failed: tt-lang-sim: no memory | | | | | | |"
    ]


def test_only_the_named_rows_are_run(
    comparison: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(comparison, "figures", lambda _: comparison.Figures(1.0, 100))
    assert comparison.compare(["launch", "add-4x4"], PEER)
    lines = capsys.readouterr().out.splitlines()[-2:]
    assert [cells(line)[0] for line in lines] == [
        "add 4096x4096, 4x4-tile blocks",
        "launch of an empty operation",
    ]


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
def test_a_failed_program_says_why(
    comparison: Any, tmp_path: Path, program: str, complaint: str
) -> None:
    path = tmp_path / "program.py"
    path.write_text(program)
    with pytest.raises(comparison.ProgramFailed, match="python") as failure:
        comparison.figures((sys.executable, str(path)))
    assert str(failure.value).endswith(complaint)

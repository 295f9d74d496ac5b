"""The published measurements, and the tables made of them."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest

from ttl.target import TARGETS

ROOT = Path(__file__).parents[3]
KEYS = {"what", "chip", "program", "arguments", "source"}
ALSO = {"measured_us", "measured_cycles", "also_used_for", "wall_us", "thread", "kernel"}


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(ROOT)
    return importlib.import_module("benchmarks.estimate.__main__")


@pytest.fixture
def rows(bench: Any) -> Any:
    return [
        bench.Row("a", "wormhole_b0", "tiles", 10, 8, 11, 14, True),
        bench.Row("b", "wormhole_b0", "tiles", 20, 9, 10, 12, False),
        bench.Row("c", "blackhole", "tiles", 5, 4, 5, 6, True),
    ]


def test_every_row_has_a_program_a_source_and_one_measurement(bench: Any) -> None:
    for row in bench.measured_rows():
        assert set(row) >= KEYS and set(row) <= KEYS | ALSO
        assert row["chip"] in TARGETS and row["source"]
        assert (bench.FOLDER / "programs" / row["program"]).is_file()
        assert ("measured_us" in row) != ("measured_cycles" in row)


def test_pairs_of_one_program_and_chip_are_compared(bench: Any, rows: Any) -> None:
    assert bench.right_pairs(rows) == (0, 1)


def test_the_tables_show_errors_and_medians(bench: Any, rows: Any, tmp_path: Path) -> None:
    text = "\n".join(bench.report(rows))
    assert "| +10% |" in text and "a cost was derived from it" in text
    assert "| all | 3 | 10% | 2 | 0 of 1 |" in text
    page = tmp_path / "page.md"
    page.write_text(f"# Head\n{bench.MARK}old")
    bench.write_page(page, text)
    assert page.read_text() == f"# Head\n{bench.MARK}\n{text}"

"""Times of one night beside those of another."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks import watch


def test_what_grew() -> None:
    before = {"a": 1.0, "b": 2.0, "gone": 1.0}
    assert watch.grown({"a": 1.2, "b": 2.6, "new": 9.0}, before) == ["b"]


def test_figures_are_read_back() -> None:
    shares = {"a": 0.5, "b": 2.0}
    assert watch.from_json(watch.as_json(shares)) == shares


def test_the_exit_status(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out, before = tmp_path / "times.json", tmp_path / "before.json"
    monkeypatch.setattr(watch, "measured", lambda: {"a": 3.0})
    assert watch.main(str(out), str(before)) == 0  # the first night
    before.write_text(watch.as_json({"a": 2.0}))
    assert watch.main(str(out), str(before)) == 1
    assert capsys.readouterr().out.splitlines()[-1].endswith("2.00 before  longer")
    assert watch.from_json(out.read_text()) == {"a": 3.0}

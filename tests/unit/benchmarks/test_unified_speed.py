"""The benchmark of unified operations runs; how long it takes is not looked at."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


def test_it_compares_every_example(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(ROOT)
    speed = importlib.import_module("benchmarks.unified_speed")
    monkeypatch.setattr(speed, "ROUNDS", 1)
    monkeypatch.setattr(speed, "MOST", 1000)
    monkeypatch.setattr(sys, "path", sys.path.copy())
    assert speed.main() == 0
    assert capsys.readouterr().out.count(" times\n") == 7

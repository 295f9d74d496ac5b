"""`ttl estimate FILE.ttnn`"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from graph_texts import binary, stitched
from ttl.cli import main


@pytest.fixture
def model(tmp_path: Path) -> str:
    file = tmp_path / "model.ttnn"
    file.write_bytes(binary(stitched(64, 32)))
    return str(file)


def test_kernels_are_simulated_and_operations_have_roofs(
    model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["estimate", "--json", model]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    kinds = [call["is_kernel"] for call in found["calls"]]
    assert kinds.count(True) == 1 and kinds.count(False) >= 2
    times = found["microseconds"]
    assert 0 < times["best"] <= times["typical"] <= times["worst"]
    parts = sum(call["microseconds"]["typical"] for call in found["calls"])
    assert times["typical"] == pytest.approx(parts + found["dispatch"]["typical"])
    assert all(call["microseconds"]["typical"] > 0 for call in found["calls"])


def test_larger_tensors_take_longer(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    larger = tmp_path / "larger.ttnn"
    larger.write_bytes(binary(stitched(1024, 1024)))
    assert main(["estimate", "--json", model, "--against", str(larger)]) == 0
    one, other = json.loads(capsys.readouterr().out)
    assert other["microseconds"]["typical"] > one["microseconds"]["typical"]
    assert main(["estimate", str(larger), "--against", model]) == 0
    shown = capsys.readouterr().out
    assert "kernels (simulated)" in shown and "model.ttnn beside it" in shown


def test_kernels_are_for_their_chip(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["estimate", "--target", "blackhole", model]) == 1
    assert "are for wormhole_b0, not for blackhole" in capsys.readouterr().err


def test_options_that_would_do_nothing_are_refused(
    model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["estimate", "-D", "BLOCK=2", model]) == 1
    assert "-D is for a program" in capsys.readouterr().err
    assert main(["estimate", "--against", model, "program.py"]) == 1
    assert "--against is for a graph (FILE.ttnn)" in capsys.readouterr().err

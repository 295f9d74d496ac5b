"""What commands say to files that they cannot use (TTL6019) and to wrong options (TTL6021)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "elementwise.py"
TRACE = '{"kind": "no event"}\n{'
FILES = {
    "stats": ("stats", "broken.jsonl"),
    "diff": ("diff", "broken.jsonl", "broken.jsonl"),
    "view": ("view", "broken.jsonl"),
    "costs": ("estimate", "--costs", "broken.jsonl", EXAMPLE),
    "log": ("calibrate", "--log", "broken.jsonl", "-o", "costs.json"),
    "nothing to tune": ("tune", EXAMPLE),
}
OPTIONS = {
    "graph": ("estimate", "--against", "other.ttnn", EXAMPLE),
    "name": ("estimate", "-D", "NOWHERE=1", EXAMPLE),
    "folder": ("examples", "-t", "there"),
}
VARIABLES = {
    "TTL_BACKEND": "chip",
    "TTL_TARGET": "grayskull",
    "TTL_WARNINGS": "all",
    "TTL_SEED": "x",
    "TTL_SCHEDULER": "unfair",
    "TTL_ROUNDING": "up",
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_the_command_cannot_use(run: Any, tmp_path: Path, name: str) -> None:
    (tmp_path / "broken.jsonl").write_text(TRACE)
    done = run("ttl", *FILES[name])
    assert done.returncode == 1 and "Traceback" not in done.stderr, done.stderr
    assert "error[TTL6019]: " in done.stderr and "= help: " in done.stderr, done.stderr


def test_an_archive_with_other_arrays(run: Any, tmp_path: Path) -> None:
    np.savez(tmp_path / "unknown.npz", z=np.zeros(3))
    assert run("ttl", "compile", "--compile-only", EXAMPLE, "-o", "out").returncode == 0
    done = run("ttl", "replay", "out", "--inputs", "unknown.npz")
    assert done.returncode == 1 and "error[TTL6019]: " in done.stderr, done.stderr


@pytest.mark.parametrize("name", OPTIONS)
def test_an_option_that_cannot_be(run: Any, name: str) -> None:
    if name == "folder":
        assert run("ttl", *OPTIONS[name]).returncode == 0
    done = run("ttl", *OPTIONS[name])
    assert done.returncode == 1 and "Traceback" not in done.stderr, done.stderr
    assert "error[TTL6021]: " in done.stdout + done.stderr, done.stderr


@pytest.mark.parametrize("variable", VARIABLES)
def test_a_variable_that_cannot_be(run: Any, variable: str) -> None:
    done = run("ttl", "run", EXAMPLE, **{variable: VARIABLES[variable]})
    assert done.returncode == 1 and f"error[TTL6021]: {variable}=" in done.stderr, done.stderr

"""The compared programs, small: they run, are right, and a wrong result does not pass."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAMS = Path(__file__).parents[3] / "benchmarks" / "programs"


def run(program: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(PROGRAMS), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(program), *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True)


SMALL = [
    "add.py 256 1",
    "add.py 1024 4",
    "matmul.py 512 2",
    "multicast_matmul.py 512 2",
    "softmax.py 2048 64",
    "flash_attention.py 8 1024 64 4",
    "launch.py",
    "blas.py 256",
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("command", SMALL)
def test_program_runs_and_prints_its_figures(command: str) -> None:
    program, *arguments = command.split()
    result = run(PROGRAMS / program, *arguments)
    assert result.returncode == 0, result.stderr
    figures = json.loads(result.stdout)
    warm = sorted(cpu for cpu, _ in figures["warm"])
    assert figures["cpu_seconds"] == warm[1] > 0
    assert len(figures["first"]) == 2
    assert figures["peak_bytes"] > 2**20


def test_every_program_is_tried_here() -> None:
    scripts = {path.name for path in PROGRAMS.glob("*.py")} - {"measure.py"}
    assert scripts == {command.split()[0] for command in SMALL}


FAKE = """
import numpy as np
from measure import measure

def operation(x, y):
    {statement}

measure(operation, lambda random: [np.ones((32, 32), np.float32)], (32, 32), lambda x: x)
"""


@pytest.mark.parametrize(
    "statement",
    [
        "pass",  # the output stays zero
        "y.storage.fill(np.float32('nan'))",
        # Inputs that the operation spoils do not become the expectation.
        "x.storage.fill(np.float32(2)); y.storage.fill(np.float32(2))",
    ],
)
def test_a_wrong_output_ends_the_program(tmp_path: Path, statement: str) -> None:
    program = tmp_path / "program.py"
    program.write_text(FAKE.format(statement=statement))
    result = run(program)
    assert result.returncode == 1
    assert "the output is wrong" in result.stderr


def test_the_right_output_of_the_same_program_passes(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(FAKE.format(statement="y.storage.fill(np.float32(1))"))
    assert run(program).returncode == 0

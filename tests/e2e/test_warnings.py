"""Warnings on the command line: shown once, listed, made errors, hidden."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

PROGRAM = """import numpy as np
import ttnn

import ttl


@ttl.operation(grid=(1, 1))
def move(a, y):
    dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=2)
    spare = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=2)

    @ttl.datamovement()
    def read():
        for _ in range(2):
            with dfb.reserve() as block:
                ttl.copy(a[0, 0], block).wait()
        with spare.reserve() as block:
            ttl.copy(a[0, 0], block).wait()

    @ttl.datamovement()
    def write():
        with dfb.wait() as block:
            ttl.copy(block, y[0, 0]).wait()
        with spare.wait() as block:
            pass


device = ttnn.open_device(device_id=0)
a = ttl.from_numpy(np.ones((32, 32)), dtype=ttnn.bfloat16, device=device)
for _ in range(3):
    y = ttnn.zeros_like(a)
    move(a, y)
    print((ttl.to_numpy(y) == 1).all())
"""
LEFT, UNREAD = "[TTL3006]: 1 block is left in `dfb`", "[TTL3016]: the block of `spare` is popped"


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path


@pytest.mark.parametrize("command", ["ttl run", "ttl run --host", "tt-lang-sim", "ttl check"])
def test_a_warning_is_shown_once_and_the_program_goes_on(command, run: Any, program) -> None:
    done = run(*command.split(), "program.py")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "True\n" * 3
    for warning in (LEFT, UNREAD):
        assert done.stderr.count(f"warning{warning}") == 1, done.stderr
    if command == "ttl check":
        assert done.stderr.endswith("ttl: 1 operation checked, no errors, 2 warnings\n")


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "command",
    [
        "ttl run -W error",
        "ttl run --strict",
        "ttl run --host -Werror",
        "ttl check --strict",
        "ttl check --compile-only -W error",
        "ttl compile -W error",
        "tt-lang-sim -W error",
        "ttl explore --schedules 1 -W error",
    ],
)
def test_warnings_are_errors(command: str, run: Any, program: Path) -> None:
    done = run(*command.split(), "program.py")
    assert done.returncode == 1
    assert f"error{LEFT}" in done.stderr
    assert f"error{UNREAD}" in done.stderr
    assert "True" not in done.stdout or "check" in command


@pytest.mark.sampled(1)
@pytest.mark.parametrize("backend", [[], ["--host"]])
def test_one_is_an_error_and_another_is_hidden(backend, run: Any, program: Path) -> None:
    chosen = ["-W", "error=buffer-leftover", "-W", "ignore=TTL3016"]
    done = run("ttl", "run", *backend, *chosen, "program.py")
    assert done.returncode == 1
    assert f"error{LEFT}" in done.stderr
    assert "TTL3016" not in done.stderr
    hiding = ["-W", "error", "-Wignore=TTL3006", "-Wignore=TTL3016"]
    hidden = run("ttl", "run", *backend, *hiding, "program.py")
    assert (hidden.returncode, hidden.stderr) == (0, "")


def test_as_json(run: Any, program: Path) -> None:
    done = run("ttl", "run", "--json", "-W", "error=TTL3006", "program.py")
    found = {each["code"]: each["severity"] for each in map(json.loads, done.stderr.splitlines())}
    assert found == {"TTL3006": "error", "TTL3016": "warning"}


def test_a_wrong_choice(run: Any, program: Path) -> None:
    done = run("ttl", "run", "-W", "ignore=TTL2003", "program.py")
    assert done.returncode == 2
    assert "TTL2003 is an error, which cannot be ignored" in done.stderr


def test_in_a_program_of_its_own(run: Any, program: Path) -> None:
    """Run by Python, not by us; the error of each call is raised, the first and the last."""
    head, loop = PROGRAM.split("for _ in range(3):\n")
    options = "from ttl.config import chosen_options\nfor _ in range(2):\n    try:\n"
    options += '        with chosen_options(warnings="error=TTL3006"):\n'
    options += "            move(a, a)\n    except ttl.TTLError as error:\n"
    options += "        print([each.code.slug for each in error.diagnostics])\n"
    program.write_text(f"{head}{options}for _ in range(3):\n{loop}")
    for backend in ("sim", "host"):
        done = run("python", "program.py", TTL_BACKEND=backend)
        assert done.returncode == 0, done.stderr
        assert done.stdout == "['buffer-leftover']\n" * 2 + "True\n" * 3
        assert done.stderr.count(f"warning{LEFT}") == 1
        assert done.stderr.count(f"warning{UNREAD}") == 1


def test_a_replay_warns_too(run: Any, program: Path) -> None:
    assert run("ttl", "compile", "-o", "folder", "program.py").returncode == 0
    done = run("ttl", "replay", "folder")
    assert done.returncode == 0, done.stderr
    assert f"warning{LEFT}" in done.stderr
    refused = run("ttl", "replay", "-W", "error", "folder")
    assert refused.returncode == 1
    assert f"error{LEFT}" in refused.stderr

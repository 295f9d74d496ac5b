"""Releases and waits that are left out, from the command line: the note, --strict, --json."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

PROGRAM = """
import numpy as np
import ttnn

import ttl


@ttl.operation(grid=(1, 1))
def double(a, y):
    a_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))

    @ttl.compute()
    def compute():
        for _ in range(4):
            a_blk = a_dfb.wait()
            y_blk = y_dfb.reserve()
            y_blk.store(a_blk + a_blk)

    @ttl.datamovement()
    def read():
        for i in range(4):
            a_blk = a_dfb.reserve()
            ttl.copy(a[0, i], a_blk)

    @ttl.datamovement()
    def write():
        for i in range(4):
            y_blk = y_dfb.wait()
            y_copy = ttl.copy(y_blk, y[0, i])


values = np.arange(32 * 128, dtype=np.float32).reshape(32, 128) % 61
device = ttnn.open_device(device_id=0)
a = ttl.from_numpy(values, dtype=ttnn.bfloat16, device=device)
y = ttnn.zeros((32, 128), ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device)
for _ in range(2):
    double(a, y)
print((ttl.to_numpy(y).astype(np.float32) == 2 * values).all())
"""


@pytest.fixture
def run(run: Any, tmp_path: Path):
    (tmp_path / "program.py").write_text(PROGRAM)

    def call(*options: str) -> subprocess.CompletedProcess[str]:
        return run("ttl", *options, "program.py")

    return call


@pytest.mark.parametrize("options", [(), ("--host",)], ids=["simulator", "host"])
def test_the_program_runs_and_one_note_says_what_was_supplied(run, options) -> None:
    done = run("run", *options)
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr
    assert done.stderr.startswith("note[TTL3010]: `double` leaves out 6 calls that were supplied\n")
    assert done.stderr.count("TTL3010]") == 1


def test_the_headers_accept_the_kernels(run, check_headers, tmp_path) -> None:
    done = run("compile", "--compile-only", "-o", "out")
    assert done.returncode == 0, done.stderr
    check_headers(tmp_path / "out")


def test_strict_shows_every_repair_as_an_error(run) -> None:
    done = run("run", "--strict")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("error[TTL3011]") == 6
    assert "note[" not in done.stderr


def test_json_notes_are_json(run) -> None:
    (line,) = run("run", "--json").stderr.splitlines()
    note = json.loads(line)
    assert (note["code"], note["severity"], len(note["secondary"])) == ("TTL3010", "note", 5)

"""The parts of the soak at small sizes, and that they notice what is not flat."""

from __future__ import annotations

import argparse
import mmap
import os

import pytest

import soak.__main__ as soak
from ttl.config import process_variables

SMALL = {"launches": 60, "megabytes": [16], "nodes": 64, "statements": 20, "processes": 2}


def run(part: str, backend: str, **changed: int) -> list[str]:
    devices = {"TTL_NUM_DEVICES": "4096"}
    with process_variables({"TTL_BACKEND": backend, **devices}):
        return list(soak.PARTS[part](argparse.Namespace(**{**SMALL, **changed}, backend=backend)))


@pytest.mark.parametrize("backend", ["sim", pytest.param("host", marks=pytest.mark.full)])
@pytest.mark.parametrize("part", [part for part in soak.PARTS if part != "processes"])
def test_each_part(part: str, backend: str) -> None:
    (line,) = run(part, backend)
    assert any(character.isdigit() for character in line)


@pytest.mark.full
def test_processes_on_an_empty_cache() -> None:
    (line,) = run("processes", "host")
    assert line.startswith("2 processes on one empty cache")


def test_descriptors_that_stay_open_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[int] = []
    made = soak.tensors

    def leaking(*given: int) -> object:
        opened.append(os.open(os.devnull, os.O_RDONLY))
        return made(*given)

    monkeypatch.setattr(soak, "tensors", leaking)
    try:
        with pytest.raises(soak.NotFlat):
            run("launches", "sim")
    finally:
        for each in opened:
            os.close(each)


def test_memory_that_stays_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[mmap.mmap] = []  # pages of their own: what other tests freed is not used for them
    made = soak.tensors

    def leaking(*given: int) -> object:
        kept.append(mmap.mmap(-1, 1 << 20))
        kept[-1].write(os.urandom(1 << 20))
        return made(*given)

    monkeypatch.setattr(soak, "tensors", leaking)
    with pytest.raises(soak.NotFlat):
        run("launches", "sim")


def test_sizes_that_leave_a_node_without_a_block_are_refused(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        soak.main(["--megabytes", "64", "6"])
    assert "6 is no multiple of 4" in capsys.readouterr().err


def test_wrong_results_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(soak, "doubling", lambda *given, **named: lambda a, y: None)
    with pytest.raises(AssertionError):
        run("tensors", "sim")

"""Faults of pyttlang: they are never the user's, and leave what is needed to find them."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import ttl
from ttl import ttnn
from ttl.config import process_variables
from ttl.diagnostics import InternalError
from ttl.sim import simulation

DEVICE = ttnn.open_device(device_id=0)


@ttl.operation(grid=(1, 1))
def move(a, y):
    dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))

    @ttl.datamovement()
    def read():
        with dfb.reserve() as block:
            ttl.copy(a[0, 0], block).wait()

    @ttl.datamovement()
    def write():
        with dfb.wait() as block:
            ttl.copy(block, y[0, 0]).wait()


def tensor():
    return ttl.from_numpy(np.ones((32, 32), np.float32), device=DEVICE)


def broken_function(file: str):
    """A function that fails as if it stood in one of pyttlang's files."""
    names: dict = {}
    exec(compile("def broken(*_, **__): raise KeyError('made up')", file, "exec"), names)
    return names["broken"]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PYTTLANG_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("TTL_SEED", "7")
    return tmp_path / "cache"


def bundle_of(cache: Path) -> Path:
    (folder,) = (cache / "faults").iterdir()
    return folder


def test_a_fault_of_the_simulator_leaves_a_bundle(cache, monkeypatch) -> None:
    monkeypatch.setattr(simulation, "find_leftovers", broken_function(simulation.__file__))
    with pytest.raises(InternalError) as caught:
        move(tensor(), tensor())
    text = str(caught.value)
    folder = bundle_of(cache)
    assert text.startswith("error[TTL9001]: pyttlang failed on `move`: KeyError: 'made up'\n")
    assert "= this is a fault in pyttlang, not in your program" in text
    assert f"= program, versions, IR and traceback are in {folder}" in text
    assert ", in broken\n" in (folder / "traceback.txt").read_text()
    assert (folder / "program.py").read_text() == Path(__file__).read_text()
    assert "numpy " in (folder / "versions.txt").read_text()
    assert "TTL_SEED=7" in (folder / "command.txt").read_text()
    assert "builtin.module" in (folder / "initial.mlir").read_text()


def test_the_bundle_has_what_the_command_line_chose(cache, monkeypatch) -> None:
    monkeypatch.setattr(simulation, "find_leftovers", broken_function(simulation.__file__))
    with process_variables({"TTL_SCHEDULER": "fair"}), pytest.raises(InternalError):
        move(tensor(), tensor())
    assert "TTL_SCHEDULER=fair" in (bundle_of(cache) / "command.txt").read_text()


def test_a_fault_of_the_compiler_leaves_a_bundle(cache, monkeypatch) -> None:
    import ttl.frontend

    monkeypatch.setenv("TTLANG_COMPILE_ONLY", "1")
    monkeypatch.setattr(ttl.frontend, "build_module", broken_function(ttl.frontend.__file__))
    with pytest.raises(InternalError, match="the compiler failed on `move`: KeyError"):
        move(tensor(), tensor())
    said = (bundle_of(cache) / "initial.mlir").read_text()
    assert said == "not available: KeyError: 'made up'\n"


def test_the_same_fault_has_one_bundle(cache, monkeypatch) -> None:
    monkeypatch.setattr(simulation, "find_leftovers", broken_function(simulation.__file__))
    for _ in range(2):
        with pytest.raises(InternalError):
            move(tensor(), tensor())
    shutil.rmtree(bundle_of(cache))  # there is only one


def test_without_a_place_for_it_the_fault_is_reported_all_the_same(cache, monkeypatch) -> None:
    cache.write_text("a file where the folder should be")
    monkeypatch.setattr(simulation, "find_leftovers", broken_function(simulation.__file__))
    with pytest.raises(InternalError, match="pyttlang failed on `move`"):
        move(tensor(), tensor())


def test_an_exception_of_the_users_own_stays_what_it_is(cache) -> None:
    @ttl.operation(grid=(1, 1))
    def wrong_body(a):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        wrong_body(tensor())
    assert not cache.exists()

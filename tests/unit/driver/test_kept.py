"""What one process compiled, others of the same user do not compile again."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from golden.example_programs import OPERATIONS, compile_example, load_file
from ttl import ttnn
from ttl.artifact import CompiledOperation
from ttl.diagnostics import Diagnostic, codes
from ttl.driver import Driver
from ttl.driver.cache import entries, prune
from ttl.driver.compile import compile_operation
from ttl.driver.kept import KeptArtifacts
from ttl.driver.stable import stable
from ttl.language.operation import Program
from ttl.source.frozen import NAMED, NoKey

DEVICE = ttnn.open_device(device_id=0)

PROGRAM = """import numpy as np
import ttl

FACTOR = 2.0


def helped(value):
    return value * FACTOR


@ttl.operation(grid=(1, 1))
def scale(a, y):
    a_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))

    @ttl.compute()
    def compute():
        with a_dfb.wait() as a_blk, y_dfb.reserve() as y_blk:
            y_blk.store(helped(a_blk))

    @ttl.datamovement()
    def read():
        with a_dfb.reserve() as a_blk:
            ttl.copy(a[0, 0], a_blk).wait()

    @ttl.datamovement()
    def write():
        with y_dfb.wait() as y_blk:
            ttl.copy(y_blk, y[0, 0]).wait()
"""
CALL = """
import sys
from ttl import ttnn

device = ttnn.open_device(device_id=0)
given = [ttnn.ones((32, 32), ttnn.float32, layout=ttnn.TILE_LAYOUT, device=device) for _ in "ay"]
scale(*given)
print(ttl.to_numpy(given[1])[0, 0], "xdsl" in sys.modules, "ttl.frontend" in sys.modules)
"""


def tensor(value: float = 1.0, dtype: Any = ttnn.float32) -> Any:
    return ttnn.full((32, 32), value, dtype=dtype, layout=ttnn.TILE_LAYOUT, device=DEVICE)


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of all tests: the runtime of the executor is built once."""
    cache = tmp_path_factory.mktemp("artifacts") / "cache"
    cache.mkdir(mode=0o700)
    return cache


@pytest.fixture
def folder(cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache folder, in which no artifacts are kept yet."""
    for file in kept_files(cache):
        file.unlink()
    monkeypatch.setenv("PYTTLANG_CACHE", str(cache))
    monkeypatch.delenv("TTL_ALWAYS_COMPILE", raising=False)
    # Python's own is of a file with the same size and the time of the same second.
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    return cache


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The operations that were compiled, one after the other."""
    found: list[str] = []

    def counted(program: Program, *others: Any) -> CompiledOperation:
        found.append(program.operation.__name__)
        return compile_operation(program, *others)

    monkeypatch.setattr("ttl.driver.compile.compile_operation", counted)
    return found


def loaded(folder: Path, text: str = PROGRAM) -> Any:
    file = folder.parent / "program.py"
    file.write_text(text)
    return load_file(file)


def launch_anew(operation: Any, *tensors: Any, **constants: Any) -> None:
    """As the first call of a process: nothing is kept in memory."""
    driver = Driver()
    driver.launch(operation, tensors, constants)


def on_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TTL_BACKEND", "host")


def kept_files(folder: Path) -> list[Path]:
    return sorted(folder.glob("operation-*.json"))


def process(folder: Path, text: str = PROGRAM + CALL, **variables: str) -> str:
    file = folder.parent / "whole.py"
    if not file.exists() or file.read_text() != text:
        file.write_text(text)
    environment = {**os.environ, "TTL_BACKEND": "host", **variables}
    return subprocess.run(
        [sys.executable, "-P", str(file)],
        env=environment,
        text=True,
        check=True,
        stdout=subprocess.PIPE,
    ).stdout.strip()


def test_a_second_process_neither_compiles_nor_imports_the_compiler(folder: Path) -> None:
    assert process(folder) == "2.0 True True"
    (kept,) = kept_files(folder)
    assert kept.stat().st_mode & 0o777 == 0o600
    assert process(folder) == "2.0 False False"
    assert process(folder, TTL_ALWAYS_COMPILE="1") == "2.0 True True"


@pytest.mark.parametrize(
    "before, after, value",
    [
        ("FACTOR = 2.0", "FACTOR = 3.0", 3.0),
        ("value * FACTOR", "value + FACTOR", 3.0),
        ("ttl.copy(y_blk, y[0, 0]).wait()", "ttl.copy(y_blk, y[0, 0]) .wait()", 2.0),
        ("import ttl\n", "import ttl\n\n", 2.0),
        ("return value", "return  value", 2.0),
        ("FACTOR = 2.0", "FACTOR = 2  # an integer", 2.0),
    ],
)
def test_a_program_that_was_edited_is_compiled_again(
    folder: Path,
    compiled: list[str],
    monkeypatch: pytest.MonkeyPatch,
    before: str,
    after: str,
    value: float,
) -> None:
    on_host(monkeypatch)
    for count, text in enumerate((PROGRAM, PROGRAM.replace(before, after)), 1):
        y = tensor()
        launch_anew(loaded(folder, text).scale, tensor(), y)
        assert len(compiled) == count
    assert float(y.storage.logical.flat[0]) == value


def test_what_is_the_same_is_not_compiled_again(
    folder: Path, compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    on_host(monkeypatch)
    operation = loaded(folder).scale
    for _ in range(3):
        launch_anew(operation, tensor(), tensor())
    assert len(compiled) == 1
    launch_anew(operation, tensor(dtype=ttnn.bfloat16), tensor(dtype=ttnn.bfloat16))
    monkeypatch.setenv("TTLANG_COMPILER_OPTIONS", "--no-ttl-maximize-dst")
    launch_anew(operation, tensor(), tensor())
    monkeypatch.setenv("TTL_TARGET", "blackhole")
    launch_anew(operation, tensor(), tensor())
    assert len(compiled) == len(kept_files(folder)) == 4


def test_a_damaged_file_is_compiled_again(
    folder: Path, compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    on_host(monkeypatch)
    operation = loaded(folder).scale
    launch_anew(operation, tensor(), tensor())
    (kept,) = kept_files(folder)
    whole = kept.read_bytes()
    for damaged in (b"", whole[:-5], whole.replace(b"tile", b"tale"), b"{}", whole.upper()):
        kept.write_bytes(damaged)
        launch_anew(operation, tensor(), tensor())
        assert kept.read_bytes() == whole
    assert len(compiled) == 6


def test_where_there_is_no_room_nothing_is_kept(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_room(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    on_host(monkeypatch)
    monkeypatch.setattr("os.replace", no_room)
    KeptArtifacts(folder).write(folder / "operation-x.json", compile_example("softmax"))
    assert not [*folder.glob("operation-*")]


def test_what_others_may_have_written_is_compiled_again(
    folder: Path, compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    on_host(monkeypatch)
    operation = loaded(folder).scale
    launch_anew(operation, tensor(), tensor())
    (kept,) = kept_files(folder)
    kept.chmod(0o666)
    launch_anew(operation, tensor(), tensor())
    assert len(compiled) == 2


def test_what_depends_on_another_library_is_not_kept() -> None:
    with pytest.raises(NoKey):
        stable((NAMED, "hypothesis.strategies", "integers"))
    assert stable((NAMED, "math", "sqrt"))


def test_a_remark_of_the_compiler_is_made_by_every_process(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def with_a_warning(
        program: Program, target: Any, config: Any, report: Any, *others: Any
    ) -> CompiledOperation:
        report(Diagnostic(codes.PIPE_UNUSED, "a warning"))
        return compile_operation(program, target, config, report, *others)

    on_host(monkeypatch)
    operation = loaded(folder).scale
    monkeypatch.setattr("ttl.driver.compile.compile_operation", with_a_warning)
    for _ in range(2):
        launch_anew(operation, tensor(), tensor())
        assert "a warning" in capsys.readouterr().err
    assert not kept_files(folder)


def test_they_count_among_the_cache_and_go_with_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TTLANG_COMPILE_ONLY", "1")
    launch_anew(loaded(folder).scale, tensor(), tensor())
    (kept,) = kept_files(folder)
    assert kept in {entry.path for entry in entries(folder)}
    prune(folder, 0, time.time() + 7200)
    assert not kept_files(folder)


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_what_is_read_is_what_was_written(folder: Path, name: str) -> None:
    written = compile_example(name)
    kept, place = KeptArtifacts(folder), folder / "operation-x.json"
    kept.write(place, written)
    assert kept.read(place) == written

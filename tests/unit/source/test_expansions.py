"""Operations that others expand: the calls that lead to them are in every message, whoever finds
it, and a library that is installed is as good a place for them as the program.
"""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr
from pathlib import Path

import numpy as np
import pytest

import ttl
from ttl import ttnn
from ttl.artifact.manifest import from_json, to_json
from ttl.config import Config, process_variables
from ttl.diagnostics import frames
from ttl.diagnostics.render import render_json
from ttl.driver.compile import compile_operation
from ttl.target import load

DEVICE = ttnn.open_device(device_id=0)
BACKENDS = pytest.mark.parametrize("backend", ["sim", "host"])

PIECES = """\
import ttl


@ttl.operation()
def load(x, row, dfb):
    with dfb.reserve() as block:
        ttl.copy(x[row, 0:1], block).wait()


@ttl.operation()
def take(dfb, like):
    own_dfb = ttl.make_dataflow_buffer_like(like, shape=(1, 1), block_count=2)
    with dfb.wait() as block, own_dfb.reserve() as own:
        own.store(block + 1)
    with own_dfb.wait() as own:
        ttl.copy(own, like[0, 0:1]).wait()


@ttl.operation()
def save(dfb, y, row):
    with dfb.wait() as block:
        ttl.copy(block, y[row, 0:1]).wait()


@ttl.operation()
def left_out(x, y, row):
    x_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 1), block_count=2)
    y_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 1), block_count=2)
    ttl.copy(x[row, 0:1], x_dfb.reserve())
    doubled(x_dfb, y_dfb)
    ttl.copy(y_dfb.wait(), y[row, 0:1])


@ttl.operation()
def doubled(x_dfb, y_dfb):
    x = x_dfb.wait()
    y_dfb.reserve().store(x + x)


def fetch(dfb, x, row):
    ttl.copy(x[row, 0:1], dfb.reserve())


@ttl.operation(grid=(1, 1))
def in_kernels(x, y):
    dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 1), block_count=2)

    @ttl.datamovement()
    def read():
        for row in range(2):
            fetch(dfb, x, row)

    @ttl.datamovement()
    def write():
        for row in range(2):
            ttl.copy(dfb.wait(), y[row, 0:1])
"""

DEADLOCK = """\
    load(x, 0, dfb)
    middle(dfb, y)
    middle(dfb, y)
"""
OUT_OF_RANGE = """\
    load(x, 0, dfb)
    save(dfb, y, rows + 5)
"""
PROGRAM = """\
import ttl
from pieces import load, save, take


@ttl.operation()
def middle(dfb, y):
    take(dfb, y)


@ttl.operation(grid=(1, 1))
def program(x, y):
    rows = x.shape[0] // 32
    dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 1), block_count=2)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "pieces.py").write_text(PIECES)
    yield tmp_path
    sys.modules.pop("pieces", None)


def made(folder: Path, text: str, name: str = "program"):
    file = folder / "main.py"
    file.write_text(text)
    names: dict = {}
    exec(compile(text, str(file), "exec"), names)
    return names[name]


def tensors(rows: int = 2) -> tuple[ttnn.Tensor, ttnn.Tensor]:
    x = ttl.from_numpy(np.ones((32 * rows, 32)), dtype=ttnn.bfloat16, device=DEVICE)
    return x, ttnn.zeros_like(x)


def fault(operation, backend: str) -> ttl.TTLError:
    with process_variables({"TTL_BACKEND": backend}), pytest.raises(ttl.TTLError) as caught:
        operation(*tensors())
    return caught.value


@BACKENDS
def test_a_deadlock_shows_the_calls_that_lead_to_it(folder: Path, backend: str) -> None:
    found = fault(made(folder, PROGRAM + DEADLOCK), backend)
    (first,) = found.diagnostics
    assert first.code.slug == "deadlock" and first.primary is not None
    assert Path(first.primary.span.file).name == "pieces.py"
    calls = [
        (each.operation, Path(each.file).name, each.line) for each in first.primary.span.expanded
    ]
    assert calls == [("take", "main.py", 7), ("middle", "main.py", 16)]
    assert "main.py:7; in `middle`, expanded at " in str(found)
    shown = json.loads(render_json(first))["primary"]["expanded"]
    assert [each["line"] for each in shown] == [7, 16]


@BACKENDS
def test_wrong_data_shows_the_call(folder: Path, backend: str) -> None:
    text = str(fault(made(folder, PROGRAM + OUT_OF_RANGE), backend))
    assert "y[row, 0:1]" in text and "in `save`, expanded at " in text and "main.py:15" in text


def test_what_the_executor_finds_has_the_calls_too(folder: Path) -> None:
    """Its faults get their lines from the artifact, also from one that was on disk."""
    operation = made(folder, PROGRAM + "    load(x, 0, dfb)\n    save(dfb, y, 1)\n")
    program = operation.program(tensors(), {}, (1, 1))
    compiled = compile_operation(program, load("wormhole_b0"), Config())
    again = from_json(json.loads(json.dumps(to_json(compiled))))
    assert again == compiled
    spans = {span for kernel in again.kernels for _, span in kernel.source_map}
    found = {(each.operation, each.line) for span in spans for each in span.expanded}
    assert found == {("load", 14), ("save", 15)}


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The pieces, installed."""
    package = tmp_path / "site-packages" / "pieces"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(PIECES)
    monkeypatch.syspath_prepend(str(package.parent))
    monkeypatch.setattr(frames, "_LIBRARIES", set())
    frames.is_user_file.cache_clear()
    yield tmp_path
    sys.modules.pop("pieces", None)
    frames.is_user_file.cache_clear()


OF_LIBRARY = """\
import pieces
import ttl


@ttl.operation(grid=(1, 1))
def expanding(x, y):
    for row in range(2):
        pieces.left_out(x, y, row)


@ttl.operation(grid=(1, 1))
def helped(x, y):
    dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 1), block_count=2)

    @ttl.datamovement()
    def read():
        for row in range(2):
            pieces.fetch(dfb, x, row)

    @ttl.datamovement()
    def write():
        for row in range(2):
            ttl.copy(dfb.wait(), y[row, 0:1])


in_kernels = pieces.in_kernels
"""


@BACKENDS
@pytest.mark.parametrize(("name", "factor"), [("expanding", 2), ("helped", 1), ("in_kernels", 1)])
def test_a_library_that_is_installed_may_leave_releases_out(
    library: Path, backend: str, name: str, factor: int
) -> None:
    operation = made(library, OF_LIBRARY, name)
    x, y = tensors()
    with process_variables({"TTL_BACKEND": backend}), redirect_stderr(io.StringIO()):
        operation(x, y)
    assert (ttl.to_numpy(y) == factor).all()


@BACKENDS
def test_messages_show_the_lines_of_the_library(library: Path, backend: str) -> None:
    text = str(fault(made(library, PROGRAM + OUT_OF_RANGE), backend))
    assert "y[row, 0:1]" in text and "in `save`, expanded at " in text


def test_a_library_that_has_no_operations_is_nobody_s_program() -> None:
    assert not frames.is_user_file(np.__file__)

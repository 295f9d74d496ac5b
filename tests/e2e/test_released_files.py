"""Files that released versions have written are read: docs/reference/compatibility.md.

Those of 0.1.0 double a tensor of one tile: a folder of `ttl compile`, a `.ttnn` file of `ttl opt`,
traces of `ttl run`. They are never written again; a version that changes a format adds its own.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ttgraph.flatbuffer import Runtime
from ttl.artifact import read_folder
from ttl.cli import main
from ttl.trace.files import TRACE_VERSION
from ttl.trace.reader import read_trace

VERSIONS = sorted((Path(__file__).parent / "released").iterdir())

pytestmark = pytest.mark.parametrize("files", VERSIONS, ids=lambda path: path.name)


@pytest.mark.usefixtures("put_back")
def test_an_artifact_is_run(files: Path, tmp_path: Path) -> None:
    assert read_folder(files / "artifact").name == "double"
    x = np.arange(1024, dtype=np.float32).reshape(32, 32) % 64
    np.savez(tmp_path / "in.npz", x=x)
    out = tmp_path / "out.npz"
    given = ["--inputs", str(tmp_path / "in.npz"), "--outputs", str(out)]
    assert not main(["replay", str(files / "artifact"), *given])
    np.testing.assert_array_equal(np.load(out)["y"], 2 * x)


def test_a_flatbuffer_is_run(files: Path) -> None:
    x = np.linspace(-1, 1, 1024, dtype=np.float32).reshape(32, 32)
    (y,) = Runtime((files / "double.ttnn").read_bytes()).run([x])
    np.testing.assert_array_equal(y, 2 * x)


def test_traces_are_read(files: Path) -> None:
    lines, perfetto = (read_trace(files / name) for name in ("trace.jsonl", "trace.json"))
    assert lines == perfetto
    assert [lines[0]["kind"], lines[-1]["kind"]] == ["operation_start", "operation_end"]


@pytest.mark.parametrize("name", ["trace.jsonl", "trace.json"])
def test_traces_of_a_later_version_are_refused(files: Path, name: str, tmp_path: Path) -> None:
    later = f'"trace_version": {TRACE_VERSION + 1}'
    text = (files / name).read_text()
    as_lines, as_perfetto = f"{{{later}}}\n", f'{{"otherData": {{{later}}}, '
    is_lines = name.endswith("l")
    text = as_lines + text if is_lines else text.replace("{", as_perfetto, 1)
    (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match=r"trace_version 2, and this pyttlang reads 1"):
        read_trace(tmp_path / name)

"""The table of compile times: what it marks, and that its kernels are right."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ttl
from golden.example_programs import DEVICE, load_file
from ttl import ttnn

ROOT = Path(__file__).parents[3]


@pytest.fixture
def speed(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(ROOT)
    return importlib.import_module("benchmarks.compile_speed")


@pytest.mark.parametrize(
    ("ours", "theirs", "share", "process"),
    [
        ((20.0, 60.0, 0.5), (40.0, 80.0, 0.7), "50%", "0.50"),
        ((40.0, 60.0, 0.7), (40.0, 80.0, 0.7), "100%", "0.70"),
        ((50.0, 60.0, 0.71), (40.0, 80.0, 0.7), "125% (slower)", "0.71 (slower)"),
    ],
)
def test_a_line_marks_what_misses(
    speed: Any, ours: Any, theirs: Any, share: str, process: str
) -> None:
    line = speed.line(speed.ROWS[0], speed.Times(*ours), speed.Times(*theirs))
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    assert len(cells) == speed.HEADER.count("|") - 1 == speed.RULE.count("|") - 1
    assert (cells[3], cells[5]) == (share, process)


def test_without_the_public_compiler_its_published_figures_stand(
    speed: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def run(kernel: str, python: str, environment: dict[str, str], repeats: int = 0) -> Any:
        assert python == sys.executable
        if kernel == "matmul":
            raise speed.NotCompiled("error[TTL7001]: not yet")
        return {"again": [0.046], "first": 0.06, "process": 0.5}

    monkeypatch.setattr(speed, "_run", run)
    assert not speed.compare(tmp_path)
    first, *table, last = capsys.readouterr().out.splitlines()
    assert first == "compiling, CPU time; tt-lang 1.1.1: figures of another machine"
    assert [line.split(" | ")[2] for line in table[2:4]] == ["43.0", "47.0"]
    assert "not compiled: error[TTL7001]: not yet" in table[4]
    assert {line.count("|") for line in table} == {8}
    assert last == "at or below tt-lang: again 5 of 10, process 5 of 10; wanted 8 each"


def test_what_the_compiler_says_is_shown(speed: Any) -> None:
    with pytest.raises(speed.NotCompiled, match="KeyError: 'no such kernel'"):
        speed.Runs("no such kernel", sys.executable, {})


REFERENCES: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: (a + b)[:, :128],
    "multiply-add-exp": lambda a, b, c: (a * b + np.exp(c))[:, :128],
    "matmul": lambda a, b: a[:128] @ b[:, :128],
    "broadcasts": lambda a, b, c: np.vstack(
        [a[32 * i, None, :128] * b[128 * i : 128 * i + 128, :1] + c[32 * i, 0] for i in range(4)]
    ),
    "multicast-matmul": lambda a, b: a @ b,
    "bias-relu": lambda a, b, c: np.maximum(
        np.vstack([a[i : i + 128, :128] @ b[:128, :128] for i in range(0, 512, 128)]) + c[:, :128],
        0,
    ),
    "activations": lambda a, b: (np.sqrt(np.exp(np.tanh(b) / (1 + np.exp(-a)))) + np.abs(a - b))[
        :, :128
    ],
    "two-stages": lambda a, b: (np.exp(a) * (b + 1))[:, :128],
    "row-sums": lambda a, b: a[:, :128].sum(axis=1, keepdims=True),
    "nested-loops": lambda a, b: a * b,
}


@pytest.mark.parametrize("name", REFERENCES)
def test_the_kernels_mean_something(speed: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """On the simulator, so that it is known before they can be compiled."""
    monkeypatch.setenv("TTLANG_COMPILE_ONLY", "")  # which loading them sets
    kernels = load_file(speed.FOLDER / "kernels.py")
    monkeypatch.setenv("TTLANG_COMPILE_ONLY", "0")
    function, count, grid = kernels.KERNELS[name]
    random = np.random.default_rng(0)
    arrays = [
        random.integers(-8, 9, (kernels.SIZE, kernels.SIZE)).astype(np.float32) / 8
        for _ in range(count - 1)
    ]
    if name == "row-sums":
        arrays[1][:] = 1
    inputs = [ttl.from_numpy(array, dtype=ttnn.bfloat16, device=DEVICE) for array in arrays]
    y = ttnn.zeros_like(inputs[0])
    kernels.ttl.operation(grid=(grid, grid))(function)(*inputs, y)
    expected = REFERENCES[name](*arrays)
    rows, columns = expected.shape
    found = ttl.to_numpy(y).astype(np.float32)[:rows, :columns]
    assert np.abs(found - expected).max() <= 0.01 * np.abs(expected).max()


def test_every_row_has_a_kernel_and_every_kernel_a_row(speed: Any) -> None:
    assert [row.name for row in speed.ROWS] == list(REFERENCES)

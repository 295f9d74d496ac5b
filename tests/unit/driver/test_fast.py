"""--fast: the first calls of a kind on the simulator, with its checks; others compiled."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ttl
from ttl import ttnn
from ttl.cli import main
from ttl.driver import PROCESS_DRIVER
from ttl.driver.check import Checks
from ttl.driver.fast import FastCalls

DEVICE = ttnn.open_device(device_id=0)


def doubling(grid: tuple[int, ...] = (1, 1), pops: int = 1) -> Any:
    @ttl.operation(grid=grid)
    def double(x, y):
        dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 1))
        y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))

        @ttl.compute()
        def compute():
            with dfb.wait() as x_blk, y_dfb.reserve() as y_blk:
                y_blk.store(x_blk + x_blk)

        @ttl.datamovement()
        def read():
            with dfb.reserve() as x_blk:
                ttl.copy(x[0, 0], x_blk).wait()

        @ttl.datamovement()
        def write():
            for _ in range(pops):
                with y_dfb.wait() as y_blk:
                    ttl.copy(y_blk, y[0, 0]).wait()

    return double


def tensors(columns: int = 32) -> tuple[Any, Any]:
    x = ttl.from_numpy(np.full((32, columns), 3), dtype=ttnn.float32, device=DEVICE)
    return x, ttnn.zeros_like(x)


@pytest.fixture
def engines(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The engine of each run, as it happens."""
    seen: list[str] = []
    run = PROCESS_DRIVER.runs.run

    def spy(runnable: Any, *others: Any) -> None:
        seen.append("sim" if runnable.artifact is None else "host")
        run(runnable, *others)

    monkeypatch.setattr(PROCESS_DRIVER.runs, "run", spy)
    monkeypatch.setattr(PROCESS_DRIVER, "fast", FastCalls())
    monkeypatch.setattr(PROCESS_DRIVER, "checks", Checks())
    return seen


def call(operation: Any, columns: int = 32) -> float:
    x, y = tensors(columns)
    operation(x, y)
    return float(ttl.to_numpy(y)[0, 0])


@pytest.mark.parametrize(("count", "expected"), [("1", "sim host host"), ("2", "sim sim host")])
def test_the_first_calls_are_simulated(
    engines: list[str], monkeypatch: pytest.MonkeyPatch, count: str, expected: str
) -> None:
    monkeypatch.setenv("TTL_FAST", count)
    operation = doubling()
    assert [call(operation) for _ in range(3)] == [6, 6, 6]
    assert engines == expected.split()


def test_other_shapes_are_another_kind(engines: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TTL_FAST", "1")
    operation = doubling()
    for columns in (32, 96, 32, 96):
        call(operation, columns)
    assert engines == ["sim", "sim", "host", "host"]


def test_a_call_that_failed_has_not_passed(
    engines: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TTL_FAST", "1")
    operation = doubling(pops=2)
    for _ in range(2):
        with pytest.raises(ttl.KernelFault, match="deadlock"):
            call(operation)
    assert engines == ["sim", "sim"]


def test_what_is_not_compiled_stays_on_the_simulator(
    engines: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TTL_FAST", "1")
    operation = doubling(grid=(1, 1, 1))
    assert [call(operation) for _ in range(3)] == [6, 6, 6]
    assert engines == ["sim", "sim", "sim"]
    assert capsys.readouterr().err.count("`double` stays on the simulator: ") == 1


PROGRAM = """
import sys
from {module} import call, doubling

operation = doubling(pops=int(sys.argv[1]))
print([call(operation) for _ in range(2)])
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.syspath_prepend(Path(__file__).parent)
    path = tmp_path / "program.py"
    path.write_text(PROGRAM.format(module=Path(__file__).stem))
    return str(path)


def test_the_option(
    engines: list[str],
    program: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("TTL_BACKEND", "host")
    assert main(["run", "--fast", program, "1"]) == 0
    assert (capsys.readouterr().out, engines) == ("[6.0, 6.0]\n", ["sim", "host"])


@pytest.mark.parametrize(("pops", "status"), [("1", 0), ("2", 1)])
def test_run_with_check(
    engines: list[str], program: str, capsys: pytest.CaptureFixture[str], pops: str, status: int
) -> None:
    """What would hang is found before it runs, and the program goes on."""
    assert main(["run", "--host", "--check", program, pops]) == status
    shown = capsys.readouterr()
    assert engines == (["host", "host"] if status == 0 else [])
    assert ("TTL5001" in shown.err) == bool(status)
    assert "1 operation checked" in shown.err

"""Calls in several threads: each goes by its own options and leaves the others alone."""

from __future__ import annotations

import gc
import os
import re
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier, Event
from typing import Any

import pytest

import ttl
from ttl import ttnn
from ttl.cli import main
from ttl.config import Config, chosen_options, process_variables
from ttl.driver import Driver
from ttl.driver.specs import TensorSpec, compile_from_spec
from ttl.language.engine import LAUNCH_HOOK
from ttl.semantics.dtypes import float32
from ttl.trace.reader import read_trace

DEVICE = ttnn.open_device(device_id=0)
THREADS = 4


def scaling(scale: float, name: str = "scale") -> Any:
    def body(x, y):
        x_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 1))
        y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))

        @ttl.compute()
        def compute():
            scaled(x_dfb, y_dfb, scale)

        @ttl.datamovement()
        def read():
            with x_dfb.reserve() as x_blk:
                ttl.copy(x[0, 0], x_blk).wait()

        @ttl.datamovement()
        def write():
            with y_dfb.wait() as y_blk:
                ttl.copy(y_blk, y[0, 0]).wait()

    body.__name__ = name
    return ttl.operation(grid=(1, 1))(body)


def scaled(source: Any, result: Any, scale: float) -> None:
    """Leaves the release of its block out, so it has another code while a simulation runs."""
    block = source.wait()
    with result.reserve() as y_blk:
        y_blk.store(block * scale)


def run(operation: Any) -> float:
    x = ttnn.full((32, 32), 3.0, dtype=ttnn.float32, layout=ttnn.TILE_LAYOUT, device=DEVICE)
    y = ttnn.zeros((32, 32), ttnn.float32, layout=ttnn.TILE_LAYOUT, device=DEVICE)
    operation(x, y)
    return float(ttl.to_numpy(y)[0, 0])


@pytest.fixture(params=["sim", "host"])
def backend(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("TTL_BACKEND", request.param)
    run(scaling(2.0))  # what is loaded once is loaded
    chosen: str = request.param
    return chosen


@pytest.fixture
def driver(monkeypatch: pytest.MonkeyPatch) -> Driver:
    driver = Driver()
    monkeypatch.setattr(LAUNCH_HOOK, "launch", driver.launch)
    return driver


def at_once(*calls: Callable[[], Any]) -> list[Any]:
    """The results of calls that start together."""
    together = Barrier(len(calls))

    def call(function: Callable[[], Any]) -> Any:
        together.wait(timeout=60)
        return function()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(call, calls))


def test_an_operation_runs_while_another_thread_compiles_a_specification(backend: str) -> None:
    compiling, ended = Event(), Event()

    def described(x: Any, y: Any) -> None:
        compiling.set()
        assert ended.wait(timeout=60)
        scaling(2.0)(x, y)

    specs = [TensorSpec((32, 32), float32)] * 2
    with ThreadPoolExecutor(1) as pool:
        artifact = pool.submit(compile_from_spec, described, specs)
        assert compiling.wait(timeout=60)
        try:
            assert run(scaling(2.0)) == 6.0
        finally:
            ended.set()
        assert artifact.result(timeout=60).name == "scale"


def test_the_same_operation_in_threads(backend: str, driver: Driver) -> None:
    operation = scaling(4.0)
    assert at_once(*[lambda: run(operation)] * THREADS) == [12.0] * THREADS
    assert driver.artifacts.count == len(driver.artifacts) == (backend == "host")


def test_different_operations_in_threads(backend: str, driver: Driver) -> None:
    scales = [float(number) for number in range(THREADS)]
    results = at_once(*[lambda scale=scale: run(scaling(scale)) for scale in scales])
    assert results == [3.0 * scale for scale in scales]


def test_what_compiling_changes_in_the_process_is_put_back(driver: Driver) -> None:
    specs = [TensorSpec((32, 32), float32)] * 2
    limit = sys.getrecursionlimit()
    found = at_once(
        *[lambda s=scale: compile_from_spec(scaling(s), specs) for scale in range(THREADS)]
    )
    assert len(found) == THREADS
    assert (sys.getrecursionlimit(), gc.isenabled()) == (limit, True)


def test_checks_of_several_threads_are_counted(
    driver: Driver, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TTL_CHECK", "1")

    @ttl.operation(grid=(1, 1))
    def wrong(x, y):
        dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 1))

        @ttl.datamovement()
        def read():
            dfb.wait()

    at_once(*[lambda: run(wrong), lambda: run(scaling(1.0))] * 2)
    checks = driver.checks
    assert checks.operations == 2 and checks.errors >= 1
    assert capfd.readouterr().err.count("error[") == checks.errors


def test_traces_of_several_threads_do_not_mix(
    backend: str, driver: Driver, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    trace = tmp_path / "trace.jsonl"
    monkeypatch.setenv("TTL_TRACE", str(trace))
    at_once(*[lambda n=n: run(scaling(2.0, f"scale_{n}")) for n in range(THREADS)])
    events = list(read_trace(trace))
    assert [event["tick"] for event in events] == list(range(len(events)))
    kinds = [event["kind"] for event in events if event["kind"].startswith("operation")]
    assert kinds == ["operation_start", "operation_end"] * THREADS


def test_counts_of_several_threads_add_up(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TTL_BACKEND", "host")
    monkeypatch.setenv("TTL_COUNTS", "1")
    operation = scaling(2.0)
    run(operation)
    once = dict(driver.executor.counts["scale"].calls)
    at_once(*[lambda: run(operation)] * THREADS)
    assert driver.executor.counts["scale"].calls == {
        name: count * (THREADS + 1) for name, count in once.items()
    }


def test_options_of_a_call_are_its_own() -> None:
    with chosen_options(compile_only=True), chosen_options(seed=3):
        assert (Config.current().compile_only, Config.current().seed) == (True, 3)
        with ThreadPoolExecutor(1) as pool:
            other = pool.submit(Config.current).result()
    assert (other.compile_only, other.seed) == (False, None)
    assert not Config.current().compile_only


def test_variables_of_a_command_hold_in_all_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TTL_SEED", "1")
    before = dict(os.environ)
    with process_variables({"TTL_BACKEND": "host", "TTL_SEED": ""}):
        with ThreadPoolExecutor(1) as pool:
            found = pool.submit(Config.current).result()
        assert (found.backend, found.seed) == ("host", None)
        assert dict(os.environ) == before
    assert (Config.current().backend, Config.current().seed) == ("sim", 1)


PROGRAM = """
import threading, time
import ttl
from ttl.config import Config

def later():
    time.sleep(0.1)
    print(Config.current().grid)

threading.Thread(target=later).start()
"""


def test_threads_that_outlive_the_program_keep_its_options(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    monkeypatch.setattr(sys, "argv", sys.argv)
    monkeypatch.setattr(sys, "path", sys.path.copy())
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    before = dict(os.environ)
    assert main(["run", "--grid", "2,3", str(program)]) == 0
    assert capsys.readouterr().out == "(3, 2)\n"
    assert dict(os.environ) == before


def test_nothing_of_ours_writes_the_environment() -> None:
    """There is one for all threads. tt-metal and OpenBLAS have no other settings. Those of tt-metal
    are set by `ttl run --backend device` before the program starts, when there is one thread; that
    of OpenBLAS is there while numpy is imported.
    """
    sources = Path(ttl.__file__).parents[1]
    writing = re.compile(r"environ(\[[^\]]*\]\s*=[^=]|\.(update|pop|clear|setdefault)\()|putenv")
    files = [file for file in sources.rglob("*.py") if writing.search(file.read_text("utf-8"))]
    assert sorted(file.name for file in files) == ["blas.py", "device_run.py"]

"""A run on a device that is looked at: prints, traces, and a launch that does not come back."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import ttl
from device.standins import DataType, Device, Launches, Layout, Tensor
from ttl.device import hang
from ttl.device.watch import Watch, metal_settings
from ttl.diagnostics import codes
from ttl.driver import PROCESS_DRIVER

from .test_logs import HEAD, core, row


@ttl.operation(grid=(1, 1))
def talk(x, y):  # type: ignore[no-untyped-def]
    x_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 1))

    @ttl.datamovement()
    def read():  # type: ignore[no-untyped-def]
        with x_dfb.reserve() as block:
            ttl.copy(x[0, 0], block).wait()
        print("read")

    @ttl.datamovement()
    def write():  # type: ignore[no-untyped-def]
        with ttl.signpost("to y"), x_dfb.wait() as block:
            ttl.copy(block, y[0, 0]).wait()


@ttl.operation(grid=(1, 1))
def quiet(x, y):  # type: ignore[no-untyped-def]
    x_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 1))

    @ttl.datamovement()
    def read():  # type: ignore[no-untyped-def]
        with x_dfb.reserve() as block:
            ttl.copy(x[0, 0], block).wait()

    @ttl.datamovement()
    def write():  # type: ignore[no-untyped-def]
        with x_dfb.wait() as block:
            ttl.copy(block, y[0, 0]).wait()


def tensors() -> list[Tensor]:
    device = Device()
    return [Tensor((32, 32), DataType.FLOAT32, Layout.TILE, device, i) for i in range(2)]


@pytest.fixture
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, launches: Launches) -> Iterator[Path]:
    """Where tt-metal is told to write; runs are looked at."""
    for name, text in metal_settings(tmp_path, profiles=False, environment={}).items():
        monkeypatch.setenv(name, text)
    monkeypatch.setenv("TTL_DEVICE_TIMEOUT", "5")
    monkeypatch.setattr(PROCESS_DRIVER.device, "_watch", None)
    _module().synchronize_device = lambda device: None
    yield tmp_path


def _module() -> Any:
    return sys.modules[Tensor.__module__]


def test_prints_are_shown_after_each_launch(logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = iter(["0:0-0:NC: read\n", "0:0-0:NC: read\n0:0-0:NC: aga", "in\n"])

    def finished(device: Any) -> None:
        with (logs / "printed.txt").open("a") as out:
            out.write(next(texts))

    _module().synchronize_device = finished
    talk(*tensors())
    assert capsys.readouterr().out == "(0, 0) read: read\n"
    talk(*tensors())
    assert capsys.readouterr().out == "(0, 0) read: read\n"
    finished(None)  # the print server was late
    PROCESS_DRIVER.device.show_rest()
    assert capsys.readouterr().out == "(0, 0) read: again\n"


def zones(*processors: str) -> list[str]:
    found = list(HEAD)
    for processor in processors:
        found += [
            row("1,1", processor, 100, f"{processor}-KERNEL", "START"),
            row("1,1", processor, 900, f"{processor}-KERNEL", "END"),
        ]
    found += [row("1,1", "BRISC", 200, "to_y", "START"), row("1,1", "BRISC", 300, "to_y", "END")]
    return found


def test_zones_are_in_the_trace_and_it_can_be_compared(
    logs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, text in metal_settings(logs, profiles=True, environment={}).items():
        monkeypatch.setenv(name, text)
    trace = logs / "trace.jsonl"
    monkeypatch.setenv("TTL_TRACE", str(trace))
    log = logs / "profiler/.logs/profile_log_device.csv"
    log.parent.mkdir(parents=True)

    def read_profiler(device: Any) -> None:
        names = {name for kernel in compiled() for name, _ in kernel}
        text = "\n".join(zones("BRISC", "NCRISC")) + "\n"
        log.write_text(text.replace("to_y", names.pop()))

    def compiled() -> list[Any]:
        program = next(reversed(PROCESS_DRIVER.device.programs._kept.values()))
        return [kernel.signposts for kernel in program.compiled.kernels]

    _module().ReadDeviceProfiler = read_profiler
    talk(*tensors())
    records = [json.loads(line) for line in trace.read_text().splitlines()]
    found = [(r["kind"], r["node"], r["kernel"], r["subject"]) for r in records]
    assert found == [
        ("operation_start", [], "", "talk"),
        ("kernel_start", [0, 0], "read", ""),
        ("kernel_start", [0, 0], "write", ""),
        ("signpost_begin", [0, 0], "write", "to y"),
        ("signpost_end", [0, 0], "write", "to y"),
        ("kernel_end", [0, 0], "read", ""),
        ("kernel_end", [0, 0], "write", ""),
        ("operation_end", [], "", "talk"),
    ]
    assert [r["value"] for r in records][1:-1] == [0, 0, 100, 200, 800, 800]
    begin = next(r for r in records if r["kind"] == "signpost_begin")
    assert 'ttl.signpost("to y")' in Path(__file__).read_text().splitlines()[begin["line"] - 1]


def test_a_trace_without_the_profiler_says_so(
    logs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TTL_TRACE", str(logs / "trace.jsonl"))
    quiet(*tensors())
    assert "note[TTL6013]" in capsys.readouterr().err
    assert len((logs / "trace.jsonl").read_text().splitlines()) == 2


DUMP = f"""Dump #1 at 2.000s
{core(0, 0, "CWFW,   R,   W,   W,   W")}
k_ids:  4|  3|  0|  0|  0
"""


@pytest.fixture
def hung(logs: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A device that does not answer until the test has ended."""
    released = threading.Event()
    _module().synchronize_device = lambda device: released.wait()
    monkeypatch.setenv("TTL_DEVICE_TIMEOUT", "1")
    monkeypatch.setattr("shutil.which", lambda name, path=None: None)
    yield logs
    released.set()


def test_a_launch_that_does_not_come_back(hung: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (hung / "generated/watcher").mkdir(parents=True)
    (hung / "generated/watcher/watcher.log").write_text(DUMP)
    (hung / "printed.txt").write_text("0:0-0:NC: read\n")
    with pytest.raises(ttl.KernelFault) as caught:
        talk(*tensors())
    (found,) = caught.value.diagnostics
    assert found.code is codes.DEVICE_HANG
    assert found.message == "`talk` did not end within 1 s on the device"
    assert found.notes == (
        "`write` on node (0, 0) waits for a block in a dataflow buffer (CWFW)",
        "`read` on node (0, 0) runs; the last waypoint it passed is R",
        "tt-smi is not installed: reset the device with `tt-smi -r all`",
    )
    assert found.primary is not None
    line = Path(__file__).read_text().splitlines()[found.primary.span.line - 1]
    assert "x_dfb.wait() as block" in line
    assert capsys.readouterr().out == "(0, 0) read: read\n"  # what it printed before


def test_without_the_watcher(hung: Path) -> None:
    with pytest.raises(ttl.KernelFault, match="nothing about its kernels") as caught:
        talk(*tensors())
    assert any("the watcher is on" in text for text in caught.value.diagnostics[0].helps)


def test_the_limit_of_tt_metal_is_a_hang_too(launches: Launches) -> None:
    launches.refusal = "TT_THROW @ x.cpp:1: info:\nTIMEOUT: device timeout, potential hang detected"
    with pytest.raises(ttl.KernelFault, match="`quiet` did not end on the device"):
        quiet(*tensors())


def test_errors_pass_through_the_limit(logs: Path, launches: Launches) -> None:
    launches.refusal = "info:\ntoo large"
    with pytest.raises(ttl.UsageError, match="ttnn does not run `quiet`: too large"):
        quiet(*tensors())


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ('echo "$@" > $(dirname $0)/asked', "the device was reset (`tt-smi -r 0,3`)"),
        ("exit 3", "`tt-smi -r 0,3` failed: reset the device before the next run"),
    ],
)
def test_the_device_is_reset(tmp_path: Path, script: str, said: str) -> None:
    command = tmp_path / "tt-smi"
    command.write_text(f"#!/bin/sh\n{script}\n")
    command.chmod(0o755)
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    assert hang.reset([0, 3], environment).startswith(said)
    if "asked" in script:
        assert (tmp_path / "asked").read_text() == "-r 0,3\n"


def test_a_simulated_chip_is_not_reset() -> None:
    assert "simulated" in hang.reset([0], {"TT_METAL_SIMULATOR": "x"})


def test_settings_of_the_user_stay() -> None:
    logs = Path("logs")
    own = {"TT_METAL_WATCHER": "10", "TT_METAL_DPRINT_FILE": "mine"}
    chosen = metal_settings(logs, profiles=False, environment=own)
    assert chosen == {"TT_METAL_LOGS_PATH": "logs", "TT_METAL_DPRINT_CORES": "all"}
    profiled = metal_settings(logs, profiles=True, environment={})
    assert "TT_METAL_DPRINT_CORES" not in profiled and "TT_METAL_WATCHER" not in profiled
    assert metal_settings(logs, profiles=False, environment={"TT_METAL_DEVICE_PROFILER": "1"}) == {
        "TT_METAL_LOGS_PATH": "logs"
    }


def test_interrupts_of_the_worker_are_not_lost() -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Watch({}, 5).run_limited(interrupted)

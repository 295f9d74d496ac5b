"""Sweeps on a Dask cluster of real processes: workers that die, a scheduler that is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import ttl.cli.tune
import ttl.studio.tuning.tuner
from e2e.test_explore import GOOD, HEAD, IMPATIENT
from e2e.test_tune import TUNED
from ttl.cli import main
from ttl.studio.sweep import Store

# The program tells who runs it, and with the first values waits until it may go on.
WAITING = """\
import os, pathlib, time
N = 1
pathlib.Path(f"started-{N}-{os.getppid()}").touch()
while N == 1 and not pathlib.Path("go").exists():
    time.sleep(0.05)
"""


# In a process of its own: the main module of this one changes with every program that is run.
CLUSTER = """\
import sys
from distributed import LocalCluster
with LocalCluster(
    n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
) as cluster:
    print(cluster.scheduler_address, flush=True)
    sys.stdin.read()
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    """The address of its scheduler."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-P", "-c", CLUSTER]
    started = subprocess.Popen(command, env=environment, text=True, **pipes)
    yield started.stdout.readline().strip()
    started.communicate()


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, put_back: None) -> Path:
    monkeypatch.chdir(tmp_path)
    for module in (ttl.studio.tuning.tuner, ttl.cli.tune):
        monkeypatch.setattr(module, "store", lambda now: Store(tmp_path / "store"))
    return tmp_path


def program(folder: Path, text: str) -> str:
    (folder / "program.py").write_text(text)
    return str(folder / "program.py")


def waiting(folder: Path) -> str:
    """It marks its starts in this folder, wherever it is run."""
    text = WAITING.replace("pathlib.Path(", f"pathlib.Path({str(folder)!r}, ")
    return program(folder, text + TUNED)


def wait_for(found: Callable[[], Any]) -> Any:
    while not (result := found()):
        time.sleep(0.05)
    return result


def starts(folder: Path, value: int = 1) -> dict[int, Path]:
    """Processes of workers that run a trial with this value."""
    return {int(file.name.rpartition("-")[2]): file for file in folder.glob(f"started-{value}-*")}


def test_a_worker_that_dies_is_replaced(
    cluster: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = waiting(folder)

    def kill() -> None:
        killed = next(iter(wait_for(lambda: starts(folder))))
        os.kill(killed, signal.SIGKILL)
        wait_for(lambda: set(starts(folder)) - {killed})  # the trial was given to another one
        (folder / "go").touch()

    killer = threading.Thread(target=kill)
    killer.start()
    status = main(["tune", "--json", "--no-check", "--scheduler", cluster, "-D", "N=1,2", file])
    killer.join()
    (found,) = json.loads(capsys.readouterr().out)
    assert status == 0 and found["trials"] == 2 and found["from_disk"] == 0
    assert all("microseconds" in each for each in found["configurations"]), found


@pytest.mark.full
def test_tuned_calls_go_to_the_workers(
    cluster: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every trial executes the program up to the call."""
    where = ["--scheduler", cluster]
    assert main(["tune", "--json", *where, program(folder, TUNED)]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found["operation"] == "twice" and found["trials"] == 3
    assert found["configurations"][0]["values"] == {"block": 2}
    assert "wrong result" in found["configurations"][2]["problem"]


@pytest.mark.full
def test_schedules_go_to_the_workers(
    cluster: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = ["--schedules", "3", "--scheduler", cluster]
    assert main(["explore", *where, program(folder, HEAD + GOOD)]) == 0
    assert capsys.readouterr().out.startswith("3 schedules of 1 call: no race")
    assert main(["explore", *where, program(folder, HEAD + IMPATIENT)]) == 1
    assert "depends on the schedule" in capsys.readouterr().err


def test_a_worker_of_another_version_is_refused(
    cluster: str, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Here it is another one than there, where the function has its own name.
    monkeypatch.setattr("ttl.studio.sweep.cluster.own_version", lambda: "another")
    assert main(["tune", "--scheduler", cluster, program(folder, TUNED)]) == 1
    assert "does not have this version of pyttlang" in capsys.readouterr().err


def dask(name: str, *arguments: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-P", "-m", f"distributed.cli.dask_{name}", *arguments]
    paths = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return subprocess.Popen(command, env={**os.environ, **paths}, **quiet)


def address_in(file: Path) -> str:
    def read() -> str:
        try:
            return str(json.loads(file.read_text())["address"])
        except (OSError, ValueError):
            return ""

    return str(wait_for(read))


@pytest.mark.full
def test_after_a_scheduler_was_killed_a_second_start_goes_on(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = waiting(folder)
    choice = ["tune", "--json", "--no-check", "-D", "N=2,1"]
    options = ("--host", "127.0.0.1", "--port", "0", "--no-dashboard")
    scheduler = dask("scheduler", *options, "--scheduler-file", str(folder / "dask.json"))
    address = address_in(folder / "dask.json")
    worker = dask("worker", address, "--nthreads", "1", "--no-dashboard", "--no-nanny")

    def kill() -> None:
        wait_for(lambda: list((folder / "store").glob("*.json")) and starts(folder))
        scheduler.kill()

    killer = threading.Thread(target=kill)
    try:
        wait_for(lambda: _has_worker(address))
        killer.start()
        assert main([*choice, "--scheduler", address, file]) == 1
        (found,) = map(json.loads, capsys.readouterr().err.splitlines())
        assert found["code"] == "TTL6030"
        assert found["message"] == f"the scheduler at {address} was lost"
    finally:
        (folder / "go").touch()
        killer.join()
        for process in (scheduler, worker):
            process.kill()
            process.wait()
    assert main([*choice, file]) == 0  # on this machine, this time
    (found,) = json.loads(capsys.readouterr().out)
    assert found["from_disk"] == 1 and len(starts(folder, 2)) == 1
    assert all("microseconds" in each for each in found["configurations"])


def _has_worker(address: str) -> bool:
    from distributed import Client

    with Client(address, set_as_default=False) as client:
        return bool(client.scheduler_info()["workers"])

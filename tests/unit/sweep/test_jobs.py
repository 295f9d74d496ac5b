"""Jobs in processes: results, crashes, programs that travel, and sweeps that go on."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from ttl.studio.sweep import (
    CRASHED,
    Job,
    Store,
    Task,
    forked,
    perform,
    program_files,
    run_job,
    sweep,
)
from ttl.studio.sweep.local import limited, may_fork, on_cores


def test_forks_give_results_as_they_are_done() -> None:
    found = dict(forked(lambda item: {"pid": os.getpid(), "twice": 2 * item}, [1, 2, 3], 2))
    assert [found[number]["twice"] for number in range(3)] == [2, 4, 6]
    assert len({each["pid"] for each in found.values()} | {os.getpid()}) == 4


def test_a_fork_that_dies_is_a_result_too() -> None:
    def call(item: int) -> dict[str, Any]:
        if item == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        if item == 2:
            raise RuntimeError("no result")
        return {"item": item}

    found = dict(forked(call, [0, 1, 2, 3], 2))
    assert found[0] == {"item": 0} and found[3] == {"item": 3}
    assert found[1] == {CRASHED: "its process ended with signal 9"}
    assert found[2] == {CRASHED: "its process ended with status 1"}


def test_a_fork_that_does_not_end_is_a_result_too() -> None:
    def call(item: int) -> dict[str, Any]:
        while item:
            pass
        return {}

    found = dict(forked(partial(limited, call, seconds=1), [0, 1], 2))
    assert found == {0: {}, 1: {CRASHED: "it takes more than 1 s of CPU: does it end?"}}


def test_forks_end_when_nobody_wants_them(tmp_path: Path) -> None:
    def call(item: int) -> dict[str, Any]:
        if item:
            (tmp_path / str(os.getpid())).touch()
            signal.pause()
        while not list(tmp_path.iterdir()):
            pass
        return {}

    running = forked(call, [0, 1], 2)
    next(running)
    running.close()  # type: ignore[attr-defined]
    (pid,) = (int(each.name) for each in tmp_path.iterdir())
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


PROGRAM = "from beside import SIZE\nfrom inside.deep import x\nN = SIZE\n"


@pytest.fixture
def program(tmp_path: Path) -> Path:
    (tmp_path / "inside").mkdir()
    for name, text in {
        "p.py": PROGRAM,
        "beside.py": "import inside\nSIZE = 3\n",
        "inside/__init__.py": "",
        "inside/deep.py": "x = 1\n",
        "other.py": "not imported\n",
    }.items():
        (tmp_path / name).write_text(text)
    return tmp_path / "p.py"


def test_a_program_is_its_file_and_what_it_imports_from_beside_it(program: Path) -> None:
    found = program_files(program)
    assert sorted(found) == ["beside.py", "inside/__init__.py", "inside/deep.py", "p.py"]
    assert found["p.py"] == PROGRAM
    assert program_files(program.parent / "none.py") == {}


def job(program: Path) -> Job:
    values = {"arguments": [], "defines": {}, "variables": {}, "costs": None, "checks": False}
    files = program_files(program)
    return Job("ttl.cli.trials:try_program", values, str(program), files)


@pytest.mark.parametrize("is_there", [True, False])
def test_a_program_travels_where_it_is_not(
    program: Path, is_there: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = job(program)
    if not is_there:
        for file in (*program.parent.glob("*.py"), *program.parent.glob("*/*.py")):
            file.unlink()
    result = run_job(sent)
    assert result["problem"] == "it calls no operation", "it was executed to its end"


def test_only_functions_of_pyttlang_are_called() -> None:
    with pytest.raises(ValueError, match="no function of pyttlang"):
        perform(Job("os:getpid", {}))


def test_a_process_that_fails_is_a_result() -> None:
    found = run_job(Job("ttl.studio.sweep.store:no_such_function", {}))
    assert "status 1: AttributeError" in found[CRASHED]


def test_jobs_on_cores_have_their_numbers(program: Path) -> None:
    found = dict(on_cores([job(program), Job("ttl.studio.sweep.store:none", {})], 2))
    assert found[0]["problem"] == "it calls no operation" and CRASHED in found[1]


def test_a_sweep_goes_on_where_it_was_interrupted(tmp_path: Path) -> None:
    store, ran = Store(tmp_path), []
    tasks = [Task(number, f"key{number}") for number in range(4)]

    def run(items: Sequence[int], limit: int = 2) -> Iterator[tuple[int, dict[str, Any]]]:
        for place, item in enumerate(items):
            if len(ran) == limit:
                raise KeyboardInterrupt
            ran.append(item)
            yield place, {"item": item}

    with pytest.raises(KeyboardInterrupt):
        sweep(tasks, run, store)
    assert ran == [0, 1]
    results = sweep(tasks, lambda items: run(items, 99), store)
    assert ran == [0, 1, 2, 3] and results == [{"item": number} for number in range(4)]
    sweep(tasks, lambda items: run(items, 99), store)
    assert ran == [0, 1, 2, 3], "nothing is left to do"
    sweep(tasks, lambda items: run(items, 99), store, anew=True)
    assert ran == [0, 1, 2, 3, 0, 1, 2, 3]


def test_what_crashed_is_tried_again(tmp_path: Path) -> None:
    store, tasks = Store(tmp_path), [Task("job", "key")]
    assert sweep(tasks, lambda items: iter([(0, {CRASHED: "x"})]), store) == [{CRASHED: "x"}]
    assert sweep(tasks, lambda items: iter([(0, {"y": 1})]), store) == [{"y": 1}]


def test_a_bar_is_shown_on_a_terminal_only(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tasks = [Task(1), Task(2)]
    run = lambda items: ((n, {}) for n, _ in enumerate(items))  # noqa: E731
    sweep(tasks, run, text="things")
    assert capsys.readouterr() == ("", "")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    sweep(tasks, run, text="things")
    assert "things" in capsys.readouterr().err


def test_nothing_is_forked_beside_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threading, "active_count", lambda: 1)
    monkeypatch.delitem(sys.modules, "jax", raising=False)
    assert may_fork()
    monkeypatch.setattr(threading, "active_count", lambda: 2)
    assert not may_fork()
    monkeypatch.setattr(threading, "active_count", lambda: 1)
    monkeypatch.setitem(sys.modules, "jax", None)
    assert not may_fork()

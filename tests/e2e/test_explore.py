"""ttl explore, and reports that say how to see them again."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from e2e.conftest import Run
from ttl.cli import main

HEAD = """
import numpy as np
import ttnn

import ttl

device = ttnn.open_device(device_id=0)
a = ttl.from_numpy(np.arange(4096).reshape(32, 128), dtype=ttnn.float32, device=device)
y = ttnn.zeros_like(a)
"""

GOOD = """
@ttl.operation(grid=(4, 1))
def shift(a, y):
    dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=2)

    @ttl.datamovement()
    def read():
        with dfb.reserve() as block:
            ttl.copy(a[0, ttl.node(dims=1)], block).wait()

    @ttl.datamovement()
    def write():
        with dfb.wait() as block:
            ttl.copy(block, y[0, ttl.node(dims=1)]).wait()


shift(a, y)
print("done")
"""

# How often the loop asks depends on who is faster, and its result on how often it asks.
IMPATIENT = """
@ttl.operation(grid=(1, 1))
def impatient(a, y):
    dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=2)

    @ttl.datamovement()
    def read():
        with dfb.reserve() as block:
            ttl.copy(a[0, 0], block).wait()

    @ttl.datamovement()
    def write():
        asked = 0
        while not dfb.can_wait():
            asked += 1
        with dfb.wait() as block:
            ttl.copy(block, y[0, min(asked, 3)]).wait()


impatient(a, y)
"""

RACE = GOOD.replace("y[0, ttl.node(dims=1)]", "y[0, 0]")


@pytest.fixture
def explore(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, put_back
):
    monkeypatch.chdir(tmp_path)
    for variable in ("TTL_SEED", "TTL_STRICT"):
        monkeypatch.setenv(variable, "")

    def run(source: str, *arguments: str, verb: str = "explore"):
        Path("program.py").write_text(HEAD + source)
        status = main([verb, *arguments, "program.py"])
        return status, *capsys.readouterr()

    return run


def test_a_program_whose_result_is_always_the_same(explore) -> None:
    status, out, _ = explore(GOOD, "--schedules", "7")
    assert status == 0
    assert out == "7 schedules of 1 call: no race, and the same results in all of them\n"


def test_a_result_that_depends_on_the_schedule(explore) -> None:
    status, out, err = explore(IMPATIENT)
    assert (status, out) == (1, "")
    assert "error[TTL5008]: `y` of `impatient` (call 1) depends on the schedule: element" in err
    (command,) = [line for line in err.splitlines() if "to repeat it: " in line]
    assert command.strip().startswith("= to repeat it: ttl run --seed ")
    assert command.endswith(" program.py")
    assert "src/ttl" not in err


def test_a_race_ends_the_search(explore) -> None:
    status, _, err = explore(RACE)
    assert status == 1
    assert "error[TTL5005]: race: tile (0, 0) of `y` is written on node" in err
    assert "= to repeat it: ttl run program.py" in err  # found without any seed


def test_a_report_with_a_seed_says_how_to_repeat_it(explore) -> None:
    status, _, err = explore(RACE, "--seed", "3", "--strict", verb="run")
    assert status == 1
    assert "= to repeat it: ttl run --strict --seed 3 program.py" in err
    assert explore(RACE, "--seed", "3", "--strict", verb="run")[2] == err


def test_a_program_that_fails_is_not_explored(run: Run, tmp_path: Path) -> None:
    for text, said in (("1 / 0\n", "ZeroDivisionError"), ("def f(:\n", "SyntaxError")):
        (tmp_path / "program.py").write_text(text)
        done = run("ttl", "explore", "program.py")
        assert done.returncode == 1
        assert said in done.stderr
        assert "ttl: the program failed; to repeat it: ttl run program.py" in done.stderr


def test_a_program_without_operations_is_not_explored(run: Run, tmp_path: Path) -> None:
    """Nor one whose operations are only compiled, as those of models are."""
    (tmp_path / "program.py").write_text("import sys\nsys.exit(0)\n")
    done = run("ttl", "explore", "program.py")
    assert done.returncode == 1
    assert "calls no operation on the simulator; nothing was explored" in done.stderr
    (tmp_path / "program.py").write_text(COMPILED)
    done = run("ttl", "explore", "program.py")
    assert done.returncode == 1
    assert "calls no operation on the simulator; nothing was explored" in done.stderr


COMPILED = """
import ttl
from ttl.driver.specs import TensorSpec, compile_from_spec
from ttl.semantics.dtypes import bfloat16


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


compile_from_spec(move, [TensorSpec((32, 32), bfloat16)] * 2)
"""


@pytest.mark.parametrize(("source", "status"), [(GOOD, 0), (IMPATIENT, 1)])
def test_schedules_are_divided_among_processes(tmp_path: Path, source: str, status: int) -> None:
    """In a process without other threads, which forks; what is found is the same."""
    (tmp_path / "program.py").write_text(HEAD + source)
    found = [explored(tmp_path, "-j", jobs) for jobs in ("1", "3")]
    assert [each.returncode for each in found] == [status, status], found
    assert (found[0].stdout, found[0].stderr) == (found[1].stdout, found[1].stderr)


def explored(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """What a process of its own finds about program.py."""
    main_of = "import sys; from ttl.cli import main; sys.exit(main())"
    clean = {name: text for name, text in os.environ.items() if not name.startswith("TTL")}
    clean["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    return subprocess.run(
        [sys.executable, "-P", "-c", main_of, "explore", *options, "program.py"],
        capture_output=True,
        text=True,
        cwd=folder,
        env=clean,
        check=False,
    )


def test_all_calls_of_a_new_process_are_compared(tmp_path: Path) -> None:
    """The first call loads the driver, which must not take the place of who looks at calls."""
    (tmp_path / "program.py").write_text(HEAD + GOOD + "shift(a, y)\n")
    done = explored(tmp_path, "--schedules", "1")
    assert "1 schedules of 2 calls: no race" in done.stdout, done

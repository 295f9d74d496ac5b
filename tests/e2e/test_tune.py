"""`ttl tune` on the command line, and a program that tunes by itself."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import ttl.cli.tune
import ttl.studio.tuning.tuner
from ttl.cli import main
from ttl.studio.sweep import Store
from ttl.target.costs import load_costs

PROGRAM = """\
import numpy as np
import ttnn
import ttl

TILES = 8
BLOCKS = 2


{decorator}@ttl.operation(grid=(1, 1))
def twice(x, y, block=1):
    x_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, block), block_count=BLOCKS)
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, block), block_count=BLOCKS)

    @ttl.compute()
    def compute():
        for _ in range(TILES // block):
            with x_dfb.wait() as x_blk, y_dfb.reserve() as y_blk:
                y_blk.store(x_blk + x_blk)

    @ttl.datamovement()
    def read():
        for i in range(TILES // block):
            with x_dfb.reserve() as x_blk:
                x_copy = ttl.copy(x[0:1, i * block : (i + 1) * block], x_blk)
                x_copy.wait()

    @ttl.datamovement()
    def write():
        for i in range(TILES // block):
            with y_dfb.wait() as y_blk:
                y_copy = ttl.copy(y_blk, y[0:1, i * block : (i + 1) * block])
                y_copy.wait()


device = ttnn.open_device(device_id=0)
x = ttl.from_numpy(np.arange(8192).reshape(32, 256) % 50, dtype=ttnn.bfloat16, device=device)
y = ttnn.zeros_like(x)
twice(x, y)
assert (ttl.to_numpy(y) == 2 * ttl.to_numpy(x)).all(), "wrong"
print("right")
"""
PLAIN = PROGRAM.format(decorator="")
TUNED = PROGRAM.format(decorator='@ttl.autotune(ttl.Config(block=ttl.choice(1, 2, 3)), key="x")\n')


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, put_back: None) -> Path:
    """Programs here, and results of this test only."""
    monkeypatch.chdir(tmp_path)
    for module in (ttl.studio.tuning.tuner, ttl.cli.tune):
        monkeypatch.setattr(module, "store", lambda now: Store(tmp_path / "store"))
    (tmp_path / "plain.py").write_text(PLAIN)
    (tmp_path / "tuned.py").write_text(TUNED)
    return tmp_path


def rows(capsys: pytest.CaptureFixture[str]) -> Any:
    (found,) = json.loads(capsys.readouterr().out)
    return found


def test_constants_are_ranked_and_what_cannot_be_used_has_its_reason(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    choice = ["-D", "BLOCKS=1,2,4000", "-D", "TILES=8,4", "-j", "2"]
    assert main(["tune", "--json", *choice, "plain.py"]) == 0
    found = rows(capsys)
    assert found["operation"] == "plain.py" and found["trials"] == 6 and found["from_disk"] == 0
    first, second, *others = found["configurations"]
    assert first["values"] == {"BLOCKS": 2, "TILES": 8}
    assert second["values"] == {"BLOCKS": 1, "TILES": 8}
    assert first["microseconds"]["typical"] < second["microseconds"]["typical"]
    problems = [(each["values"]["TILES"], each["problem"]) for each in others]
    assert [each for each in problems if each[1] == "AssertionError: wrong"] == [
        (4, "AssertionError: wrong")
    ] * 2
    assert sum("bytes of L1" in problem for _, problem in problems) == 2

    assert main(["tune", *choice, "plain.py"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("plain.py: 6 trials in ") and "6 known from before" in shown

    (folder / "plain.py").write_text(f"{PLAIN}# edited\n")
    assert main(["tune", "--json", "--no-check", "-D", "TILES=8,4", "plain.py"]) == 0
    found = rows(capsys)
    assert found["from_disk"] == 0 and found["configurations"][0]["values"] == {"TILES": 4}


def test_another_problem_size_is_no_wrong_result(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sized = PLAIN.replace("np.arange(8192).reshape(32, 256)", "np.ones((32, 32 * TILES))")
    (folder / "sized.py").write_text(sized)
    assert main(["tune", "--json", "-D", "TILES=8,16", "-D", "BLOCKS=1,2", "sized.py"]) == 0
    found = rows(capsys)["configurations"]
    assert sorted(each.get("problem", "") for each in found) == [
        "",
        "",
        *["another problem size: `y` is 32x512, with the first 32x256"] * 2,
    ]
    assert all(each["values"]["TILES"] == 8 for each in found if "problem" not in each)


def test_a_program_that_exits_with_its_verdict_is_tuned(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = TUNED.partition("assert")[0] + "print('results differ')\nraise SystemExit(1)\n"
    (folder / "tuned.py").write_text(text)
    assert main(["tune", "--grid", "2,2", "tuned.py"]) == 0
    out, errors = capsys.readouterr()
    assert out.startswith("twice(x=32x256): 3 trials in ") and "Traceback" not in errors
    assert "held back 1 line that tuned.py printed: ttl tune computes no results" in errors
    assert errors.endswith("to check them: ttl run --grid 2,2 tuned.py\n")


def test_a_program_without_a_tuned_operation_ends_without_a_traceback(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["tune", "plain.py"]) == 1
    out, errors = capsys.readouterr()
    assert out == "" and "Traceback" not in errors
    assert "plain.py stopped at line 39 (AssertionError: wrong): checks of results fail" in errors
    assert "error[TTL6019]: plain.py calls no operation with @ttl.autotune" in errors


@pytest.mark.sampled(1)
@pytest.mark.parametrize("numbers", ["rand(32, 256)", "default_rng().random((32, 256))"])
def test_every_trial_has_the_same_random_numbers(
    numbers: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = PLAIN.replace("np.arange(8192).reshape(32, 256) % 50", f"np.random.{numbers}")
    (folder / "plain.py").write_text(program)
    assert main(["tune", "--json", "-D", "BLOCKS=1,2", "-j", "2", "plain.py"]) == 0
    assert all("microseconds" in each for each in rows(capsys)["configurations"])


def test_tuned_operations_are_found_and_reported(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["tune", "--report", "out", "tuned.py"]) == 0
    shown, errors = capsys.readouterr()
    lines = shown.splitlines()
    assert lines[0].startswith("twice(x=32x256): 3 trials in ")
    assert lines[1].endswith("block=2") and lines[2].endswith("block=1")
    assert lines[3].startswith("left out") and "block=3: wrong result: `y` differs" in lines[3]
    assert "Traceback" not in errors
    assert "tuned.py stopped at line 40 (AssertionError: wrong): checks of results fail" in errors
    assert sorted(each.name for each in (folder / "out").iterdir()) == [
        "tuning.html",
        "twice.png",
        "twice.svg",
    ]


def test_a_program_tunes_itself_on_all_cores_and_remembers(folder: Path) -> None:
    """In a process of its own, which has no other threads and forks."""
    (folder / "loud.py").write_text(f"{TUNED}print(twice.tune(x, y).headline)\n")
    (folder / "run.py").write_text(
        "import sys, ttl.studio.tuning.tuner as t, ttl.cli, ttl.studio.sweep\n"
        "t.store = lambda now: ttl.studio.sweep.Store(__import__('pathlib').Path('store'))\n"
        "sys.exit(ttl.cli.main(sys.argv[1:]))\n"
    )
    paths = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    for known in ("times estimated", "3 known from before"):
        done = subprocess.run(
            [sys.executable, "-P", "run.py", "run", "loud.py"],
            capture_output=True,
            text=True,
            env={**os.environ, **paths},
            check=False,
        )
        assert done.returncode == 0, done.stderr
        first, second = done.stdout.splitlines()
        assert first == "right" and known in second and "3 trials in " in second


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["plain.py"], "plain.py calls no operation with @ttl.autotune"),
        (["none.py"], "none.py: No such file"),
        (["-D", "BLOCKS=1", "none.py"], "none.py: No such file"),
        (["--costs", "none.json", "tuned.py"], "none.json"),
        (["--scheduler", "tcp://127.0.0.1:1", "tuned.py"], "error[TTL6030]: --scheduler tcp://"),
        (["--scheduler", "nowhere", "tuned.py"], "error[TTL6030]: --scheduler nowhere"),
    ],
)
def test_what_is_wrong_is_reported(
    arguments: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("ttl.studio.sweep.cluster.CONNECT_SECONDS", 0.5)
    assert main(["tune", *arguments]) == 1
    assert message in capsys.readouterr().err


def test_a_name_that_is_not_assigned_is_the_reason_of_every_trial(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["tune", "-D", "NONE=1", "plain.py"]) == 1
    assert "-D NONE: plain.py does not assign it" in capsys.readouterr().out


def test_costs_of_another_chip_are_refused(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "costs.json").write_text(json.dumps(load_costs("blackhole")))
    assert main(["tune", "--costs", "costs.json", "tuned.py"]) == 1
    assert "has the costs of blackhole, not of wormhole_b0" in capsys.readouterr().err


def test_without_dask_the_extra_is_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert main(["tune", "--scheduler", "tcp://127.0.0.1:1", "tuned.py"]) == 1
    assert "pip install '.[cluster]'" in capsys.readouterr().err


def test_no_configuration_left_is_status_1(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "none_left.py").write_text(TUNED.replace("choice(1, 2, 3)", "choice(4000)"))
    assert main(["tune", "none_left.py"]) == 1
    shown, errors = capsys.readouterr()
    assert "left out" in shown and "error[TTL1032]: the only configuration" in errors


PAGE = Path(__file__).parents[2] / "docs" / "howto" / "tuning.md"


@pytest.mark.full
def test_the_program_of_the_page_is_tuned_as_the_page_shows(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = PAGE.read_text(encoding="utf-8")
    (folder / "matmul.py").write_text(text.partition("```python\n")[2].partition("```")[0])
    table = text.partition("$ ttl tune matmul.py\n")[2].partition("```")[0].splitlines()
    assert main(["tune", "matmul.py"]) == 0
    shown = capsys.readouterr().out.splitlines()
    configs = [[line.rpartition(")")[2].strip() for line in lines[1:]] for lines in (shown, table)]
    assert configs[0] == configs[1]
    assert shown[0].startswith("matmul(a=512x512, b=512x512): 4 trials in ")


def test_values_are_wanted() -> None:
    with pytest.raises(SystemExit):
        main(["tune", "-D", "BLOCKS", "x.py"])


def test_one_process_is_the_least(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["tune", "-j", "-3", "x.py"])
    assert "'-3': there must be one process or more" in capsys.readouterr().err

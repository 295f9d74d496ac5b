"""`ttl estimate` on the command line."""

from __future__ import annotations

import io
import json
import linecache
import sys
from pathlib import Path

import pytest

from ttl.cli import main
from ttl.target.costs import load_costs

PROGRAM = """\
import ttnn
import ttl

TILES = 4


@ttl.operation(grid=(1, 1))
def twice(x, y):
    x_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 1), block_count=2)
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1), block_count=2)

    @ttl.compute()
    def compute():
        for _ in range(TILES):
            with x_dfb.wait() as x_blk, y_dfb.reserve() as y_blk:
                y_blk.store(x_blk + x_blk)

    @ttl.datamovement()
    def read():
        for i in range(TILES):
            with x_dfb.reserve() as x_blk:
                x_copy = ttl.copy(x[0:1, i : i + 1], x_blk)
                x_copy.wait()

    @ttl.datamovement()
    def write():
        for i in range(TILES):
            with y_dfb.wait() as y_blk:
                y_copy = ttl.copy(y_blk, y[0:1, i : i + 1])
                y_copy.wait()


device = ttnn.open_device(device_id=0)
x, y = (
    ttnn.ones((32, 32 * TILES), dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device)
    for _ in range(2)
)
twice(x, y)
print("ended")
assert (ttl.to_numpy(y) == 2).all(), "computes nothing here"
"""


@pytest.fixture
def program(tmp_path: Path) -> str:
    file = tmp_path / "twice.py"
    file.write_text(PROGRAM)
    return str(file)


def test_what_the_program_says_about_its_results_is_held_back(
    program: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["estimate", program]) == 0
    shown = capsys.readouterr()
    assert shown.out.startswith("twice on 1 nodes of wormhole_b0\n  time ")
    held, stopped = shown.err.splitlines()
    assert held == "ttl: held back 1 line that twice.py printed: ttl estimate computes no results"
    assert stopped == (
        "ttl: twice.py stopped at line 40 (AssertionError: computes nothing here): checks of "
        f"results fail where nothing is computed; to check them: ttl run {program}"
    )


def test_a_program_that_exits_with_its_verdict_is_estimated(
    program: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = PROGRAM.partition("assert")[0] + "import sys\nsys.exit({!r})\n"
    for end, shown in (("results differ", "results differ"), (3, "exit status 3")):
        Path(program).write_text(text.format(end))
        assert main(["estimate", "--target", "bh", program]) == 0
        out, errors = capsys.readouterr()
        assert out.startswith("twice on 1 nodes of blackhole\n") and "Traceback" not in errors
        assert f"twice.py stopped at line 41 ({shown}): " in errors
        assert errors.endswith(f"to check them: ttl run --target blackhole {program}\n")


def test_a_program_that_fails_before_it_calls_an_operation_shows_how(
    program: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(program).write_text("print('begun')\n1 / 0\n")
    assert main(["estimate", program]) == 1
    out, errors = capsys.readouterr()
    assert out == "begun\n" and "ZeroDivisionError" in errors
    assert "calls no operation; there is no estimate" in errors


def test_a_program_from_standard_input_is_estimated(
    put_back: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(PROGRAM))
    monkeypatch.delitem(linecache.cache, "<stdin>", raising=False)
    assert main(["estimate", "-"]) == 0
    out, errors = capsys.readouterr()
    assert out.startswith("twice on 1 nodes") and "Traceback" not in errors
    assert "ttl: <stdin> stopped at line 40 (AssertionError" in errors


def test_json_has_the_numbers_and_options_change_them(
    program: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["estimate", "--json", "-D", "TILES=8", "--target", "blackhole", program]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found["operation"] == "twice" and found["chip"] == "blackhole"
    assert found["read_bytes"] == 8 * 2048
    times = found["microseconds"]
    assert 0 < times["best"] <= times["typical"] <= times["worst"]


def test_a_cost_file_replaces_that_of_the_chip(
    program: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    costs = json.loads(json.dumps(load_costs("wormhole_b0")))
    costs["clock_ghz"] = {"value": 0.001, "source": "a test"}
    file = tmp_path / "costs.json"
    file.write_text(json.dumps(costs))
    assert main(["estimate", "--json", "--costs", str(file), program]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert main(["estimate", "--target", "blackhole", "--costs", str(file), program]) == 1
    assert "has the costs of wormhole_b0, not of blackhole" in capsys.readouterr().err
    assert found["clock_ghz"] == 0.001 and found["microseconds"]["typical"] > 1000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-D", "ROWS=8"], "-D ROWS: "),
        (["--costs", "none.json"], "none.json"),
    ],
)
def test_what_is_wrong_is_reported(
    program: str, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["estimate", *arguments, program]) == 1
    assert message in capsys.readouterr().err


def test_a_wrong_cost_file_is_reported(
    program: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "costs.json"
    file.write_text("{}")
    assert main(["estimate", "--costs", str(file), program]) == 1
    assert "clock_ghz is missing" in capsys.readouterr().err


def test_a_program_without_operations_has_no_estimate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "nothing.py"
    file.write_text("x = 1\n")
    assert main(["estimate", str(file)]) == 1
    assert "calls no operation" in capsys.readouterr().err


BLOCKS = """\
import ttnn
import ttl

BLOCK = 1
TILES = 64


@ttl.operation(grid=(1, 1))
def copied(x, y):
    dfb = ttl.make_dataflow_buffer_like(x, shape=(1, BLOCK), block_count=2)
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, BLOCK), block_count=2)

    @ttl.compute()
    def compute():
        for _ in range(TILES // BLOCK):
            with dfb.wait() as blk, y_dfb.reserve() as y_blk:
                y_blk.store(blk + blk)

    @ttl.datamovement()
    def read():
        for i in range(0, TILES, BLOCK):
            with dfb.reserve() as blk:
                x_copy = ttl.copy(x[0:1, i : i + BLOCK], blk)
                x_copy.wait()

    @ttl.datamovement()
    def write():
        for i in range(0, TILES, BLOCK):
            with y_dfb.wait() as blk:
                y_copy = ttl.copy(blk, y[0:1, i : i + BLOCK])
                y_copy.wait()


device = ttnn.open_device(device_id=0)
x, y = (
    ttnn.ones((32, 2048), dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device)
    for _ in range(2)
)
copied(x, y)
"""


def test_larger_blocks_are_tried_and_proposed_with_the_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "blocks.py"
    file.write_text(BLOCKS)
    assert main(["estimate", str(file)]) == 0
    shown = capsys.readouterr().out
    (line,) = [each for each in shown.splitlines() if "BLOCK=2 (now 1)" in each]
    assert "waits" in line and "for the barrier in line" in line and "saves" in line
    assert main(["estimate", "--json", "--trials", "1", "-D", "BLOCK=2", str(file)]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert any(change["what"].startswith("BLOCK=4 (now 2)") for change in found["changes"])


def test_a_constant_that_changes_the_work_is_not_proposed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Half as many tiles would look twice as fast."""
    file = tmp_path / "tiles.py"
    text = BLOCKS.replace("shape=(1, BLOCK)", "shape=(1, TILES // 64)")
    file.write_text(text)
    assert main(["estimate", "--trials", "2", str(file)]) == 0
    assert "TILES=" not in capsys.readouterr().out

"""The chip of a run, chosen on the command line: programs for grids that only some chips have."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from ttl.artifact import read_folder
from ttl.cli import main
from ttl.config import Config
from ttl.studio.lsp.calls import record_of
from ttl.studio.lsp.worker import look

PROGRAM = """\
import numpy as np
import ttnn
import ttl

COLUMNS, ROWS = {columns}, {rows}


@ttl.operation(grid=(COLUMNS, ROWS))
def double(x, y):
    x_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 1))
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))

    @ttl.compute()
    def compute():
        with x_dfb.wait() as x_blk, y_dfb.reserve() as y_blk:
            y_blk.store(x_blk + x_blk)

    @ttl.datamovement()
    def read():
        column, row = ttl.node(dims=2)
        with x_dfb.reserve() as x_blk:
            ttl.copy(x[row, column], x_blk).wait()

    @ttl.datamovement()
    def write():
        column, row = ttl.node(dims=2)
        with y_dfb.wait() as y_blk:
            ttl.copy(y_blk, y[row, column]).wait()


device = ttnn.open_device(device_id=0)
print("device", device.core_grid.x, device.core_grid.y)
values = np.arange(1024 * ROWS * COLUMNS).reshape(32 * ROWS, 32 * COLUMNS) % 128
x = ttl.from_numpy(values.astype(np.float32), dtype=ttnn.bfloat16, device=device)
y = ttnn.zeros_like(x)
double(x, y)
print("right:", (ttl.to_numpy(y) == 2 * values).all())
"""
GRIDS = {"13x10": (13, 10), "8x9": (8, 9), "9x9": (9, 9), "20x2": (20, 2), "30x1": (30, 1)}
HAS_IT = {"13x10": "blackhole", "8x9": "wormhole_b0_full", "9x9": "blackhole"}
WAYS = {"simulated": ["run"], "compiled": ["run", "--host"]}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, put_back: None) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, (columns, rows) in GRIDS.items():
        (tmp_path / f"{name}.py").write_text(PROGRAM.format(columns=columns, rows=rows))
    return tmp_path


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("target", "name"),
    [("blackhole", "13x10"), ("bh", "13x10"), ("wormhole_b0_full", "8x9"), ("bh", "9x9")],
)
def test_a_chip_that_has_the_grid_runs_it(
    way: str, target: str, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*WAYS[way], "--target", target, f"{name}.py"]) == 0
    device = "8 9" if target == "wormhole_b0_full" else "13 10"
    assert capsys.readouterr().out == f"device {device}\nright: True\n"


@pytest.mark.parametrize("way", [*WAYS.values(), ["run", "--strict"], ["check"]], ids=shlex.join)
@pytest.mark.parametrize("name", HAS_IT)
def test_without_it_the_message_says_what_to_pass(run: Any, way: list[str], name: str) -> None:
    """And what it says works."""
    done = run("ttl", *way, f"{name}.py")
    assert done.returncode == 1
    shown = done.stderr
    columns, rows = GRIDS[name]
    assert f"error[TTL4003]: double asks for a grid of ({columns}, {rows}), the device" in shown
    assert f"pass --target {HAS_IT[name]}, or set TTL_TARGET={HAS_IT[name]}: its grid" in shown
    options = re.findall(r"pass (--\w+ \S+?),? ", shown)
    assert [option.split()[0] for option in options] == ["--target", "--grid"]
    for option in options:
        done = run("ttl", *way, *option.split(), f"{name}.py")
        assert done.returncode == 0 and "right: True" in done.stdout, done.stderr


@pytest.mark.parametrize(("name", "grid"), [("20x2", "10,20"), ("30x1", "10,30")])
def test_a_grid_that_no_chip_has_can_be_simulated(
    name: str, grid: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "--target", "bh", f"{name}.py"]) == 1
    shown = capsys.readouterr().err
    assert 'use a smaller grid, or grid="auto"; the largest is (13, 10), with --target' in shown
    assert f"or pass --grid {grid} (rows, columns) to simulate" in shown
    assert main(["run", "--grid", grid, f"{name}.py"]) == 0
    assert capsys.readouterr().out.endswith("right: True\n")


FOR_THE_CHIP = {
    "compile": ["compile", "-o", "out"],
    "estimate": ["estimate"],
    "times": ["run", "--trace", "out.jsonl", "--times"],
}


@pytest.mark.parametrize("way", FOR_THE_CHIP)
def test_nodes_that_are_only_simulated_have_no_artifact_and_no_estimate(
    way: str, run: Any, here: Path
) -> None:
    line = FOR_THE_CHIP[way]
    done = run("ttl", *line, "--grid", "10,13", "13x10.py")
    assert done.returncode == 1 and not (here / "out").exists()
    assert "double has a grid of (13, 10), wormhole_b0 has (8, 9) (x, y): nodes that" in done.stderr
    assert "help: pass --target blackhole," in done.stderr and "Traceback" not in done.stderr
    done = run("ttl", *line, "13x10.py")
    assert "error[TTL4003]: double asks for a grid of (13, 10), the device has" in done.stderr
    assert "--target blackhole" in done.stderr and "--grid" not in done.stderr
    done = run("ttl", *line, "--grid", "9,8", "8x9.py")  # the chip has it
    assert done.returncode == 0, done.stderr


def test_a_page_of_simulated_nodes_has_no_estimate(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["view", "--grid", "10,13", "13x10.py"]) == 0
    assert "right: True" in capsys.readouterr().out


SHARDED = """\
import numpy as np
import ttnn
import ttl

memory_config = ttnn.create_sharded_memory_config(
    (320, 416), core_grid=ttnn.CoreGrid(y=10, x=13), strategy=ttnn.ShardStrategy.BLOCK
)
device = ttnn.open_device(device_id=0)
x = ttl.from_numpy(np.ones((320, 416)), device=device, memory_config=memory_config)
"""


def test_tensors_on_cores_of_another_chip(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "sharded.py").write_text(SHARDED)
    assert main(["run", "sharded.py"]) == 1
    shown = capsys.readouterr().err
    assert "core (12, 9) is not in the (8, 8) grid of the device" in shown
    assert "help: use cores up to (7, 7), or pass --target blackhole (TTL_TARGET=bl" in shown
    assert main(["run", "--target", "blackhole", "sharded.py"]) == 0


def test_other_verbs_take_the_chip_too(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    big, options = "13x10.py", ["--target", "blackhole"]
    assert main(["compile", *options, "-o", "out", big]) == 0
    assert read_folder(here / "out").target == "blackhole"
    assert main(["estimate", *options, "--json", big]) == 0
    for verb in ("check", "lower", "view"):
        assert main([verb, *options, big]) == 0, verb
    assert main(["explore", *options, "--schedules", "2", "-j", "1", big]) == 0
    assert "2 schedules of 1 call: no race" in capsys.readouterr().out


def test_the_public_simulators_command_takes_it(run: Any) -> None:
    done = run("tt-lang-sim", "13x10.py", "--target", "blackhole")
    assert (done.returncode, done.stdout) == (0, "device 13 10\nright: True\n")


def test_wormhole_with_all_workers_is_a_wormhole(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["estimate", "--target", "wormhole-full", "8x9.py"]) == 0
    assert "double on 72 nodes of wormhole_b0\n" in capsys.readouterr().out
    assert main(["compile", "--target", "wormhole_full", "-o", "out", "8x9.py"]) == 0
    assert read_folder(here / "out").target == "wormhole_b0"
    assert main(["replay", "out"]) == 0


def test_the_variable_and_its_short_names(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for value in ("blackhole", "Blackhole", "bh"):
        monkeypatch.setenv("TTL_TARGET", value)
        assert main(["run", "13x10.py"]) == 0
    assert main(["run", "--target", "wormhole", "13x10.py"]) == 1  # the option wins
    monkeypatch.setenv("TTL_TARGET", "")
    assert main(["run", "13x10.py"]) == 1
    monkeypatch.setenv("TTL_TARGET", "greyhound")
    assert main(["run", "13x10.py"]) == 1
    assert "TTL_TARGET=greyhound: not a target; there are wormhole_b0 (8x8 nodes)" in (
        capsys.readouterr().err
    )


def test_a_race_is_repeated_on_the_same_chip(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "exits.py").write_text(f"{(here / '13x10.py').read_text()}raise SystemExit(3)\n")
    with pytest.raises(SystemExit):
        main(["explore", "--target", "bh", "--schedules", "1", "exits.py"])
    assert "to repeat it: ttl run --target blackhole exits.py" in capsys.readouterr().err


def test_files_that_are_no_programs_have_their_chip(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "trace.jsonl").write_text("")
    with pytest.raises(SystemExit):
        main(["view", "--target", "blackhole", "trace.jsonl"])
    assert "--target and --grid are for programs" in capsys.readouterr().err


def test_an_editor_looks_at_a_program_for_the_chip_it_ran_on(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = here / "13x10.py"

    def found() -> list[Any]:
        looked = look(file.read_text(), str(file), here / "cpp", with_estimate=False)
        return [each["code"] for each in looked["diagnostics"]]

    try:
        assert main(["run", "--target", "blackhole", str(file)]) == 0
        assert found() == []
        assert main(["run", str(file)]) == 1
        assert found() == ["TTL4003"]
        record_of(Config.current().cache_dir, str(file)).write_text('{"double": {}}')
        assert found() == []  # what an earlier version kept says nothing
    finally:
        record_of(Config.current().cache_dir, str(file)).unlink()

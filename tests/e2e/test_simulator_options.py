"""The options of the public simulator, on `ttl run` and on the alias `tt-lang-sim`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PROGRAM = """
import sys
import numpy as np
import ttl
import ttnn

@ttl.operation(grid="auto")
def add_one(x, y):
    print("grid", ttl.grid_size(dims=2))
    x_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 1))
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))

    @ttl.datamovement()
    def read():
        if ttl.node(dims=1) == 0:
            for tile in range(8):
                with x_dfb.reserve() as block:
                    ttl.copy(x[tile, 0], block).wait()

    @ttl.compute()
    def compute():
        if ttl.node(dims=1) == 0:
            for _ in range(8):
                with x_dfb.wait() as x_block, y_dfb.reserve() as y_block:
                    y_block.store(x_block + 1)

    @ttl.datamovement()
    def write():
        if ttl.node(dims=1) == 0:
            for tile in range(8):
                with y_dfb.wait() as block:
                    ttl.copy(block, y[tile, 0]).wait()

@ttl.operation(grid=(8, 8))
def on_a_grid_of_its_own(y):
    @ttl.datamovement()
    def nothing():
        pass

device = ttnn.open_device(device_id=0)
x = ttl.from_numpy(np.ones((256, 32)), dtype=ttnn.bfloat16, device=device)
y = ttl.from_numpy(np.zeros((256, 32)), dtype=ttnn.bfloat16, device=device)
add_one(x, y)
on_a_grid_of_its_own(y)
print("found", np.unique(ttl.to_numpy(y)))
"""

EXAMPLE = Path(__file__).parents[2] / "examples" / "elementwise.py"
COMMANDS = {"ttl run": ("ttl", "run"), "tt-lang-sim": ("tt-lang-sim",)}
RIGHT = "grid (8, 8)\nfound [2]\n"
OPTIONS = {
    "": RIGHT,
    "--grid 2,4": "grid (4, 2)\nfound [2]\n",
    "--grid=1,12": "grid (12, 1)\nfound [2]\n",
    "--scheduler fair": RIGHT,
    "--scheduler greedy": RIGHT,
    "--rounding chip": RIGHT,
    "--max-dfbs 2 --max-l1 8192": RIGHT,
    "--no-float32-promotion": RIGHT,
    "--float32": "grid (8, 8)\nfound [2.]\n",
    "--num-devices 2": RIGHT,
    "--dry-run": "grid (8, 8)\nfound [0]\n",
}


@pytest.fixture
def program(tmp_path: Path) -> Path:
    (tmp_path / "program.py").write_text(PROGRAM)
    return tmp_path / "program.py"


@pytest.mark.sampled(6)
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("options", OPTIONS)
def test_options(run: Any, program: Path, command: str, options: str) -> None:
    done = run(*COMMANDS[command], program, *options.split())
    assert (done.returncode, done.stderr, done.stdout) == (0, "", OPTIONS[options])


@pytest.mark.parametrize(
    ("options", "slug"),
    [("--max-dfbs 1", "2 dataflow buffers"), ("--max-l1 8191", "need 8192 bytes of L1")],
)
def test_limits(run: Any, program: Path, options: str, slug: str) -> None:
    done = run("tt-lang-sim", program, *options.split())
    assert done.returncode == 1
    assert slug in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize(("options", "count"), [("", "4"), ("--num-devices 2", "2")])
def test_devices(run: Any, tmp_path: Path, options: str, count: str) -> None:
    (tmp_path / "count.py").write_text("import ttnn; print(ttnn.GetNumAvailableDevices())")
    assert run("tt-lang-sim", "count.py", *options.split()).stdout == f"{count}\n"


def kinds(file: Path) -> set[str]:
    return {json.loads(line)["kind"] for line in file.read_text().splitlines()}


EVENTS = {
    "--trace-events operation": {"operation_start", "operation_end"},
    "--trace-events dfb,copy": {
        "buffer_reserve",
        "buffer_push",
        "buffer_wait",
        "buffer_pop",
        "copy_start",
        "copy_end",
    },
    "--no-trace-events dfb,copy,operation": {
        "kernel_start",
        "kernel_end",
        "kernel_blocked",
        "kernel_resumed",
    },
    "--no-trace-events all": set(),
}


@pytest.mark.parametrize("backend", ["", "--host "])
@pytest.mark.parametrize("options", EVENTS)
def test_events(run: Any, tmp_path: Path, options: str, backend: str) -> None:
    done = run("ttl", "run", EXAMPLE, "--trace", *backend.split(), *options.split())
    assert done.returncode == 0, done.stderr
    assert kinds(tmp_path / "trace.jsonl") == EVENTS[options]


def test_all_events_are_the_default(run: Any, program: Path, tmp_path: Path) -> None:
    for file, options in (("a", ""), ("b", "--trace-events all")):
        assert run("tt-lang-sim", program, "--trace", file, *options.split()).returncode == 0
    assert (tmp_path / "a").read_text() == (tmp_path / "b").read_text()
    assert {"operation_start", "kernel_start", "buffer_push", "copy_end"} <= kinds(tmp_path / "a")


def test_the_schedulers_are_two_orders(run: Any, program: Path, tmp_path: Path) -> None:
    for name in ("fair", "greedy"):
        run("ttl", "run", program, "--scheduler", name, "--trace", name)
    fair, greedy = ((tmp_path / name).read_text() for name in ("fair", "greedy"))
    assert fair and fair != greedy


def test_a_dry_run_still_finds_mistakes(run: Any, program: Path) -> None:
    program.write_text(PROGRAM.replace("x_block + 1", "x_block @ y_block"))
    done = run("tt-lang-sim", program, "--dry-run")
    assert done.returncode == 1 and done.stderr.startswith("error[TTL")


ENDS = {
    "print('fine')": 0,
    "raise ValueError('on purpose')": 1,
    "import sys; sys.exit(7)": 7,
    "import sys; sys.exit('a message')": 1,
    "import sys; sys.exit()": 0,
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("source", ENDS)
def test_exit_status(run: Any, tmp_path: Path, command: str, source: str) -> None:
    (tmp_path / "end.py").write_text(source)
    assert run(*COMMANDS[command], "end.py").returncode == ENDS[source]


@pytest.mark.parametrize("command", COMMANDS)
def test_without_a_program(run: Any, command: str) -> None:
    done = run(*COMMANDS[command])
    assert done.returncode == 2 and "FILE" in done.stderr
    done = run(*COMMANDS[command], "missing.py")
    assert done.returncode == 1 and done.stderr.startswith("error[TTL")


@pytest.mark.parametrize("command", COMMANDS)
def test_help_and_version(run: Any, command: str) -> None:
    text = run(*COMMANDS[command], "--help").stdout
    for option in ("--grid", "--scheduler", "--max-dfbs", "--max-l1", "--num-devices", "--trace"):
        assert option in text
    assert run(*COMMANDS[command], "--version").stdout.startswith("ttl 0.")


@pytest.mark.parametrize("command", COMMANDS)
def test_the_arguments_of_the_program(run: Any, tmp_path: Path, command: str) -> None:
    (tmp_path / "show.py").write_text("import sys; print(sys.argv[1:])")
    done = run(*COMMANDS[command], "show.py", "-v", "--grid", "2,2", "--", "a", "--grid", "--", "b")
    assert done.stdout == "['-v', 'a', '--grid', '--', 'b']\n"


@pytest.mark.parametrize("seed", ["abc", "-1", "²"])
def test_a_wrong_seed_is_refused(seed: str) -> None:
    given = subprocess.run(
        [sys.executable, "-c", "import ttnn; ttnn.GetNumAvailableDevices()"],
        env=os.environ | {"TTL_SEED": seed, "PYTHONUTF8": "1"},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert f"TTL_SEED={seed}: not a whole number" in given.stderr


@pytest.mark.parametrize("command", ["ttl examples", "tt-lang-setup", "tt-lang-setup-tutorials"])
def test_examples_are_copied_and_run(run: Any, tmp_path: Path, command: str) -> None:
    done = run(*command.split(), "-t", "mine")
    assert done.returncode == 0, done.stderr
    assert run("ttl", "run", tmp_path / "mine" / "elementwise.py").returncode == 0
    assert (tmp_path / "mine" / "notebooks" / "1-add.ipynb").exists()
    again = run(*command.split(), "-t", "mine")
    assert again.returncode == 1
    assert "is there already" in again.stderr and "--force" in again.stderr
    assert run(*command.split(), "-t", "mine", "--force").returncode == 0

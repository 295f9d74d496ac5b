"""`ttl run --backend device` with a ttnn that pretends, and `ttl doctor`."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]

PROGRAM = """
import numpy as np
import ttnn

import ttl


@ttl.operation(grid=(1, 1))
def double(x, y):
    x_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 1), block_count=2)
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1), block_count=2)

    @ttl.compute()
    def compute():
        for _ in range(2):
            with x_dfb.wait() as x_blk, y_dfb.reserve() as y_blk:
                y_blk.store(x_blk + x_blk)

    @ttl.datamovement()
    def read():
        for row in range(2):
            print("row", row)
            with x_dfb.reserve() as x_blk:
                ttl.copy(x[row, 0], x_blk).wait()

    @ttl.datamovement()
    def write():
        for row in range(2):
            with y_dfb.wait() as y_blk:
                ttl.copy(y_blk, y[row, 0]).wait()


device = ttnn.open_device(device_id=0)
x, y = (
    ttnn.from_numpy(np.full((64, 32), value), dtype=ttnn.float32, layout=ttnn.TILE_LAYOUT,
                    device=device)
    for value in (3.0, 0.0)
)
double(x, y)
print("done")
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path


def site(folder: Path, version: str = "0.81.1", library: bytes = b"nothing") -> dict[str, str]:
    """Variables with which this ttnn is installed, with a simulated chip."""
    package = folder / "site/ttnn"
    information = folder / f"site/ttnn-{version}.dist-info"
    package.mkdir(parents=True)
    information.mkdir()
    (package / "__init__.py").write_text(
        "import sys\nfrom device.pretended_ttnn import fill\nfill(sys.modules[__name__])\n"
    )
    (package / "libtt_metal.so").write_bytes(library)
    said = f"Metadata-Version: 2.1\nName: ttnn\nVersion: {version}\n"
    (information / "METADATA").write_text(said)
    (information / "RECORD").write_text("ttnn/__init__.py,,\nttnn/libtt_metal.so,,\n")
    paths = (str(folder / "site"), str(TESTS), os.environ.get("PYTHONPATH", ""))
    return {
        "PYTHONPATH": os.pathsep.join(path for path in paths if path),
        "TT_METAL_SIMULATOR": "libttsim.so",
        "TMPDIR": str(folder),
    }


REFUSAL = b"TT_METAL_DEVICE_PROFILER requires a Tracy-enabled build"


def test_what_kernels_print_is_shown(run, program: Path, tmp_path: Path) -> None:
    done = run("ttl", "run", "--backend", "device", program, **site(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    shown = "(0, 0) read: row 0\n(0, 0) read: row 1\ndone\n"
    assert done.stdout == shown
    assert run("ttl", "run", program).stdout == shown
    assert not list(tmp_path.glob("ttl-device-*"))


@pytest.mark.parametrize("library", [b"", REFUSAL], ids=["profiler", "no profiler"])
def test_a_trace_of_a_device_is_compared_with_one_of_the_simulator(
    run, program: Path, tmp_path: Path, library: bytes
) -> None:
    library = library or b"nothing"
    device = site(tmp_path, library=library)
    traced = ("--results", "--trace")
    done = run("ttl", "run", "--backend", "device", *traced, "d.jsonl", program, **device)
    assert done.returncode == 0, done.stderr
    assert ("TTL6013" in done.stderr) == (library == REFUSAL)
    records = [json.loads(line) for line in (tmp_path / "d.jsonl").read_text().splitlines()]
    kernels = {r["kernel"] for r in records if r["kind"] == "kernel_start"}
    assert kernels == (set() if library == REFUSAL else {"compute", "read", "write"})
    assert run("ttl", "run", *traced, "s.jsonl", program, **device).returncode == 0
    done = run("ttl", "diff", "s.jsonl", "d.jsonl")
    assert done.stdout.startswith("no difference (") and done.returncode == 0
    program.write_text(PROGRAM.replace("x_blk + x_blk", "x_blk * 3"))
    assert run("ttl", "run", *traced, "t.jsonl", program).returncode == 0
    done = run("ttl", "diff", "t.jsonl", "d.jsonl")
    assert done.returncode == 1
    assert "call 1 of `double`: `y`, tile (0, 0), element (0, 0): 9.0 in A, 6.0 in B" in done.stdout


@pytest.mark.parametrize("command", [("run", "--backend", "host"), ("check",), ("run",)])
def test_other_backends_have_the_embedded_ttnn(
    run, program: Path, tmp_path: Path, command: tuple[str, ...]
) -> None:
    """Where the real one is installed, too: its tensors would go to a device."""
    shown = "ttnn.__name__, type(x).__module__, ttnn.transformer.__name__"
    program.write_text(f"{PROGRAM}\nprint({shown})\n")
    done = run("ttl", *command, program, **site(tmp_path))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "ttl.ttnn ttl.ttnn.tensor ttl.ttnn.transformer"


def test_a_hang_is_reported_and_the_process_ends(run, program: Path, tmp_path: Path) -> None:
    device = site(tmp_path)
    done = run(
        "ttl",
        "run",
        "--backend",
        "device",
        "--device-timeout",
        "1",
        program,
        PRETENDED="hang",
        **device,
    )
    assert done.returncode == 1
    assert "error[TTL5009]: `double` did not end within 1 s on the device" in done.stderr
    assert "with y_dfb.wait() as y_blk:" in done.stderr
    assert "`read` on node (0, 0) waits for space in a dataflow buffer (CRBW)" in done.stderr
    assert "the chip is simulated: it ends with the process" in done.stderr
    assert done.stdout == "(0, 0) read: row 0\n(0, 0) read: row 1\n"
    (logs,) = tmp_path.glob("ttl-device-*")
    assert f"the logs of tt-metal are in {logs}" in done.stderr


def test_what_is_missing(run, program: Path, tmp_path: Path) -> None:
    old = site(tmp_path, version="0.69.0")
    done = run("ttl", "run", "--backend", "device", program, **old)
    assert (done.returncode, done.stdout) == (1, "")
    assert "error[TTL6011]: this ttnn is too old: found 0.69.0, needs >= 0.81" in done.stderr
    done = run("ttl", "doctor", **old)
    assert done.returncode == 1 and "found 0.69.0, needs >= 0.81" in done.stdout
    done = run("ttl", "run", "--json", "--backend", "device", program)
    assert json.loads(done.stderr)["code"] == "TTL6010"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--backend", "host", "--host"), "not allowed with argument"),
        (("--backend", "chip"), "invalid choice"),
        (("--device-timeout", "5"), "--device-timeout needs --backend device"),
        (("--counts", "--backend", "device"), "--counts needs --host"),
    ],
)
def test_wrong_command_lines(run, options: tuple[str, ...], said: str) -> None:
    done = run("ttl", "run", *options, "x.py")
    assert done.returncode == 2 and said in done.stderr


def test_the_host_is_a_backend(run, program: Path) -> None:
    done = run("ttl", "run", "--backend", "host", program)
    assert done.returncode == 0 and done.stdout.endswith("done\n")


def rows(text: str) -> dict[str, dict[str, str]]:
    found = [json.loads(line) for line in text.splitlines()]
    return {each["what"]: each for each in found}


def test_doctor(run, tmp_path: Path) -> None:
    done = run("ttl", "doctor", TT_METAL_HOME="")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[1].split() == ["what", "state", "found", "needed", "for"]
    assert any(line.startswith("ttnn: pip install") for line in lines)
    found = rows(run("ttl", "doctor", "--json", **site(tmp_path)).stdout)
    assert {"Python", "numpy", "xdsl", "C++ compiler", "torch", "cache"} <= set(found)
    assert found["ttnn"]["found"] == "0.81.1" and found["ttnn"]["state"] == "ok"
    assert found["device"]["found"] == "TT_METAL_SIMULATOR=libttsim.so"
    assert found["device profiler"]["state"] == "ok"


@pytest.mark.parametrize(
    ("variables", "what", "fix"),
    [
        ({"CXX": "no-such-compiler"}, "C++ compiler", "set CXX"),
        ({"CXX": "false-compiler"}, "C++ compiler", "set CXX"),
        ({"TT_METAL_HOME": "/nowhere/at/all"}, "TT_METAL_HOME", "unset TT_METAL_HOME"),
        ({"TTL_GRID": "eight"}, "variables", "TTL_GRID=8,8"),
        ({"PYTTLANG_CACHE": "/proc/nothing"}, "cache", "set PYTTLANG_CACHE"),
    ],
)
def test_doctor_finds_what_is_broken(
    run, tmp_path: Path, variables: dict[str, str], what: str, fix: str
) -> None:
    broken = tmp_path / "false-compiler"
    broken.write_text("#!/bin/sh\n[ $1 = --version ] && echo 'false 1.0' || exit 1\n")
    broken.chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    done = run("ttl", "doctor", "--json", PATH=path, **variables)
    assert done.returncode == 1
    found = rows(done.stdout)[what]
    assert found["state"] == "broken" and fix in found["fix"]


def test_doctor_does_not_import_torch(run, tmp_path: Path) -> None:
    """That takes seconds."""
    Path(tmp_path, "torch").mkdir()
    Path(tmp_path, "torch", "__init__.py").write_text("raise SystemExit('imported')")
    Path(tmp_path, "torch-9.8.7.dist-info").mkdir()
    Path(tmp_path, "torch-9.8.7.dist-info", "METADATA").write_text("Name: torch\nVersion: 9.8.7\n")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    found = rows(run("ttl", "doctor", "--json", PYTHONPATH=path).stdout)
    assert (found["torch"]["state"], found["torch"]["found"]) == ("ok", "9.8.7")


def test_doctor_without_a_compiler_only_tells(run, tmp_path: Path) -> None:
    done = run("ttl", "doctor", "--json", PATH=str(tmp_path))
    found = rows(done.stdout)["C++ compiler"]
    assert (done.returncode, found["state"]) == (0, "absent")
    assert "apt install g++" in found["fix"] or "xcode-select" in found["fix"]

"""`ttl run`, `ttl run --host` and plain python on the examples."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ttl.config import Config
from ttl.host.build import build_runtime
from ttl.host.toolchain import find_compiler

EXAMPLES = Path(__file__).parents[2] / "examples"
DEADLOCK = EXAMPLES / "wrong" / "deadlock.py"
BACKENDS = {
    "simulator": ("ttl", "run"),
    "host": ("ttl", "run", "--host"),
    "python": ("python",),
}
NAMES = ("elementwise", "matmul_bias_relu")


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", NAMES)
def test_examples_print_small_errors(run: Any, name: str, backend: str) -> None:
    """From an empty folder, so `works from another working directory` too."""
    done = run(*BACKENDS[backend], EXAMPLES / f"{name}.py")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert [line[:10].strip() for line in lines] == ["random 0", "random 1", "random 2", "distinct"]
    for line in lines:
        found = re.search(r"largest error (\d+\.\d+)%", line)
        assert found and float(found[1]) < 1.0, line


def test_python_with_the_environment_variable_is_the_host(run: Any, tmp_path: Path) -> None:
    trace = tmp_path / "trace.jsonl"
    program = EXAMPLES / "elementwise.py"
    done = run("python", program, TTL_BACKEND="host", TTL_TRACE=str(trace))
    assert done.returncode == 0, done.stderr
    assert trace.read_text()


def test_a_relative_path_and_another_folder(run: Any, tmp_path: Path) -> None:
    done = run("ttl", "run", "elementwise.py", cwd=EXAMPLES)
    assert done.returncode == 0, done.stderr
    (tmp_path / "hello.py").write_text("import sys\nprint(sys.argv, __name__, sys.path[0])\n")
    done = run("ttl", "run", "hello.py", "-x", "--host", "--", "--json")
    assert done.stdout.strip() == f"['hello.py', '-x', '--json'] __main__ {tmp_path}"


@pytest.mark.parametrize("backend", ["simulator", "host"])
def test_deadlock(run: Any, backend: str) -> None:
    done = run(*BACKENDS[backend], DEADLOCK)
    assert done.returncode == 1
    assert done.stdout == ""
    assert "error[TTL5001]" in done.stderr
    assert "Traceback" not in done.stderr and "src/ttl" not in done.stderr
    source = DEADLOCK.read_text().splitlines()
    for line in ("with z_dfb.wait() as y_blk:", "z_dfb = ttl.make_dataflow_buffer_like("):
        (number,) = [n for n, text in enumerate(source, 1) if line in text]
        assert re.search(rf"^ *{number} \| .*{re.escape(line)}", done.stderr, re.MULTILINE), line


@pytest.mark.parametrize("backend", ["simulator", "host"])
def test_deadlock_as_json(run: Any, backend: str) -> None:
    done = run(*BACKENDS[backend], "--json", DEADLOCK)
    assert done.returncode == 1
    (diagnostic,) = map(json.loads, done.stderr.splitlines())
    assert (diagnostic["code"], diagnostic["blame"]) == ("TTL5001", "USER")
    files = {label["file"] for label in [diagnostic["primary"], *diagnostic["secondary"]]}
    assert files == {str(DEADLOCK)}


def test_plain_python_shows_the_message_and_no_traceback(run: Any) -> None:
    done = run("python", DEADLOCK)
    assert done.returncode == 1
    assert done.stderr.startswith("error[TTL5001]") and "Traceback" not in done.stderr


def test_exceptions_of_the_program_are_its_own(run: Any, tmp_path: Path) -> None:
    (tmp_path / "wrong.py").write_text("def f():\n    return {}['key']\nf()\n")
    done = run("ttl", "run", "wrong.py")
    assert done.returncode == 1
    assert "KeyError: 'key'" in done.stderr and "src/ttl" not in done.stderr


def test_exit_status_of_the_program(run: Any, tmp_path: Path) -> None:
    (tmp_path / "exits.py").write_text("raise SystemExit(7)\n")
    assert run("ttl", "run", "exits.py").returncode == 7


BUFFER_EVENTS = {"buffer_reserve", "buffer_push", "buffer_wait", "buffer_pop"}


@pytest.mark.parametrize("name", NAMES)
def test_traces_of_both_roads_have_the_same_buffer_events(
    run: Any, tmp_path: Path, name: str
) -> None:
    counts = []
    for backend in ("simulator", "host"):
        file = tmp_path / f"{backend}.jsonl"
        done = run(*BACKENDS[backend], "--trace", file, EXAMPLES / f"{name}.py")
        assert done.returncode == 0, done.stderr
        events = [json.loads(line) for line in file.read_text().splitlines()]
        assert all(event["line"] > 0 for event in events if event["kind"] in BUFFER_EVENTS)
        counts.append(
            Counter(
                (event["kind"], tuple(event["node"]), event["kernel"], event["subject"])
                for event in events
                if event["kind"] in BUFFER_EVENTS
            )
        )
    assert counts[0] == counts[1]
    assert {kind for kind, *_ in counts[0]} == BUFFER_EVENTS


@pytest.mark.parametrize(
    ("imported", "left_out"),
    [
        ("ttl, ttnn", {"xdsl", "torch", "rich", "ttl.driver", "ttl.ttnn.programs"}),
        # What the first launch loads, where it is not on a device.
        ("ttl.driver", {"xdsl", "torch", "rich", "subprocess", "importlib.metadata", "email"}),
        ("ttl.driver", {"ttl.driver.compile", "ttl.artifact", "ttl.device", "zipfile"}),
    ],
)
def test_imports_are_light(run: Any, imported: str, left_out: set[str]) -> None:
    code = f"import {imported}, sys; print(sorted({left_out!r} & set(sys.modules)))"
    done = run("python", "-c", code)
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


@pytest.mark.full  # the runtime is built, twice
def test_a_damaged_cache_entry_is_built_again(run: Any, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    cache.mkdir()
    shutil.copy2(build_runtime(find_compiler(), Config.current().cache_dir), cache)
    command = ("ttl", "run", "--host", EXAMPLES / "elementwise.py")
    assert run(*command, PYTTLANG_CACHE=str(cache)).returncode == 0
    libraries = sorted(cache.glob("*.so"))
    assert [path.name.split("-")[0] for path in libraries] == ["kernels", "runtime"]
    for path in libraries:
        path.write_bytes(b"")
    done = run(*command, PYTTLANG_CACHE=str(cache))
    assert done.returncode == 0
    assert done.stderr.startswith("ttl: building the C++ runtime of the executor")
    assert done.stderr.count("\n") == 1
    assert sorted(cache.glob("*.so")) == libraries
    assert all(path.stat().st_size for path in libraries)


# The kernels hand over blocks for many minutes. A helper sends SIGINT as soon as they run: then
# there is the host executor's thread, or the simulator's watchdog.
ENDLESS = """
import os, signal, sys, threading, time
import ttnn, ttl

# A run in the background is started with interrupts ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)

@ttl.operation(grid=(1, 1))
def endless(a, y):
    a_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))

    @ttl.compute()
    def compute():
        for _ in range(1000000000):
            with a_dfb.wait() as a_blk, y_dfb.reserve() as y_blk:
                y_blk.store(a_blk + a_blk)

    @ttl.datamovement()
    def read():
        for _ in range(1000000000):
            with a_dfb.reserve() as a_blk:
                ttl.copy(a[0, 0], a_blk).wait()

    @ttl.datamovement()
    def write():
        for _ in range(1000000000):
            with y_dfb.wait() as y_blk:
                ttl.copy(y_blk, y[0, 0]).wait()

def interrupt():
    while not (
        "ttl-watchdog" in {t.name for t in threading.enumerate()}
        or getattr(sys.modules.get("ttl.host.execution"), "in_flight", ())
    ):
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGINT)

if not os.environ.get("TTLANG_COMPILE_ONLY"):
    threading.Thread(target=interrupt, daemon=True).start()
device = ttnn.open_device(device_id=0)
a = ttnn.zeros((32, 32), ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device)
endless(a, a)
print("not reached")
"""


@pytest.mark.parametrize("backend", ["simulator", "host"])
def test_an_interrupt_ends_the_run(run: Any, tmp_path: Path, backend: str) -> None:
    (tmp_path / "endless.py").write_text(ENDLESS)
    done = run(*BACKENDS[backend], "endless.py")
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "ttl: interrupted\n")


def test_the_headers_accept_the_endless_kernels(
    run: Any, check_headers: Any, tmp_path: Path
) -> None:
    (tmp_path / "endless.py").write_text(ENDLESS)
    done = run("ttl", "compile", "--compile-only", "endless.py", "-o", "out")
    assert done.stdout == "not reached\n", done.stderr
    check_headers(tmp_path / "out")


FAILING_COMPILER = """
import runpy, sys
import ttl.driver.compile as compiler

def fail(*arguments):
    raise ZeroDivisionError("on purpose")

compiler._compile = fail
sys.path.insert(0, FOLDER)
runpy.run_path(FOLDER + "/elementwise.py", run_name="__main__")
"""


@pytest.mark.unwatched("an error of ours is made in it")
@pytest.mark.parametrize("backend", ["host", "python"])
def test_debugging_shows_the_cause_of_an_internal_error_once(
    run: Any, tmp_path: Path, backend: str
) -> None:
    source = FAILING_COMPILER.replace("FOLDER", repr(str(EXAMPLES)))
    (tmp_path / "failing.py").write_text(source)
    plain = run(*BACKENDS[backend], "failing.py", TTL_BACKEND="host")
    assert plain.returncode == 1
    assert plain.stderr.startswith("error[TTL9001]") and "Traceback" not in plain.stderr
    debugged = run(*BACKENDS[backend], "failing.py", TTL_BACKEND="host", TTL_DEBUG="1")
    assert debugged.returncode == 1
    assert debugged.stderr.count("Traceback") == 1 and "in compile_operation" in debugged.stderr
    assert debugged.stderr.endswith(plain.stderr) and debugged.stderr.count("TTL9001]") == 1

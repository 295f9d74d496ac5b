"""`ttl run`, `ttl run --host` and plain python on the examples."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
DEADLOCK = EXAMPLES / "wrong" / "deadlock.py"
ROADS = {
    "simulator": ("ttl", "run"),
    "host": ("ttl", "run", "--host"),
    "python": ("python",),
}
NAMES = ("elementwise", "matmul_bias_relu")


@pytest.mark.parametrize("road", ROADS)
@pytest.mark.parametrize("name", NAMES)
def test_examples_print_small_errors(run: Any, name: str, road: str) -> None:
    """From an empty folder, so `works from another working directory` too."""
    done = run(*ROADS[road], EXAMPLES / f"{name}.py")
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


@pytest.mark.parametrize("road", ["simulator", "host"])
def test_deadlock(run: Any, road: str) -> None:
    done = run(*ROADS[road], DEADLOCK)
    assert done.returncode == 1
    assert done.stdout == ""
    assert "error[TTL5001]" in done.stderr
    assert "Traceback" not in done.stderr and "src/ttl" not in done.stderr
    source = DEADLOCK.read_text().splitlines()
    for line in ("with z_dfb.wait() as y_blk:", "z_dfb = ttl.make_dataflow_buffer_like("):
        (number,) = [n for n, text in enumerate(source, 1) if line in text]
        assert re.search(rf"^ *{number} \| .*{re.escape(line)}", done.stderr, re.MULTILINE), line


@pytest.mark.parametrize("road", ["simulator", "host"])
def test_deadlock_as_json(run: Any, road: str) -> None:
    done = run(*ROADS[road], "--json", DEADLOCK)
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
    for road in ("simulator", "host"):
        file = tmp_path / f"{road}.jsonl"
        done = run(*ROADS[road], "--trace", file, EXAMPLES / f"{name}.py")
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


def test_importing_ttl_is_light(run: Any) -> None:
    code = "import ttl, sys; print(sorted({'xdsl', 'torch', 'rich'} & set(sys.modules)))"
    done = run("python", "-c", code)
    assert (done.stdout.strip(), done.stderr) == ("[]", "")

"""`ttl check`: every mistake of every operation, with the line, without running what is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"

THREE_WRONG = """\
import ttl
import ttnn


def operation(grid, wrong_tile, block_count):
    @ttl.operation(grid=grid)
    def copy(a, y):
        dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=block_count)

        @ttl.datamovement()
        def read():
            x, _ = ttl.node(dims=2)
            for i in range(2):
                with dfb.reserve() as blk:
                    ttl.copy(a[i, x + wrong_tile], blk).wait()

        @ttl.datamovement()
        def write():
            x, _ = ttl.node(dims=2)
            with dfb.wait() as one, dfb.wait() as two:
                ttl.copy(one, y[0, x]).wait()
                ttl.copy(two, y[1, x]).wait()

    return copy


device = ttnn.open_device(device_id=0)
a, y = (
    ttnn.ones((64, 64), dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=device)
    for _ in range(2)
)
operation((2, 1), 0, 2)(a, y)
operation((2, 1), 1, 2)(a, y)
operation((1, 1), 0, 1)(a, y)
operation((99, 1), 0, 2)(a, y)
print("the end")
"""


def test_all_operations_are_checked(run: Any, tmp_path: Path) -> None:
    (tmp_path / "three_wrong.py").write_text(THREE_WRONG)
    done = run("ttl", "check", "three_wrong.py")
    assert done.returncode == 1
    assert done.stdout == "the end\n"
    assert "error[TTL2004]: slice 2 of dimension 1 of tensor `a` does not lie in" in done.stderr
    assert "15 |                     ttl.copy(a[i, x + wrong_tile], blk).wait()" in done.stderr
    assert "= on node (1, 0)" in done.stderr
    assert "error[TTL5001]: deadlock: 2 kernels on 1 node wait for each other" in done.stderr
    assert done.stderr.endswith(
        "ttl: 4 operations checked, 3 errors; those with errors were not run\n"
    )
    assert "src/ttl" not in done.stderr and "Traceback" not in done.stderr


def test_each_diagnostic_is_a_json_object(run: Any, tmp_path: Path) -> None:
    (tmp_path / "three_wrong.py").write_text(THREE_WRONG)
    done = run("ttl", "check", "--json", "three_wrong.py")
    assert done.returncode == 1
    found = [json.loads(line) for line in done.stderr.splitlines()]
    assert [each["code"] for each in found] == ["TTL2004", "TTL5001", "TTL4003"]
    assert found[0]["primary"]["start"] == [15, 30]


def test_a_right_program_runs_and_is_silent(run: Any) -> None:
    done = run("ttl", "check", EXAMPLES / "elementwise.py")
    assert done.returncode == 0
    assert "largest error 0." in done.stdout
    assert done.stderr == "ttl: 1 operation checked, no errors\n"
    only = run("ttl", "check", "--compile-only", EXAMPLES / "elementwise.py")
    assert only.returncode == 0 and "largest error 100.00%" in only.stdout


def test_check_and_run_give_the_same_report(run: Any) -> None:
    program = EXAMPLES / "wrong" / "deadlock.py"
    checked, simulated = run("ttl", "check", program), run("ttl", "run", program)
    report, _, last = checked.stderr.rstrip().rpartition("\n")
    assert last == "ttl: 1 operation checked, 1 error; those with errors were not run"
    assert report == simulated.stderr.rstrip()


def test_a_program_without_operations(run: Any, tmp_path: Path) -> None:
    (tmp_path / "none.py").write_text("import ttl\n")
    done = run("ttl", "check", "none.py")
    assert done.returncode == 1
    assert done.stderr == "ttl: none.py calls no operation; nothing was checked\n"


def test_what_is_not_compiled_is_an_error(run: Any, tmp_path: Path) -> None:
    head, _, _ = THREE_WRONG.partition("operation((2, 1), 1, 2)(a, y)\n")
    program = head.replace("for i in range(2):\n", "for i in iter(range(2)):\n")
    (tmp_path / "simulated.py").write_text(program)
    done = run("ttl", "check", "simulated.py")
    assert done.returncode == 1
    checked, _, last = done.stderr.rstrip().rpartition("\n")
    assert last == "ttl: 1 operation checked, 1 error; those with errors were not run"
    compiled = run("ttl", "run", "--host", "simulated.py")
    assert "error[TTL7003]: a call of 'iter': not part of the language of kernels" in checked
    simulated = run("ttl", "run", "simulated.py")
    assert checked == compiled.stderr.rstrip() == simulated.stderr.rstrip()


CHECKS_ITSELF = THREE_WRONG.replace(
    'print("the end")', 'assert ttl.to_numpy(y)[0, 0] == 5, "wrong result"'
)


@pytest.mark.parametrize("verb", [("check",), ("run", "--host", "--check")])
@pytest.mark.parametrize("way", ["raises", "exits"])
def test_the_programs_own_check_is_no_fault_where_operations_were_not_run(
    verb: tuple[str, ...], way: str, run: Any, tmp_path: Path
) -> None:
    exits = CHECKS_ITSELF.partition("assert")[0] + "raise SystemExit(3)\n"
    (tmp_path / "own.py").write_text(CHECKS_ITSELF if way == "raises" else exits)
    done = run("ttl", *verb, "own.py")
    assert done.returncode == 1 and "Traceback" not in done.stderr
    what = "(AssertionError: wrong result)" if way == "raises" else "(exit status 3)"
    assert done.stderr.endswith(
        f"ttl: own.py stopped at line 36 {what}: operations with errors were not run\n"
        "ttl: 4 operations checked, 3 errors; those with errors were not run\n"
    )


@pytest.mark.parametrize("verb", ["check", "compile"])
def test_compile_only_ends_without_a_traceback(verb: str, run: Any, tmp_path: Path) -> None:
    head, _, _ = CHECKS_ITSELF.partition("operation((2, 1), 1, 2)(a, y)\n")
    check = CHECKS_ITSELF.splitlines()[-1]
    (tmp_path / "own.py").write_text(f"{head}{check}\n")
    done = run("ttl", verb, "--compile-only", "own.py")
    assert done.returncode == 0 and "Traceback" not in done.stderr
    assert "(AssertionError: wrong result): --compile-only computes no results\n" in done.stderr
    failed = run("ttl", verb, "own.py")
    assert failed.returncode == 1 and "Traceback" in failed.stderr


def test_the_programs_own_fault_keeps_its_traceback(run: Any, tmp_path: Path) -> None:
    head, _, _ = CHECKS_ITSELF.partition("operation((2, 1), 1, 2)(a, y)\n")
    (tmp_path / "own.py").write_text(f"{head}1 / 0\n")
    for verb in (("check",), ("run", "--host", "--check")):
        done = run("ttl", *verb, "own.py")
        assert done.returncode == 1 and "Traceback" in done.stderr
        assert done.stderr.rstrip().endswith("ZeroDivisionError: division by zero")


@pytest.mark.parametrize("name", ["barrier", "split_sum"])
def test_nodes_that_semaphores_order_are_right_with_strict(run: Any, name: str) -> None:
    done = run("ttl", "check", "--strict", EXAMPLES / f"{name}.py")
    assert done.returncode == 0, done.stderr
    assert done.stderr == "ttl: 1 operation checked, no errors\n"

"""Expressions that are too deep for what reads them."""

from __future__ import annotations

from pathlib import Path

import pytest

from e2e.conftest import Run

PROGRAM = """
import ttl
from ttl import ttnn

DEVICE = ttnn.open_device(device_id=0)


@ttl.operation(grid=(1, 1))
def deep(a, y):
    a_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=2)
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1), block_count=2)

    @ttl.compute()
    def compute():
        with a_dfb.wait() as x, y_dfb.reserve() as o:
            o.store({terms})

    @ttl.datamovement()
    def read():
        with a_dfb.reserve() as x:
            ttl.copy(a[0, 0], x).wait()

    @ttl.datamovement()
    def write():
        with y_dfb.wait() as x:
            ttl.copy(x, y[0, 0]).wait()


a = ttnn.full((32, 32), 1.0, dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=DEVICE)
y = ttnn.zeros((32, 32), dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=DEVICE)
deep(a, y)
"""


WITH = "with a_dfb.wait() as x, y_dfb.reserve() as o:"
TERMS = " + ".join(["x"] * 900)


@pytest.mark.parametrize("command", [["run"], ["run", "--host"]], ids=" ".join)
def test_with_all_releases_written_it_runs(run: Run, tmp_path: Path, command: list[str]) -> None:
    file = tmp_path / "deep.py"
    file.write_text(PROGRAM.format(terms=TERMS) + "print(ttl.to_numpy(y)[0, 0])\n")
    assert run("ttl", *command, file).stdout == "256\n"  # 256 + 1 is 256 in bfloat16


@pytest.mark.parametrize("command", [["run"], ["run", "--host"], ["check"]], ids=" ".join)
def test_a_very_deep_expression_is_refused(run: Run, tmp_path: Path, command: list[str]) -> None:
    file = tmp_path / "deep.py"
    supplied = "x, o = a_dfb.wait(), y_dfb.reserve()\n        if True:"  # releases are left out
    file.write_text(PROGRAM.replace(WITH, supplied).format(terms=TERMS))
    done = run("ttl", *command, file)
    assert done.returncode == 1
    assert "[TTL7003]: an expression of 901 operations inside each other is too deep" in done.stderr
    assert "deep.py:17:13" in done.stderr and "Traceback" not in done.stderr


def test_a_long_chain_of_statements_is_not_deep(run: Run, tmp_path: Path) -> None:
    lines = ["s = x", *["s = s + x"] * 600, "o.store(s)"]
    file = tmp_path / "long.py"
    file.write_text(PROGRAM.replace("o.store({terms})", "\n            ".join(lines)))
    done = run("ttl", "compile", "--compile-only", file, "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "command", [["run"], ["run", "--host"], ["check"], ["compile", "--compile-only"]], ids=" ".join
)
@pytest.mark.parametrize("terms", [2000, 2850])  # more than `compile()` takes, than `ast` takes
def test_an_expression_that_python_can_just_load(
    run: Run, tmp_path: Path, command: list[str], terms: int
) -> None:
    file = tmp_path / "deep.py"
    file.write_text(PROGRAM.format(terms=" + ".join(["x"] * terms)))
    done = run("ttl", *command, file)
    assert done.returncode == 1
    assert "error[TTL7003]: an expression o" in done.stderr and "is too deep" in done.stderr
    assert "= help: add up in a loop" in done.stderr and "Traceback" not in done.stderr


def test_a_deep_expression_of_a_helper(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "deep.py"
    helper = f"def helper(x):\n    return {' + '.join(['x'] * 2000)}\n"
    file.write_text(helper + PROGRAM.format(terms="helper(x)"))
    done = run("ttl", "run", "--host", file)
    assert "[TTL7003]: an expression of 2000 operations inside" in done.stderr
    assert "deep.py:2:12" in done.stderr and "Traceback" not in done.stderr


def test_a_long_chain_of_elif_is_refused(run: Run, tmp_path: Path) -> None:
    cases = [f"elif DEVICE == {i}:\n                pass" for i in range(1000)]
    lines = ["o.store(x)", "if x is None:\n                pass", *cases]
    file = tmp_path / "deep.py"
    file.write_text(PROGRAM.replace("o.store({terms})", "\n            ".join(lines)))
    done = run("ttl", "run", "--host", file)
    assert "[TTL7003]: 1004 statements inside each other are too deep" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_file_that_python_cannot_load(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "deep.py"
    file.write_text(PROGRAM.format(terms=" + ".join(["x"] * 20_000)))
    done = run("ttl", "run", file)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "deep.py has an expression or a statement that is too deep for Python" in done.stderr

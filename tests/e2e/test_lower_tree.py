"""`ttl lower --tree`: the kernels as they are read."""

from __future__ import annotations

from pathlib import Path

from e2e.conftest import Run

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_the_trees_of_all_kernels_are_printed(run: Run) -> None:
    done = run("ttl", "lower", "--tree", EXAMPLES / "softmax.py")
    assert done.returncode == 0, done.stderr
    heads = [line for line in done.stdout.splitlines() if line and not line.startswith(" ")]
    assert [" ".join(line.split()[:3]) for line in heads] == [
        "compute kernel compute,",
        "datamovement kernel read,",
        "datamovement kernel write,",
    ]
    assert "enter ttl.DataflowBuffer.reserve(<x_dfb: DataflowBuffer>) as x_blk" in done.stdout
    assert "held back" in done.stderr


def test_a_program_without_operations_has_no_tree(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "none.py"
    file.write_text("print(1)\n")
    done = run("ttl", "lower", "--tree", file)
    assert done.returncode == 1 and "calls no operation; there is no tree" in done.stderr

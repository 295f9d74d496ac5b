"""ttl diff: a simulated run and a compiled one."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_two_roads_of_an_example(run, tmp_path) -> None:
    source = (ROOT / "examples" / "elementwise.py").read_text()
    source = source.replace("ttl.math.exp(c_blk)", "c_blk")
    (tmp_path / "program.py").write_text(source)
    (tmp_path / "wrong.py").write_text(source.replace("a_blk * b_blk", "a_blk + b_blk"))
    (tmp_path / "sample_inputs.py").write_bytes((ROOT / "examples/sample_inputs.py").read_bytes())
    for trace, *options in (
        ("a.json", "program.py"),
        ("b.jsonl", "--host", "program.py"),
        ("c.json", "wrong.py"),
    ):
        done = run("ttl", "run", "--results", "--trace", trace, *options)
        assert done.returncode == 0, done.stderr
    done = run("ttl", "diff", "a.json", "b.jsonl")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("no difference (")
    done = run("ttl", "diff", "a.json", "c.json")
    assert done.returncode == 1
    assert "call 1 of `multiply_add_exp`: `y`, tile (0, 0), element (0, " in done.stdout
    (copy,) = [line for line in source.splitlines() if "y_copy = ttl.copy" in line]
    line = 1 + source.splitlines().index(copy)
    assert f"`write` on node (0, 0) wrote it in line {line}" in done.stdout


def test_wrong_command_lines(run, tmp_path) -> None:
    assert "--results and --times need --trace" in run("ttl", "run", "--results", "x.py").stderr
    done = run("ttl", "diff", "a.json", "b.json")
    assert done.returncode == 1
    assert "error[TTL6003]" in done.stderr

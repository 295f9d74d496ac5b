"""The fuzzer itself: past failures, a slice of every kind, and that it notices what is wrong."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from e2e.test_tune_cluster import cluster as cluster
from fuzz import numpy_ttl, pipe_nets, semaphore_orders
from fuzz.__main__ import CORPUS, ROOT, main
from fuzz.engines import expected, run, with_tail
from fuzz.judging import judge
from fuzz.kinds import KINDS, Case, made, read_case
from fuzz.programs import ALL_TYPES
from fuzz.running import Batch, failure_of, in_process, manner, perform, smaller
from fuzz.shrinking import of_edits, of_lines, of_program, shrunk
from ttl.semantics.dtypes import DTYPES

PROGRAM = """\
import ttl


@ttl.operation(grid=(1, 1))
def operation(a, y):
    a_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=2)
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1), block_count=2)

    @ttl.compute()
    def compute():
        with a_dfb.wait() as a_blk, y_dfb.reserve() as y_blk:
            y_blk.store(a_blk + 1)

    @ttl.datamovement()
    def read():
        with a_dfb.reserve() as blk:
            ttl.copy(a[0, 0], blk).wait()

    @ttl.datamovement()
    def write():
        with y_dfb.wait() as blk:
            ttl.copy(blk, y[0, 0]).wait()
"""
INPUTS = [((32, 32), "float32", -9, 9, 1)] * 2


@pytest.mark.parametrize("file", sorted(CORPUS.glob("*-*")), ids=lambda file: file.name)
def test_past_failures_are_mended(file: Path) -> None:
    assert not failure_of(read_case(file))


SLOW = ("forks", "programs", "expressions", "stores", "functions")
ONE_OF_EACH = [
    pytest.param(each, marks=pytest.mark.full) if each in SLOW else each for each in KINDS
]


@pytest.mark.parametrize("kind", ONE_OF_EACH)
def test_one_of_each_kind(kind: str) -> None:
    result = perform(Batch(kind, (0,)))
    assert not result["failures"]
    assert sum(result["endings"].values()) == 1


@pytest.mark.full
@pytest.mark.parametrize("kind", KINDS)
def test_a_slice_of_each_kind(kind: str) -> None:
    """As many as take half a minute; the seeds are not those of other runs."""
    counts = {"manifests": 200, "flatbuffers": 1000, "ir": 300, "mutants": 40, "forks": 4}
    count = counts.get(kind, 20)
    result = perform(Batch(kind, tuple(range(1, count))))
    assert not result["failures"], result["failures"]


def test_a_third_of_the_semaphores_and_some_nets_wait_for_ever() -> None:
    plans = [semaphore_orders.plan(seed) for seed in range(60)]
    stuck = [semaphore_orders.Model(plan).sticks for plan in plans]
    assert 20 <= sum(stuck) <= 45
    nets = [pipe_nets.waits_for_ever(pipe_nets.plan(seed)) for seed in range(60)]
    assert 15 <= sum(nets) <= 45


# What it must notice ------------------------------------------------------------------------------


def text_with(statement: str) -> str:
    return with_tail(PROGRAM.replace("y_blk.store(a_blk + 1)", statement), INPUTS)


def test_a_right_program_has_the_results_of_numpy() -> None:
    text = text_with("y_blk.store(a_blk * 2 - 3)")
    a, y = run(text, "sim").results
    np.testing.assert_array_equal(y, a * 2 - 3)
    wanted = expected(text)
    assert wanted is not None and not wanted[1].difference(y)
    assert "for" in wanted[1].difference(y + (np.arange(1024) == 77).reshape(32, 32))


@pytest.mark.parametrize("dtype", ALL_TYPES)
def test_the_reference_knows_every_element_type(dtype: str) -> None:
    """Integers wrap, and floats are rounded: 3 * 85 is none of a uint8, nor of a bfloat4_b.

    Registers have 32 bits beside float16, and what the compiler keeps of them may be read as TF32.
    """
    statement = "y_blk.store(a_blk * 3 + a_blk)"
    text = with_tail(
        PROGRAM.replace("y_blk.store(a_blk + 1)", statement), [((32, 32), dtype, 0, 99, 1)] * 2
    )
    wanted, found = expected(text), run(text, "sim").results[1]
    assert wanted is not None and wanted[1].error.any() == (dtype == "float16")
    assert not wanted[1].difference(found)
    assert "for" in wanted[1].difference(found + (np.arange(1024) == 77).reshape(32, 32))


def test_all_element_types_are_fuzzed() -> None:
    assert set(ALL_TYPES) == set(DTYPES)


def test_a_program_that_waits_for_ever_is_stuck_in_the_reference_too() -> None:
    text = with_tail(PROGRAM.replace("with a_dfb.wait() as a_blk", "if 0:\n#"), INPUTS)
    with pytest.raises(numpy_ttl.Stuck):
        expected(text.replace("y_blk.store(a_blk + 1)", "pass"))


def test_a_refused_program_is_no_failure() -> None:
    verdict = judge(text_with("pass"))
    assert not verdict.failure
    assert verdict.ending == "refused"
    assert {engine for engine, _ in verdict.codes} == {"check", "sim", "host"}


def test_a_fault_of_ours_is_noticed() -> None:
    """The simulator adds one too much."""
    from ttl.semantics.ops import BLOCK_OPS

    plain = BLOCK_OPS["add"].meaning
    changed = lambda *values: plain(*values) + 1  # noqa: E731
    object.__setattr__(BLOCK_OPS["add"], "meaning", changed)
    try:
        failure = judge(text_with("y_blk.store(a_blk + a_blk)")).failure
    finally:
        object.__setattr__(BLOCK_OPS["add"], "meaning", plain)
    assert failure.startswith("sim is not numpy: tensor 1")


def test_a_file_that_is_only_loaded_ends_too() -> None:
    verdict = KINDS["flatbuffers"].check(json.dumps({"base": "stitched", "edits": []}))
    assert (verdict.failure, verdict.ending) == ("", "ended")


def test_a_traceback_of_ours_is_noticed() -> None:
    ours, theirs = "from ttl.studio.sweep import perform\nperform(None)\n", "{}['x']\n"
    assert run(ours, "sim").kind == "fault"
    assert run(theirs, "sim").kind == "invalid"


def test_crashes_are_failures() -> None:
    crash = "import os\nos.kill(os.getpid(), 9)\n"
    assert failure_of(Case("mutants", 0, crash)) == "crashed: its process ended with signal 9"


def test_a_failure_is_made_smaller_and_comes_back_from_its_file(tmp_path: Path) -> None:
    text = "x = 1\nfor i in range(3):\n    y = 2\n    import os\n    os.kill(os.getpid(), 9)\n"
    case = Case("mutants", 7, text, "crashed: its process ended with signal 9")
    found = smaller(case)
    assert found.text == "import os\nos.kill(os.getpid(), 9)\n"
    assert read_case(found.write(tmp_path)) == found


def test_texts_are_made_smaller() -> None:
    assert shrunk("a\nb\nc\nd\n", of_lines, lambda text: "c" in text, 50) == "c\n"
    edits = json.dumps({"base": "x", "edits": [1, 2, 3]})
    small = shrunk(edits, of_edits, lambda text: 2 in json.loads(text)["edits"], 50)
    assert json.loads(small)["edits"] == [2]
    text = "if a:\n    b(c + d(e))\n"
    assert shrunk(text, of_program, lambda text: "e" in text, 50) == "e\n"


def test_the_budget_ends_it() -> None:
    assert shrunk("a\nb\n", of_lines, lambda text: True, 0) == "a\nb\n"


def test_failures_of_one_manner() -> None:
    one, other = "sim: traceback: KeyError: 7", "sim: traceback: KeyError: 8"
    assert manner(one) == manner(other) != manner("host: traceback: KeyError: 7")


def test_what_a_worker_of_a_cluster_does() -> None:
    result = in_process(("flatbuffers", "1", "2"))
    assert sum(result["endings"].values()) == 2


@pytest.mark.full
def test_on_a_cluster(cluster: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wanted = ["--minutes", "0.1", "--seed", "5", "--kinds", "flatbuffers", "ir"]
    assert main([*wanted, "--scheduler", cluster, "--failures", str(tmp_path)]) == 0
    assert " cases, 0 failures" in capsys.readouterr().out


@pytest.mark.parametrize("kind", KINDS)
def test_a_seed_gives_one_text(kind: str) -> None:
    assert made(kind, 3) == made(kind, 3) != made(kind, 4)


def test_programs_run_by_themselves(tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text(made("unified", 1).text)
    command = [sys.executable, "-P", "-m", "ttl", "run", str(file)]
    subprocess.run(command, check=True, cwd=ROOT)

"""`make mutation`: which mutants a program has, and how they are judged."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from mutation import synchronization
from mutation.sync_mutants import Mutant, mutants
from mutation.synchronization import Verdict, expected_digests, judge, report

PROGRAM = """
import numpy as np
import ttnn

import ttl


@ttl.operation(grid=(2, 1))
def double(a, y):
    a_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=2)
    y_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=2)
    seen = ttl.Semaphore(0)

    @ttl.compute()
    def compute():
        with a_dfb.wait() as a_blk, y_dfb.reserve() as y_blk:
            y_blk.store(a_blk + a_blk)

    @ttl.datamovement()
    def read():
        column, _ = ttl.node(dims=2)
        with a_dfb.reserve() as a_blk:
            a_copy = ttl.copy(a[0, column], a_blk)
            a_copy.wait()
        seen.get_remote((0, 0)).inc(1)

    @ttl.datamovement()
    def write():
        column, _ = ttl.node(dims=2)
        if column == 0:
            seen.wait_ge(2)
        y_blk = y_dfb.wait()
        y_copy = ttl.copy(y_blk, y[0, column])
        y_copy.wait()
        y_blk.pop()


device = ttnn.open_device(device_id=0)
a = ttl.from_numpy(np.ones((32, 64)), dtype=ttnn.bfloat16, device=device)
double(a, ttnn.zeros_like(a))
"""


@pytest.fixture(autouse=True)
def simulated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(synchronization, "BACKENDS", ("sim",))
    monkeypatch.setattr(synchronization, "SEEDS", range(2))


def test_the_mutants_of_a_program() -> None:
    found = Counter((mutant.rule, mutant.text) for mutant in mutants(PROGRAM))
    with_a = "with a_dfb.wait() as a_blk, y_dfb.reserve() as y_blk:"
    assert found == Counter(
        {
            ("bind", with_a): 1,
            ("skip", with_a): 1,
            ("order", with_a): 1,
            ("bind", "with a_dfb.reserve() as a_blk:"): 1,
            ("skip", "with a_dfb.reserve() as a_blk:"): 1,
            ("after", "with a_dfb.reserve() as a_blk:"): 1,
            ("pair", "a_copy = ttl.copy(a[0, column], a_blk)"): 1,
            ("remove", "a_copy.wait()"): 1,
            ("swap", "a_copy.wait()"): 1,
            ("remove", "seen.get_remote((0, 0)).inc(1)"): 1,
            ("swap", "seen.get_remote((0, 0)).inc(1)"): 1,
            ("remove", "seen.wait_ge(2)"): 1,
            ("pair", "y_copy = ttl.copy(y_blk, y[0, column])"): 1,
            ("remove", "y_copy.wait()"): 1,
            ("swap", "y_copy.wait()"): 1,
            ("remove", "y_blk.pop()"): 1,
            ("swap", "y_blk.pop()"): 1,
        }
    )


def judged(rule: str, text: str, source: str = PROGRAM) -> Verdict:
    (mutant,) = [m for m in mutants(source) if (m.rule, m.text) == (rule, text)]
    return judge("program", mutant, expected_digests(PROGRAM))


@pytest.mark.parametrize(
    ("rule", "text", "code"),
    [
        ("remove", "y_copy.wait()", "TTL3011"),
        ("remove", "y_blk.pop()", "TTL3011"),
        ("swap", "y_blk.pop()", "TTL3001"),
        ("skip", "with a_dfb.reserve() as a_blk:", "TTL5001"),
        ("remove", "seen.get_remote((0, 0)).inc(1)", "TTL5001"),
    ],
)
def test_a_mutant_that_is_caught(rule: str, text: str, code: str) -> None:
    verdict = judged(rule, text)
    assert (verdict.kind, verdict.detail) == ("caught", code)


def test_a_mutant_that_computes_the_same() -> None:
    """The semaphore orders nothing that matters here."""
    verdict = judged("remove", "seen.wait_ge(2)")
    assert (verdict.kind, verdict.detail) == ("equivalent", "on sim")


def test_a_wrong_result_that_nobody_mentions_is_missed() -> None:
    changed = PROGRAM.replace("a_blk + a_blk", "a_blk")
    mutant = Mutant("remove", 1, "", changed)
    verdict = judge("program", mutant, expected_digests(PROGRAM))
    assert (verdict.kind, verdict.detail) == ("missed", "sim")


def test_an_exception_of_python_is_no_mutant_of_the_language() -> None:
    mutant = Mutant("remove", 1, "", PROGRAM + "undefined_name\n")
    assert judge("program", mutant, expected_digests(PROGRAM)).kind == "invalid"


@pytest.mark.parametrize(("missed", "status"), [(0, 0), (1, 0), (2, 1)])
def test_the_floor(missed: int, status: int, capsys: pytest.CaptureFixture[Any]) -> None:
    mutant = Mutant("swap", 1, "x.wait()", "")
    caught = [Verdict("one", mutant, "caught", "TTL3001")] * 20
    assert report([*caught, *[Verdict("one", mutant, "missed", "sim")] * missed]) == status
    wrong = 20 + missed
    said = f"20 of {wrong} mutants that change a program are caught ({20 / wrong:.1%})"
    assert said in capsys.readouterr().out

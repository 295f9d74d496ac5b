"""The kind of cases that compares both forms of an operation, and what it must notice."""

from __future__ import annotations

import pytest

from fuzz.engines import with_tail
from fuzz.forms import NotSplit, by_hand, judge, program

PROGRAM = """\
import ttl


@ttl.operation(grid=(2, 1))
def operation(a, y):
    a_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))
    node = ttl.node(dims=1)
    for i in range(2):
        row = node * 2 + i
        with a_dfb.reserve() as r_new:
            ttl.copy(a[row, 0], r_new).wait()
        with a_dfb.wait() as c_a, y_dfb.reserve() as c_out:
            if node == 0:
                c_out.store(c_a * 2)
            else:
                c_out.store(c_a + 1)
        with y_dfb.wait() as w_done:
            ttl.copy(w_done, y[row, 0]).wait()
"""
ARGUMENTS = "\n\ndef make_arguments():\n    return make_tensors()\n"
INPUTS = [((128, 32), "float32", -3, 4, 1)] * 2


def text_with(statement: str = "c_out.store(c_a * 2)") -> str:
    plain = PROGRAM.replace("c_out.store(c_a * 2)", statement)
    return with_tail(plain, INPUTS) + ARGUMENTS


def test_a_kernel_has_the_statements_of_its_thread() -> None:
    assert (
        by_hand(PROGRAM)
        == """\
import ttl

@ttl.operation(grid=(2, 1))
def operation(a, y):
    a_dfb = ttl.make_dataflow_buffer_like(a, shape=(1, 1))
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))

    @ttl.compute()
    def c_kernel():
        node = ttl.node(dims=1)
        for i in range(2):
            row = node * 2 + i
            with a_dfb.wait() as c_a, y_dfb.reserve() as c_out:
                if node == 0:
                    c_out.store(c_a * 2)
                else:
                    c_out.store(c_a + 1)

    @ttl.datamovement()
    def r_kernel():
        node = ttl.node(dims=1)
        for i in range(2):
            row = node * 2 + i
            with a_dfb.reserve() as r_new:
                ttl.copy(a[row, 0], r_new).wait()

    @ttl.datamovement()
    def w_kernel():
        node = ttl.node(dims=1)
        for i in range(2):
            row = node * 2 + i
            with y_dfb.wait() as w_done:
                ttl.copy(w_done, y[row, 0]).wait()
"""
    )


def test_a_statement_of_two_threads_is_no_program() -> None:
    with pytest.raises(NotSplit):
        by_hand(PROGRAM.replace("c_a * 2", "c_a * r_new"))
    assert judge(text_with("c_out.store(c_a * r_new)")).failure.startswith("no program")


def test_a_right_program_ends() -> None:
    verdict = judge(text_with())
    assert (verdict.failure, verdict.ending) == ("", "ended")


def test_a_wrong_number_is_noticed() -> None:
    """A third is rounded, which the reference does not know."""
    failure = judge(text_with("c_out.store(c_a * (1 / 3))")).failure
    assert failure.startswith("unified sim: wrong numbers: tensor 1")


def test_a_refusal_is_noticed() -> None:
    verdict = judge(text_with("c_out.store(ttl.math.transpose(c_a, 1))"))
    assert verdict.failure.startswith(("unified sim: refused", "no program"))
    verdict = judge(text_with("print(c_out)"))
    assert verdict.failure.startswith("unified sim: refused")


def test_generated_programs_have_everything() -> None:
    texts = "".join(map(program, range(60)))
    computing = ("+= ", "reduce_sum", "reduce_max", "broadcast", " @ ", "c_limited(")
    moving = ("raw_element_read", "r_load(", "t[row", "u[row", "again = ", "w_done, b[")
    for part in (*computing, *moving, "for j", "if node", "LIMIT >", "continue", "break"):
        assert part in texts, part

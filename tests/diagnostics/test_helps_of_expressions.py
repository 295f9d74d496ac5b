"""Helps about numbers where a block is needed, and about functions of other languages: what they
say to write works as written, on the simulator, compiled and in the check.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

from fuzz.engines import check, run, with_tail
from ttl.diagnostics import Diagnostic, Severity
from ttl.diagnostics.names import OTHER_LANGUAGES

COMPUTE = """\
import ttl


@ttl.operation(grid=(1, 1))
def operation(x, y):
    a_dfb = ttl.make_dataflow_buffer_like(x, shape=(1, 2))
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=({rows}, {columns}))

    @ttl.datamovement()
    def read():
        with a_dfb.reserve() as a_blk:
            ttl.copy(x[0, 0:2], a_blk).wait()

    @ttl.compute()
    def compute():
        with a_dfb.wait() as a, y_dfb.reserve() as y_blk:
            {statement}

    @ttl.datamovement()
    def write():
        with y_dfb.wait() as y_blk:
            ttl.copy(y_blk, y[0:{rows}, 0:{columns}]).wait()
"""


def program(statement: str, rows: int = 1, columns: int = 2) -> str:
    text = COMPUTE.format(statement=statement, rows=rows, columns=columns)
    inputs = [((32, 64), "float32", 1, 9, 1), ((32 * rows, 32 * columns), "float32", 1, 9, 1)]
    return with_tail(text, inputs)


def mistake(statement: str, rows: int = 1, columns: int = 2) -> Diagnostic:
    """The error of the check, which the simulator and the compiler have too."""
    text = program(statement, rows, columns)
    (found,) = (each for each in check(text)[1] if each.severity is Severity.ERROR)
    for backend in ("sim", "host"):
        assert run(text, backend).codes == (found.code.code,)
    return found


def assert_works(statement: str, rows: int = 1, columns: int = 2) -> None:
    text = program(statement, rows, columns)
    assert not [each for each in check(text)[1] if each.severity is Severity.ERROR]
    outcomes = [run(text, backend) for backend in ("sim", "host")]
    assert [each.kind for each in outcomes] == ["ended", "ended"], outcomes
    one, other = (each.results[1] for each in outcomes)
    assert np.allclose(one, other, rtol=1e-5, equal_nan=True)


# A statement, what stands in the place of the number, and what the help says to write there.
NUMBERS = {
    "of a product": ("y_blk.store(a @ 2)", "a @ 2", "a * 2"),
    "of a product, a block": ("y_blk.store(a @ 2)", "2", "ttl.math.fill(2, shape=(2, 2))"),
    "before a product": ("y_blk.store(2 @ a)", "2", "ttl.math.fill(2, shape=(1, 1))"),
    "of a function": ("y_blk.store(ttl.math.exp(2))", "2", "ttl.math.fill(2)"),
    "without a block": ("y_blk.store(ttl.math.max(2, 3))", "2", "ttl.math.fill(2)"),
    "stored": ("y_blk.store(2.5)", "2.5", "ttl.math.fill(2.5)"),
    "infinite": ('y_blk.store(float("inf"))', 'float("inf")', 'ttl.math.fill(float("inf"))'),
    "selected": ("y_blk.store(ttl.math.where(a, 2, a))", "2", "ttl.math.fill(2)"),
    "a mask": ("y_blk.store(ttl.math.mask(a, 1))", "1", "ttl.math.fill(1)"),
    "a truth": ("y_blk.store(a + True)", "True", "1"),
    "a truth that is stored": ("y_blk.store(True)", "True", "ttl.math.fill(1)"),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_what_to_write_for_a_number_works(name: str) -> None:
    statement, given, written = NUMBERS[name]
    found = mistake(statement)
    assert found.code.code == "TTL1003"
    assert any(written.replace("a * ", "x * ") in each for each in found.helps), found.helps
    assert_works(statement.replace(given, written, 1))


@pytest.mark.parametrize(
    "expression",
    [
        "ttl.math.transpose({})",
        "ttl.math.broadcast({}, dims=[0])",
        "ttl.math.reduce_sum({}, dims=[0])",
    ],
)
def test_a_number_for_an_operation_that_needs_a_shape(expression: str) -> None:
    found = mistake(f"y_blk.store({expression.format(2)})", 1, 1)
    written = "ttl.math.fill(2, shape=(1, 1))"
    assert found.helps == (f"write {written}, with its rows and columns in tiles",)
    assert_works(f"y_blk.store({expression.format(written)})", 1, 1)


def test_a_number_of_the_run_in_a_product() -> None:
    found = mistake("value = ttl.node(dims=1); y_blk.store(a @ value)")
    assert found.helps[0] == "write x * value to multiply each element of x"
    assert_works("value = ttl.node(dims=1); y_blk.store(a * value)")


@pytest.mark.parametrize("number", ["2", "2.5", "ttl.node(dims=1)"])
def test_a_number_is_added_in_place(number: str) -> None:
    assert_works(f"y_blk.store(a); y_blk += {number}")
    assert_works(f"y_blk += {number}")


# Functions of other languages ---------------------------------------------------------------------

NAMES = [*OTHER_LANGUAGES]
FUNCTIONS = NAMES[NAMES.index("atan2") : NAMES.index("softmax")]
OPERANDS = re.compile(r"(?<![\w.\"])(?:[xybc]|weight)(?![\w.\"])")


def written_in(text: str) -> list[str]:
    """The expressions that a help says to write."""
    found = re.search(r"write (.*?)(?:, or (.*)|, with .*)?$", text)
    return [] if found is None else [each for each in found.groups() if each]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_of_another_language(name: str) -> None:
    found = mistake(f"y_blk.store(ttl.math.{name}(a))")
    assert found.code.code == "TTL1004"
    assert found.helps == (OTHER_LANGUAGES[name],)


@pytest.mark.parametrize(
    "expression", [each for name in FUNCTIONS for each in written_in(OTHER_LANGUAGES[name])]
)
def test_what_to_write_for_it_works(expression: str) -> None:
    if "with *" not in expression:
        assert_works(f"y_blk.store({OPERANDS.sub('a', expression)})")

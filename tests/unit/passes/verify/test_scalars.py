"""Scalars of kernels are calculated as Python does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from xdsl.dialects import arith

import ttl.frontend
from ttl.passes.verify.scalars import FUNCTIONS
from ttl.passes.verify.symbolic import UNKNOWN, lift, value_of, variable_of, variables_of

FRONTEND = Path(ttl.frontend.__file__).parent


def test_every_scalar_operation_of_the_frontend_has_a_meaning() -> None:
    """Else the control flow of a right program could not be evaluated."""
    texts = [file.read_text() for file in FRONTEND.glob("*.py")]
    made = {name for text in texts for name in re.findall(r"\barith\.(\w+Op)\b", text)}
    known = {kind.__name__ for kind in FUNCTIONS}
    assert made - known == {"ConstantOp", "CmpiOp", "CmpfOp"}


@pytest.mark.parametrize("left", [-7, -1, 0, 5])
@pytest.mark.parametrize("right", [-3, 2])
def test_division(left: int, right: int) -> None:
    assert FUNCTIONS[arith.DivSIOp](left, right) == int(left / right)
    assert FUNCTIONS[arith.RemSIOp](left, right) == left - right * int(left / right)
    assert FUNCTIONS[arith.FloorDivSIOp](left, right) == left // right


def test_sums_of_loop_variables_know_their_extremes() -> None:
    i, j = variable_of(range(2, 10, 3)), variable_of(range(4))
    add, sub, mul = (FUNCTIONS[kind] for kind in (arith.AddiOp, arith.SubiOp, arith.MuliOp))
    value = lift(add, (lift(mul, (i, 4)), lift(sub, (7, lift(mul, (3, j))))))
    assert value.factors is not None
    assert value.extremes() == (2 * 4 + 7 - 9, 8 * 4 + 7)
    assert set(value.all_values()) == {4 * x + 7 - 3 * y for x in range(2, 10, 3) for y in range(4)}
    assert lift(sub, (i, i)) == 0


def test_other_functions_are_enumerated() -> None:
    i = variable_of(range(10))
    rest = lift(FUNCTIONS[arith.RemSIOp], (i, 4))
    assert rest.factors is None and rest.extremes() == (0, 3)
    (variable,) = variables_of(rest)
    assert value_of(rest, {variable: 7}) == 3
    assert lift(FUNCTIONS[arith.AddiOp], (rest, UNKNOWN)) is UNKNOWN

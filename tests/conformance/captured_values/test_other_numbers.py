"""Captured numbers that the chip does not have, beside numbers that differ between nodes: what
Python calculates, or one code, on every way to run."""

from __future__ import annotations

import pytest

from fuzz.engines import check, run, with_tail

PROGRAM = """\
from decimal import Decimal
from fractions import Fraction

import ttl

PRICE, THIRD, TURN = Decimal("1.5"), Fraction(1, 3), 1j


@ttl.operation(grid=(2, 1))
def operation(y):
    node = ttl.node(dims=1)
    per_node = 3 * node - 1
    y_dfb = ttl.make_dataflow_buffer_like(y, shape=(1, 1))

    @ttl.compute()
    def compute():
        here = ttl.node(dims=1)
        value = {expression}
        with y_dfb.reserve() as blk:
            blk.store(ttl.math.fill(value, shape=(1, 1)))

    @ttl.datamovement()
    def write():
        with y_dfb.wait() as blk:
            ttl.copy(blk, y[0, ttl.node(dims=1)]).wait()
"""
INPUTS = [((32, 64), "float32", -9, 9, 1)]

EXPRESSIONS: dict[str, tuple[float, float]] = {
    "(PRICE <= node) >> 3": (0, 0),
    "1 if PRICE <= per_node else 2": (2, 1),
    "int(PRICE * (here + 1))": (1, 3),
    "float(PRICE ** here)": (1, 1.5),
    "float(max(PRICE, here))": (1.5, 1.5),
    "float(sum([PRICE, here]))": (1.5, 2.5),
    "float(PRICE * (here > 0))": (0, 1.5),
    "float(PRICE * (here * 3 * 0.5 > 1))": (0, 1.5),
    "float(PRICE // (3 * here - 1))": (-1, 0),  # which is never 0
    "float(THIRD * per_node * 3)": (-1, 2),
    "(-per_node) ** -3": (1, -0.125),  # of 1 and -2
    "(TURN * here).imag": (0, 1),
}


def text_of(expression: str) -> str:
    return with_tail(PROGRAM.format(expression=expression), INPUTS)


@pytest.mark.rule("captured-kinds")
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_python_calculates_with_them(expression: str) -> None:
    text = text_of(expression)
    assert check(text)[1] == []
    for backend in ("sim", "host"):
        outcome = run(text, backend, 1)
        assert outcome.kind == "ended", (backend, outcome)
        assert tuple(outcome.results[0][0, ::32]) == EXPRESSIONS[expression]


@pytest.mark.rule("captured-kinds")
@pytest.mark.parametrize(
    ("expression", "code"),
    [
        ("PRICE % per_node", "TTL1003"),
        ("(0, PRICE % per_node)[1]", "TTL1003"),
        ("PRICE * (here > 0)", "TTL1003"),
        ("int(PRICE % here)", "TTL5002"),
        ("PRICE + 0.5 * here", "TTL5002"),
        ("TURN < here", "TTL5002"),
    ],
)
def test_they_are_refused_with_one_code(expression: str, code: str) -> None:
    text = text_of(expression)
    assert code in {each.code.code for each in check(text)[1]}
    assert run(text, "sim", 1).codes == (code,)
    assert code in run(text, "host", 1).codes

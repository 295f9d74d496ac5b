"""Run-time integers as sums: unknown values with factors, and a constant."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr

from ttl.dialects.conditions import number_key

from .hir import Op, Scalar, Value
from .problems import describe, not_yet


@dataclass(frozen=True, slots=True)
class Term:
    """An unknown value; equal calculations are equal terms."""

    key: Hashable
    value: Scalar = field(compare=False)


Terms = dict[Term, int]


def known_difference(stop: Value, start: Value) -> int | None:
    """Return `stop - start` if it is a constant, as in `row * 2 : row * 2 + 2`."""
    terms, constant = difference(stop, start)
    return None if terms else constant


def difference(one: Value, other: Value) -> tuple[Terms, int]:
    return _combine(linear(one), linear(other), -1)


def linear(value: Value) -> tuple[Terms, int]:
    if isinstance(value, int):
        return {}, int(value)
    if not isinstance(value, Scalar):
        raise not_yet(f"{describe(value)} as a slice bound")
    op = value.owner
    if not isinstance(op, Op) or value.bounds is not None:
        return {Term(number_key(value), value): 1}, 0
    if op.becomes is arith.ConstantOp:
        constant = op.properties["value"]
        assert isinstance(constant, IntegerAttr)
        return {}, constant.value.data
    if op.becomes in (arith.AddiOp, arith.SubiOp):
        sign = 1 if op.becomes is arith.AddiOp else -1
        return _combine(linear(op.operands[0]), linear(op.operands[1]), sign)
    if op.becomes is arith.MuliOp:
        left, right = (linear(operand) for operand in op.operands)
        for factor, other in ((left, right), (right, left)):
            if not factor[0]:
                return _combine(({}, 0), other, factor[1])
    return {Term(number_key(value), value): 1}, 0


def _combine(left: tuple[Terms, int], right: tuple[Terms, int], factor: int) -> tuple[Terms, int]:
    """Return left + right * factor."""
    terms = dict(left[0])
    for term, count in right[0].items():
        terms[term] = terms.get(term, 0) + count * factor
    present = {term: count for term, count in terms.items() if count}
    return present, left[1] + right[1] * factor

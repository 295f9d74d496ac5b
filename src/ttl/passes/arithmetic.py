"""Arithmetic on indices in kernels; known values fold to constants."""

from __future__ import annotations

import operator

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from .module_pass import Maker, constant_of, integer_op

_FUNCTIONS = {
    arith.AddiOp: operator.add,
    arith.SubiOp: operator.sub,
    arith.MuliOp: operator.mul,
    arith.DivSIOp: operator.floordiv,  # of nonnegative numbers
    arith.RemSIOp: operator.mod,
}
Kind = type[arith.AddiOp | arith.SubiOp | arith.MuliOp | arith.DivSIOp | arith.RemSIOp]


def add(make: Maker, left: SSAValue, right: SSAValue, hint: str | None = None) -> SSAValue:
    for value, other in ((left, right), (right, left)):
        if constant_of(value) == 0:
            return other
    return _calculate(make, arith.AddiOp, left, right, hint)


def minus(make: Maker, left: SSAValue, right: SSAValue, hint: str | None = None) -> SSAValue:
    return left if constant_of(right) == 0 else _calculate(make, arith.SubiOp, left, right, hint)


def times(make: Maker, left: SSAValue, right: SSAValue, hint: str | None = None) -> SSAValue:
    for value, other in ((left, right), (right, left)):
        if (number := constant_of(value)) in (0, 1):
            return other if number else value
    return _calculate(make, arith.MuliOp, left, right, hint)


def divide(make: Maker, value: SSAValue, by: int) -> tuple[SSAValue, SSAValue]:
    """Return the quotient and remainder of a nonnegative number."""
    if by == 1:
        return value, make.index(0)
    divisor = make.index(by)
    return (
        _calculate(make, arith.DivSIOp, value, divisor),
        _calculate(make, arith.RemSIOp, value, divisor),
    )


def _calculate(
    make: Maker, kind: Kind, left: SSAValue, right: SSAValue, hint: str | None = None
) -> SSAValue:
    numbers = constant_of(left), constant_of(right)
    if numbers[0] is not None and numbers[1] is not None:
        return make.index(_FUNCTIONS[kind](*numbers))
    return make.value(integer_op(kind, left, right), hint)

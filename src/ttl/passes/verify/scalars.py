"""The meaning of kernels' scalar operations, as Python calculates it."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from xdsl.dialects import arith
from xdsl.ir import Operation


def _truncated(left: int, right: int) -> int:
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def _remainder(left: int, right: int) -> int:
    return left - right * _truncated(left, right)


FUNCTIONS: dict[type[Operation], Callable[..., object]] = {
    arith.AddiOp: operator.add,
    arith.SubiOp: operator.sub,
    arith.MuliOp: operator.mul,
    arith.DivSIOp: _truncated,
    arith.RemSIOp: _remainder,
    arith.FloorDivSIOp: operator.floordiv,
    arith.AndIOp: operator.and_,
    arith.OrIOp: operator.or_,
    arith.XOrIOp: operator.xor,
    arith.ShLIOp: operator.lshift,
    arith.ShRSIOp: operator.rshift,
    arith.MinSIOp: min,
    arith.MaxSIOp: max,
    arith.SelectOp: lambda condition, one, other: one if condition else other,
    arith.AddfOp: operator.add,
    arith.SubfOp: operator.sub,
    arith.MulfOp: operator.mul,
    arith.DivfOp: operator.truediv,
    arith.NegfOp: operator.neg,
    arith.IndexCastOp: lambda value: value,
    arith.SIToFPOp: float,
    arith.FPToSIOp: int,
}

# By the predicate's number in the attribute.
COMPARISONS = {
    0: operator.eq,
    1: operator.ne,
    2: operator.lt,
    3: operator.le,
    4: operator.gt,
    5: operator.ge,
}
FLOAT_COMPARISONS = {
    1: operator.eq,
    2: operator.gt,
    3: operator.ge,
    4: operator.lt,
    5: operator.le,
    13: operator.ne,
}


def function_of(op: Operation) -> Callable[..., Any] | None:
    """Return the function that computes an operation from its operands, if known."""
    if isinstance(op, arith.CmpiOp):
        return COMPARISONS.get(op.predicate.value.data)
    if isinstance(op, arith.CmpfOp):
        return FLOAT_COMPARISONS.get(op.predicate.value.data)
    return FUNCTIONS.get(type(op))

"""Python's functions of numbers: abs, int, round and the like."""

from __future__ import annotations

import math

from xdsl.dialects import arith
from xdsl.dialects.builtin import i32

from ttl.semantics.ops import BLOCK_OPS

from .block_math import block_math, is_block
from .builder import KernelBuilder
from .hir import INDEX, RunTime, Scalar, Value
from .in_python import require_python
from .scalars import (
    arithmetic,
    as_kind,
    calculated,
    check,
    compare,
    divide_floats,
    negate,
    scalar_kinds,
    select,
)
from .value_ranges import as_constant


def absolute(builder: KernelBuilder, value: Value) -> Value:
    if is_block(value):
        return block_math(builder, BLOCK_OPS["abs"], [value])
    (kind,) = scalar_kinds(abs, value)
    if kind is bool or (isinstance(value, Scalar) and value.is_natural):
        return as_kind(builder, value, int)
    positive = arithmetic(builder, "-", 0, value)  # -0 would be -0.0, but this is 0
    is_negative = compare(builder, "<" if kind is int else "<=", value, 0)
    if not isinstance(is_negative, RunTime):
        return positive if is_negative else value
    result = select(builder, is_negative, *(as_kind(builder, v, kind) for v in (positive, value)))
    result.is_natural = kind is int
    return result


def to_int(builder: KernelBuilder, value: Value) -> Value:
    (kind,) = scalar_kinds(int, value)
    if kind is float:
        for sign, end in ((">", -(2.0**31) - 1), ("<", 2.0**31)):
            fits = compare(builder, sign, value, end)
            check(builder, fits, "makes an int of a float that 32 bits do not hold")
        narrow = builder.value(arith.FPToSIOp, [as_kind(builder, value, float)], i32)
        return calculated(builder, arith.IndexCastOp, narrow, type=INDEX)
    return as_kind(builder, value, int)


def floor(builder: KernelBuilder, value: Value) -> Value:
    """Evaluate math.floor()."""
    if scalar_kinds(math.floor, value) == [float]:
        value = divide_floats(builder, "//", value, 1.0)
    return to_int(builder, value)


def ceil(builder: KernelBuilder, value: Value) -> Value:
    """Evaluate math.ceil()."""
    if scalar_kinds(math.ceil, value) == [float]:
        return negate(builder, floor(builder, negate(builder, value)))
    return to_int(builder, value)


def rounded(builder: KernelBuilder, value: Value, ndigits: Value = None) -> Value:
    """Evaluate round(); halves go to the even neighbor."""
    (kind,) = scalar_kinds(round, value)
    if ndigits is None and kind is not float:
        return as_kind(builder, value, int)
    if ndigits is None:
        lower = floor(builder, value)
        above = arithmetic(builder, "-", value, as_kind(builder, lower, float))
        odd = arithmetic(builder, "%", lower, 2)
        is_half, is_more = (
            as_kind(builder, compare(builder, sign, above, 0.5), bool) for sign in ("==", ">")
        )
        up = select(builder, is_more, builder.index(1), builder.index(0))
        up = select(builder, is_half, as_kind(builder, odd, int), up)
        return arithmetic(builder, "+", lower, up)
    require_python(round, value, ndigits)
    what = "round() to decimals of a run-time value"
    number, digits = (as_constant(builder, each, what) for each in (value, ndigits))
    return round(number, int(digits))


def to_float(builder: KernelBuilder, value: Value) -> Value:
    scalar_kinds(float, value)
    return as_kind(builder, value, float)

"""Scalars known only when the kernel runs, calculated as in Python.

An int is an index, a bool an i1, a float an f64. Constants stay Python objects until they meet a
run-time value, so everything that can be calculated now is.
"""

from __future__ import annotations

import numbers
import operator
from collections.abc import Callable, Sequence
from enum import IntFlag
from typing import Any

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, StringAttr, f64, i1, i32, i64
from xdsl.ir import Attribute, Operation

from ttl.diagnostics import codes
from ttl.dialects import ttl

from .builder import KernelBuilder
from .hir import INDEX, TYPES, Body, Op, RunTime, Scalar, StandIn, Value, kind_of
from .in_python import example, in_python, require_python
from .problems import describe, not_in_kernels, not_yet
from .python_operators import BINARY, COMPARISONS, SIGN_OF
from .value_ranges import (
    arms_of,
    as_constant,
    decide_comparison,
    find_constant,
    find_number,
    find_remainder,
)

# Default properties, as the constructors of arith set them.
_INTEGER: dict[str, Attribute] = {"overflowFlags": arith.IntegerOverflowAttr("none")}
_FLOAT: dict[str, Attribute] = {"fastmath": arith.FastMathFlagsAttr("none")}
PROPERTIES: dict[type[Operation], dict[str, Attribute]] = {
    **dict.fromkeys((arith.AddiOp, arith.SubiOp, arith.MuliOp, arith.ShLIOp), _INTEGER),
    **dict.fromkeys((arith.AddfOp, arith.SubfOp, arith.MulfOp, arith.DivfOp), _FLOAT),
    arith.NegfOp: _FLOAT,
}


def calculate(
    builder: KernelBuilder, op: type[Operation], *operands: RunTime, type: Attribute | None = None
) -> Scalar:
    """Return the result of an operation of arith, by default of its operands' type."""
    return builder.scalar(op, operands, type or operands[0].type, PROPERTIES.get(op))


def as_kind(builder: KernelBuilder, value: Value, kind: type) -> Scalar:
    """Convert a scalar to an IR value of another kind without loss."""
    if not isinstance(value, Scalar):
        return _constant(builder, kind(value), kind)
    found = value.kind
    if found is kind:
        return value
    if found is bool:
        one, zero = (_constant(builder, kind(number), kind) for number in (1, 0))
        return select(builder, value, one, zero)
    assert (found, kind) == (int, float)
    narrow = builder.value(arith.IndexCastOp, [value], i32)
    return calculate(builder, arith.SIToFPOp, narrow, type=f64)


def _constant(builder: KernelBuilder, number: Any, kind: type) -> Scalar:
    if kind is int:
        return builder.index(number)
    attribute = FloatAttr(number, f64) if kind is float else IntegerAttr(int(number), i1)
    return builder.scalar(arith.ConstantOp, (), TYPES[kind], {"value": attribute})


def common_kind(*kinds: type) -> type:
    return float if float in kinds else int if int in kinds else bool


def select(builder: KernelBuilder, condition: Scalar, one: Scalar, other: Scalar) -> Scalar:
    result = calculate(builder, arith.SelectOp, condition, one, other, type=one.type)
    result.is_natural = one.is_natural and other.is_natural
    return result


def extreme(builder: KernelBuilder, function: object, values: tuple[Value, ...]) -> Scalar:
    """Evaluate min() or max() of integers."""
    op = arith.MinSIOp if function is min else arith.MaxSIOp
    result, *others = (as_kind(builder, value, int) for value in values)
    for other in others:
        natural = [result.is_natural, other.is_natural]
        result = calculate(builder, op, result, other)
        result.is_natural = all(natural) if function is min else any(natural)
    return result


def scalar_kinds(function: Callable[..., object], *values: Value) -> list[type]:
    """Return the kinds of numbers that Python's function takes; refuse other values."""
    require_python(function, *values)
    kinds = [kind for value in values if (kind := kind_of(value)) is not None]
    if len(kinds) < len(values):
        other = next(value for value in values if kind_of(value) is None)
        name = SIGN_OF.get(function) or f"{function.__name__}()"
        raise not_in_kernels(f"`{name}` of {describe(other)}")
    return kinds


# Python numbers that the chip does not have: Decimal, Fraction, complex ---------------------------


def has_other_number(*values: Value) -> bool:
    """Is one of the values such a number, and are all others numbers?"""
    others = [value for value in values if kind_of(value) is None]
    return bool(others) and all(isinstance(value, numbers.Number) for value in others)


def with_other_numbers(
    builder: KernelBuilder, sign: str, fold: Callable[..., object], *values: Value
) -> object:
    """Let Python combine captured and run-time numbers, on paths that know the latter."""
    require_python(fold, *values)
    other = next(value for value in values if kind_of(value) is None)
    what = f"`{sign}` of {describe(other)} and a number that only the run knows"
    help_text = "convert it first: float(value) or int(value)"
    return in_python(fold, *as_constant(builder, values, what, help_text))


# Arithmetic ---------------------------------------------------------------------------------------


def arithmetic(builder: KernelBuilder, sign: str, left: Value, right: Value) -> Value:
    """Evaluate a binary operator with at least one run-time scalar."""
    row = BINARY[sign]
    if has_other_number(left, right):
        return with_other_numbers(builder, sign, row.fold, left, right)
    if sign == "<<" and isinstance(right, int) and right > MOST_SHIFTED:
        raise codes.NOT_IN_KERNELS.broken(f"a shift of a 32-bit integer by {right}")
    kinds = scalar_kinds(row.fold, left, right)
    if sign in ("|", "^") and (isinstance(left, IntFlag) or isinstance(right, IntFlag)):
        # Python treats a negative number as flags.
        raise not_yet(f"`{sign}` of an IntFlag and a run-time number", "write int(flag)")
    if sign in ("&", "|", "^") and kinds == [bool, bool]:
        operands = [as_kind(builder, value, bool) for value in (left, right)]
        assert row.of_integers is not None
        return calculate(builder, row.of_integers, *operands)
    if row.of_floats is not None and (sign == "/" or float in kinds):
        operands = [as_kind(builder, value, float) for value in (left, right)]
        if sign == "/":
            _check_divisor(builder, sign, right)
        return calculate(builder, row.of_floats, *operands)
    if float in kinds and sign in ("//", "%"):
        return divide_floats(builder, sign, left, right)
    if sign == "**":
        return _power(builder, kinds, left, right)
    one, other = (as_kind(builder, value, int) for value in (left, right))
    if sign in ("//", "%"):
        return _divide(builder, sign, one, other)
    if sign in ("<<", ">>"):
        return _shift(builder, sign, one, right)
    assert row.of_integers is not None
    return integer(builder, row.of_integers, one, other)


MOST_SHIFTED = 31  # C++ allows shifts by less than the 32 bits of an int


def _shift(builder: KernelBuilder, sign: str, one: Scalar, count: Any) -> Scalar:
    """Shift; to the left by a product, which detects overflow of 32 bits."""
    if sign == ">>" and not isinstance(count, Scalar):
        count = min(count, MOST_SHIFTED)
    if isinstance(count, Scalar) and not count.is_natural:
        is_natural = compare(builder, ">=", count, 0)
        check(builder, is_natural, "raised ValueError: negative shift count")
    if sign == ">>":
        if isinstance(count, Scalar):
            count = extreme(builder, min, (count, MOST_SHIFTED))
        return integer(builder, arith.ShRSIOp, one, as_kind(builder, count, int))
    if not isinstance(count, Scalar) and count < MOST_SHIFTED:
        return integer(builder, arith.MuliOp, one, builder.index(1 << count))
    fits = compare(builder, "<", count, MOST_SHIFTED)
    check(builder, fits, f"shifts a 32-bit integer by {MOST_SHIFTED} or more")
    power = integer(builder, arith.ShLIOp, builder.index(1), as_kind(builder, count, int))
    return integer(builder, arith.MuliOp, one, power)


def integer(builder: KernelBuilder, op: type[Operation], one: Scalar, other: Scalar) -> Scalar:
    result = calculate(builder, op, one, other)
    result.is_natural = op is not arith.SubiOp and one.is_natural and other.is_natural
    return result


def _divide(builder: KernelBuilder, sign: str, one: Scalar, other: Scalar) -> Scalar:
    """Divide as Python does, which rounds down; C++ rounds to zero, equal without negatives."""
    divisor = find_constant(other)
    if sign == "%" and isinstance(divisor, int) and divisor > 1:
        known = find_remainder(one, divisor)
        if known is not None:
            return builder.index(known)
    if one.is_natural and other.is_natural:
        return integer(builder, arith.DivSIOp if sign == "//" else arith.RemSIOp, one, other)
    quotient = calculate(builder, arith.FloorDivSIOp, one, other)
    if sign == "//":
        return quotient
    whole = calculate(builder, arith.MuliOp, quotient, other)
    rest = calculate(builder, arith.SubiOp, one, whole)
    rest.is_natural = other.is_natural
    if isinstance(divisor, int) and divisor > 0:
        rest.bounds = (0, divisor - 1)  # more than its parts show
    return rest


def divide_floats(builder: KernelBuilder, sign: str, left: Value, right: Value) -> Scalar:
    """Divide as Python does: the remainder has the divisor's sign."""
    _check_divisor(builder, sign, right)
    one, other = (as_kind(builder, value, float) for value in (left, right))
    kind = ttl.FloorDivideOp if sign == "//" else ttl.RemainderOp
    return calculate(builder, kind, one, other)


def _check_divisor(builder: KernelBuilder, sign: str, divisor: Value) -> None:
    error = {"/": "division", "//": "float floor division", "%": "float modulo"}[sign]
    is_nonzero = compare(builder, "!=", divisor, 0)
    check(builder, is_nonzero, f"raised ZeroDivisionError: {error} by zero")


def check(builder: KernelBuilder, condition: Value, error: str, **rule: str) -> None:
    """Make the kernel fail if the condition is false: it `error`, as in "raised IndexError"."""
    if isinstance(condition, RunTime) or not condition:
        operand, texts = as_kind(builder, condition, bool), {"error": error, **rule}
        builder.emit(ttl.AssertOp, [operand], {name: StringAttr(t) for name, t in texts.items()})


MOST_FACTORS = 16


def _power(builder: KernelBuilder, kinds: list[type], base: Value, exponent: Any) -> Value:
    if isinstance(exponent, RunTime) and (known := find_number(builder, exponent)) is not None:
        exponent = known
    is_natural = exponent.is_natural if isinstance(exponent, Scalar) else exponent >= 0
    if float in kinds or not is_natural:
        return _float_power(builder, base, exponent)
    factor = as_kind(builder, base, int)
    if isinstance(exponent, RunTime) or exponent > MOST_FACTORS:
        return _power_by_loop(builder, factor, as_kind(builder, exponent, int))
    result = builder.index(1) if exponent == 0 else factor
    for _ in range(exponent - 1):
        result = integer(builder, arith.MuliOp, result, factor)
    return result


def _float_power(builder: KernelBuilder, base: Value, exponent: Value) -> Value:
    """Let Python evaluate known numbers on a path; squares are products."""
    known = find_number(builder, exponent)
    if known in (1, 2) and isinstance(base, RunTime):
        one = as_kind(builder, base, float)
        return one if known == 1 else calculate(builder, arith.MulfOp, one, one)
    what = "`**` that gives a float, of run-time values,"
    return in_python(pow, *(as_constant(builder, value, what) for value in (base, exponent)))


def _power_by_loop(builder: KernelBuilder, factor: Scalar, exponent: Scalar) -> Scalar:
    body = Body.with_args([INDEX, INDEX])
    product = body.args[1]
    assert isinstance(product, Scalar)
    product.is_natural = factor.is_natural
    with builder.into(body):
        builder.emit(scf.YieldOp, [integer(builder, arith.MuliOp, product, factor)])
    starts = builder.index(0), exponent, builder.index(1), builder.index(1)
    op = builder.add(Op(scf.ForOp, starts, [INDEX], bodies=[body]))
    (result,) = op.results
    assert isinstance(result, Scalar)
    result.is_natural = factor.is_natural
    return result


def negate(builder: KernelBuilder, value: Value) -> Scalar:
    (kind,) = scalar_kinds(operator.neg, value)
    if kind is float:
        return calculate(builder, arith.NegfOp, as_kind(builder, value, float))
    return calculate(builder, arith.SubiOp, builder.index(0), as_kind(builder, value, int))


def plus(builder: KernelBuilder, value: Value) -> Scalar:
    return as_kind(builder, value, common_kind(*scalar_kinds(operator.pos, value), int))


def invert(builder: KernelBuilder, value: Value) -> Value:
    """Evaluate `~x` as -1 - x."""
    scalar_kinds(operator.invert, value)
    return calculate(builder, arith.SubiOp, builder.index(-1), as_kind(builder, value, int))


# Truth and comparisons ----------------------------------------------------------------------------


def truth(builder: KernelBuilder, value: Value) -> bool | Scalar:
    """Return the truth that `if value:` tests."""
    if isinstance(value, Scalar):
        return value if value.kind is bool else compare(builder, "!=", value, 0)
    if isinstance(value, StandIn) and value.python_class in (range, str):
        raise not_in_kernels(f"the truth of {describe(value)}", "compare numbers")
    found: bool | Scalar = in_python(bool, example(value))
    return found


def negation(builder: KernelBuilder, value: Value) -> bool | Scalar:
    condition = truth(builder, value)
    if not isinstance(condition, RunTime):
        return not condition
    return calculate(builder, arith.XOrIOp, condition, _constant(builder, True, bool))


NO_NUMBERS = (str, bytes, tuple, list, dict, set, frozenset, type(None))  # equal to no number


def compare(builder: KernelBuilder, sign: str, left: Value, right: Value) -> bool | Scalar:
    """Compare values, at least one of which is a run-time scalar."""
    if sign in ("in", "not in"):
        return _contains(builder, sign, left, right)
    row = COMPARISONS[sign]
    if row.of_integers is None:
        raise not_in_kernels("`is` of a run-time value", "compare it by `==`")
    if has_other_number(left, right):
        return bool(with_other_numbers(builder, sign, row.fold, left, right))
    if sign in ("==", "!=") and any(isinstance(value, NO_NUMBERS) for value in (left, right)):
        return sign == "!="
    kinds = scalar_kinds(row.fold, left, right)
    kind = float if float in kinds else int
    if left is right and kind is int:  # C++ compilers refuse to compare a value with itself
        return sign in ("<=", ">=", "==")
    if kind is int:
        known = decide_comparison(builder, sign, left, right)
        found = _compare_chosen(builder, sign, left, right) if known is None else known
        if found is not None:
            return found
    one, other = (as_kind(builder, value, kind) for value in (left, right))
    if kind is float:
        predicate = _predicate(row.of_floats, arith.CMPF_COMPARISON_OPERATIONS)
        return builder.scalar(arith.CmpfOp, [one, other], i1, predicate | _FLOAT)
    predicate = _predicate(row.of_integers, arith.CMPI_COMPARISON_OPERATIONS)
    return builder.scalar(arith.CmpiOp, [one, other], i1, predicate)


def _predicate(name: str, names: Sequence[str]) -> dict[str, Attribute]:
    return {"predicate": IntegerAttr(names.index(name), i64)}


def _compare_chosen(
    builder: KernelBuilder, sign: str, left: Value, right: Value
) -> bool | Scalar | None:
    """Simplify `(3 if c else 0) == 3` to c, which paths know; None for other comparisons."""
    if sign not in ("==", "!=") or isinstance(right, RunTime) or not isinstance(left, Scalar):
        return None
    chosen = [find_constant(arm) for arm in arms_of(left)]
    if len(chosen) != 2 or not all(isinstance(number, int) for number in chosen):
        return None
    assert isinstance(left.owner, Op)
    condition = left.owner.operands[0]
    assert isinstance(condition, Scalar)
    then, otherwise = (COMPARISONS[sign].fold(number, right) for number in chosen)
    if then == otherwise:
        return bool(then)
    return condition if then else negation(builder, condition)


def either(builder: KernelBuilder, one: bool | Scalar, other: bool | Scalar) -> bool | Scalar:
    """Evaluate `one or other` of truth values that are both calculated."""
    if not isinstance(one, RunTime) or not isinstance(other, RunTime):
        return (one or other) if not isinstance(one, RunTime) else True if other else one
    return calculate(builder, arith.OrIOp, one, other)


def _contains(builder: KernelBuilder, sign: str, left: Value, right: Value) -> bool | Scalar:
    if not isinstance(right, (tuple, list, set, frozenset, dict, range)):
        raise not_in_kernels(f"`in` of {describe(right)}")
    found: bool | Scalar = False
    for item in right:
        is_item = compare(builder, "==", left, item)
        found = either(builder, found, is_item)
    return negation(builder, found) if sign == "not in" else found


# Operations that are safe to calculate unneeded; division is not, because zero fails.
SPECULATED = (
    arith.ConstantOp,
    arith.AddiOp,
    arith.SubiOp,
    arith.MuliOp,
    arith.AndIOp,
    arith.OrIOp,
    arith.XOrIOp,
    arith.CmpiOp,
    arith.CmpfOp,
    arith.SelectOp,
    arith.MinSIOp,
    arith.MaxSIOp,
    arith.AddfOp,
    arith.SubfOp,
    arith.MulfOp,
    arith.NegfOp,
    arith.IndexCastOp,
    arith.SIToFPOp,
)

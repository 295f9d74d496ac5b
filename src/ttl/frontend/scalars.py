"""Scalars of a kernel that are known only when it runs, calculated as Python would.

An int is an index, a bool an i1, a float an f64. Constants stay Python objects until they meet a
run-time value, so that whatever can be calculated now is.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from operator import eq, ne
from typing import Any

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, StringAttr, f64, i1, i32
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ttl.diagnostics import RuleBroken, codes
from ttl.dialects import ttl
from ttl.language.block import truth_of_block

from .builder import INDEX, KernelBuilder, Value, describe, not_in_kernels
from .decided import (
    arms_of,
    known_comparison,
    known_constant,
    known_number,
    needs_constant,
)

TYPES: dict[type, Attribute] = {bool: i1, int: INDEX, float: f64}


def kind_of(value: Value) -> type | None:
    """bool, int or float; None for what is not a scalar."""
    if isinstance(value, SSAValue):
        return next((kind for kind, type in TYPES.items() if type == value.type), None)
    return type(value) if type(value) in TYPES else None


def is_run_time(value: Value) -> bool:
    """Is it, or has it in it, a value that is known only when the kernel runs?"""
    if isinstance(value, (tuple, list)):
        return any(is_run_time(item) for item in value)
    if isinstance(value, slice):
        return any(is_run_time(part) for part in (value.start, value.stop, value.step))
    return isinstance(value, SSAValue)


def as_kind(builder: KernelBuilder, value: Value, kind: type) -> SSAValue:
    """A scalar as an IR value of a kind it can be converted to without loss."""
    if not isinstance(value, SSAValue):
        return _constant(builder, kind(value), kind)
    found = kind_of(value)
    if found is kind:
        return value
    if found is bool:
        one, zero = (_constant(builder, kind(number), kind) for number in (1, 0))
        return select(builder, value, one, zero)
    assert (found, kind) == (int, float)
    narrow = builder.value(arith.IndexCastOp(value, i32))
    return builder.value(arith.SIToFPOp(narrow, f64))


def _constant(builder: KernelBuilder, number: Any, kind: type) -> SSAValue:
    if kind is int:
        return builder.index(number)
    attribute = FloatAttr(number, f64) if kind is float else IntegerAttr(int(number), i1)
    return builder.value(arith.ConstantOp(attribute))


def common_kind(*kinds: type) -> type:
    return float if float in kinds else int if int in kinds else bool


def select(builder: KernelBuilder, condition: SSAValue, one: SSAValue, other: SSAValue) -> SSAValue:
    result = builder.value(arith.SelectOp(condition, one, other))
    if {one, other} <= builder.naturals:
        builder.naturals.add(result)
    return result


def scalar_kinds(sign: str, *values: Value) -> list[type]:
    kinds = []
    for value in values:
        kind = kind_of(value)
        if kind is None:
            raise RuleBroken(codes.WRONG_ARGUMENT, f"`{sign}` of {describe(value)}")
        kinds.append(kind)
    return kinds


# Arithmetic ---------------------------------------------------------------------------------------


def arithmetic(builder: KernelBuilder, operator: ast.operator, left: Value, right: Value) -> Value:
    """A binary operator, at least one of its operands a run-time scalar."""
    sign = SIGNS[type(operator)]
    kinds = scalar_kinds(sign, left, right)
    if sign in BITWISE and kinds == [bool, bool]:
        operands = [as_kind(builder, value, bool) for value in (left, right)]
        return builder.value(BITWISE[sign](*operands))
    if sign == "/" or (float in kinds and sign in FLOAT_OPS):
        operands = [as_kind(builder, value, float) for value in (left, right)]
        if sign == "/":
            _check_divisor(builder, sign, right)
        return builder.value(FLOAT_OPS[sign](*operands))
    if float in kinds and sign in ("//", "%"):
        return _divide_floats(builder, sign, left, right)
    if float in kinds and sign != "**":
        raise RuleBroken(codes.WRONG_ARGUMENT, f"`{sign}` of a float")
    if sign == "**":
        return _power(builder, left, right)
    one, other = (as_kind(builder, value, int) for value in (left, right))
    if sign in ("//", "%"):
        return _divide(builder, sign, one, other, right)
    if sign in ("<<", ">>"):
        return _shift(builder, sign, one, right)
    return integer(builder, INDEX_OPS[sign], one, other)


MOST_SHIFTED = 31  # C++ shifts less than the 32 bits of an int


def _shift(builder: KernelBuilder, sign: str, one: SSAValue, count: Value) -> SSAValue:
    """To the left as a product: one that leaves the 32 bits is noticed then."""
    if not isinstance(count, SSAValue) and not 0 <= count <= MOST_SHIFTED:
        raise RuleBroken(codes.NOT_IN_KERNELS, f"a shift of a 32-bit integer by {count}")
    if isinstance(count, SSAValue) and count not in builder.naturals:
        is_natural = compare(builder, ast.GtE(), count, 0)
        check(builder, is_natural, "raised ValueError: negative shift count")
    if sign == ">>":
        if isinstance(count, SSAValue):
            count = extreme(builder, min, (count, MOST_SHIFTED))
        return integer(builder, arith.ShRSIOp, one, as_kind(builder, count, int))
    if not isinstance(count, SSAValue) and count < MOST_SHIFTED:
        return integer(builder, arith.MuliOp, one, builder.index(1 << count))
    fits = compare(builder, ast.Lt(), count, MOST_SHIFTED)
    check(builder, fits, f"shifts a 32-bit integer by {MOST_SHIFTED} or more")
    power = integer(builder, arith.ShLIOp, builder.index(1), as_kind(builder, count, int))
    return integer(builder, arith.MuliOp, one, power)


def integer(
    builder: KernelBuilder, op: Callable[..., Operation], one: SSAValue, other: SSAValue
) -> SSAValue:
    result = builder.value(op(one, other))
    if op is not arith.SubiOp and {one, other} <= builder.naturals:
        builder.naturals.add(result)
    return result


def _divide(
    builder: KernelBuilder, sign: str, one: SSAValue, other: SSAValue, divisor: Value
) -> SSAValue:
    """Python rounds down; C++ rounds to zero, which is the same where nothing is negative."""
    if not isinstance(divisor, SSAValue) and divisor == 0:
        raise _division_by_zero(sign)
    if {one, other} <= builder.naturals:
        return integer(builder, arith.DivSIOp if sign == "//" else arith.RemSIOp, one, other)
    quotient = builder.value(arith.FloorDivSIOp(one, other))
    if sign == "//":
        return quotient
    rest = builder.value(arith.SubiOp(one, builder.value(arith.MuliOp(quotient, other))))
    if other in builder.naturals:
        builder.naturals.add(rest)
    return rest


def _divide_floats(builder: KernelBuilder, sign: str, left: Value, right: Value) -> SSAValue:
    """As Python does it, so that the rest has the divisor's sign."""
    _check_divisor(builder, sign, right)
    one, other = (as_kind(builder, value, float) for value in (left, right))
    kind = ttl.FloorDivideOp if sign == "//" else ttl.RemainderOp
    return builder.value(kind.of(one, other))


def _check_divisor(builder: KernelBuilder, sign: str, divisor: Value) -> None:
    if not isinstance(divisor, SSAValue) and divisor == 0:
        raise _division_by_zero(sign)
    error = {"/": "division", "//": "float floor division", "%": "float modulo"}[sign]
    is_nonzero = compare(builder, ast.NotEq(), divisor, 0)
    check(builder, is_nonzero, f"raised ZeroDivisionError: {error} by zero")


def check(builder: KernelBuilder, condition: Value, error: str) -> None:
    """The kernel fails where the condition is false: it `error`, as in "raised IndexError"."""
    if isinstance(condition, SSAValue) or not condition:
        properties = {"error": StringAttr(error)}
        operand = as_kind(builder, condition, bool)
        builder.emit(ttl.AssertOp.create(operands=[operand], properties=properties))


def _division_by_zero(sign: str) -> RuleBroken:
    return RuleBroken(codes.WRONG_ARGUMENT, f"`{sign}` by zero")


MOST_FACTORS = 16


def _power(builder: KernelBuilder, base: Value, exponent: Value) -> Value:
    kinds = scalar_kinds("**", base, exponent)
    if isinstance(exponent, SSAValue) and (known := known_number(builder, exponent)) is not None:
        exponent = known
    if float in kinds or not _is_natural(builder, exponent):
        return _float_power(builder, base, exponent)
    factor = as_kind(builder, base, int)
    if isinstance(exponent, SSAValue) or exponent > MOST_FACTORS:
        return _power_by_loop(builder, factor, as_kind(builder, exponent, int))
    result = builder.index(1) if exponent == 0 else factor
    for _ in range(exponent - 1):
        result = integer(builder, arith.MuliOp, result, factor)
    return result


def _is_natural(builder: KernelBuilder, value: Value) -> bool:
    return value in builder.naturals if isinstance(value, SSAValue) else value >= 0


def _float_power(builder: KernelBuilder, base: Value, exponent: Value) -> Value:
    """Python's, where both numbers are known on a path; squares are products."""
    numbers = [known_number(builder, value) for value in (base, exponent)]
    if numbers[1] in (1, 2) and isinstance(base, SSAValue):
        one = as_kind(builder, base, float)
        return one if numbers[1] == 1 else builder.value(arith.MulfOp(one, one))
    for value, number in zip((base, exponent), numbers, strict=True):
        if number is None:
            raise needs_constant(builder, value, "`**` that gives a float, of run-time values,")
    try:
        return numbers[0] ** numbers[1]  # type: ignore[operator]
    except (ArithmeticError, ValueError) as error:
        raise RuleBroken(codes.WRONG_ARGUMENT, f"`**`: {error}") from None


def _power_by_loop(builder: KernelBuilder, factor: SSAValue, exponent: SSAValue) -> SSAValue:
    block = Block(arg_types=[INDEX, INDEX])
    product = block.args[1]
    if factor in builder.naturals:
        builder.naturals.add(product)
    with builder.inside(block):
        builder.emit(scf.YieldOp(integer(builder, arith.MuliOp, product, factor)))
    bounds = builder.index(0), exponent, builder.index(1)
    result = builder.value(scf.ForOp(*bounds, [builder.index(1)], Region(block)))
    if factor in builder.naturals:
        builder.naturals.add(result)
    return result


SIGNS: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Div: "/",
    ast.Pow: "**",
    ast.MatMult: "@",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.LShift: "<<",
    ast.RShift: ">>",
}
BITWISE: dict[str, Callable[..., Operation]] = {
    "&": arith.AndIOp,
    "|": arith.OrIOp,
    "^": arith.XOrIOp,
}
INDEX_OPS: dict[str, Callable[..., Operation]] = {
    "+": arith.AddiOp,
    "-": arith.SubiOp,
    "*": arith.MuliOp,
    "<<": arith.ShLIOp,
    ">>": arith.ShRSIOp,
    **BITWISE,
}
FLOAT_OPS: dict[str, Callable[..., Operation]] = {
    "+": arith.AddfOp,
    "-": arith.SubfOp,
    "*": arith.MulfOp,
    "/": arith.DivfOp,
}


def negate(builder: KernelBuilder, value: Value) -> Value:
    (kind,) = scalar_kinds("-", value)
    if kind is float:
        return builder.value(arith.NegfOp(as_kind(builder, value, float)))
    return builder.value(arith.SubiOp(builder.index(0), as_kind(builder, value, int)))


def invert(builder: KernelBuilder, value: Value) -> Value:
    """`~x` is -1 - x."""
    if scalar_kinds("~", value) == [float]:
        raise RuleBroken(codes.WRONG_ARGUMENT, "`~` of a float")
    return builder.value(arith.SubiOp(builder.index(-1), as_kind(builder, value, int)))


# Truth and comparisons ----------------------------------------------------------------------------


def truth(builder: KernelBuilder, value: Value) -> bool | SSAValue:
    """What `if value:` asks."""
    if not isinstance(value, SSAValue):
        return bool(value)
    kind = kind_of(value)
    if kind is None and ttl.is_block_value(value.type):
        raise truth_of_block()
    if kind is None:
        return True  # transfers, groups and pipes: objects
    return value if kind is bool else compare(builder, ast.NotEq(), value, 0)


def negation(builder: KernelBuilder, value: Value) -> bool | SSAValue:
    condition = truth(builder, value)
    if not isinstance(condition, SSAValue):
        return not condition
    return builder.value(arith.XOrIOp(condition, _constant(builder, True, bool)))


def compare(builder: KernelBuilder, operator: ast.cmpop, left: Value, right: Value) -> Value:
    """A comparison with at least one run-time scalar."""
    if isinstance(operator, (ast.In, ast.NotIn)):
        return _contains(builder, operator, left, right)
    if type(operator) not in PREDICATES:
        raise not_in_kernels("`is` of a run-time value", "compare it by `==`")
    sign, of_integers, of_floats = PREDICATES[type(operator)]
    kinds = scalar_kinds(sign, left, right)
    kind = float if float in kinds else int
    if left is right and kind is int:  # C++ compilers refuse to compare a value with itself
        return sign in ("<=", ">=", "==")
    if kind is int:
        known = known_comparison(builder, operator, left, right)
        if known is None:
            known = _compare_chosen(builder, operator, left, right)
        if known is not None:
            return known
    one, other = (as_kind(builder, value, kind) for value in (left, right))
    if kind is float:
        return builder.value(arith.CmpfOp(one, other, of_floats))
    return builder.value(arith.CmpiOp(one, other, of_integers))


def _compare_chosen(
    builder: KernelBuilder, operator: ast.cmpop, left: Value, right: Value
) -> Value:
    """`(3 if c else 0) == 3` is c: so paths know it. None if it is not such a comparison."""
    if isinstance(right, SSAValue) or not isinstance(left, SSAValue):
        return None
    chosen = _chosen_constants(left)
    if chosen is None:
        return None
    condition, *numbers = chosen
    fold = {ast.Eq: eq, ast.NotEq: ne}.get(type(operator))
    if fold is None:
        return None
    then, otherwise = (fold(number, right) for number in numbers)
    if then == otherwise:
        return bool(then)
    return condition if then else negation(builder, condition)


def _chosen_constants(value: SSAValue) -> tuple[SSAValue, int, int] | None:
    """The condition and the two constants of a value that is one or the other."""
    numbers = [known_constant(arm) for arm in arms_of(value)]
    if len(numbers) != 2 or not all(isinstance(number, int) for number in numbers):
        return None
    assert isinstance(value.owner, (arith.SelectOp, scf.IfOp))
    return value.owner.cond, int(numbers[0] or 0), int(numbers[1] or 0)


def either(builder: KernelBuilder, one: Value, other: Value) -> Value:
    """`one or other` of truth values that are both calculated."""
    if not isinstance(one, SSAValue) or not isinstance(other, SSAValue):
        return (one or other) if not isinstance(one, SSAValue) else True if other else one
    return builder.value(arith.OrIOp(one, other))


def _contains(
    builder: KernelBuilder, operator: ast.In | ast.NotIn, left: Value, right: Value
) -> Value:
    if not isinstance(right, (tuple, list, set, frozenset, dict, range)):
        raise not_in_kernels(f"`in` of {describe(right)}")
    found: Value = False
    for item in right:
        is_item = compare(builder, ast.Eq(), left, item)
        found = either(builder, found, is_item)
    return negation(builder, found) if isinstance(operator, ast.NotIn) else found


PREDICATES: dict[type[ast.cmpop], tuple[str, str, str]] = {
    ast.Lt: ("<", "slt", "olt"),
    ast.LtE: ("<=", "sle", "ole"),
    ast.Gt: (">", "sgt", "ogt"),
    ast.GtE: (">=", "sge", "oge"),
    ast.Eq: ("==", "eq", "oeq"),
    ast.NotEq: ("!=", "ne", "une"),
}


# Python's own functions ---------------------------------------------------------------------------


def extreme(builder: KernelBuilder, function: Any, values: tuple[Value, ...]) -> SSAValue:
    """min() and max() of integers."""
    op = arith.MinSIOp if function is min else arith.MaxSIOp
    result, *others = (as_kind(builder, value, int) for value in values)
    for other in others:
        natural = [value in builder.naturals for value in (result, other)]
        result = builder.value(op(result, other))
        if all(natural) if function is min else any(natural):
            builder.naturals.add(result)
    return result


def absolute(builder: KernelBuilder, value: Value) -> Value:
    (kind,) = scalar_kinds("abs()", value)
    if kind is bool or value in builder.naturals:
        return as_kind(builder, value, int)
    positive = arithmetic(builder, ast.Sub(), 0, value)  # of zero it is zero, not -0.0
    is_negative = compare(builder, ast.Lt() if kind is int else ast.LtE(), value, 0)
    if not isinstance(is_negative, SSAValue):
        return positive if is_negative else value
    result = builder.value(arith.SelectOp(is_negative, positive, value))
    if kind is int:
        builder.naturals.add(result)
    return result


def to_int(builder: KernelBuilder, value: Value) -> Value:
    (kind,) = scalar_kinds("int()", value)
    if kind is float:
        for sign, end in ((ast.Gt(), -(2.0**31) - 1), (ast.Lt(), 2.0**31)):
            fits = compare(builder, sign, value, end)
            check(builder, fits, "makes an int of a float that 32 bits do not hold")
        return builder.value(arith.IndexCastOp(builder.value(arith.FPToSIOp(value, i32)), INDEX))
    return as_kind(builder, value, int)


def floor(builder: KernelBuilder, value: Value) -> Value:
    """math.floor()"""
    if scalar_kinds("math.floor()", value) == [float]:
        value = _divide_floats(builder, "//", value, 1.0)
    return to_int(builder, value)


def ceil(builder: KernelBuilder, value: Value) -> Value:
    """math.ceil()"""
    if scalar_kinds("math.ceil()", value) == [float]:
        return negate(builder, floor(builder, negate(builder, value)))
    return to_int(builder, value)


def rounded(builder: KernelBuilder, value: Value, ndigits: Value = None) -> Value:
    """round(): halves go to the even neighbour."""
    (kind,) = scalar_kinds("round()", value)
    if ndigits is None and kind is not float:
        return as_kind(builder, value, int)
    if ndigits is None:
        lower = floor(builder, value)
        above = arithmetic(builder, ast.Sub(), value, as_kind(builder, lower, float))
        odd = arithmetic(builder, ast.Mod(), lower, 2)
        is_half = compare(builder, ast.Eq(), above, 0.5)
        is_more = compare(builder, ast.Gt(), above, 0.5)
        up = select(builder, is_more, builder.index(1), builder.index(0))
        return arithmetic(builder, ast.Add(), lower, select(builder, is_half, odd, up))
    number, digits = known_number(builder, value), known_number(builder, ndigits)
    if number is None or digits is None:
        unknown = value if number is None else ndigits
        raise needs_constant(builder, unknown, "round() to decimals of a run-time value")
    return round(number, int(digits))


def to_float(builder: KernelBuilder, value: Value) -> Value:
    scalar_kinds("float()", value)
    return as_kind(builder, value, float)


# What can be calculated where it may not be needed. Division cannot: by zero it fails.
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

"""Arithmetic and comparisons, element by element."""

from __future__ import annotations

from typing import Any

import numpy as np

from ttl.diagnostics import RuleBroken, codes

from ..dtypes import Array, DType, round_to
from .meanings import (
    MATH,
    binary,
    in_double,
    is_integer_array,
    one_where,
    relative_bound,
    unary,
    with_dtype,
)
from .table import BlockOp, Domain, Kind, Parameter
from .tiles import NEAREST, arithmetic, binary_vector, vector


def _exp_bound(spacing: float, x: Array) -> Array:
    return spacing * np.exp(x)


def _power_bound(spacing: float, x: Array, n: int) -> Array:
    """One rounding for each multiplication."""
    bound: Array = max(n, 1) * spacing * np.abs(_power(x, n))
    return bound


def _remainder(a: Any, b: Any) -> Any:
    """As torch.remainder: the sign of b, except for a zero, which keeps the sign of a."""
    _refuse_zero(b, "%")
    rest = np.fmod(a, b)
    return np.where((rest != 0) & ((b < 0) != (rest < 0)), rest + b, rest)


def _floor_divide(a: Any, b: Any) -> Any:
    _refuse_zero(b, "//")
    return np.floor_divide(a, b)


def _refuse_zero(divisor: Any, sign: str) -> None:
    """A float divided by zero is infinite or NaN; an integer is nothing."""
    if is_integer_array(np.asarray(divisor)) and not np.all(divisor):
        raise RuleBroken(
            codes.NO_MEANING,
            f"an integer {sign} 0 has no value",
            helps=("replace the zeros first: ttl.math.where(b == 0, ttl.math.fill(1), b)",),
        )


def _power(x: Any, n: int) -> Any:
    if is_integer_array(np.asarray(x)):
        return _wrapping_power(x, n)
    return np.float32(np.power(np.float64(x), n))


def _wrapping_power(x: Any, n: int) -> Any:
    """By squaring; what leaves the carrier was multiples of 2**64, which no element type sees."""
    result = np.ones_like(x)
    while n:
        if n & 1:
            result = result * x
        x, n = x * x, n >> 1
    return result


def _typecast(x: Array, dtype: DType) -> Array:
    if dtype.is_block_float and (x.ndim == 0 or x.shape[-1] == 1):
        # All elements of a row are equal, and so is the exponent they share.
        row = np.broadcast_to(x, (*x.shape[:-1], 16))
        return round_to(row, dtype)[..., :1].reshape(x.shape)
    return round_to(x, dtype)


def _comparison(name: str, sign: str, meaning: np.ufunc) -> BlockOp:
    return binary(
        name,
        lambda a, b: one_where(meaning(a, b), a, b),
        f"1 where a {sign} b, else 0",
        sign,
        namespaces=MATH,
        tile=binary_vector(name),
    )


_BINARY = (
    binary("add", np.add, "a + b", "+", tile=arithmetic("add")),
    binary("sub", np.subtract, "a - b", "-", tile=arithmetic("sub")),
    binary("mul", np.multiply, "a * b", "*", tile=arithmetic("mul", template="")),
    binary(
        "div",
        np.divide,
        "a / b",
        "/",
        domain=Domain.FLOATS,
        bound=relative_bound(np.divide),
        tile=binary_vector("div"),
    ),
    binary(
        "mod",
        _remainder,
        "the remainder of a // b, with the sign of b",
        "%",
        bound=relative_bound(_remainder),
    ),
    binary(
        "floordiv",
        _floor_divide,
        "a / b rounded down",
        "//",
        bound=relative_bound(_floor_divide),
    ),
    binary("xor", np.bitwise_xor, "the bits in which a and b differ", "^", domain=Domain.INTEGERS),
    binary(
        "max",
        np.maximum,
        "the larger of a and b",
        namespaces=MATH,
        tile=vector("binary_max", "binary_max_min.h"),
    ),
    binary(
        "min",
        np.minimum,
        "the smaller of a and b",
        namespaces=MATH,
        tile=vector("binary_min", "binary_max_min.h"),
    ),
    binary(
        "rsub",
        lambda a, b: np.subtract(b, a),
        "b - a",
        namespaces=MATH,
        tile=vector(
            "rsub_binary",
            "eltwise_binary_sfpu.h",
            init="rsub_binary_tile_init",
            template=NEAREST,
        ),
    ),
)

_COMPARISONS = (
    _comparison("lt", "<", np.less),
    _comparison("le", "<=", np.less_equal),
    _comparison("gt", ">", np.greater),
    _comparison("ge", ">=", np.greater_equal),
    _comparison("eq", "==", np.equal),
    _comparison("ne", "!=", np.not_equal),
)

_UNARY = (
    unary(
        "abs", np.abs, "x without its sign", domain=Domain.ALL, exact=True, tile=vector("abs")
    ),
    unary(
        "neg",
        np.negative,
        "-x",
        domain=Domain.ALL,
        exact=True,
        tile=vector("negative", "eltwise_unary/negative.h"),
    ),
    unary(
        "pow",
        _power,
        "x to the power of n",
        parameters=(Parameter("n", Kind.NATURAL),),
        domain=Domain.ALL,
        operator="**",
        tile=vector("power_iterative", arguments=lambda n: (f"{n}u",)),
        bound=_power_bound,
    ),
    unary(
        "exp",
        np.exp,
        "e to the power of x",
        tile=vector("exp", "eltwise_unary/exp.h"),
        bound=_exp_bound,
    ),
    unary("exp2", np.exp2, "2 to the power of x", tile=vector("exp2")),
    unary("expm1", np.expm1, "e to the power of x, less 1", tile=vector("expm1")),
    unary("log", np.log, "the natural logarithm of x", tile=vector("log")),
    unary(
        "logp1",
        np.log1p,
        "the natural logarithm of 1 + x",
        tile=vector("log1p", "eltwise_unary/log1p.h"),
    ),
    unary(
        "sqrt", np.sqrt, "the square root of x", tile=vector("sqrt", "eltwise_unary/sqrt.h")
    ),
    unary("square", np.square, "x * x", domain=Domain.ALL, exact=True, tile=vector("square")),
    unary(
        "rsqrt",
        in_double(lambda x: 1 / np.sqrt(x)),
        "1 divided by the square root of x",
        tile=vector("rsqrt", "eltwise_unary/rsqrt.h"),
    ),
    unary("recip", np.reciprocal, "1 / x", tile=vector("recip", "eltwise_unary/recip.h")),
    unary(
        "typecast",
        _typecast,
        "x as another element type",
        parameters=(Parameter("dtype", Kind.DTYPE),),
        domain=Domain.ALL,
        exact=True,
        type_rule=with_dtype,
    ),
)

OPS = (*_BINARY, *_COMPARISONS, *_UNARY)

"""Arithmetic and comparisons, element by element."""

from __future__ import annotations

from functools import partial
from math import inf

import numpy as np

from ttl.diagnostics import wrong_argument
from ttl.diagnostics.divisions import divided_by_zero

from ..dtypes import Array, DType, round_to
from . import compositions
from .meanings import (
    MATH,
    Meaning,
    as_single,
    binary,
    exact_unary,
    function,
    in_double,
    is_integer_array,
    one_where,
    relative_bound,
    unary,
    with_dtype,
)
from .special_values import flush_denormals, larger, narrow_product, smaller
from .table import Arguments, BlockOp, Domain, Parameter, ParameterKind
from .tiles import (
    COMPUTE_API,
    NARROW,
    NEAREST,
    NOT_NEGATIVE,
    SIGNED,
    UNCHANGED,
    UNSIGNED,
    Tiles,
    arithmetic,
    binary_vector,
    composed,
    one_call,
    vector,
    whole,
    whole_composed,
    with_integers,
)


def _power_bound(spacing: float, x: Array, n: int) -> Array:
    """Return the bound of one rounding per multiplication."""
    bound: Array = max(n, 1) * spacing * np.abs(_power(x, n))
    return bound


def _remainder(a: Array, b: Array) -> Array:
    """Compute torch.remainder: the sign of b, but a zero keeps the sign of a."""
    _refuse_zero(b, "%")
    rest = np.fmod(a, b)
    return np.where((rest != 0) & ((b < 0) != (rest < 0)), rest + b, rest)


def _remainder_bound(spacing: float, a: Array, b: Array) -> Array:
    """Return the bound of adding b to a rest of the other sign; all other steps are exact."""
    bound: Array = spacing * np.abs(b)
    return bound


def _floor_divide(a: Array, b: Array) -> Array:
    _refuse_zero(b, "//")
    return np.floor_divide(a, b) + np.zeros_like(b)  # a quotient of 0 has no sign


def _refuse_zero(divisor: Array, sign: str) -> None:
    """Raise RuleBroken if an integer is divided by zero; a float gives infinity or NaN."""
    if is_integer_array(np.asarray(divisor)) and not np.all(divisor):
        raise divided_by_zero(sign)


def _power(x: Array, n: int) -> Array:
    if is_integer_array(np.asarray(x)):
        return _wrapping_power(x, n)
    return as_single(np.power(np.asarray(x, np.float64), n))


def _wrapping_power(x: Array, n: int) -> Array:
    """Compute a power by squaring; overflow loses multiples of 2**64, which no type can see."""
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
        return round_to(row, dtype, by_packer=True)[..., :1].reshape(x.shape)
    return round_to(x, dtype, by_packer=True)


POSITIVE = (0, inf)
_FORMAT = "<DataFormat::{format}>"
_NEGATIVE = "eltwise_unary/negative.h"


def _larger_or_smaller(name: str, meaning: Meaning) -> BlockOp:
    """Make max or min, whose calls name their type; a uint16 is a small int32."""
    include, summary = "binary_max_min.h", f"the {meaning.__name__} of a and b"
    signed = one_call((SIGNED, *NARROW), f"binary_{name}_int32_tile", include)
    unsigned = one_call((UNSIGNED,), f"binary_{name}_uint32_tile", include)
    tile = with_integers(vector(f"binary_{name}", include), signed, unsigned)
    return binary(name, meaning, summary, namespaces=MATH, computes=False, tile=tile)


def _comparison(name: str, sign: str, meaning: np.ufunc) -> BlockOp:
    return binary(
        name,
        lambda a, b: one_where(meaning(a, b), a, b),
        f"1 where a {sign} b, else 0",
        sign,
        namespaces=MATH,
        computes=False,
        tile=with_integers(
            binary_vector(name),
            whole(f"{name}_int", "binary_comp.h", init=f"{name}_int_tile_init{_FORMAT}"),
        ),
    )


def _logical(name: str, meaning: np.ufunc, summary: str, of_truths: str) -> BlockOp:
    composition = partial(compositions.of_truths, how=of_truths)
    return binary(
        name,
        lambda a, b: one_where(meaning(a, b), a, b),
        summary,
        namespaces=MATH,
        computes=False,
        tile=with_integers(composed(composition), whole_composed(composition)),
    )


def _with_whole(floats: Tiles, name: str, init: str | None = None) -> Tiles:
    header = f"{name.removeprefix('r')}_int_sfpu.h"
    return with_integers(floats, whole(f"{name}_int", header, init=init, wraps=True))


_BINARY = (
    binary("add", np.add, "a + b", "+", tile=_with_whole(arithmetic("add"), "add")),
    binary("sub", np.subtract, "a - b", "-", tile=_with_whole(arithmetic("sub"), "sub")),
    binary(
        "mul",
        np.multiply,
        "a * b",
        "*",
        tile=_with_whole(arithmetic("mul", template=""), "mul", f"mul_int_tile_init{_FORMAT}"),
        multiplies=True,
        in_16_bits=narrow_product,
    ),
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
        bound=_remainder_bound,
        tile=with_integers(
            composed(compositions.remainder),
            one_call((SIGNED, *NARROW), "remainder_int32_tile", "binary_remainder.h"),
            one_call((UNSIGNED,), "remainder_uint32_tile", "binary_remainder.h"),
        ),
    ),
    binary(
        "floordiv",
        _floor_divide,
        "a / b rounded down",
        "//",
        bound=relative_bound(_floor_divide),
        tile=with_integers(
            composed(compositions.floor_divide),
            one_call((SIGNED, *NARROW), "div_int32_floor_tile", "div_int32_floor.h"),
            whole_composed(compositions.unsigned_floor_divide, (UNSIGNED,)),
        ),
    ),
    binary(
        "xor",
        np.bitwise_xor,
        "the bits in which a and b differ",
        "^",
        domain=Domain.INTEGERS,
        computes=False,
        tile=with_integers(
            {},
            whole("bitwise_xor_binary", "binary_bitwise_sfpu.h", init="binary_bitwise_tile_init"),
        ),
    ),
    _larger_or_smaller("max", larger),
    _larger_or_smaller("min", smaller),
    binary(
        "rsub",
        lambda a, b: np.subtract(b, a),
        "b - a",
        namespaces=MATH,
        tile=_with_whole(
            vector(
                "rsub_binary",
                "eltwise_binary_sfpu.h",
                init="rsub_binary_tile_init",
                template=NEAREST,
            ),
            "rsub",
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

_LOGICAL = (
    exact_unary(
        "logical_not",
        lambda x: one_where(x == 0, x),
        "1 where x is 0, else 0",
        vector("eqz", "eltwise_unary/comp.h"),  # not logical_not_tile: it takes -0.0 for true
        whole_composed(lambda do, x: do("eq", x, do.number(0, x))),
    ),
    _logical("logical_and", np.logical_and, "1 where neither a nor b is 0, else 0", "min"),
    _logical("logical_or", np.logical_or, "1 where a or b is not 0, else 0", "max"),
)


def _exp_with_flags(
    x: Array, scale: Array, approx: object, skip_clamp_check: object, iterations: object
) -> Array:
    return flush_denormals(np.exp(x * scale))


def _exp_bound(spacing: float, x: Array, scale: float, approx: bool, **flags: Array) -> Array:
    """Return the bound of one rounded product; the quick approximation is the chip's own."""
    error = QUICK_EXP_ERROR if approx else spacing * (1 + np.abs(x * scale))
    return error * np.exp(x * scale)


def _exp_arguments(args: tuple[object, ...], kwargs: dict[str, object]) -> Arguments:
    """Drop `scale=None` and refuse `iterations` that skip some of a face's eight rows of lanes."""
    kwargs = {name: value for name, value in kwargs.items() if (name, value) != ("scale", None)}
    if kwargs.get("iterations", LANE_ROWS) != LANE_ROWS:
        raise wrong_argument(
            f"iterations={kwargs['iterations']}: a face of a tile has {LANE_ROWS} rows of lanes, "
            "and the others would keep what they have",
            "leave iterations= out",
        )
    return args, kwargs


LANE_ROWS = 8
QUICK_EXP_ERROR = 0.04  # of the result
EXP_WITH_FLAGS = unary(
    "exp_with_flags",
    in_double(_exp_with_flags),
    "e to the power of scale * x",
    parameters=(
        Parameter("scale", ParameterKind.NUMBER, 1.0, sample=0.5),
        Parameter("approx", ParameterKind.FLAG, False),
        Parameter("skip_clamp_check", ParameterKind.FLAG, False),
        Parameter("iterations", ParameterKind.NATURAL, LANE_ROWS),
    ),
    tile=composed(compositions.exp_with_flags),
    bound=_exp_bound,
    rearrange=_exp_arguments,
    spelled="exp",
)


_UNARY = (
    exact_unary(
        "abs",
        np.abs,
        "x without its sign",
        vector("abs"),
        one_call((SIGNED,), "abs_tile_int32", COMPUTE_API, init="abs_tile_init"),
        UNCHANGED,
    ),
    exact_unary(
        "neg",
        np.negative,
        "-x",
        vector("negative", _NEGATIVE),
        one_call((SIGNED,), "negative_tile_int32", _NEGATIVE, init="negative_tile_init"),
        whole_composed(lambda do, x: do("sub", do.number(0, x), x), NOT_NEGATIVE),
    ),
    unary(
        "pow",
        _power,
        "x to the power of n",
        parameters=(Parameter("n", ParameterKind.NATURAL, sample=3),),
        domain=Domain.ALL,
        operator="**",
        tile=with_integers(
            vector("power_iterative", arguments=lambda n: (f"{n}u",)),
            whole_composed(compositions.whole_power),
        ),
        bound=_power_bound,
        is_cut_off=True,
    ),
    function(
        "exp",
        lambda x: flush_denormals(np.exp(x)),
        "e to the power of x",
        "eltwise_unary/exp.h",
        with_flags=EXP_WITH_FLAGS,
    ),
    function("exp2", lambda x: flush_denormals(np.exp2(x)), "2 to the power of x"),
    function("expm1", np.expm1, "e to the power of x, less 1"),
    function("log", np.log, "the natural logarithm of x", between=POSITIVE),
    *(
        unary(
            name,
            np.log1p,
            "the natural logarithm of 1 + x",
            tile=vector("log1p", "eltwise_unary/log1p.h"),
            defined_between=(-1, inf),
        )
        for name in ("logp1", "log1p")
    ),
    function("sqrt", np.sqrt, "the square root of x", "eltwise_unary/sqrt.h", POSITIVE),
    function("cbrt", np.cbrt, "the cube root of x", "eltwise_unary/cbrt.h"),
    exact_unary(
        "square",
        np.square,
        "x * x",
        vector("square"),
        whole_composed(lambda do, x: do("mul", x, x)),
        computes=True,
    ),
    function(
        "rsqrt",
        in_double(lambda x: 1 / np.sqrt(x)),
        "1 divided by the square root of x",
        "eltwise_unary/rsqrt.h",
        POSITIVE,
    ),
    function("recip", np.reciprocal, "1 / x", "eltwise_unary/recip.h", POSITIVE),
    exact_unary(
        "typecast",
        _typecast,
        "x as another element type",
        composed(compositions.typecast),
        whole_composed(compositions.whole_typecast),
        parameters=(Parameter("dtype", ParameterKind.DTYPE),),
        type_rule=with_dtype,
    ),
)

OPS = (*_BINARY, *_COMPARISONS, *_LOGICAL, *_UNARY)

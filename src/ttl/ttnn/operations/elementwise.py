"""Functions of one tensor, element by element."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ttl.semantics.dtypes import Array
from ttl.semantics.ops import BLOCK_OPS, Domain, error_function
from ttl.semantics.ops.meanings import in_double

from ..faults import wrong
from .arguments import Number
from .run import FAST, PLACED, RESULT, UNARY, Function, operation, variant

# Results of some operations for NaN in bfloat16; others give infinity.
NANS = {"erf": 1.0, "reciprocal": 0.0, "sigmoid": 1.0, "sign": 1.0, "tanh": 1.0}


def inverse_erf(x: Any) -> Any:
    """Compute Winitzki's approximation, then Newton steps; -1 and 1 give infinities."""
    inside = np.clip(x, -1 + 1e-16, 1 - 1e-16)
    curve = np.log1p(-inside * inside)
    middle = 2 / (math.pi * 0.147) + curve / 2
    found = np.sign(inside) * np.sqrt(np.sqrt(middle * middle - curve / 0.147) - middle)
    for _ in range(3):
        slope = 2 / math.sqrt(math.pi) * np.exp(-found * found)
        found = found - (error_function.erf(found) - inside) / slope
    return np.where(np.abs(x) < 1, found, np.where(np.abs(x) == 1, np.sign(x) * np.inf, np.nan))


def unary(name: str, block_op: str = "", options: tuple[str, ...] = UNARY) -> Function:
    """Make an operation that the language's table also has, under its own name."""
    op = BLOCK_OPS[block_op or name]
    return function(name, op.summary, op.meaning, op.domain is Domain.FLOATS, options)


def function(
    name: str,
    summary: str,
    meaning: Function,
    floats: bool = True,
    options: tuple[str, ...] = UNARY,
) -> Function:
    nan, doc = NANS.get(name, np.inf), f"{summary}, element by element."

    @operation(name, doc, floats=floats, options=options, nan=nan)
    def evaluate(input_tensor: Array) -> Any:
        return meaning(input_tensor)

    return evaluate


abs = unary("abs")
acos = unary("acos")
acosh = unary("acosh")
asin = unary("asin")
asinh = unary("asinh")
atan = unary("atan")
atanh = unary("atanh")
bitwise_not = function("bitwise_not", "every bit of x turned", np.invert, False)
ceil = unary("ceil")
cos = unary("cos")
cosh = function("cosh", "the hyperbolic cosine of x", np.cosh)
erf = function("erf", "the error function of x", in_double(error_function.erf), options=FAST)
erfc = function("erfc", "1 less the error function of x", in_double(error_function.erfc))
erfinv = function("erfinv", "what has x as its error function", in_double(inverse_erf))
exp = unary("exp", options=FAST)
exp2 = unary("exp2")
expm1 = unary("expm1")
floor = unary("floor")
frac = unary("frac")
isfinite = function("isfinite", "1 where x is neither infinite nor NaN, else 0", np.isfinite, False)
isinf = function("isinf", "1 where x is infinite, else 0", np.isinf, False)
isnan = function("isnan", "1 where x is NaN, else 0", np.isnan, False)
log = unary("log", options=FAST)
log10 = function("log10", "the decimal logarithm of x", np.log10, options=FAST)
log1p = unary("log1p", "logp1", FAST)
log2 = function("log2", "the binary logarithm of x", np.log2, options=FAST)
logical_not = function("logical_not", "1 where x is 0, else 0", np.logical_not, False)
neg = unary("neg")
reciprocal = unary("reciprocal", "recip")
rsqrt = unary("rsqrt", options=FAST)
sign = unary("sign")
signbit = function("signbit", "1 where x has a minus sign, else 0", lambda x: np.signbit(x), False)
sin = unary("sin")
sinh = function("sinh", "the hyperbolic sine of x", np.sinh)
sqrt = unary("sqrt", options=FAST)
square = unary("square")
tan = unary("tan")
tanh = unary("tanh", options=FAST)
trunc = unary("trunc")
identity = function("identity", "x itself", np.asarray, False)
eqz = function("eqz", "1 where x is 0, else 0", lambda x: np.equal(x, 0), False)
nez = function("nez", "1 where x is not 0, else 0", lambda x: np.not_equal(x, 0), False)
gtz = function("gtz", "1 where x is above 0, else 0", lambda x: np.greater(x, 0), False)
gez = function("gez", "1 where x is not below 0, else 0", lambda x: np.greater_equal(x, 0), False)
ltz = function("ltz", "1 where x is below 0, else 0", lambda x: np.less(x, 0), False)
lez = function("lez", "1 where x is not above 0, else 0", lambda x: np.less_equal(x, 0), False)


@operation()
def fill(input_tensor: Array, fill_value: Number) -> Any:
    """One value for every element."""
    return np.full(input_tensor.shape, fill_value)


@operation(floats=True)
def round(input_tensor: Array, *, decimals: int = 0) -> Any:
    """The nearest number with so many decimals, halves to even."""
    return BLOCK_OPS["round"].meaning(input_tensor, decimals=decimals)


@operation(broadcasts=True, options=RESULT)
def clamp(
    input_tensor: Array, min: Array | Number | None = None, max: Array | Number | None = None
) -> Any:
    """The input, between min and max; one of them may be missing."""
    if min is None and max is None:
        raise wrong("ttnn.clamp() needs `min` or `max`", "write ttnn.clamp(x, min=0.0, max=1.0)")
    if max is None:
        return BLOCK_OPS["max"].meaning(input_tensor, min)
    if min is None:
        return BLOCK_OPS["min"].meaning(input_tensor, max)
    return BLOCK_OPS["clamp"].meaning(input_tensor, min=min, max=max)


clip = variant(clamp, "clip", options=PLACED)

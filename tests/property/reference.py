"""What block operations mean, written from the text of the language and not from the op table.

Every function works on float64 arrays that hold the operands exactly, or, in INTEGER, on arrays of
Python's ints. The EXACT ones give every bit of the result, once it is rounded; from the CLOSE ones
an engine that computes in float32 may be a few units in the last place off.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

Array = np.ndarray[Any, Any]

FORMATS = {
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
    "float32": np.dtype(np.float32),
}


def rounded(values: Array, format: str) -> Array:
    """To float32 first: that is what the registers compute in."""
    return values.astype(np.float32).astype(FORMATS[format]).astype(np.float64)


def elementwise(function: Callable[..., float]) -> Callable[..., Array]:
    """A function of Python floats, on arrays; what Python refuses is not a number."""

    def one(*values: float) -> float:
        try:
            return function(*map(float, values))
        except (ValueError, ZeroDivisionError):
            return math.nan
        except OverflowError:
            return math.inf

    return np.vectorize(one, otypes=[np.float64])


def one_if(truth: Array) -> Array:
    return truth.astype(np.float64)


def remainder(a: float, b: float) -> float:
    """Python's % has the sign of the divisor, as the language says; a zero keeps a's sign."""
    found = a % b
    return math.copysign(0.0, a) if found == 0 else found


def floor_quotient(a: float, b: float) -> float:
    if b == 0:
        return math.nan if a == 0 or math.isnan(a) else math.copysign(math.inf, a) * sign_of(b)
    return a // b


def sign_of(x: float) -> float:
    return math.copysign(1.0, x)


def half_even(x: float, decimals: int = 0) -> float:
    return round(x, decimals) if math.isfinite(x) else x


def sigmoid(x: float) -> float:
    return 0.0 if x < -700 else 1 / (1 + math.exp(-x))


def gelu(x: float) -> float:
    return x * 0.5 * math.erfc(-x / math.sqrt(2))


def mish(x: float) -> float:
    return x if x > 40 else x * math.tanh(math.log1p(math.exp(x)))


def tangent_inverse(x: float) -> float:
    return math.copysign(math.inf, x) if abs(x) == 1 else math.atanh(x)


def is_beyond(a: Any, b: Any) -> Any:
    """The chip's order of floats: -0 before +0, a NaN past the infinity of its sign."""

    def rank(x: Any) -> Any:
        return np.where(np.isnan(x), np.copysign(1.0, x), 0.0)

    same = (a == b) & ~np.signbit(a) & np.signbit(b)
    return (rank(a) > rank(b)) | ((rank(a) == rank(b)) & ((a > b) | same))


def larger(a: Any, b: Any) -> Any:
    return np.where(is_beyond(a, b), a, b)


def smaller(a: Any, b: Any) -> Any:
    return np.where(is_beyond(a, b), b, a)


def between(x: Any, low: Any, high: Any) -> Any:
    return smaller(larger(x, low), high)


def narrow_product(a: Any, b: Any) -> Any:
    """In registers of 16 bits: 0 where a factor is, also of an infinity."""
    return np.where((a == 0) | (b == 0), 0.0, a * b)


# Bit for bit: one float32 operation, or a choice between operands.
EXACT_BINARY: dict[str, Callable[..., Array]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "<": lambda a, b: one_if(a < b),
    "<=": lambda a, b: one_if(a <= b),
    ">": lambda a, b: one_if(a > b),
    ">=": lambda a, b: one_if(a >= b),
    "==": lambda a, b: one_if(a == b),
    "!=": lambda a, b: one_if(a != b),
    "max": larger,
    "min": smaller,
    "rsub": lambda a, b: b - a,
    "logical_and": lambda a, b: one_if((a != 0) & (b != 0)),
    "logical_or": lambda a, b: one_if((a != 0) | (b != 0)),
    "mask": lambda x, m: np.where(m == 1, 0.0, x),
    "mask_posinf": lambda x, m: np.where(m == 1, np.inf, x),
}
EXACT_UNARY: dict[str, Callable[..., Array]] = {
    "neg": lambda x: -x,
    "abs": lambda x: np.where(x < 0, -x, x),
    "square": lambda x: x * x,
    "relu": lambda x: np.where(np.signbit(x), 0.0, x),
    "floor": elementwise(lambda x: math.floor(x) if math.isfinite(x) else x),
    "ceil": elementwise(lambda x: math.ceil(x) if math.isfinite(x) else x),
    "trunc": elementwise(lambda x: math.trunc(x) if math.isfinite(x) else x),
    "frac": elementwise(lambda x: math.fmod(x, 1.0)),
    "round": elementwise(half_even),
    "sign": lambda x: np.where(x == 0, 0.0, np.copysign(1.0, x)),
    "logical_not": lambda x: one_if(x == 0),
    "signbit": lambda x: one_if(np.copysign(1.0, x) > 0),
    "transpose": lambda x: x.T,
    "squeeze": lambda x: x,  # of unsqueeze
}
# With numbers after the operand, as a user gives them.
EXACT_NUMBERS: dict[str, tuple[Callable[..., Array], tuple[float, ...]]] = {
    "relu_max": (lambda x, u: between(x, 0.0, u), (6,)),
    "relu_min": (lambda x, u: larger(larger(x, u), 0.0), (0.5,)),
    "clamp": (between, (-1, 2)),
    "hardtanh": (between, (-0.5, 0.25)),
    "threshold": (lambda x, t, value: np.where(x > t, value, x), (0.5, -7)),
    "heaviside": (lambda x, v: np.where(x == 0, v, one_if(np.copysign(1.0, x) > 0)), (0.25,)),
    "leaky_relu": (lambda x, slope: np.where(x < 0, slope * x, x), (0.25,)),
    "prelu": (lambda x, alpha: np.where(x < 0, alpha * x, x), (0.5,)),
}
CLOSE_BINARY: dict[str, Callable[..., Array]] = {
    "/": lambda a, b: a / b,
    "%": elementwise(remainder),
    "//": elementwise(floor_quotient),
}
CLOSE_UNARY: dict[str, Callable[..., Array]] = {
    "exp": elementwise(math.exp),
    "exp2": elementwise(lambda x: 2.0**x),
    "expm1": elementwise(math.expm1),
    "log": elementwise(lambda x: -math.inf if x == 0 else math.log(x)),
    "logp1": elementwise(lambda x: -math.inf if x == -1 else math.log1p(x)),
    "log1p": elementwise(lambda x: -math.inf if x == -1 else math.log1p(x)),
    "sqrt": elementwise(math.sqrt),
    "cbrt": elementwise(math.cbrt),
    "rsqrt": elementwise(lambda x: math.copysign(math.inf, x) if x == 0 else 1 / math.sqrt(x)),
    "recip": elementwise(lambda x: math.copysign(math.inf, x) if x == 0 else 1 / x),
    "tan": elementwise(math.tan),
    "tanh": elementwise(math.tanh),
    "atan": elementwise(math.atan),
    "atanh": elementwise(tangent_inverse),
    "sin": elementwise(math.sin),
    "asin": elementwise(math.asin),
    "asinh": elementwise(math.asinh),
    "cos": elementwise(math.cos),
    "acos": elementwise(math.acos),
    "acosh": elementwise(math.acosh),
    "sinh": elementwise(lambda x: math.copysign(math.inf, x) if abs(x) > 700 else math.sinh(x)),
    "cosh": elementwise(math.cosh),
    "erf": elementwise(math.erf),
    "mish": elementwise(mish),
    "gelu": elementwise(gelu),
    "sigmoid": elementwise(sigmoid),
    "silu": elementwise(lambda x: math.nan if x == -math.inf else x * sigmoid(x)),
    "softsign": elementwise(lambda x: x / (1 + abs(x))),
    "hardsigmoid": lambda x: between(x / 6 + 0.5, 0.0, 1.0),
}
CLOSE_NUMBERS: dict[str, tuple[Callable[..., Array], tuple[float, ...]]] = {
    "elu": (elementwise(lambda x, s: s * math.expm1(x) if x < 0 else x), (2,)),
    "celu": (elementwise(lambda x, a, r: a * math.expm1(x * r) if x < 0 else x), (2, 0.5)),
    "selu": (elementwise(lambda x, s, a: s * (a * math.expm1(x) if x < 0 else x)), (1.5, 0.5)),
    "softplus": (
        elementwise(lambda x, b, r, t: x if b * x > t else r * math.log1p(math.exp(b * x))),
        (2, 0.5, 20),
    ),
    "pow": (elementwise(lambda x, n: x * x * x if n == 3 else math.nan), (3,)),
    "round 1": (elementwise(lambda x, d: half_even(x, int(d))), (1,)),
}


def where(c: Array, a: Array, b: Array) -> Array:
    return np.where(c != 0, a, b)


def reduced_and_spread(x: Array, name: str, dims: tuple[int, ...], scaler: float) -> Array:
    """broadcast(reduce(x)): the sum or the largest, times the scaler, in every element."""
    reduced = REDUCTIONS[name](x, axis=dims, keepdims=True)
    return np.broadcast_to(reduced * scaler, x.shape).copy()


REDUCTIONS: dict[str, Callable[..., Any]] = {
    "reduce_sum": np.sum,
    "reduce_max": np.max,
    "reduce_min": np.min,
    "reduce_mean": np.mean,
}


# Integers of 32 bits, as Python's ints
def wrapped(values: Array) -> Array:
    return (values + 2**31) % 2**32 - 2**31


def on_integers(function: Callable[..., int]) -> Callable[..., Array]:
    count = function.__code__.co_argcount
    return np.frompyfunc(lambda *values: function(*map(int, values)), count, 1)


INTEGER_BINARY: dict[str, Callable[..., Array]] = {
    "+": on_integers(lambda a, b: a + b),
    "-": on_integers(lambda a, b: a - b),
    "*": on_integers(lambda a, b: a * b),
    "^": on_integers(lambda a, b: a ^ b),
    "<": on_integers(lambda a, b: int(a < b)),
    ">=": on_integers(lambda a, b: int(a >= b)),
    "==": on_integers(lambda a, b: int(a == b)),
    "!=": on_integers(lambda a, b: int(a != b)),
    "max": on_integers(lambda a, b: max(a, b)),
    "min": on_integers(lambda a, b: min(a, b)),
    "rsub": on_integers(lambda a, b: b - a),
    "logical_and": on_integers(lambda a, b: int(bool(a and b))),
    "logical_or": on_integers(lambda a, b: int(bool(a or b))),
    "mask": on_integers(lambda x, m: 0 if m == 1 else x),
}
INTEGER_UNARY: dict[str, Callable[..., Array]] = {
    "neg": on_integers(lambda x: -x),
    "abs": on_integers(lambda x: abs(x)),
    "square": on_integers(lambda x: x * x),
    "relu": on_integers(lambda x: max(x, 0)),
    "sign": on_integers(lambda x: (x > 0) - (x < 0)),
    "logical_not": on_integers(lambda x: int(not x)),
    "signbit": on_integers(lambda x: int(x >= 0)),
    "transpose": lambda x: x.T,
    "squeeze": lambda x: x,
}
INTEGER_NUMBERS: dict[str, tuple[Callable[..., Array], tuple[int, ...]]] = {
    "clamp": (on_integers(lambda x, low, high: min(max(x, low), high)), (-100, 1000)),
    "threshold": (on_integers(lambda x, t, value: value if x > t else x), (50, -7)),
    "pow": (on_integers(lambda x, n: x**n), (3,)),
    "% 7": (on_integers(lambda x, n: x % n), (7,)),
    "// -3": (on_integers(lambda x, n: x // n), (-3,)),
}

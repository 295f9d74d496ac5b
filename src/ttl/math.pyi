"""The functions of the op table."""

# ruff: noqa
# Written by `python tests/editor/stubs.py`; do not edit.

from collections.abc import Sequence
from typing import Any, overload

from ttl.language.block import Block, BlockExpression

__all__ = [
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "broadcast", "cbrt", "ceil", "celu",
    "clamp", "cos", "cosh", "elu", "eq", "erf", "exp", "exp2", "expm1", "fill", "floor", "frac",
    "ge", "gelu", "gt", "hardsigmoid", "hardtanh", "heaviside", "le", "leaky_relu", "log", "log1p",
    "logical_and", "logical_not", "logical_or", "logp1", "lt", "mask", "mask_posinf", "matmul",
    "max", "min", "mish", "ne", "neg", "pow", "prelu", "recip", "reduce_max", "reduce_mean",
    "reduce_min", "reduce_sum", "relu", "relu_max", "relu_min", "round", "rsqrt", "rsub", "selu",
    "sigmoid", "sign", "signbit", "silu", "sin", "sinh", "softplus", "softsign", "sqrt", "square",
    "squeeze", "tan", "tanh", "threshold", "transpose", "trunc", "typecast", "unsqueeze", "where",
]

def abs(x: BlockExpression) -> BlockExpression:
    """Returns x without its sign, elementwise.

    Works on all element types.
    """

def acos(x: BlockExpression) -> BlockExpression:
    """Returns the angle whose cosine is x, elementwise.

    Works on bfloat16, float16, float32, bfloat8_b and bfloat4_b.
    """

def acosh(x: BlockExpression) -> BlockExpression:
    """Returns the number whose hyperbolic cosine is x, elementwise.

    Works on bfloat16, float16, float32, bfloat8_b and bfloat4_b.
    """

def asin(x: BlockExpression) -> BlockExpression:
    """Returns the angle whose sine is x, elementwise.

    Works on bfloat16, float16, float32, bfloat8_b and bfloat4_b.
    """

def asinh(x: BlockExpression) -> BlockExpression:
    """Returns the number whose hyperbolic sine is x, elementwise.

    Works on bfloat16, float16, float32, bfloat8_b and bfloat4_b.
    """

def atan(x: BlockExpression) -> BlockExpression:
    """Returns the angle whose tangent is x, elementwise.

    Works on bfloat16, float16, float32, bfloat8_b and bfloat4_b.
    """

def atanh(x: BlockExpression) -> BlockExpression:
    """Returns the number whose hyperbolic tangent is x, elementwise.

    Works on bfloat16, float16, float32, bfloat8_b and bfloat4_b.
    """

@overload
def broadcast(
    x: BlockExpression,
    dims: int | Sequence[int],
    shape: Sequence[int] | None = None,
) -> BlockExpression:
    """Returns x expanded in dimensions of size 1, inside the tile too.

        ttl.math.broadcast(x, dims=[-1], shape=(2, 2))
        ttl.math.broadcast(x, out_blk, dims=[-1])

    Works on all element types.
    `dims` is an int or a list of ints.
    `shape` is a shape such as (2, 2).
    """
@overload
def broadcast(x: BlockExpression, out_blk: Block, dims: int | Sequence[int]) -> BlockExpression: ...

def cbrt(x: BlockExpression) -> BlockExpression:
    """Returns the cube root of x, elementwise.

    Works on bfloat16, float16, float32, bfloat8_b and bfloat4_b.
    """

def ceil(x: BlockExpression) -> BlockExpression:
    """Returns the smallest whole number from x on, elementwise.

    Works on bfloat16, float16, float32, bfloat8_b and bfloat4_b.
    """

def celu(x: BlockExpression, alpha: float, alpha_recip: float) -> BlockExpression:
    """Returns x, or alpha * (exp(x * alpha_recip) - 1) where x < 0, elementwise.

    Works on bfloat16, float16, float32, bfloat8_b and bfloat4_b.
    `alpha` is a number.
    `alpha_recip` is a number.
    """

def clamp(x: BlockExpression, min: float, max: float) -> BlockExpression:
    """Returns x, between min and max, elementwise.

    Works on all element types.
    `min` is a number.
    `max` is a number.
    """

def cos(x: BlockExpression) -> BlockExpression:
    """Returns the cosine of x, elementwise.

    Works on bfloat16, float16, float32, bfloat8_b and bfloat4_b.
    """

def cosh(x: BlockExpression) -> BlockExpression:
    """Returns the hyperbolic cosine of x, elementwise.

    Works on bfloat16, float16, float32, bfloat8_b and bfloat4_b.
    """

@overload
def elu(x: BlockExpression, slope: float) -> BlockExpression:
    """Returns x, or slope * (exp(x) - 1) where x < 0, elementwise.

    Works on bfloat16, float16, float32, bfloat8_b and bfloat4_b.
    `slope` is a number.
    """
@overload
def elu(x: BlockExpression, alpha: float) -> BlockExpression: ...

def eq(a: BlockExpression | float, b: BlockExpression | float) -> BlockExpression:
    """Returns 1 where a == b, else 0, elementwise.

    Works on all element types.
    """

def erf(x: BlockExpression) -> BlockExpression:
    """Returns the error function of x, elementwise.

    Works on bfloat16, float16, float32, bfloat8_b and bfloat4_b.
    """

def exp(
    x: BlockExpression,
    *,
    scale: float = 1.0,
    approx: bool = False,
    skip_clamp_check: bool = False,
    iterations: int = 8,
) -> BlockExpression:
    """Returns e to the power of x, elementwise.

    Works on bfloat16, float16, float32, bfloat8_b and bfloat4_b.
    `scale` is a number.
    `approx` is True or False.
    `skip_clamp_check` is True or False.
    `iterations` is a natural number.
    """

def exp2(x: BlockExpression) -> BlockExpression:
    """Returns 2 to the power of x, elementwise.

    Works on bfloat16, float16, float32, bfloat8_b and bfloat4_b.
    """

def expm1(x: BlockExpression) -> BlockExpression:
    """Returns e to the power of x, less 1, elementwise.

    Works on bfloat16, float16, float32, bfloat8_b and bfloat4_b.
    """

@overload
def fill(
    value: float,
    shape: Sequence[int] | None = None,
    dtype: Any = None,
) -> BlockExpression:
    """Returns a block full of value; without a shape it takes that of the first operand or store it
    meets.

        ttl.math.fill(value, shape=(2, 2), dtype=ttnn.float32)
        ttl.math.fill(out_blk, value)

    Works on all element types.
    `value` is a number.
    `shape` is a shape such as (2, 2).
    `dtype` is an element type such as ttnn.bfloat16.
    """
@overload
def fill(out_blk: Block, value: float) -> BlockExpression: ...

def floor(x: BlockExpression) -> BlockExpression:
    """Returns the largest whole number up to x, elementwise.

    Works on bfloat16, float16, float32, bfloat8_b and bfloat4_b.
    """

def frac(x: BlockExpression) -> BlockExpression:
    """Returns x less its whole part, elementwise.

    Works on bfloat16, float16, float32, bfloat8_b and bfloat4_b.
    """

def ge(a: BlockExpression | float, b: BlockExpression | float) -> BlockExpression:
    """Returns 1 where a >= b, else 0, elementwise.

    Works on all element types.
    """

def gelu(x: BlockExpression) -> BlockExpression:
    """Returns x times the normal distribution up to x, elementwise.

    Works on bfloat16, float16, float32, bfloat8_b and bfloat4_b.
    """

def gt(a: BlockExpression | float, b: BlockExpression | float) -> BlockExpression:
    """Returns 1 where a > b, else 0, elementwise.

    Works on all element types.
    """

def hardsigmoid(x: BlockExpression) -> BlockExpression:
    """Returns x / 6 + 1/2, between 0 and 1, elementwise.

    Works on bfloat16, float16, float32, bfloat8_b and bfloat4_b.
    """

@overload
def hardtanh(x: BlockExpression, min: float, max: float) -> BlockExpression:
    """Returns x, between min and max, elementwise.

    Works on all element types.
    `min` is a number.
    `max` is a number.
    """
@overload
def hardtanh(x: BlockExpression, min_val: float, max_val: float) -> BlockExpression: ...

def heaviside(x: BlockExpression, value: float) -> BlockExpression:
    """Returns 0 where x < 0, value where x is 0, else 1, elementwise.

    Works on bfloat16, float16, float32, bfloat8_b and bfloat4_b.
    `value` is a number.
    """

def le(a: BlockExpression | float, b: BlockExpression | float) -> BlockExpression:
    """Returns 1 where a <= b, else 0, elementwise.

    Works on all element types.
    """

def leaky_relu(x: BlockExpression, slope: float) -> BlockExpression:
    """Returns x, or x * slope where x < 0, elementwise.

    Works on bfloat16, float16, float32, bfloat8_b and bfloat4_b.
    `slope` is a number.
    """

def log(x: BlockExpression) -> BlockExpression:
    """Returns the natural logarithm of x, elementwise.

    Works on bfloat16, float16, float32, bfloat8_b and bfloat4_b.
    """

def log1p(x: BlockExpression) -> BlockExpression:
    """Returns the natural logarithm of 1 + x, elementwise.

    Works on bfloat16, float16, float32, bfloat8_b and bfloat4_b.
    """

def logical_and(a: BlockExpression | float, b: BlockExpression | float) -> BlockExpression:
    """Returns 1 where neither a nor b is 0, else 0, elementwise.

    Works on all element types.
    """

def logical_not(x: BlockExpression) -> BlockExpression:
    """Returns 1 where x is 0, else 0, elementwise.

    Works on all element types.
    """

def logical_or(a: BlockExpression | float, b: BlockExpression | float) -> BlockExpression:
    """Returns 1 where a or b is not 0, else 0, elementwise.

    Works on all element types.
    """

def logp1(x: BlockExpression) -> BlockExpression:
    """Returns the natural logarithm of 1 + x, elementwise.

    Works on bfloat16, float16, float32, bfloat8_b and bfloat4_b.
    """

def lt(a: BlockExpression | float, b: BlockExpression | float) -> BlockExpression:
    """Returns 1 where a < b, else 0, elementwise.

    Works on all element types.
    """

@overload
def mask(x: BlockExpression, m: BlockExpression) -> BlockExpression:
    """Returns x, or 0 where m is 1, elementwise.

    Works on all element types.
    """
@overload
def mask(x: BlockExpression, mask: BlockExpression) -> BlockExpression: ...

@overload
def mask_posinf(x: BlockExpression, m: BlockExpression) -> BlockExpression:
    """Returns x, or infinity where m is 1, elementwise.

    Works on bfloat16, float16, float32, bfloat8_b and bfloat4_b.
    """
@overload
def mask_posinf(x: BlockExpression, mask: BlockExpression) -> BlockExpression: ...

def matmul(
    a: BlockExpression,
    b: BlockExpression,
    transpose_b: bool = False,
    *,
    transpose_rhs: bool = False,
) -> BlockExpression:
    """Return the matrix product `a @ b`; `transpose_b` transposes `b` first.

    Works on the operator's operands. `transpose_rhs` is the public compiler's `transpose_b`.
    """

def max(a: BlockExpression | float, b: BlockExpression | float) -> BlockExpression:
    """Returns the larger of a and b, elementwise.

    Works on all element types.
    """

def min(a: BlockExpression | float, b: BlockExpression | float) -> BlockExpression:
    """Returns the smaller of a and b, elementwise.

    Works on all element types.
    """

def mish(x: BlockExpression) -> BlockExpression:
    """Returns x * tanh(log(1 + exp(x))), elementwise.

    Works on bfloat16, float16, float32, bfloat8_b and bfloat4_b.
    """

def ne(a: BlockExpression | float, b: BlockExpression | float) -> BlockExpression:
    """Returns 1 where a != b, else 0, elementwise.

    Works on all element types.
    """

def neg(x: BlockExpression) -> BlockExpression:
    """Returns -x, elementwise.

    Works on all element types.
    """

def pow(x: BlockExpression, n: int) -> BlockExpression:
    """Returns x to the power of n, elementwise.

    Works on all element types.
    `n` is a natural number.
    """

def prelu(x: BlockExpression, alpha: float) -> BlockExpression:
    """Returns x, or x * alpha where x < 0, elementwise.

    Works on bfloat16, float16, float32, bfloat8_b and bfloat4_b.
    `alpha` is a number.
    """

def recip(x: BlockExpression) -> BlockExpression:
    """Returns 1 / x, elementwise.

    Works on bfloat16, float16, float32, bfloat8_b and bfloat4_b.
    """

@overload
def reduce_max(
    x: BlockExpression,
    scaler: BlockExpression | float = 1,
    *,
    dims: int | Sequence[int],
    shape: Sequence[int] | None = None,
    exact_f32: bool = False,
) -> BlockExpression:
    """Returns the largest element over dimensions of x, times scaler.

        ttl.math.reduce_max(x, scaler, dims=[-1])
        ttl.math.reduce_max(x, dims=[-1])

    Works on all element types.
    `dims` is an int or a list of ints.
    `shape` is a shape such as (2, 2).
    `exact_f32` is True or False.
    """
@overload
def reduce_max(
    x: BlockExpression,
    scaler: BlockExpression | float = 1,
    *,
    dim: int | Sequence[int],
    shape: Sequence[int] | None = None,
    exact_f32: bool = False,
) -> BlockExpression: ...

@overload
def reduce_mean(
    x: BlockExpression,
    scaler: BlockExpression | float = 1,
    *,
    dims: int | Sequence[int],
    shape: Sequence[int] | None = None,
    exact_f32: bool = False,
) -> BlockExpression:
    """Returns the mean over dimensions of x, times scaler.

        ttl.math.reduce_mean(x, scaler, dims=[-1])
        ttl.math.reduce_mean(x, dims=[-1])

    Works on bfloat16, float16, float32, bfloat8_b and bfloat4_b.
    `dims` is an int or a list of ints.
    `shape` is a shape such as (2, 2).
    `exact_f32` is True or False.
    """
@overload
def reduce_mean(
    x: BlockExpression,
    scaler: BlockExpression | float = 1,
    *,
    dim: int | Sequence[int],
    shape: Sequence[int] | None = None,
    exact_f32: bool = False,
) -> BlockExpression: ...

@overload
def reduce_min(
    x: BlockExpression,
    scaler: BlockExpression | float = 1,
    *,
    dims: int | Sequence[int],
    shape: Sequence[int] | None = None,
    exact_f32: bool = False,
) -> BlockExpression:
    """Returns the smallest element over dimensions of x, times scaler.

        ttl.math.reduce_min(x, scaler, dims=[-1])
        ttl.math.reduce_min(x, dims=[-1])

    Works on all element types.
    `dims` is an int or a list of ints.
    `shape` is a shape such as (2, 2).
    `exact_f32` is True or False.
    """
@overload
def reduce_min(
    x: BlockExpression,
    scaler: BlockExpression | float = 1,
    *,
    dim: int | Sequence[int],
    shape: Sequence[int] | None = None,
    exact_f32: bool = False,
) -> BlockExpression: ...

@overload
def reduce_sum(
    x: BlockExpression,
    scaler: BlockExpression | float = 1,
    *,
    dims: int | Sequence[int],
    shape: Sequence[int] | None = None,
    exact_f32: bool = False,
) -> BlockExpression:
    """Returns the sum over dimensions of x, times scaler.

        ttl.math.reduce_sum(x, scaler, dims=[-1])
        ttl.math.reduce_sum(x, dims=[-1])

    Works on all element types.
    `dims` is an int or a list of ints.
    `shape` is a shape such as (2, 2).
    `exact_f32` is True or False.
    """
@overload
def reduce_sum(
    x: BlockExpression,
    scaler: BlockExpression | float = 1,
    *,
    dim: int | Sequence[int],
    shape: Sequence[int] | None = None,
    exact_f32: bool = False,
) -> BlockExpression: ...

def relu(x: BlockExpression) -> BlockExpression:
    """Returns x where x > 0, else 0, elementwise.

    Works on all element types.
    """

@overload
def relu_max(x: BlockExpression, upper: float) -> BlockExpression:
    """Returns relu(min(x, upper)), elementwise.

    Works on all element types.
    `upper` is a number.
    """
@overload
def relu_max(x: BlockExpression, upper_limit: float) -> BlockExpression: ...

@overload
def relu_min(x: BlockExpression, lower: float) -> BlockExpression:
    """Returns relu(max(x, lower)), elementwise.

    Works on all element types.
    `lower` is a number.
    """
@overload
def relu_min(x: BlockExpression, lower_limit: float) -> BlockExpression: ...

def round(x: BlockExpression, decimals: int = 0) -> BlockExpression:
    """Returns the nearest number to x with so many decimals, halves to even, elementwise.

    Works on bfloat16, float16, float32, bfloat8_b and bfloat4_b.
    `decimals` is an int.
    """

def rsqrt(x: BlockExpression) -> BlockExpression:
    """Returns 1 divided by the square root of x, elementwise.

    Works on bfloat16, float16, float32, bfloat8_b and bfloat4_b.
    """

def rsub(a: BlockExpression | float, b: BlockExpression | float) -> BlockExpression:
    """Returns b - a, elementwise.

    Works on all element types.
    """

def selu(
    x: BlockExpression,
    scale: float = 1.0507009873554805,
    alpha: float = 1.6732632423543772,
) -> BlockExpression:
    """Returns scale * x, or scale * alpha * (exp(x) - 1) where x < 0, elementwise.

    Works on bfloat16, float16, float32, bfloat8_b and bfloat4_b.
    `scale` is a number.
    `alpha` is a number.
    """

def sigmoid(x: BlockExpression) -> BlockExpression:
    """Returns 1 / (1 + exp(-x)), elementwise.

    Works on bfloat16, float16, float32, bfloat8_b and bfloat4_b.
    """

def sign(x: BlockExpression) -> BlockExpression:
    """Returns -1, 0 or 1, as x is less than 0, 0 or more, elementwise.

    Works on all element types.
    """

def signbit(x: BlockExpression) -> BlockExpression:
    """Returns 1 where x is positive or +0, else 0, elementwise.

    Works on all element types.
    """

def silu(x: BlockExpression) -> BlockExpression:
    """Returns x * sigmoid(x), elementwise.

    Works on bfloat16, float16, float32, bfloat8_b and bfloat4_b.
    """

def sin(x: BlockExpression) -> BlockExpression:
    """Returns the sine of x, elementwise.

    Works on bfloat16, float16, float32, bfloat8_b and bfloat4_b.
    """

def sinh(x: BlockExpression) -> BlockExpression:
    """Returns the hyperbolic sine of x, elementwise.

    Works on bfloat16, float16, float32, bfloat8_b and bfloat4_b.
    """

def softplus(
    x: BlockExpression,
    beta: float,
    beta_reciprocal: float,
    threshold: float,
) -> BlockExpression:
    """Returns beta_reciprocal * log(1 + exp(beta * x)), or x where beta * x > threshold,
    elementwise.

    Works on bfloat16, float16, float32, bfloat8_b and bfloat4_b.
    `beta` is a number.
    `beta_reciprocal` is a number.
    `threshold` is a number.
    """

def softsign(x: BlockExpression) -> BlockExpression:
    """Returns x / (1 + abs(x)), elementwise.

    Works on bfloat16, float16, float32, bfloat8_b and bfloat4_b.
    """

def sqrt(x: BlockExpression) -> BlockExpression:
    """Returns the square root of x, elementwise.

    Works on bfloat16, float16, float32, bfloat8_b and bfloat4_b.
    """

def square(x: BlockExpression) -> BlockExpression:
    """Returns x * x, elementwise.

    Works on all element types.
    """

@overload
def squeeze(x: BlockExpression, dim: int | Sequence[int]) -> BlockExpression:
    """Returns x without a leading dimension of size 1.

    Works on all element types.
    `dim` is an int or a list of ints.
    """
@overload
def squeeze(x: BlockExpression, dims: int | Sequence[int]) -> BlockExpression: ...

def tan(x: BlockExpression) -> BlockExpression:
    """Returns the tangent of x, elementwise.

    Works on bfloat16, float16, float32, bfloat8_b and bfloat4_b.
    """

def tanh(x: BlockExpression) -> BlockExpression:
    """Returns the hyperbolic tangent of x, elementwise.

    Works on bfloat16, float16, float32, bfloat8_b and bfloat4_b.
    """

def threshold(x: BlockExpression, threshold: float, value: float) -> BlockExpression:
    """Returns x, or value where x > threshold, elementwise.

    Works on all element types.
    `threshold` is a number.
    `value` is a number.
    """

def transpose(x: BlockExpression) -> BlockExpression:
    """Returns rows and columns of x exchanged.

    Works on all element types.
    """

def trunc(x: BlockExpression) -> BlockExpression:
    """Returns x without its fraction, elementwise.

    Works on bfloat16, float16, float32, bfloat8_b and bfloat4_b.
    """

def typecast(x: BlockExpression, dtype: Any) -> BlockExpression:
    """Returns x as another element type, elementwise.

    Works on all element types.
    `dtype` is an element type such as ttnn.bfloat16.
    """

@overload
def unsqueeze(x: BlockExpression, dim: int | Sequence[int]) -> BlockExpression:
    """Returns x with a leading dimension of size 1 more, at `dim` of the result.

    Works on all element types.
    `dim` is an int or a list of ints.
    """
@overload
def unsqueeze(x: BlockExpression, dims: int | Sequence[int]) -> BlockExpression: ...

@overload
def where(c: BlockExpression, a: BlockExpression, b: BlockExpression) -> BlockExpression:
    """Returns a, or b where c is 0, elementwise.

    Works on all element types.
    """
@overload
def where(
    condition: BlockExpression,
    true_value: BlockExpression,
    false_value: BlockExpression,
) -> BlockExpression: ...

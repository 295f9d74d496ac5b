"""Operations that no call of the chip does: what they are made of.

A composition gets `do`, the operands and the operation's parameters. `do(name, *operands,
**parameters)` is the value of another operation, of the op table or of the steps; `do.number(value,
like)` is that number everywhere in a block like another value. Of integers all parameters are
numbers of the element type, so a limit is a block; of floats a limit keeps all its digits, which a
block in 16-bit registers would not.
"""

from __future__ import annotations

from typing import Any, Protocol

from ..dtypes import DType, float32, int32, uint16, uint32

Value = Any  # of whoever composes


class Composer(Protocol):
    def __call__(self, name: str, *operands: Value, **parameters: float) -> Value: ...

    def number(self, value: float, like: Value) -> Value: ...

    def dtype(self, value: Value) -> DType: ...

    def rounded(self, value: Value, dtype: DType) -> Value:
        """A float as another kind of float."""

    def is_truth(self, value: Value) -> bool:
        """Is it known to be 1 or 0 everywhere?"""


# Floats -------------------------------------------------------------------------------------------


def remainder(do: Composer, a: Value, b: Value) -> Value:
    """The chip's own fmod is exact, its remainder is not."""
    rest = do("fmod", a, b)
    return do("select", _has_other_sign(do, rest, b), do("add", rest, b), rest)


def floor_divide(do: Composer, a: Value, b: Value) -> Value:
    """A quotient rounded before it is cut off would be one too many just below a whole number.
    Nothing is left over of `a - rest`, so its quotient is next to the whole number it means."""
    rest = do("fmod", a, b)
    toward_zero = do("round", do("div", do("sub", a, rest), b), decimals=0)
    quotient = do("sub", toward_zero, _has_other_sign(do, rest, b))
    return do("select", do("equal_to", b, value=0.0), do("div", a, b), quotient)


def _has_other_sign(do: Composer, rest: Value, b: Value) -> Value:
    """A product with the sign cannot underflow."""
    return do("less_than", do("mul", rest, do("sign", b)), value=0.0)


def threshold(do: Composer, x: Value, threshold: float, value: float) -> Value:
    is_above = do("greater_than", x, value=threshold)
    return do("select", is_above, do.number(value, x), x)


def mask(do: Composer, x: Value, m: Value) -> Value:
    return do("select", do("equal_to", m, value=1.0), do.number(0.0, x), x)


def mask_posinf(do: Composer, x: Value, m: Value) -> Value:
    return do("select", do("equal_to", m, value=1.0), do.number(float("inf"), x), x)


def where(do: Composer, c: Value, a: Value, b: Value) -> Value:
    """The chip tests the bits of c, and minus zero has one."""
    condition = c if do.is_truth(c) else do("differs_from", c, value=0.0)
    return do("select", condition, a, b)


def softplus(
    do: Composer, x: Value, beta: float, beta_reciprocal: float, threshold: float
) -> Value:
    """The chip's own is 0 from -5 down."""
    scaled = do("scaled", x, factor=beta)
    curved = do("scaled", do("logp1", do("exp", scaled)), factor=beta_reciprocal)
    return do("select", do("greater_than", scaled, value=threshold), x, curved)


def typecast(do: Composer, x: Value, dtype: DType) -> Value:
    """To an integer: what does not fit becomes the largest or the smallest one."""
    if dtype.is_float:
        return do.rounded(x, dtype)
    if dtype == uint16:
        limited = do("clamp", x, min=0.0, max=65535.0)
        return do("low_16_bits", do("float_to_int32", limited))
    return do("float_to_int32" if dtype == int32 else "float_to_uint32", x)


# Integers -----------------------------------------------------------------------------------------


def whole_typecast(do: Composer, x: Value, dtype: DType) -> Value:
    """Between integers it is the bits that stay, as many as there are."""
    if dtype.is_float:
        is_large = do.dtype(x) == uint32
        converted = do("uint32_to_float" if is_large else "int32_to_float", x)
        return converted if dtype == float32 else do.rounded(converted, dtype)
    if dtype == do.dtype(x):
        return x
    if dtype == uint16:
        return do("low_16_bits", x)
    return do("as_int32" if dtype == int32 else "as_uint32", x)


def whole_negative(do: Composer, x: Value) -> Value:
    return do("sub", do.number(0, x), x)


def whole_power(do: Composer, x: Value, n: int) -> Value:
    """By squaring."""
    result = None
    while n:
        if n & 1:
            result = x if result is None else do("mul", result, x)
        n >>= 1
        x = do("mul", x, x) if n else x
    return do.number(1, x) if result is None else result


def whole_square(do: Composer, x: Value) -> Value:
    return do("mul", x, x)


def whole_clamp(do: Composer, x: Value, min: int, max: int) -> Value:
    return do("min", do("max", x, do.number(min, x)), do.number(max, x))


def whole_relu(do: Composer, x: Value) -> Value:
    return do("max", x, do.number(0, x))


def whole_relu_max(do: Composer, x: Value, upper: int) -> Value:
    return whole_relu(do, do("min", x, do.number(upper, x)))


def whole_relu_min(do: Composer, x: Value, lower: int) -> Value:
    return do("max", x, do.number(max(lower, 0), x))


def whole_threshold(do: Composer, x: Value, threshold: int, value: int) -> Value:
    is_above = do("gt", x, do.number(threshold, x))
    return do("select", is_above, do.number(value, x), x)


def whole_sign(do: Composer, x: Value) -> Value:
    zero = do.number(0, x)
    return do("sub", do("gt", x, zero), do("lt", x, zero))


def is_not_zero(do: Composer, x: Value) -> Value:
    return do("ne", x, do.number(0, x))


def is_not_negative(do: Composer, x: Value) -> Value:
    return do("ge", x, do.number(0, x))


def whole_mask(do: Composer, x: Value, m: Value) -> Value:
    return do("select", do("eq", m, do.number(1, m)), do.number(0, x), x)


def whole_where(do: Composer, c: Value, a: Value, b: Value) -> Value:
    return do("select", c, a, b)


def unsigned_floor_divide(do: Composer, a: Value, b: Value) -> Value:
    """The chip divides up to 2**31: half of a, twice the quotient, and one more if it fits."""
    half = do("right_shift", a, do.number(1, a))
    twice = do("signed_quotient", half, b)
    twice = do("add", twice, twice)
    rest = do("sub", a, do("mul", twice, b))
    small = do("add", twice, do("ge", rest, b))
    is_large = do("ge", b, do.number(2**31, b))
    return do("select", is_large, do("ge", a, b), small)

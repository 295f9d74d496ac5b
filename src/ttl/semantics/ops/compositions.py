"""Operations that no call of the chip does, composed from others.

A composition gets `do`, the operands and the operation's parameters. `do(name, *operands,
**parameters)` is the value of another operation, of the op table or of the steps; `do.number(value,
like)` is a block full of that number, like another value. Parameters of integer operations have the
element type, so a limit is a block; a limit for floats stays a number, because a block in 16-bit
registers would lose its digits.
"""

from __future__ import annotations

from math import prod
from typing import Any, Protocol

import numpy as np

from ..dtypes import NARROW, DType, bfloat16, float32, int32, round_to, uint32
from ..types import TILE_SIZE, Shape

Value = Any  # the composer's kind of value: an SSA value, or a number of a kernel


class Composer(Protocol):
    def __call__(self, name: str, *operands: Value, **parameters: object) -> Value: ...

    def number(self, value: float, like: Value) -> Value: ...

    def filled(self, value: float, shape: Shape, dtype: DType) -> Value: ...

    def at_start(self) -> Composer:
        """Return a composer whose values are made when the kernel starts."""

    def constant(self, value: Value) -> float | None:
        """Return the number that fills the value, if known."""

    def dtype(self, value: Value) -> DType: ...

    def shape(self, value: Value) -> Shape: ...

    def rounded(self, value: Value, dtype: DType) -> Value:
        """Return a float value as another float type."""

    def is_truth(self, value: Value) -> bool:
        """Return whether the value is known to be 1 or 0 everywhere."""


# Floats -------------------------------------------------------------------------------------------


def remainder(do: Composer, a: Value, b: Value) -> Value:
    """Compute the remainder from the chip's fmod, which is exact; its remainder is not."""
    rest = do("fmod", a, b)
    return do("select", _has_other_sign(do, rest, b), do("add", rest, b), rest)


def floor_divide(do: Composer, a: Value, b: Value) -> Value:
    """Divide `a - rest`, which b divides exactly, so rounding the quotient finds the whole number.

    The rounded quotient of a itself would be one too many just below a whole number.
    """
    rest = do("fmod", a, b)
    toward_zero = do("round", do("div", do("sub", a, rest), b), decimals=0)
    quotient = do("sub", toward_zero, _has_other_sign(do, rest, b))
    return do("select", do("equal_to", b, value=0.0), do("div", a, b), quotient)


def _has_other_sign(do: Composer, rest: Value, b: Value) -> Value:
    """Compare by a product with the sign, which cannot underflow."""
    return do("less_than", do("mul", rest, do("sign", b)), value=0.0)


def threshold(do: Composer, x: Value, threshold: float, value: float) -> Value:
    return do("select", _compare(do, "greater_than", x, threshold), do.number(value, x), x)


def mask(do: Composer, x: Value, m: Value, instead: float = 0.0) -> Value:
    return do("select", _compare(do, "equal_to", m, 1), do.number(instead, x), x)


def _compare(do: Composer, how: str, x: Value, number: float) -> Value:
    """Return 1 where the comparison holds, else 0."""
    if do.dtype(x).is_float:
        return do(how, x, value=float(number))
    return do(OF_INTEGERS[how], x, do.number(number, x))


OF_INTEGERS = {"greater_than": "gt", "equal_to": "eq", "differs_from": "ne"}


def where(do: Composer, c: Value, a: Value, b: Value) -> Value:
    """Select by truth values: the chip tests the bits of c, and minus zero has one."""
    return do("select", _truth(do, c), a, b)


def of_truths(do: Composer, a: Value, b: Value, how: str) -> Value:
    return do(how, _truth(do, a), _truth(do, b))


def _truth(do: Composer, x: Value) -> Value:
    """Return 1 where x is not 0, else 0."""
    return x if do.is_truth(x) else _compare(do, "differs_from", x, 0)


def reduce_min(
    do: Composer, x: Value, scaler: Value, dims: Shape, shape: Shape, exact_f32: bool = False
) -> Value:
    """Subtract from zero instead of negating, so the rest of the tile is +0."""
    given = {"dims": dims, "shape": shape, "exact_f32": exact_f32}
    largest = do("reduce_max", do("neg", x), scaler, **given)
    return do("sub", do.number(0.0, largest), largest)


def reduce_mean(
    do: Composer, x: Value, scaler: Value, dims: Shape, shape: Shape, exact_f32: bool = False
) -> Value:
    factor, inner = do.constant(scaler), _inner(do, x, dims)
    share = 1 / (prod(do.shape(x)[dim] for dim in dims) * TILE_SIZE ** len(inner))
    assert factor is not None, "the scaler of a reduction is a number"
    if fits_scaler_tile(factor * share, len(inner)):
        scaler, share = do.filled(factor * share, (1, 1), do.dtype(scaler)), 1
    total = do("reduce_sum", x, scaler, dims=dims, shape=shape, exact_f32=exact_f32)
    return total if share == 1 else do("scaled", total, factor=share)


def exact_reduction(
    do: Composer, x: Value, scaler: Value, dims: Shape, shape: Shape, how: str
) -> Value:
    """Reduce in the vector unit, which keeps all digits of f32; the matrix unit has TF32."""
    found = _combine(do, do.rounded(x, float32), how, dims)
    factor, inner = do.constant(scaler), _inner(do, x, dims)
    assert factor is not None, "the scaler of a reduction is a number"
    if inner:
        found = do("select", _edge_of_ones(do, found, inner), found, do.number(0.0, found))
    return found if factor == 1 else do("scaled", found, factor=factor)


def is_scale_of_exp(scale: float) -> bool:
    """Return whether the scale is a bfloat16, which the call takes."""
    return float(round_to(np.array(scale, np.float32), bfloat16)) == scale


def exp_with_flags(
    do: Composer,
    x: Value,
    scale: float,
    iterations: int,
    approx: bool = False,
    skip_clamp_check: bool = False,
) -> Value:
    """Compose exp; the chip's call takes a scale of 8 digits, and not with the approximation."""
    if scale != 1 and is_scale_of_exp(scale) and not approx:
        return do("exp_of_scaled", x, scale=scale)
    if scale != 1:
        x = do("scaled", x, factor=scale)
    if not approx:
        return do("exp", x)
    return do("quick_exp_unclamped" if skip_clamp_check else "quick_exp", x)


def softplus(
    do: Composer, x: Value, beta: float, beta_reciprocal: float, threshold: float
) -> Value:
    """Compose softplus: the chip's own call is 0 from -5 down."""
    scaled = do("scaled", x, factor=beta)
    curved = do("scaled", do("logp1", do("exp", scaled)), factor=beta_reciprocal)
    return do("select", do("greater_than", scaled, value=threshold), x, curved)


def typecast(do: Composer, x: Value, dtype: DType) -> Value:
    """Convert; a float too large for an integer becomes the limit, NaN becomes zero."""
    if dtype.is_float:
        return do.rounded(x, dtype)
    x = do("select", do("ne", x, x), do.number(0.0, x), x)
    if dtype in NARROW:
        limited = do("clamp", x, min=0.0, max=2.0 ** NARROW[dtype] - 1)
        return _with_bits_of(do, do("float_to_int32", limited), dtype)
    return do("float_to_int32" if dtype == int32 else "float_to_uint32", x)


def broadcast_in_parts(do: Composer, x: Value, dims: Shape, shape: Shape) -> Value:
    """Broadcast an f32 as the sum of three bfloat16; an infinity is itself plus zeros."""
    x = do.rounded(x, float32)
    parts: list[Value] = []
    for _ in range(3):
        part = do.rounded(x, bfloat16)
        parts.append(do.rounded(do("broadcast", part, dims=dims, shape=shape), float32))
        taken = do.rounded(part, float32)
        x = do("select", do("ne", x, taken), do("sub", x, taken), do.number(0.0, x))
    return do("add", do("add", parts[2], parts[1]), parts[0])


# Integers -----------------------------------------------------------------------------------------


def whole_typecast(do: Composer, x: Value, dtype: DType) -> Value:
    """Convert integers; between integer types the bits stay, as many as fit."""
    if dtype.is_float:
        if dtype != float32 and do.dtype(x) not in NARROW:
            x = _rounding_like(do, x)
        is_large = do.dtype(x) == uint32
        converted = do("uint32_to_float" if is_large else "int32_to_float", x)
        return converted if dtype == float32 else do.rounded(converted, dtype)
    if dtype == do.dtype(x):
        return x
    if dtype in NARROW:
        return do(f"low_{NARROW[dtype]}_bits", x)
    return _with_bits_of(do, x, dtype)


def _rounding_like(do: Composer, x: Value) -> Value:
    """Return an integer of at most 24 digits that rounds to 16 bits or fewer as x does.

    Only whether a large integer's last 8 bits are zero matters. This avoids double rounding.
    """
    most = do.number(2**24, x)
    is_small = do("lt", do("abs", x), most)
    rest = do("bits_and", x, do.number(255, x))
    is_more = do("ne", rest, do.number(0, x))
    odd = do("bits_or", do("sub", x, rest), do("mul", is_more, do.number(256, x)))
    return do("select", is_small, x, odd)


def _with_bits_of(do: Composer, x: Value, dtype: DType) -> Value:
    """Reinterpret the bits as another integer type."""
    return x if do.dtype(x) == dtype else do(f"as_{dtype}", x)


def whole_power(do: Composer, x: Value, n: int) -> Value:
    """Compute a power by squaring."""
    result = None
    while n:
        if n & 1:
            result = x if result is None else do("mul", result, x)
        n >>= 1
        x = do("mul", x, x) if n else x
    return do.number(1, x) if result is None else result


def whole_clamp(do: Composer, x: Value, min: int, max: int) -> Value:
    return do("min", do("max", x, do.number(min, x)), do.number(max, x))


def whole_relu(do: Composer, x: Value) -> Value:
    return do("max", x, do.number(0, x))


def whole_relu_max(do: Composer, x: Value, upper: int) -> Value:
    return whole_relu(do, do("min", x, do.number(upper, x)))


def whole_relu_min(do: Composer, x: Value, lower: int) -> Value:
    return do("max", x, do.number(max(lower, 0), x))


def whole_sign(do: Composer, x: Value) -> Value:
    zero = do.number(0, x)
    return do("sub", do("gt", x, zero), do("lt", x, zero))


def unsigned_floor_divide(do: Composer, a: Value, b: Value) -> Value:
    """Divide half of a, double the quotient and correct it: the chip divides up to 2**31."""
    half = do("right_shift", a, do.number(1, a))
    twice = do("signed_quotient", half, b)
    twice = do("add", twice, twice)
    rest = do("sub", a, do("mul", twice, b))
    small = do("add", twice, do("ge", rest, b))
    is_large = do("ge", b, do.number(2**31, b))
    return do("select", is_large, do("ge", a, b), small)


# Reductions and broadcasts of integers ------------------------------------------------------------


def whole_reduction(
    do: Composer,
    x: Value,
    scaler: Value,
    dims: Shape,
    shape: Shape,
    how: str,
    exact_f32: bool = False,
) -> Value:
    wide = x if do.dtype(x) not in NARROW else _with_bits_of(do, x, int32)
    found = _scale(do, _reduce_integers(do, wide, how, dims), scaler)
    return whole_typecast(do, found, do.dtype(x))


def fits_scaler_tile(number: float, inner_dims: int) -> bool:
    """Return whether a sum over that many tile dimensions can multiply by the number itself.

    The matrix unit multiplies once per dimension, with 16-bit numbers.
    """
    narrow = float(round_to(np.array(number, np.float32), bfloat16))
    return number == 1 or (inner_dims == 1 and narrow == number)


def _scale(do: Composer, x: Value, scaler: Value) -> Value:
    factor = do.constant(scaler)
    assert factor is not None, "the scaler of a reduction is a number"
    return x if factor == 1 else do("mul", x, do.number(factor, x))


def _reduce_integers(do: Composer, x: Value, how: str, dims: Shape) -> Value:
    """Reduce tiles with tiles, then rows and columns inside the remaining tiles."""
    if how == "min":
        return _at_edge(do, _invert(do, _combine(do, _invert(do, x), "max", dims)), dims)
    return _at_edge(do, _combine(do, x, how, dims), dims)


def _combine(do: Composer, x: Value, how: str, dims: Shape) -> Value:
    rank = len(do.shape(x))
    counted = sorted(dim % rank for dim in dims)
    if any(do.shape(x)[dim] > 1 for dim in counted):
        x = do(f"{how}_of_tiles", x, dims=tuple(counted))
    if rank - 1 in counted:
        x = do(f"{how}_of_columns", x)
    if rank - 2 in counted:
        x = do(f"{how}_of_rows", x)
    return x


def _invert(do: Composer, x: Value) -> Value:
    """Invert all bits, which reverses the order of integers."""
    return do("sub", do.number(-1 if do.dtype(x) == int32 else 2**32 - 1, x), x)


def _at_edge(do: Composer, x: Value, dims: Shape) -> Value:
    inner = _inner(do, x, dims)
    return do("mul", x, _ones_at(do, x, inner)) if inner else x


def _inner(do: Composer, x: Value, dims: Shape) -> Shape:
    """Return the dimensions that are also inside a tile."""
    rank = len(do.shape(x))
    return tuple(dim for dim in sorted(dim % rank for dim in dims) if dim >= rank - 2)


def _ones_at(do: Composer, like: Value, dims: Shape) -> Value:
    """Return 1 where a reduction over dims leaves its result in a tile, 0 elsewhere.

    The packer leaves this of a reduction by the matrix unit. Made once per kernel.
    """
    do = do.at_start()
    edge = _edge_of_ones(do, like, dims)
    return do("float_to_uint32" if do.dtype(like) == uint32 else "float_to_int32", edge)


def _edge_of_ones(do: Composer, like: Value, dims: Shape) -> Value:
    do = do.at_start()
    ones, one = do.filled(1.0, do.shape(like), float32), do.filled(1.0, (1, 1), float32)
    return do("reduce_max", ones, one, dims=dims, shape=None, exact_f32=False)


def whole_broadcast(do: Composer, x: Value, dims: Shape, shape: Shape) -> Value:
    """Broadcast in parts of 8 bits, which a bfloat16 holds at any position."""
    words, total = _with_bits_of(do, x, uint32), None
    for place in range(4):
        part = do("bits_and", words, do.number(255 << 8 * place, words))
        digit = do.rounded(do("uint32_to_float", part), bfloat16)
        whole = do("float_to_uint32", do("broadcast", digit, dims=dims, shape=shape))
        total = whole if total is None else do("add", total, whole)
    return _with_bits_of(do, total, do.dtype(x))

"""Rounding, limits and signs."""

from __future__ import annotations

import numpy as np

from ..dtypes import Array
from . import compositions
from .meanings import Meaning, as_single, exact_unary, numbers, one_where, unary
from .special_values import clamp, has_no_sign
from .table import BlockOp, Parameter, ParameterKind, TileCall
from .tiles import (
    NOT_NEGATIVE,
    SIGNED,
    all_bits,
    all_words,
    bits,
    composed,
    one_call,
    rounding,
    vector,
    whole_composed,
)

_LARGEST = float(np.finfo(np.float32).max)
_MOST_DECIMALS = 38  # 10 to that power is an f32


def _round(x: Array, decimals: int) -> Array:
    """Round to decimals, half to even; float64 scales exactly, so only true ties are ties.

    A scaled number too large for an f32 becomes infinite. The vector unit makes no -0.
    """
    if abs(decimals) > _MOST_DECIMALS:
        return _power_of_ten(-decimals) * np.rint(x * _power_of_ten(decimals)) + np.float32(0)
    scale = 10.0 ** abs(decimals)
    wide: Array = np.asarray(x, np.float64)
    if decimals < 0:
        return as_single(np.rint(wide / scale) * scale + 0.0)
    scaled: Array = wide * scale
    scaled = np.where(np.abs(scaled) > _LARGEST, np.copysign(np.inf, wide), scaled)
    return as_single(np.rint(scaled) / scale + 0.0)


def _power_of_ten(n: int) -> np.float32:
    return np.float32(np.inf if n > _MOST_DECIMALS else 10.0 ** max(n, -99))


def _round_bound(spacing: float, x: Array, decimals: int) -> Array:
    """Return the bound, which adds a step where scaling may move a number to or off a tie."""
    step = 10.0**-decimals
    scaled = np.abs(np.asarray(x, np.float64)) / step
    from_tie = np.abs(scaled - np.floor(scaled) - 0.5)
    is_near = (from_tie <= spacing * scaled) & (decimals != 0)
    return spacing * np.abs(_round(x, decimals)) + np.where(is_near, step, 0.0)


def between_limits(name: str, **columns: object) -> BlockOp:
    """Make clamp, which has two names on the chip."""
    include = "eltwise_unary/clamp.h"
    return exact_unary(
        name,
        clamp,
        "x, between min and max",
        vector(name, f"eltwise_unary/{name}.h", arguments=all_bits),
        one_call(
            (SIGNED,), "clamp_tile_int32", include, init="clamp_tile_init", arguments=all_words
        ),
        whole_composed(compositions.whole_clamp, NOT_NEGATIVE),
        parameters=numbers(min=-0.3, max=1.7),
        **columns,
    )


def _signbit(x: Array) -> Array:
    """Return 1 for positive numbers and +0, else 0; numpy's and C's are the opposite."""
    return one_where(has_no_sign(x), x)


def _sign(x: Array) -> Array:
    if x.dtype.kind == "i":
        return np.sign(x)
    return np.where(x == 0, np.float32(0), np.copysign(np.float32(1), x))


def _threshold(x: Array, threshold: Array, value: Array) -> Array:
    return np.where(x > threshold, value, x)


def _heaviside(x: Array, value: Array) -> Array:
    return np.where(x == 0, value, _signbit(x))


_ONE_LESS = TileCall(
    "rsub_unary_tile",
    "binop_with_scalar_tile_init",
    "eltwise_unary/binop_with_scalar.h",
    arguments=lambda: (bits(1.0),),
)


def _whole_number(name: str, meaning: Meaning, summary: str) -> BlockOp:
    return unary(name, meaning, summary, exact=True, tile=rounding(name))


OPS = (
    _whole_number("frac", lambda x: x - np.trunc(x), "x less its whole part"),
    _whole_number("trunc", np.trunc, "x without its fraction"),
    unary(
        "round",
        _round,
        "the nearest number to x with so many decimals, halves to even",
        parameters=(Parameter("decimals", ParameterKind.INTEGER, 0, sample=1),),
        tile=rounding("round", arguments=lambda decimals: (str(decimals),)),
        bound=_round_bound,
        is_cut_off=True,
    ),
    _whole_number("floor", np.floor, "the largest whole number up to x"),
    _whole_number("ceil", np.ceil, "the smallest whole number from x on"),
    between_limits("clamp"),
    exact_unary(
        "threshold",
        _threshold,
        "x, or value where x > threshold",
        composed(compositions.threshold),
        whole_composed(compositions.threshold),
        parameters=numbers(threshold=0.3, value=1.7),
    ),
    exact_unary(
        "sign",
        _sign,
        "-1, 0 or 1, as x is less than 0, 0 or more",
        vector("sign"),
        whole_composed(compositions.whole_sign, (SIGNED,)),
        whole_composed(lambda do, x: do("ne", x, do.number(0, x)), NOT_NEGATIVE),
    ),
    exact_unary(
        "signbit",
        _signbit,
        "1 where x is positive or +0, else 0",
        vector("signbit", then=_ONE_LESS),  # the chip has C's; 1 - x makes it the language's
        whole_composed(lambda do, x: do("ge", x, do.number(0, x))),
    ),
    unary(
        "heaviside",
        _heaviside,
        "0 where x < 0, value where x is 0, else 1",
        parameters=numbers(value=0.7),
        exact=True,
        computes=False,
        tile=vector("heaviside", arguments=all_bits),
    ),
)

"""Decomposes arithmetic and reductions into operations that are lowered."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce
from operator import mul
from typing import Any

import torch
from torch import Tensor

aten = torch.ops.aten


def wide(dtype: torch.dtype) -> torch.dtype:
    """Return the type of a sum: short floats are summed in f32 and rounded once, as in torch."""
    return torch.float32 if dtype in (torch.bfloat16, torch.float16) else dtype


def lowest(dtype: torch.dtype) -> Any:
    if dtype is torch.bool:
        return False
    return -math.inf if dtype.is_floating_point else torch.iinfo(dtype).min


def highest(dtype: torch.dtype) -> Any:
    if dtype is torch.bool:
        return True
    return math.inf if dtype.is_floating_point else torch.iinfo(dtype).max


def sign(x: Tensor) -> Tensor:
    """Return the sign, which for NaN is 0 in torch."""
    if x.dtype is torch.bool:
        return x
    return (x > 0).to(x.dtype) - (x < 0).to(x.dtype)


def copysign(x: Tensor, y: Any) -> Tensor:
    """Copy the sign; the sign of 0 is the sign of 1 divided by it."""
    x = x if x.is_floating_point() else x.to(torch.get_default_dtype())
    y = torch.as_tensor(y, device=x.device)
    is_below = (y < 0) | (1 / y < 0)
    return torch.where(is_below, -x.abs(), x.abs())


def trunc(x: Tensor) -> Tensor:
    """Round towards 0; integers are unchanged."""
    return torch.where(x < 0, x.ceil(), x.floor()) if x.is_floating_point() else x


def power(x: Tensor, exponent: float) -> Tensor:
    """Raise to a power; small integer powers are products, which are more exact."""
    x = x.to(torch.result_type(x, exponent))
    if exponent in (1, 2, 3):
        return reduce(mul, [x] * int(exponent))
    if exponent in (0.5, -0.5):
        return x.sqrt() if exponent > 0 else x.rsqrt()
    return torch.pow(x, torch.full_like(x, exponent))


def divide(x: Tensor, y: Any, *, rounding_mode: str | None = None) -> Any:
    """Divide, rounding towards 0 or down.

    Uses the remainder, because a quotient just below an integer may be rounded to it.
    """
    dtype = torch.result_type(x, y)
    if rounding_mode is None:
        return x / y
    if rounding_mode == "trunc":
        return trunc(x / y) if dtype.is_floating_point else NotImplemented
    x, y = x.to(dtype), torch.as_tensor(y, dtype=dtype, device=x.device)
    rest = torch.fmod(x, y)
    is_below = _has_other_sign(rest, y)
    if not dtype.is_floating_point:
        quotient = torch.div(x, y, rounding_mode="trunc")
        return torch.where(is_below, quotient - 1, quotient)
    whole = (x - rest) / y
    found = torch.where(is_below, whole - 1, whole).round()
    return torch.where(y == 0, x / y, found)


def _has_other_sign(rest: Tensor, divisor: Any) -> Tensor:
    """Has the remainder another sign than the divisor?"""
    return (rest != 0) & ((rest < 0) ^ (divisor < 0))


def remainder(x: Tensor, y: Any) -> Tensor:
    """Return the remainder with the divisor's sign; fmod has the dividend's."""
    rest = torch.fmod(x, y)
    return torch.where(_has_other_sign(rest, y), rest + y, rest)


def addmm(bias: Tensor, x: Tensor, y: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    product = x @ y if alpha == 1 else (x @ y) * alpha
    if beta == 0:
        return product
    return product + (bias if beta == 1 else bias * beta)


# Reductions ---------------------------------------------------------------------------------------

Dims = Sequence[int] | int | None


def _dims(x: Tensor, given: Dims) -> list[int]:
    return [given] if isinstance(given, int) else list(given or range(x.ndim))


def _count(x: Tensor, dims: list[int]) -> int:
    return math.prod(x.shape[dim] for dim in dims) if x.ndim else 1


def mean(
    x: Tensor, given: Dims = None, keepdim: bool = False, *, dtype: torch.dtype | None = None
) -> Tensor:
    dims, wanted = _dims(x, given), dtype or x.dtype
    total = x.sum(dims, keepdim, dtype=wide(wanted))
    return (total / _count(x, dims)).to(wanted)


def var_mean(
    x: Tensor, given: Dims = None, *, correction: float | None = None, keepdim: bool = False
) -> tuple[Tensor, Tensor]:
    dims, y = _dims(x, given), x.to(wide(x.dtype))
    count = _count(x, dims)
    middle = y.sum(dims, True) / count
    distance = y - middle
    degrees = count - (1 if correction is None else correction)
    spread = (distance * distance).sum(dims, keepdim) / max(0.0, degrees)
    return spread.to(x.dtype), middle.reshape(spread.shape).to(x.dtype)


def var(x: Tensor, given: Dims = None, **options: Any) -> Tensor:
    return var_mean(x, given, **options)[0]


DECOMPOSITIONS: dict[Any, Callable[..., Any]] = {
    aten.sign.default: sign,
    aten.reciprocal.default: lambda x: torch.ones_like(x) / x,
    aten.log2.default: lambda x: x.log() / math.log(2),
    aten.log10.default: lambda x: x.log() / math.log(10),
    aten.exp2.default: lambda x: torch.pow(2.0, x),
    aten.copysign.Tensor: copysign,
    aten.copysign.Scalar: copysign,
    aten.hypot.default: lambda x, y: (x * x + y * y).sqrt(),
    aten.trunc.default: trunc,
    aten.isnan.default: lambda x: x != x,
    aten.relu.default: lambda x: x.clamp(min=0),
    aten.pow.Tensor_Scalar: power,
    aten.div.Tensor_mode: divide,
    aten.div.Scalar_mode: divide,
    aten.remainder.Tensor: remainder,
    aten.remainder.Scalar: remainder,
    aten.addmm.default: addmm,
    aten.mean.default: mean,
    aten.mean.dim: mean,
    aten.var_mean.correction: var_mean,
    aten.var.correction: var,
}

"""Decomposes draws that depend on computed numbers into draws that do not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from .statistics import searchsorted

aten = torch.ops.aten


def bernoulli(probability: Tensor, *, generator: Any = None) -> Tensor:
    """Return 1 where a uniform random number is below the probability."""
    if generator is not None:
        return NotImplemented
    return (torch.rand_like(probability) < probability).to(probability.dtype)


def normal(mean: Any, std: Any = 1.0, *, generator: Any = None) -> Tensor:
    like = mean if isinstance(mean, Tensor) else std
    shape = torch.broadcast_shapes(*(each.shape for each in (mean, std) if hasattr(each, "shape")))
    return mean + std * torch.randn(shape, dtype=like.dtype, device=like.device)


def multinomial(
    weights: Tensor, count: int, replacement: bool = False, *, generator: Any = None
) -> Tensor:
    """Draw like torch on the CPU: the largest ratios of weights to exponential numbers; with
    replacement, the position of a number among the cumulative weights.
    """
    if count == 1 or not replacement:
        found = weights / torch.ops.aten.exponential(weights, 1.0)
        if count == 1:
            return found.argmax(-1, keepdim=True)
        return found.topk(count, -1)[1]
    sums = weights.cumsum(-1)
    drawn = torch.rand(*weights.shape[:-1], count, device=weights.device) * sums[..., -1:]
    return searchsorted(sums, drawn, right=True).clamp(max=weights.shape[-1] - 1)


DECOMPOSITIONS: dict[Any, Callable[..., Any]] = {
    aten.bernoulli.default: bernoulli,
    aten.multinomial.default: multinomial,
    aten.normal.Tensor_float: normal,
    aten.normal.float_Tensor: normal,
    aten.normal.Tensor_Tensor: normal,
}

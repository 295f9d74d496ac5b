"""Decomposes reductions to the largest or smallest elements and their positions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from .indexing import positions

aten = torch.ops.aten


def _extreme(x: Tensor, dim: int, largest: bool) -> tuple[Tensor, Tensor]:
    """Return the largest or smallest element and its first position; keeps `dim` with size 1.

    NaN comes before all numbers.
    """
    found = x.amax(dim, True) if largest else x.amin(dim, True)
    is_here = x == found
    if x.is_floating_point():
        is_here = is_here | (x.isnan() & found.isnan())
    return found, torch.where(is_here, positions(x, dim), x.shape[dim]).amin(dim, True)


def _place(largest: bool) -> Callable[..., Tensor]:
    def place(x: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
        shape = x.shape
        if dim is None or not shape:
            found = _extreme(x.flatten(), 0, largest)[1]
            return found.reshape([1] * len(shape) if keepdim else [])
        found = _extreme(x, dim % len(shape), largest)[1]
        return found if keepdim else found.squeeze(dim)

    return place


def _with_place(largest: bool) -> Callable[..., tuple[Tensor, Tensor]]:
    def with_place(x: Tensor, dim: int, keepdim: bool = False) -> tuple[Tensor, Tensor]:
        if not x.ndim:
            return x, torch.zeros_like(x, dtype=torch.int64)
        found, place = _extreme(x, dim % x.ndim, largest)
        return (found, place) if keepdim else (found.squeeze(dim), place.squeeze(dim))

    return with_place


DECOMPOSITIONS: dict[Any, Callable[..., Any]] = {
    aten.argmax.default: _place(largest=True),
    aten.argmin.default: _place(largest=False),
    aten.max.dim: _with_place(largest=True),
    aten.min.dim: _with_place(largest=False),
}

"""The largest and smallest elements and where they are, and sums of all elements so far."""

from __future__ import annotations

import math
from collections.abc import Callable
from operator import add, mul
from typing import Any

import torch
from torch import Tensor

from .arithmetic import highest, lowest, wide
from .indexing import MOST_STEPS, padded, positions

aten = torch.ops.aten


def _extreme(
    x: Tensor, dim: int, largest: bool, left: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """The largest or smallest of those that are left, and its first place; `dim` stays, of size 1.

    What is no number comes before all others.
    """
    last = lowest(x.dtype) if largest else highest(x.dtype)
    given = x if left is None else torch.where(left, x, last)
    found = given.amax(dim, True) if largest else given.amin(dim, True)
    is_here = x == found
    if x.is_floating_point():
        is_here = is_here | (x.isnan() & found.isnan())
    return found, _first(is_here if left is None else is_here & left, dim)


def _first(is_here: Tensor, dim: int) -> Tensor:
    """The first place along a dimension that is true, or the size of the dimension."""
    return torch.where(is_here, positions(is_here, dim), is_here.shape[dim]).amin(dim, True)


def _smallest(x: Tensor, dim: int, left: Tensor) -> tuple[Tensor, Tensor]:
    """As _extreme(), but what is no number comes after all others."""
    if not x.is_floating_point():
        return _extreme(x, dim, False, left)
    found, place = _extreme(x, dim, False, left & (x == x))
    is_there = place < x.shape[dim]
    return torch.where(is_there, found, math.nan), torch.where(is_there, place, _first(left, dim))


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


def topk(x: Tensor, count: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    """The first, then the first of the others, and so on."""
    if not x.ndim or not 0 < count <= MOST_STEPS:
        return NotImplemented
    dim %= x.ndim
    left = torch.ones_like(x, dtype=torch.bool)
    counted, found = positions(x, dim), []
    for _ in range(count):
        found.append(_extreme(x, dim, True, left) if largest else _smallest(x, dim, left))
        left = left & (counted != found[-1][1])
    return tuple(torch.cat(each, dim) for each in zip(*found, strict=True))


def sort(x: Tensor, dim: int = -1, descending: bool = False) -> Any:
    """As many of the first as there are."""
    return topk(x, x.shape[dim] if x.ndim else 0, dim, descending)


def stable_sort(x: Tensor, *, stable: bool | None, dim: int = -1, descending: bool = False) -> Any:
    return sort(x, dim, descending)


def _running(combine: Callable[[Tensor, Tensor], Tensor], neutral: int) -> Callable[..., Tensor]:
    """In steps of 1, 2, 4, ...: each element takes in what stands that far before it."""

    def running(x: Tensor, dim: int, *, dtype: torch.dtype | None = None) -> Tensor:
        wanted = dtype or (x.dtype if x.is_floating_point() else torch.int64)
        x = x.to(wide(wanted))
        step, size = 1, x.shape[dim] if x.ndim else 0
        while step < size:
            moved = padded(x.narrow(dim, 0, size - step), dim, step, 0, neutral)
            x, step = combine(x, moved), 2 * step
        return x.to(wanted)

    return running


DECOMPOSITIONS: dict[Any, Callable[..., Any]] = {
    aten.argmax.default: _place(largest=True),
    aten.argmin.default: _place(largest=False),
    aten.max.dim: _with_place(largest=True),
    aten.min.dim: _with_place(largest=False),
    aten.topk.default: topk,
    aten.sort.default: sort,
    aten.sort.stable: stable_sort,
    aten.cumsum.default: _running(add, 0),
    aten.cumprod.default: _running(mul, 1),
}
LIMITS: dict[Any, str] = dict.fromkeys(
    (aten.topk.default, aten.sort.default, aten.sort.stable),
    f"of none or more than {MOST_STEPS} elements one by one",
)

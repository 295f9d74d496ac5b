"""Convolutions and pooling: a window that moves over a tensor is a slice for each of its places."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product
from math import prod
from operator import add
from typing import Any

import torch
from torch import Tensor

from .arithmetic import lowest, wide
from .indexing import MOST_STEPS, padded

aten = torch.ops.aten


@dataclass(frozen=True, slots=True)
class Window:
    """How a window moves over the last dimensions of a tensor."""

    sizes: Sequence[int]
    stride: Sequence[int]
    padding: Sequence[int]
    dilation: Sequence[int]
    ceil_mode: bool = False

    @classmethod
    def of(cls, sizes: Sequence[int], *options: Sequence[int], ceil_mode: bool = False) -> Window:
        """Of stride, padding and dilation as torch has them."""
        stride, padding, dilation = (_each(each, len(sizes)) for each in options)
        return cls(sizes, stride, padding, dilation, ceil_mode)

    def reach(self, axis: int) -> int:
        return self.dilation[axis] * (self.sizes[axis] - 1) + 1

    def outs(self, shape: Sequence[int]) -> list[int]:
        """How many places it has along each dimension; in ceil mode also one that begins inside."""
        found = []
        for axis, size in enumerate(shape[-len(self.sizes) :]):
            step, edge = self.stride[axis], self.padding[axis]
            room = size + 2 * edge - self.reach(axis)
            count = (room + (step - 1) * self.ceil_mode) // step + 1
            found.append(count - (self.ceil_mode and (count - 1) * step >= size + edge))
        return found

    def slices(self, x: Tensor, filling: Any = 0, edges: Any = None) -> list[Tensor]:
        """What stands under each place of the window; the padding is `edges`, or as the rest."""
        outs, first = self.outs(x.shape), x.ndim - len(self.sizes)
        spans = [(out - 1) * step + 1 for out, step in zip(outs, self.stride, strict=True)]
        for axis, edge in enumerate(self.padding):
            after = spans[axis] + self.reach(axis) - 1 - x.shape[first + axis] - edge
            if edges is not None:
                x = padded(x, first + axis, edge, edge, edges)
            widths = (edge, after) if edges is None else (0, after - edge)
            x = padded(x, first + axis, *widths, filling)
        return [self._under(x, place, spans) for place in product(*map(range, self.sizes))]

    def _under(self, x: Tensor, place: Sequence[int], spans: Sequence[int]) -> Tensor:
        for axis, offset in enumerate(place):
            start, dim = offset * self.dilation[axis], axis - len(place)
            x = aten.slice.Tensor(x, dim, start, start + spans[axis], self.stride[axis])
        return x


def _each(value: Sequence[int] | int, count: int) -> list[int]:
    """One number for all dimensions, or one for each."""
    values = [value] if isinstance(value, int) else list(value)
    return values * count if len(values) == 1 else values


def convolution(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> Any:
    """One matrix product for each group: of the weights, and of all that the window meets."""
    sizes = weight.shape[2:]
    if transposed or prod(sizes) > MOST_STEPS:
        return NotImplemented
    window = Window.of(sizes, stride, padding, dilation)
    (batch, channels), rows = x.shape[:2], weight.shape[0] // groups
    outs, inner = window.outs(x.shape), channels // groups * prod(sizes)
    apart = (batch * groups, channels // groups, 1, prod(outs))
    columns = torch.cat([each.reshape(apart) for each in window.slices(x)], 2)
    weights = weight.reshape(1, groups, rows, inner).expand(batch, groups, rows, inner)
    columns = columns.reshape(batch * groups, inner, prod(outs))
    found = torch.bmm(weights.reshape(batch * groups, rows, inner), columns)
    found = found.reshape(batch, groups * rows, *outs)
    return found if bias is None else found + bias.reshape(-1, *[1] * len(sizes))


def max_pool2d_with_indices(
    x: Tensor,
    sizes: Sequence[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] = (0,),
    dilation: Sequence[int] = (1,),
    ceil_mode: bool = False,
) -> Any:
    """The largest under the window, and its place in the plane."""
    sizes = _each(sizes, 2)
    if prod(sizes) > MOST_STEPS:
        return NotImplemented
    window = Window.of(sizes, stride or sizes, padding, dilation, ceil_mode=ceil_mode)
    plane = x.shape[-2:]
    counted = torch.arange(prod(plane), device=x.device).reshape(plane)
    values = window.slices(x, lowest(x.dtype))
    (best, place), *others = zip(values, window.slices(counted), strict=True)
    place = place.expand(best.shape)
    for value, where in others:
        is_more = value > best
        if x.is_floating_point():
            is_more = is_more | value.isnan()
        best, place = torch.where(is_more, value, best), torch.where(is_more, where, place)
    return best, place


def avg_pool2d(
    x: Tensor,
    sizes: Sequence[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] = (0,),
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Any:
    """The sum under the window, divided by what torch counts there."""
    sizes = _each(sizes, 2)
    if prod(sizes) > MOST_STEPS:
        return NotImplemented
    window = Window.of(sizes, stride or sizes, padding, (1,), ceil_mode=ceil_mode)
    y = x.to(wide(x.dtype))
    total = reduce(add, window.slices(y))
    is_full = not ceil_mode and (count_include_pad or not any(window.padding))
    divisor: Any = divisor_override or prod(sizes)
    if divisor_override is None and not is_full:
        ones = y.new_ones(y.shape[-2:])
        divisor = reduce(add, window.slices(ones, 0, 1 if count_include_pad else None))
    return (total / divisor).to(x.dtype)


DECOMPOSITIONS: dict[Any, Callable[..., Any]] = {
    aten.convolution.default: convolution,
    aten.max_pool2d_with_indices.default: max_pool2d_with_indices,
    aten.avg_pool2d.default: avg_pool2d,
}
LIMITS: dict[Any, str] = {
    **dict.fromkeys(DECOMPOSITIONS, f"with a window of more than {MOST_STEPS} elements"),
    aten.convolution.default: f"that is transposed, or with a window of more than {MOST_STEPS}",
}

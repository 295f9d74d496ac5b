"""Decomposes pooling: one axis at a time, with a slice for each position in the window."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from math import prod
from operator import add
from typing import Any

import torch
from torch import Tensor

from .arithmetic import lowest, wide
from .indexing import MOST_STEPS, padded
from .windows import for_each

aten = torch.ops.aten


@dataclass(frozen=True, slots=True)
class WindowAxis:
    """Movement of a window along one axis."""

    size: int
    stride: int
    padding: int = 0
    dilation: int = 1
    ceil_mode: bool = False

    @property
    def reach(self) -> int:
        return self.dilation * (self.size - 1) + 1

    def outs(self, size: int) -> int:
        """Count the window's positions; in ceil mode, also the last one that begins inside."""
        room = size + 2 * self.padding - self.reach
        count = (room + (self.stride - 1) * self.ceil_mode) // self.stride + 1
        return count - (self.ceil_mode and (count - 1) * self.stride >= size + self.padding)

    def spread(self, x: Tensor, dim: int, filling: Any) -> Tensor:
        """Pad so that every position of the window is inside."""
        size = x.shape[dim]
        after = (self.outs(size) - 1) * self.stride + self.reach - size - self.padding
        return padded(x, dim, self.padding, after, filling)

    def slices(self, x: Tensor, dim: int, filling: Any) -> list[Tensor]:
        """Return the slice of elements at each position in the window."""
        count = self.outs(x.shape[dim])
        x, span = self.spread(x, dim, filling), (count - 1) * self.stride + 1
        return [
            _strided(x, dim, place * self.dilation, span, self.stride) for place in range(self.size)
        ]


def _strided(x: Tensor, dim: int, first: int, span: int, step: int) -> Tensor:
    part = x.narrow(dim, first, span)
    return part if step == 1 else part[(slice(None),) * dim + (slice(None, None, step),)]


def _side_by_side(x: Tensor, dim: int, axis: WindowAxis, filling: Any) -> Tensor:
    """Return each window's elements along an axis as a new dimension after it."""
    size, count = x.shape[dim], axis.outs(x.shape[dim])
    starts = torch.arange(count, device=x.device)[:, None] * axis.stride - axis.padding
    places = starts + torch.arange(axis.size, device=x.device) * axis.dilation
    is_inside = (places >= 0) & (places < size)
    taken = x.index_select(dim, torch.where(is_inside, places, 0).flatten())
    taken = taken.unflatten(dim, (count, axis.size))
    shape = (count, axis.size, *[1] * (x.ndim - 1 - dim))
    return torch.where(is_inside.reshape(shape), taken, filling)


def _axes(
    count: int,
    sizes: Sequence[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] = (0,),
    dilation: Sequence[int] = (1,),
    ceil_mode: bool = False,
) -> list[WindowAxis]:
    lists = [for_each(each, count) for each in (sizes, stride or sizes, padding, dilation)]
    return [
        WindowAxis(size, step, edge, apart, ceil_mode)
        for size, step, edge, apart in zip(*lists, strict=True)
    ]


# Maximum ------------------------------------------------------------------------------------------


def _max_pool(count: int, x: Tensor, *window: Any) -> Any:
    """Return the largest element in the window, and its index in the plane."""
    axes = _axes(count, *window)
    return _largest(x, axes), _place_of_largest(x, axes)


def _largest(x: Tensor, axes: Sequence[WindowAxis]) -> Tensor:
    for dim, axis in enumerate(axes, x.ndim - len(axes)):
        if axis.size > MOST_STEPS:
            x = _side_by_side(x, dim, axis, lowest(x.dtype)).amax(dim + 1)
        else:
            x = reduce(torch.maximum, axis.slices(x, dim, lowest(x.dtype)))
    return x


def _place_of_largest(x: Tensor, axes: Sequence[WindowAxis]) -> Tensor:
    """Return the first index of the largest element of each window, for adjacent windows."""
    plane = x.shape[-len(axes) :]
    counted = torch.arange(prod(plane), device=x.device).reshape(plane)
    values = _windows(x, axes, lowest(x.dtype))
    places = _windows(counted, axes, 0)
    chosen = values.argmax(-1, keepdim=True)
    return places.expand(values.shape).gather(-1, chosen).squeeze(-1)


def _windows(x: Tensor, axes: Sequence[WindowAxis], filling: Any) -> Tensor:
    """Return each window's elements as a new dimension."""
    for dim, axis in enumerate(axes, x.ndim - len(axes)):
        x = _side_by_side(x, dim, axis, filling).movedim(dim + 1, -1)
    return x.flatten(-len(axes))


def max_pool_backward(count: int, grad: Tensor, x: Tensor, *window_and_places: Any) -> Tensor:
    """Return the gradient; the indices, the last argument, make the window's options redundant."""
    plane, indices = x.shape[-count:], window_and_places[-1]
    zeros = grad.new_zeros(*x.shape[:-count], prod(plane))
    flat = zeros.scatter_add(-1, indices.flatten(-count), grad.flatten(-count))
    return flat.unflatten(-1, plane)


def adaptive_max_pool(count: int, x: Tensor, outs: Sequence[int]) -> Any:
    """Pool adaptively: adjacent windows if the result's size divides the size."""
    given = x.shape[-count:]
    if any(size % out for size, out in zip(given, outs, strict=True)):
        return _uneven_max_pool(x, list(outs))
    sizes = [size // out for size, out in zip(given, outs, strict=True)]
    return _max_pool(count, x, sizes)


def _uneven_max_pool(x: Tensor, outs: list[int]) -> tuple[Tensor, Tensor]:
    """Pool windows of different sizes, padded to the longest with the lowest value."""
    count = len(outs)
    plane = x.shape[-count:]
    counted = torch.arange(prod(plane), device=x.device).reshape(plane)
    values, places = x, counted
    for axis, out in enumerate(outs):
        dim = x.ndim - count + axis
        values, places = (
            _gathered(values, dim, out, lowest(x.dtype)),
            _gathered(places, axis, out, 0),
        )
    values, places = values.flatten(-count), places.flatten(-count)
    chosen = values.argmax(-1, keepdim=True)
    where = places.expand(values.shape).gather(-1, chosen).squeeze(-1)
    return values.amax(-1), where


def _gathered(x: Tensor, dim: int, out: int, filling: Any) -> Tensor:
    """Return an adaptive pool's windows along one axis as a new last dimension."""
    starts, ends = _edges(x.shape[dim], out, x.device)
    longest = max(-(-(n + 1) * x.shape[dim] // out) - n * x.shape[dim] // out for n in range(out))
    places = starts[:, None] + torch.arange(longest, device=x.device)
    is_inside = places < ends[:, None]
    taken = x.index_select(dim, torch.where(is_inside, places, 0).flatten())
    taken = taken.unflatten(dim, (out, longest)).movedim(dim + 1, -1)
    shape = [1] * taken.ndim
    shape[dim], shape[-1] = out, longest
    return torch.where(is_inside.reshape(shape), taken, filling)


# Average ------------------------------------------------------------------------------------------


def _avg_pool(
    count: int,
    x: Tensor,
    sizes: Sequence[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] = (0,),
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Any:
    """Return the sum in the window, divided by torch's count."""
    axes = _axes(count, sizes, stride, padding, (1,), ceil_mode)
    y, first = x.to(wide(x.dtype)), x.ndim - count
    spans = [axis.size for axis in axes]
    if spans == list(x.shape[first:]) and not any(axis.padding for axis in axes):
        divisor = divisor_override or prod(spans)
        return (y.sum(list(range(first, x.ndim)), True) / divisor).to(x.dtype)
    for dim, axis in enumerate(axes, first):
        if axis.size > MOST_STEPS:
            y = _side_by_side(y, dim, axis, 0).sum(dim + 1)
        else:
            y = reduce(add, axis.slices(y, dim, 0))
    return (y / _divisor(x, axes, count_include_pad, divisor_override)).to(x.dtype)


def _divisor(x: Tensor, axes: Sequence[WindowAxis], with_padding: bool, given: int | None) -> Any:
    is_full = not axes[0].ceil_mode and (with_padding or not any(axis.padding for axis in axes))
    if given is not None or is_full:
        return given or prod(axis.size for axis in axes)
    found: Any = 1.0
    for dim, axis in enumerate(axes, x.ndim - len(axes)):
        counts = _counts(x.shape[dim], axis, with_padding, x.device).to(wide(x.dtype))
        found = found * counts.reshape(-1, *[1] * (x.ndim - 1 - dim))
    return found


def _counts(size: int, axis: WindowAxis, with_padding: bool, device: Any) -> Tensor:
    """Count the elements of an axis in each window."""
    starts = torch.arange(axis.outs(size), device=device) * axis.stride - axis.padding
    ends = (starts + axis.size).clamp(max=size + axis.padding)
    return ends - starts if with_padding else ends.clamp(max=size) - starts.clamp(min=0)


def _avg_pool_backward(
    count: int,
    grad: Tensor,
    x: Tensor,
    sizes: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    ceil_mode: bool,
    with_padding: bool,
    divisor: int | None,
) -> Tensor:
    """Sum for every element the gradients of its windows: a matrix product for each axis."""
    axes = _axes(count, sizes, stride, padding, (1,), ceil_mode)
    y = grad.to(wide(grad.dtype)) / _divisor(x, axes, with_padding, divisor)
    for dim, axis in enumerate(axes, x.ndim - count):
        outs = torch.arange(grad.shape[dim], device=x.device)[:, None] * axis.stride
        place = torch.arange(x.shape[dim], device=x.device) + axis.padding
        is_in = (place >= outs) & (place < outs + axis.size)
        y = _along(y, dim, is_in.to(y.dtype))
    return y.to(grad.dtype)


def _along(x: Tensor, dim: int, matrix: Tensor) -> Tensor:
    """Multiply with a matrix (elements, results) along one axis."""
    return (x.movedim(dim, -1) @ matrix).movedim(-1, dim)


def _edges(size: int, out: int, device: Any) -> tuple[Tensor, Tensor]:
    """Return the begins and ends of an adaptive pool's windows."""
    counted = torch.arange(out, device=device)
    starts = torch.div(counted * size, out, rounding_mode="trunc")
    ends = torch.div((counted + 1) * size + out - 1, out, rounding_mode="trunc")
    return starts, ends


def _shares(size: int, out: int, device: Any, dtype: torch.dtype) -> Tensor:
    """Return the matrix (elements, results) of each element's weight in each window."""
    starts, ends = _edges(size, out, device)
    place = torch.arange(size, device=device)[:, None]
    is_in = ((place >= starts) & (place < ends)).to(dtype)
    return is_in / (ends - starts).to(dtype)


def adaptive_avg_pool(count: int, x: Tensor, outs: Sequence[int]) -> Any:
    given = x.shape[-count:]
    if all(size % out == 0 for size, out in zip(given, outs, strict=True)):
        return _avg_pool(count, x, [size // out for size, out in zip(given, outs, strict=True)])
    y = x.to(wide(x.dtype))
    for dim, out in enumerate(outs, x.ndim - count):
        y = _along(y, dim, _shares(x.shape[dim], out, x.device, y.dtype))
    return y.to(x.dtype)


def adaptive_avg_pool_backward(count: int, grad: Tensor, x: Tensor) -> Tensor:
    y = grad.to(wide(grad.dtype))
    for dim in range(x.ndim - count, x.ndim):
        y = _along(y, dim, _shares(x.shape[dim], grad.shape[dim], x.device, y.dtype).t())
    return y.to(grad.dtype)


# By name, which contains the number of axes.
_POOLS: dict[str, Callable[..., Any]] = {
    "max_pool{}d_with_indices": _max_pool,
    "max_pool{}d_with_indices_backward": max_pool_backward,
    "avg_pool{}d": _avg_pool,
    "avg_pool{}d_backward": _avg_pool_backward,
    "_adaptive_avg_pool{}d": adaptive_avg_pool,
    "_adaptive_avg_pool{}d_backward": adaptive_avg_pool_backward,
    "adaptive_max_pool{}d": adaptive_max_pool,
}
DECOMPOSITIONS: dict[Any, Callable[..., Any]] = {
    getattr(aten, name.format(count)).default: partial(function, count)
    for name, function in _POOLS.items()
    for count in (2, 3)
}
DECOMPOSITIONS[aten.adaptive_max_pool2d_backward.default] = partial(max_pool_backward, 2)

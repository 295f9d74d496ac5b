"""Decomposes convolutions over three axes, and gradients; one or two axes are lowered directly."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, NamedTuple

import torch
from torch import Tensor

from .indexing import padded

aten = torch.ops.aten


def for_each(values: Sequence[int], count: int) -> Sequence[int]:
    """Return a value for each dimension; torch may have one for all."""
    return list(values) * count if len(values) == 1 else values


class WindowMoves(NamedTuple):
    """Movement of a convolution's window, in the operation's arguments."""

    stride: Sequence[int]
    padding: Sequence[int]
    dilation: Sequence[int]
    transposed: bool
    output_padding: Sequence[int]
    groups: int

    def along(self, axes: int) -> WindowMoves:
        """Return the moves with a value for each of `axes` axes."""
        return self._replace(
            stride=for_each(self.stride, axes),
            padding=for_each(self.padding, axes),
            dilation=for_each(self.dilation, axes),
            output_padding=for_each(self.output_padding, axes),
        )


def convolution(x: Tensor, weight: Tensor, bias: Tensor | None, *given: Any) -> Any:
    """Decompose a convolution, unless it is a window over one or two axes."""
    axes = weight.ndim - 2
    moves = WindowMoves(*given).along(axes)
    if x.ndim == axes + 1:
        return aten.convolution(x[None], weight, bias, *moves)[0]
    if axes == 3:
        return _of_three_axes(x, weight, bias, moves)
    is_tiling = tuple(moves.stride) == tuple(weight.shape[2:]) and not any(moves.padding)
    if is_tiling and not moves.transposed and moves.groups == 1 and x.numel():
        return _of_patches(x, weight, bias)
    return NotImplemented


def _of_patches(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """Convolve with a window that steps by its size: adjacent patches, and one product."""
    sizes = weight.shape[2:]
    counts = [size // width for size, width in zip(x.shape[2:], sizes, strict=True)]
    for axis, (count, width) in enumerate(zip(counts, sizes, strict=True)):
        x = x.narrow(2 + axis, 0, count * width)
    batch, channels = x.shape[:2]
    rows = weight.flatten(1)
    if prod(sizes) > 1:
        apart = [part for pair in zip(counts, sizes, strict=True) for part in pair]
        first, own = range(2, 2 + len(apart), 2), range(3, 3 + len(apart), 2)
        x = x.reshape(batch, channels, *apart).permute(0, 1, *own, *first)
    columns = x.reshape(batch, rows.shape[1], prod(counts))
    found = (rows @ columns).reshape(batch, rows.shape[0], *counts)
    return found if bias is None else found + bias.reshape(-1, *[1] * len(sizes))


def _of_three_axes(x: Tensor, weight: Tensor, bias: Tensor | None, moves: WindowMoves) -> Any:
    """Convolve over three axes: sum convolutions of planes over the weights' first axis."""
    stride, padding, dilation, transposed, more, groups = moves
    in_plane = WindowMoves(stride[1:], padding[1:], dilation[1:], transposed, more[1:], groups)

    def of_planes(part: Tensor, place: int) -> Tensor:
        planes = part.transpose(1, 2).flatten(0, 1)
        found = aten.convolution(planes, weight[:, :, place], None, *in_plane)
        return found.reshape(part.shape[0], part.shape[2], *found.shape[1:]).transpose(1, 2)

    depth, step, apart, edge = weight.shape[2], stride[0], dilation[0], padding[0]
    reach = apart * (depth - 1)
    if transposed:
        parts = [
            _spread(of_planes(x, place), step, apart * place, reach, more[0])
            for place in range(depth)
        ]
        total = sum(parts[1:], parts[0])
        total = total.narrow(2, edge, total.shape[2] - 2 * edge)
    else:
        x = padded(x, 2, edge, edge)
        last = (x.shape[2] - reach - 1) // step * step + 1
        parts = [
            of_planes(x[:, :, first : first + last : step], place)
            for place in range(depth)
            for first in (place * apart,)
        ]
        total = sum(parts[1:], parts[0])
    return total if bias is None else total + bias.reshape(-1, 1, 1, 1)


def _spread(planes: Tensor, step: int, before: int, reach: int, more: int) -> Tensor:
    """Insert planes `step` apart at one position of the weights, within the range of all."""
    count = planes.shape[2]
    apart = padded(planes.unsqueeze(3), 3, 0, step - 1).flatten(2, 3)
    apart = apart.narrow(2, 0, (count - 1) * step + 1)
    return padded(apart, 2, before, reach - before + more)


def convolution_backward(
    grad: Tensor, x: Tensor, weight: Tensor, bias_sizes: Sequence[int] | None, *given: Any
) -> Any:
    """Return the gradients, which are convolutions, of input, weights and bias; the last argument
    tells which are wanted.
    """
    axes = weight.ndim - 2
    *options, wanted = given
    moves = WindowMoves(*options).along(axes)
    stride, padding, dilation, transposed, *_ = moves
    of_x = of_weight = None
    if wanted[0]:
        more = [0] * axes
        if not transposed:  # elements that the window's steps skip
            reach = [
                (out - 1) * step - 2 * edge + apart * (width - 1) + 1
                for out, step, edge, apart, width in zip(
                    grad.shape[2:], stride, padding, dilation, weight.shape[2:], strict=True
                )
            ]
            more = [size - end for size, end in zip(x.shape[2:], reach, strict=True)]
        back = moves._replace(transposed=not transposed, output_padding=more)
        of_x = aten.convolution(grad, weight, None, *back)
        for axis, size in enumerate(x.shape[2:]):  # output_padding may equal the step
            of_x = of_x.narrow(2 + axis, 0, size)
    if wanted[1]:
        image, found = (grad, x) if transposed else (x, grad)
        of_weight = _of_weights(image, found, weight.shape[2:], moves)
    of_bias = grad.sum([0, *range(2, grad.ndim)]) if wanted[2] else None
    return of_x, of_weight, of_bias


def _of_weights(x: Tensor, grad: Tensor, sizes: Sequence[int], moves: WindowMoves) -> Tensor:
    """Convolve with the gradient as window: batches become channels, strides become dilations."""
    (batch, channels), groups = x.shape[:2], moves.groups
    apart = x.reshape(batch, groups, channels // groups, *x.shape[2:])
    apart = apart.transpose(0, 2).flatten(1, 2)  # (channels of a group, groups * batch, ...)
    none = [0] * len(sizes)
    turned = WindowMoves(moves.dilation, moves.padding, moves.stride, False, none, groups)
    found = aten.convolution(apart, grad.transpose(0, 1), None, *turned)
    for axis, size in enumerate(sizes):
        found = found.narrow(2 + axis, 0, size)
    return found.transpose(0, 1)


DECOMPOSITIONS: dict[Any, Callable[..., Any]] = {
    aten.convolution.default: convolution,
    aten.convolution_backward.default: convolution_backward,
}

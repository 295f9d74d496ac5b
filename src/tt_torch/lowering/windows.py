"""Convolutions and pooling: a window that moves over a tensor is a slice for each of its places."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod
from typing import Any

import torch
import torch.nn.functional as F
from torch import fx
from xdsl.ir import SSAValue

from ttl.dialects.stablehlo import shape_of

from .elementwise import result_dtype
from .emitter import Emitter, dtype_of, lowers, unsupported
from .indexing import INDEX, check_steps
from .matrix import matrix_product
from .shapes import pad

aten = torch.ops.aten


def _slices(
    emitter: Emitter,
    x: SSAValue,
    window: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    outs: Sequence[int],
    filling: Any = 0,
) -> list[SSAValue]:
    """What stands under each place of the window, wherever that is; the last dimensions move."""
    first = len(shape_of(x)) - len(window)
    for axis, size in enumerate(window):
        needed = (outs[axis] - 1) * stride[axis] + (size - 1) * dilation[axis] + 1
        behind = needed - shape_of(x)[first + axis] - padding[axis]
        x = pad(emitter, x, first + axis, padding[axis], behind, filling)
    found = []
    for place in product(*map(range, window)):
        ranges = [(0, size, 1) for size in shape_of(x)[:first]]
        for axis, offset in enumerate(place):
            start = offset * dilation[axis]
            ranges.append((start, start + (outs[axis] - 1) * stride[axis] + 1, stride[axis]))
        found.append(emitter.slice(x, ranges))
    return found


def _each(value: Sequence[int] | int, count: int) -> list[int]:
    """One number for all dimensions, or one for each."""
    values = [value] if isinstance(value, int) else list(value)
    return values * count if len(values) == 1 else values


@lowers(aten.convolution.default)
def convolution(
    emitter: Emitter,
    node: fx.Node,
    x: SSAValue,
    weight: SSAValue,
    bias: SSAValue | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> SSAValue:
    """One matrix product for each group: of the weights, and of all that the window meets."""
    if transposed:
        raise unsupported(f"no lowering for {node.target} that is transposed", node)
    batch, channels = shape_of(x)[:2]
    out_channels, _, *window = shape_of(weight)
    check_steps(node, prod(window))
    count = len(window)
    outs = [int(size) for size in node.meta["val"].shape[2:]]
    options = (_each(stride, count), _each(padding, count), _each(dilation, count))
    slices = _slices(emitter, x, window, *options, outs)
    apart = (batch * groups, channels // groups, 1, prod(outs))
    columns = emitter.concatenate([emitter.reshape(each, apart) for each in slices], 2)
    inner = channels // groups * prod(window)
    columns = emitter.reshape(columns, (batch * groups, inner, prod(outs)))
    rows = out_channels // groups
    weights = emitter.reshape(weight, (1, groups, rows, inner))
    weights = emitter.broadcast(weights, (batch, groups, rows, inner))
    weights = emitter.reshape(weights, (batch * groups, rows, inner))
    made = matrix_product(emitter, weights, columns, (batch * groups, rows, prod(outs)))
    made = emitter.reshape(made, (batch, out_channels, *outs))
    if bias is None:
        return made
    added = emitter.reshape(bias, (out_channels, *[1] * count))
    return emitter.binary("add", made, emitter.broadcast(added, shape_of(made)))


@lowers(aten.max_pool2d_with_indices.default)
def max_pool2d_with_indices(
    emitter: Emitter,
    node: fx.Node,
    x: SSAValue,
    window: Sequence[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] = (0,),
    dilation: Sequence[int] = (1,),
    ceil_mode: bool = False,
) -> list[SSAValue]:
    """The largest under the window, and its place in the plane."""
    window = _each(window, 2)
    check_steps(node, prod(window))
    outs = [int(size) for size in node.meta["val"][0].shape[-2:]]
    plane = shape_of(x)[-2:]
    options = (_each(stride or window, 2), _each(padding, 2), _each(dilation, 2), outs)
    least = -float("inf") if dtype_of(x).is_floating_point else torch.iinfo(dtype_of(x)).min
    counted = emitter.positions((prod(plane),), 0, INDEX)
    values = _slices(emitter, x, window, *options, least)
    places = _slices(emitter, emitter.reshape(counted, plane), window, *options, 0)
    best, place = values[0], emitter.broadcast(places[0], shape_of(values[0]))
    for value, where in zip(values[1:], places[1:], strict=True):
        is_more = emitter.compare("GT", value, best)
        if dtype_of(x).is_floating_point:
            is_more = emitter.binary("or", is_more, emitter.compare("NE", value, value))
        best = emitter.select(is_more, value, best)
        place = emitter.select(is_more, emitter.broadcast(where, shape_of(value)), place)
    return [best, place]


@lowers(aten.avg_pool2d.default)
def avg_pool2d(
    emitter: Emitter,
    node: fx.Node,
    x: SSAValue,
    window: Sequence[int],
    stride: Sequence[int] = (),
    padding: Sequence[int] = (0,),
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> SSAValue:
    """The sum under the window, divided by what torch counts there."""
    sides = _each(window, 2)
    check_steps(node, prod(sides))
    outs = [int(size) for size in node.meta["val"].shape[-2:]]
    steps, edges = _each(stride or sides, 2), _each(padding, 2)
    dtype = result_dtype(node)
    wide = torch.float32 if dtype in (torch.bfloat16, torch.float16) else dtype
    slices = _slices(emitter, emitter.convert(x, wide), sides, steps, edges, [1, 1], outs)
    total = slices[0]
    for each in slices[1:]:
        total = emitter.binary("add", total, each)
    ones = torch.ones((1, 1, *shape_of(x)[-2:]), dtype=torch.float64)
    options = (sides, steps, edges, ceil_mode, count_include_pad)
    counted = F.avg_pool2d(ones, *options, 1) / F.avg_pool2d(ones, *options, divisor_override)
    divisor = emitter.constant(counted.round().to(wide).reshape(outs))
    found = emitter.binary("divide", total, emitter.broadcast(divisor, shape_of(total)))
    return emitter.convert(found, dtype)

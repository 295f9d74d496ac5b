"""Lowers convolutions along one or two axes."""

from __future__ import annotations

from typing import Any

import torch
from xdsl.ir import SSAValue

from tt_torch.decompositions.windows import WindowMoves
from ttgraph.dialects import stablehlo
from ttgraph.dialects.stablehlo import Axis, ConvolutionNumbers, shape_of

from .emitter import Emitter, dtype_of, lowers

aten = torch.ops.aten


@lowers(aten.convolution.default)
def convolution(
    emitter: Emitter, x: SSAValue, weight: SSAValue, bias: SSAValue | None, *given: Any
) -> SSAValue:
    sizes = shape_of(weight)[2:]
    stride, padding, dilation, transposed, more, groups = WindowMoves(*given).along(len(sizes))
    lists = zip(sizes, stride, padding, dilation, more, strict=True)
    numbers = ConvolutionNumbers.channels_first(len(sizes))
    if transposed:
        axes = [_spread(*each) for each in lists]
        weight = _for_groups(emitter, weight, groups)
        numbers = ConvolutionNumbers(numbers.input, ("i", "o", *numbers.kernel[2:]), numbers.output)
    else:
        axes = [Axis(size, step, edge, edge, 1, apart) for size, step, edge, apart, _ in lists]
    weight = emitter.convert(weight, dtype_of(x))
    found = emitter.add(stablehlo.ConvolutionOp.of(x, weight, numbers, axes, groups))
    if bias is None:
        return found
    shape = shape_of(found)
    placed = emitter.reshape(emitter.convert(bias, dtype_of(x)), (shape[1], *[1] * len(sizes)))
    return emitter.binary("add", found, emitter.broadcast(placed, shape))


def _spread(size: int, step: int, edge: int, apart: int, more: int) -> Axis:
    """Return an axis of a transposed convolution, with zeros between elements."""
    before = apart * (size - 1) - edge
    return Axis(size, 1, before, before + more, step, apart, True)


def _for_groups(emitter: Emitter, weight: SSAValue, groups: int) -> SSAValue:
    """Permute weights (in, out / groups, ...) to (in / groups, out, ...)."""
    inputs, outputs, *sizes = shape_of(weight)
    if groups == 1:
        return weight
    apart = emitter.reshape(weight, (groups, inputs // groups, outputs, *sizes))
    apart = emitter.transpose(apart, (1, 0, *range(2, len(sizes) + 3)))
    return emitter.reshape(apart, (inputs // groups, groups * outputs, *sizes))

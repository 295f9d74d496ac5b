"""Part of shlo-to-ttir: convolutions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from xdsl.ir import Operation, SSAValue

from ttgraph.dialects import stablehlo
from ttgraph.dialects.stablehlo import shape_of

from .graph_maker import Graph, no_counterpart
from .shlo_places import pad_dim, reverse_dims


def _convolution(graph: Graph, op: stablehlo.ConvolutionOp) -> SSAValue:
    """Convert a convolution: channels last, two axes; transposed if the input is dilated."""
    axes, numbers = op.axes, op.numbers
    if len(axes) not in (1, 2):
        raise no_counterpart(op, f"a convolution along {len(axes)} axes")
    counted = [str(n) for n in range(len(axes))]
    ones = (1,) * (2 - len(axes))
    value = _reorder(graph, op.lhs, numbers.input, ["b", *counted, "f"])
    value = _batches_as_groups(graph, value, op.batch_group_count.value.data)
    is_transposed = _is_transposed(axes)
    if not is_transposed:
        value, axes = _insert_zeros(graph, value, axes)
    first, *sizes, last = shape_of(value)
    value = graph.reshape(value, (first, *ones, *sizes, last))
    if is_transposed:
        found = _transposed_convolution(graph, op, value, axes)
    else:
        found = _plain_convolution(graph, op, value, axes)
    first, *sizes, last = shape_of(found)
    found = graph.reshape(found, (first, *sizes[len(ones) :], last))
    return _reorder(graph, found, ("b", *counted, "f"), numbers.output)


def _is_transposed(axes: list[stablehlo.Axis]) -> bool:
    """Is there a transposed convolution for it: no strides, and enough padding after it?"""
    reach = [axis.dilation * (axis.size - 1) for axis in axes]
    return all(
        axis.stride == 1 and axis.before <= edge and 0 <= axis.after - axis.before < axis.spread
        for axis, edge in zip(axes, reach, strict=True)
    ) and (any(axis.spread > 1 for axis in axes) or all(axis.is_reversed for axis in axes))


def _batches_as_groups(graph: Graph, value: SSAValue, groups: int) -> SSAValue:
    """Turn groups of the batch into groups of the channels, which come last."""
    if groups == 1:
        return value
    batch, *sizes, channels = shape_of(value)
    apart = graph.reshape(value, (groups, batch // groups, *sizes, channels))
    rank = len(sizes) + 3
    apart = graph.permute(apart, (*range(1, rank - 1), 0, rank - 1))
    return graph.reshape(apart, (batch // groups, *sizes, groups * channels))


def _insert_zeros(
    graph: Graph, value: SSAValue, axes: list[stablehlo.Axis]
) -> tuple[SSAValue, list[stablehlo.Axis]]:
    """Insert zeros between elements, and crop negative padding, before the convolution."""
    found = []
    for number, axis in enumerate(axes):
        if axis.spread > 1 or min(axis.before, axis.after) < 0:
            zero = graph.number(0, value)
            border = (axis.before, axis.after, axis.spread - 1)
            value = pad_dim(graph, value, number + 1, border, zero)
            axis = replace(axis, before=0, after=0, spread=1)
        found.append(axis)
    return value, found


def _reorder(
    graph: Graph, value: SSAValue, given: Sequence[str], wanted: Sequence[str]
) -> SSAValue:
    return graph.permute(value, tuple(given.index(each) for each in wanted))


def _weights(
    graph: Graph, op: stablehlo.ConvolutionOp, letters: str, is_reversed: bool
) -> SSAValue:
    counted = [str(n) for n in range(len(op.axes))]
    turned = [
        op.numbers.kernel.index(str(number))
        for number, axis in enumerate(op.axes)
        if axis.is_reversed is not is_reversed
    ]
    value = reverse_dims(graph, op.rhs, turned)
    value = _reorder(graph, value, op.numbers.kernel, [*letters, *counted])
    first, second, *sizes = shape_of(value)
    return graph.reshape(value, (first, second, *(1,) * (2 - len(sizes)), *sizes))


def _groups(op: stablehlo.ConvolutionOp) -> int:
    return op.groups * op.batch_group_count.value.data  # one of them is 1


def _plain_convolution(
    graph: Graph, op: stablehlo.ConvolutionOp, value: SSAValue, axes: list[stablehlo.Axis]
) -> SSAValue:
    weight, groups = _weights(graph, op, "oi", False), _groups(op)
    two = [stablehlo.Axis(1)] * (2 - len(axes)) + axes
    attributes = {
        "stride": [axis.stride for axis in two],
        "padding": [edge for axis in two for edge in (axis.before, axis.after)],
        "dilation": [axis.dilation for axis in two],
        "groups": groups,
    }
    return graph.add_by_table("conv2d", [value, weight], **attributes)


def _transposed_convolution(
    graph: Graph, op: stablehlo.ConvolutionOp, value: SSAValue, axes: list[stablehlo.Axis]
) -> SSAValue:
    """Convert a transposed convolution; a group's weights are (in, out, height, width)."""
    weight, groups = _weights(graph, op, "io", True), _groups(op)
    inputs, outputs, *kernel = shape_of(weight)
    apart = graph.reshape(weight, (inputs, groups, outputs // groups, *kernel))
    apart = graph.permute(apart, (1, 0, 2, 3, 4))
    weight = graph.reshape(apart, (inputs * groups, outputs // groups, *kernel))
    two = [stablehlo.Axis(1)] * (2 - len(axes)) + axes
    edges = [
        (axis.dilation * (axis.size - 1) - axis.before, axis.after - axis.before) for axis in two
    ]
    attributes = {
        "stride": [axis.spread for axis in two],
        "padding": [edge for edge, _ in edges for _ in range(2)],
        "output_padding": [more for _, more in edges],
        "dilation": [axis.dilation for axis in two],
        "groups": groups,
    }
    return graph.add_by_table("conv_transpose2d", [value, weight], **attributes)


CONVERTERS: dict[type[Operation], Callable[..., SSAValue]] = {
    stablehlo.ConvolutionOp: _convolution,
}

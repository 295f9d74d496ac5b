"""Part of shlo-to-ttir: convolutions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import Operation, SSAValue

from ttl.dialects import stablehlo
from ttl.dialects.stablehlo import shape_of
from ttl.semantics.graph_ops import GRAPH_OPS

from .graph_maker import Graph, no_counterpart, tensor_like


def _convolution(graph: Graph, op: stablehlo.ConvolutionOp) -> SSAValue:
    """Channels come last, one axis becomes two; what is spread out is a transposed convolution."""
    axes, numbers = op.axes, op.numbers
    is_spread = any(axis.spread > 1 for axis in axes)
    turned = {axis.is_reversed for axis in axes}
    if op.batch_group_count.value.data != 1 or len(axes) not in (1, 2):
        raise no_counterpart(op, f"a convolution along {len(axes)} axes, or in groups of batches")
    if len(turned) != 1 or (is_spread and turned != {True}):
        raise no_counterpart(op, "a convolution of a spread input with weights as they are")
    if turned == {True} and any(axis.stride > 1 for axis in axes):
        raise no_counterpart(op, "a convolution with strides and weights from last to first")
    counted = [str(n) for n in range(len(axes))]
    ones = (1,) * (2 - len(axes))
    value = _in_order(graph, op.lhs, numbers.input, ["b", *counted, "f"])
    first, *sizes, last = shape_of(value)
    value = graph.reshape(value, (first, *ones, *sizes, last))
    if turned == {True}:
        found = _transposed(graph, op, value, axes)
    else:
        found = _plain_convolution(graph, op, value, axes)
    first, *sizes, last = shape_of(found)
    found = graph.reshape(found, (first, *sizes[len(ones) :], last))
    return _in_order(graph, found, ("b", *counted, "f"), numbers.output)


def _in_order(
    graph: Graph, value: SSAValue, given: Sequence[str], wanted: Sequence[str]
) -> SSAValue:
    return graph.permute(value, tuple(given.index(each) for each in wanted))


def _weights(graph: Graph, op: stablehlo.ConvolutionOp, letters: str) -> SSAValue:
    counted = [str(n) for n in range(len(op.axes))]
    value = _in_order(graph, op.rhs, op.numbers.kernel, [*letters, *counted])
    first, second, *sizes = shape_of(value)
    return graph.reshape(value, (first, second, *(1,) * (2 - len(sizes)), *sizes))


def _plain_convolution(
    graph: Graph, op: stablehlo.ConvolutionOp, value: SSAValue, axes: list[stablehlo.Axis]
) -> SSAValue:
    weight = _weights(graph, op, "oi")
    two = [stablehlo.Axis(1)] * (2 - len(axes)) + axes
    attributes = {
        "stride": [axis.stride for axis in two],
        "padding": [edge for axis in two for edge in (axis.before, axis.after)],
        "dilation": [axis.dilation for axis in two],
        "groups": op.groups,
    }
    shape = GRAPH_OPS["conv2d"].shape([shape_of(value), shape_of(weight)], attributes)
    return graph.add("conv2d", [value, weight], tensor_like(value, shape), **attributes)


def _transposed(
    graph: Graph, op: stablehlo.ConvolutionOp, value: SSAValue, axes: list[stablehlo.Axis]
) -> SSAValue:
    """The weights of a group are (in, out, height, width), and the groups one after the other."""
    weight = _weights(graph, op, "io")
    inputs, outputs, *kernel = shape_of(weight)
    apart = graph.reshape(weight, (inputs, op.groups, outputs // op.groups, *kernel))
    apart = graph.permute(apart, (1, 0, 2, 3, 4))
    weight = graph.reshape(apart, (inputs * op.groups, outputs // op.groups, *kernel))
    two = [stablehlo.Axis(1)] * (2 - len(axes)) + axes
    edges = [
        (axis.dilation * (axis.size - 1) - axis.before, axis.after - axis.before) for axis in two
    ]
    if any(edge < 0 or more < 0 for edge, more in edges):
        raise no_counterpart(op, "a transposed convolution with less after it than before")
    attributes = {
        "stride": [axis.spread for axis in two],
        "padding": [edge for edge, _ in edges for _ in range(2)],
        "output_padding": [more for _, more in edges],
        "dilation": [axis.dilation for axis in two],
        "groups": op.groups,
    }
    shapes = [shape_of(value), shape_of(weight)]
    shape = GRAPH_OPS["conv_transpose2d"].shape(shapes, attributes)
    return graph.add("conv_transpose2d", [value, weight], tensor_like(value, shape), **attributes)


CONVERTERS: dict[type[Operation], Callable[..., SSAValue]] = {
    stablehlo.ConvolutionOp: _convolution,
}

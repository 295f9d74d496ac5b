"""Part of ttir-to-ttir-decomposition: windows over images, and images of other sizes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import inf, prod

from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from ttgraph.dialects.graph import element_of, shape_of

from .decompose_call import FormCall, result_type, to_count, to_edges, to_pair
from .decompose_elementwise import Rule
from .decompose_shapes import interleave
from .graph_maker import Graph, GraphTerm, tensor_like
from .shlo_places import pad_dim
from .shlo_windows import reduce_along

_FLAT = re.compile(r"(batch_size|input_height|input_width) = (\d+)")


def _check_image(call: FormCall) -> None:
    if call.rank != 4:
        raise ValueError(f"an image has 4 dimensions, not {call.rank}")
    if call.values.get("channel_last", 1) != 1:
        raise ValueError("`channel_last = 0`")


def _image(graph: Graph, call: FormCall) -> SSAValue:
    """Return the image as (batch, height, width, channels)."""
    value = call.first
    _check_image(call)
    flat = dict(_FLAT.findall(call.values["flattened_compat_info"] or ""))
    if flat:
        sizes = [int(flat[name]) for name in ("batch_size", "input_height", "input_width")]
        return graph.reshape(value, (*sizes, shape_of(value)[-1]))
    return graph.permute(value, _order(call)) if "batch_dim" in call.values else value


def _order(call: FormCall) -> tuple[int, ...]:
    """Return the operation's dimensions of batch, positions and channels, in this order."""
    names = ("batch_dim", "depth_dim", "height_dim", "width_dim", "length_dim", "channel_dim")
    return tuple(call.dim(name) for name in names if name in call.values)


def _restore_order(graph: Graph, call: FormCall, image: SSAValue) -> SSAValue:
    """Permute an image to the operation's order of dimensions."""
    if "batch_dim" in call.values and not call.values.get("flattened_compat_info"):
        order = _order(call)
        image = graph.permute(image, tuple(order.index(dim) for dim in range(len(order))))
    return graph.reshape(image, call.shape)


# Convolutions -------------------------------------------------------------------------------------


def _convolution(graph: Graph, call: FormCall) -> SSAValue:
    values, name = call.values, call.name
    attributes: dict[str, object] = {
        "stride": list(to_pair("stride", values["stride"])),
        "padding": list(to_edges(values["padding"])),
        "dilation": list(to_pair("dilation", values["dilation"])),
        "groups": values["groups"],
    }
    if name == "conv_transpose2d":
        attributes["output_padding"] = list(to_pair("output_padding", values["output_padding"]))
    found = graph.add_by_table(name, [_image(graph, call), call.given(1)], **attributes)
    return _restore_order(graph, call, _with_bias(graph, call, found))


def _with_bias(graph: Graph, call: FormCall, found: SSAValue) -> SSAValue:
    bias = call.inputs[2]
    if bias is None:
        return found
    flat = (*[1] * (len(shape_of(found)) - 1), prod(shape_of(bias)))
    return graph.binary("add", found, graph.reshape(bias, flat))


def _convolution_1d(graph: Graph, call: FormCall) -> SSAValue:
    """Convolve in one dimension, as images of one row."""
    values, weight = call.values, call.given(1)
    batch, length, channels = (shape_of(call.first)[dim] for dim in _order(call))
    image = graph.permute(call.first, _order(call))
    before, after = to_pair("padding", values["padding"])
    attributes: dict[str, object] = {
        "stride": [1, *to_count("stride", values["stride"], 1)],
        "padding": [0, 0, before, after],
        "dilation": [1, *to_count("dilation", values["dilation"], 1)],
        "groups": values["groups"],
    }
    image = graph.reshape(image, (batch, 1, length, channels))
    outputs, inputs, size = shape_of(weight)
    weight = graph.reshape(weight, (outputs, inputs, 1, size))
    found = graph.add_by_table("conv2d", [image, weight], **attributes)
    found = graph.reshape(found, (batch, *shape_of(found)[2:]))
    return _restore_order(graph, call, _with_bias(graph, call, found))


def _convolution_3d(graph: Graph, call: FormCall) -> SSAValue:
    """Sum 2D convolutions, one for each slice of the weights."""
    values, weight = call.values, call.given(1)
    stride = to_count("stride", values["stride"], 3)
    around = to_count("padding", values["padding"], 3)
    volume = _pad_volume(graph, graph.permute(call.first, _order(call)), around, values)
    attributes: dict[str, object] = {
        "stride": list(stride[1:]),
        "padding": [0, 0, 0, 0],
        "dilation": [1, 1],
        "groups": values["groups"],
    }
    outputs, inputs, deep, *window = shape_of(weight)
    total: SSAValue | None = None
    for depth in range(deep):
        slices = _slices(graph, volume, depth, deep, stride[0])
        part = graph.slice_along(weight, 2, depth, depth + 1)
        part = graph.reshape(part, (outputs, inputs, *window))
        flat = graph.reshape(slices, (prod(shape_of(slices)[:2]), *shape_of(slices)[2:]))
        found = graph.add_by_table("conv2d", [flat, part], **attributes)
        found = graph.reshape(found, (*shape_of(slices)[:2], *shape_of(found)[1:]))
        total = found if total is None else graph.binary("add", total, found)
    if total is None:
        raise ValueError("its weights are empty")
    return _restore_order(graph, call, _with_bias(graph, call, total))


def _slices(graph: Graph, volume: SSAValue, depth: int, deep: int, stride: int) -> SSAValue:
    """Return the slices of a volume that one slice of the weights meets."""
    last = shape_of(volume)[1] - deep + depth + 1
    return graph.slice_along(volume, 1, depth, last, stride)


def _pad_volume(
    graph: Graph, volume: SSAValue, around: Sequence[int], values: Mapping[str, object]
) -> SSAValue:
    mode = values["padding_mode"]
    if mode not in ("zeros", "replicate"):
        raise ValueError(f"`padding_mode = {mode}`")
    for dim, width in enumerate(around, 1):
        if not width:
            continue
        if mode == "zeros":
            volume = pad_dim(graph, volume, dim, (width, width, 0), graph.number(0.0, volume))
            continue
        size = shape_of(volume)[dim]
        ends = [graph.slice_along(volume, dim, at, at + 1) for at in (0, size - 1)]
        low, high = (interleave(graph, end, dim, width) for end in ends)
        volume = graph.concat([low, volume, high], dim)
    return volume


# Pools --------------------------------------------------------------------------------------------


def _pool(graph: Graph, call: FormCall) -> SSAValue:
    image = _image(graph, call)
    if call.name == "max_pool2d":
        return graph.reshape(_windows(graph, call, image, "maximum", -inf), call.shape)
    total = _windows(graph, call, image, "add", 0.0)
    ones = graph.full(1.0, tensor_like(image, shape_of(image)))
    if call.values["count_include_pad"]:
        top, bottom, left, right = to_edges(call.values["padding"])
        one = graph.number(1.0, image)
        ones = pad_dim(graph, ones, 1, (top, bottom, 0), one)
        ones = pad_dim(graph, ones, 2, (left, right, 0), one)
        counts = _windows(graph, call, ones, "add", 0.0, is_padded=True)
    else:
        counts = _windows(graph, call, ones, "add", 0.0)
    return graph.reshape(graph.binary("divide", total, counts), call.shape)


def _windows(
    graph: Graph, call: FormCall, image: SSAValue, name: str, border: float, is_padded: bool = False
) -> SSAValue:
    """Reduce windows, one dimension at a time."""
    window = _window(call)
    filling = graph.number(border, image)
    for n, dim in enumerate((1, 2)):
        low, high = (0, 0) if is_padded else to_edges(call.values["padding"])[2 * n : 2 * n + 2]
        high += _overhang(call, shape_of(image)[dim] + low + high, window[n])
        image = pad_dim(graph, image, dim, (low, high, 0), filling)
        image = reduce_along(graph, name, image, dim, window[n])
    return image


def _window(call: FormCall) -> list[tuple[int, int, int]]:
    """Return kernel size, stride and dilation, for height and for width."""
    names = ("kernel", "stride", "dilation")
    return list(zip(*(to_pair(each, call.values[each]) for each in names), strict=True))


def _overhang(call: FormCall, size: int, window: tuple[int, int, int]) -> int:
    """Return how far the last window reaches past the border, with ceil_mode."""
    kernel, stride, apart = window
    reach = size - apart * (kernel - 1) - 1
    return -reach % stride if call.values["ceil_mode"] else 0


def _pool_with_places(graph: Graph, call: FormCall) -> list[SSAValue]:
    """Return the largest elements, and the first index of each: row * width + column."""
    image = _image(graph, call)
    width, (high, wide) = shape_of(image)[2], _window(call)
    top, bottom, left, right = to_edges(call.values["padding"])
    bottom += _overhang(call, shape_of(image)[1] + top + bottom, high)
    right += _overhang(call, width + left + right, wide)
    filling = graph.number(-inf, image)
    whole = pad_dim(
        graph, pad_dim(graph, image, 1, (top, bottom, 0), filling), 2, (left, right, 0), filling
    )
    best: SSAValue | None = None
    for row in range(high[0]):
        for column in range(wide[0]):
            part = _take_each(graph, _take_each(graph, whole, 1, row, high), 2, column, wide)
            shift = (row * high[2] - top) * width + column * wide[2] - left
            places = _places(graph, shape_of(part), high[1] * width, wide[1], shift)
            if best is None:
                best, where = part, places
                continue
            is_more = graph.compare("gt", part, best)
            best, where = graph.where(is_more, part, best), graph.where(is_more, places, where)
    if best is None:
        raise ValueError("its windows are empty")
    types = [result_type(each.type) for each in call.op.results]
    return [
        graph.reshape(each, tuple(type.get_shape()))
        for each, type in zip((best, where), types, strict=True)
    ]


def _take_each(
    graph: Graph, image: SSAValue, dim: int, place: int, window: tuple[int, int, int]
) -> SSAValue:
    """Return the element at one position of each window."""
    size, stride, apart = window
    count = shape_of(image)[dim] - apart * (size - 1)
    return graph.slice_along(image, dim, place * apart, place * apart + count, stride)


def _places(graph: Graph, shape: tuple[int, ...], down: int, right: int, shift: int) -> SSAValue:
    rows = GraphTerm(graph, graph.reshape(graph.iota(shape[1]), (1, shape[1], 1, 1)))
    columns = GraphTerm(graph, graph.reshape(graph.iota(shape[2]), (1, 1, shape[2], 1)))
    return graph.expand((rows * down + columns * right + shift).value, shape)


def _global_pool(graph: Graph, call: FormCall) -> SSAValue:
    _check_image(call)
    return graph.reshape(graph.mean(call.first, [1, 2]), call.shape)


# Other sizes --------------------------------------------------------------------------------------


def _upsample(graph: Graph, call: FormCall) -> SSAValue:
    mode, image = call.values["mode"], call.first
    factors = to_pair("scale_factor", call.values["scale_factor"])
    _check_image(call)
    if mode not in ("nearest", "bilinear"):
        raise ValueError(f"`mode = {mode}`")
    for dim, factor in enumerate(factors, 1):
        if mode == "nearest":
            image = interleave(graph, image, dim, factor)
        elif factor != 1:
            image = _interpolate(graph, image, dim, factor)
    return image


def _interpolate(graph: Graph, image: SSAValue, dim: int, factor: int) -> SSAValue:
    """Interpolate between the centers of two elements, weighted by distance."""
    size = shape_of(image)[dim]
    numbers = GraphTerm(graph, graph.cast(graph.iota(size * factor), f32))
    middles = ((numbers + 0.5) * (1 / factor) - 0.5).clamp(0.0, size - 1.0)
    row = GraphTerm(graph, graph.reshape(middles.value, (1, size * factor)))
    given = GraphTerm(graph, graph.reshape(graph.cast(graph.iota(size), f32), (size, 1)))
    shares = ((given - row).abs().neg() + 1.0).with_("maximum", 0.0)
    order = (0, 3 - dim, 3, dim)  # the dimension comes last
    weights = graph.cast(shares.value, element_of(image))
    found = graph.add_by_table("matmul", [graph.permute(image, order), weights])
    return graph.permute(found, tuple(order.index(each) for each in range(4)))


RULES: dict[str, Rule] = {
    "conv1d": _convolution_1d,
    "conv2d": _convolution,
    "conv3d": _convolution_3d,
    "conv_transpose2d": _convolution,
    "max_pool2d": _pool,
    "avg_pool2d": _pool,
    "global_avg_pool2d": _global_pool,
    "upsample2d": _upsample,
}
MORE_RESULTS = {"max_pool2d_with_indices": _pool_with_places}

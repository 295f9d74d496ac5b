"""Part of ttir-to-ttir-decomposition: products, norms, attention, and windows over images."""

from __future__ import annotations

import re
from math import inf, prod

from xdsl.ir import SSAValue

from ttl.dialects.graph import shape_of
from ttl.semantics.graph_ops import GRAPH_OPS

from .decompose_call import Call, edges, two
from .decompose_elementwise import Rule
from .decompose_shapes import interleave
from .graph_maker import Graph, tensor_like
from .shlo_places import padded
from .shlo_windows import reduced_along


def _turned(graph: Graph, value: SSAValue, is_turned: bool) -> SSAValue:
    rank = len(shape_of(value))
    if not is_turned or rank < 2:
        return value
    return graph.permute(value, (*range(rank - 2), rank - 1, rank - 2))


def _product(graph: Graph, call: Call) -> SSAValue:
    a = _turned(graph, call.first, call.values["transpose_a"])
    b = _turned(graph, call.given(1), call.values["transpose_b"])
    if len(shape_of(a)) == 1:
        a = graph.reshape(a, (1, *shape_of(a)))
    if len(shape_of(b)) == 1:
        b = graph.reshape(b, (*shape_of(b), 1))
    shape = GRAPH_OPS["matmul"].shape([shape_of(a), shape_of(b)], {})
    return graph.add("matmul", [a, b], tensor_like(a, shape))


def _matmul(graph: Graph, call: Call) -> SSAValue:
    return graph.reshape(_product(graph, call), call.shape)


def _linear(graph: Graph, call: Call) -> SSAValue:
    found = graph.reshape(_product(graph, call), call.shape)
    bias = call.inputs[2]
    return found if bias is None else graph.binary("add", found, bias)


def _dot_general(graph: Graph, call: Call) -> SSAValue:
    """Batches, then what is left of the left, then of the right."""
    batches, sides = [], []
    for side, name in ((call.first, "lhs"), (call.given(1), "rhs")):
        batch = tuple(call.values[f"batch_dims_{name}"])
        summed = tuple(call.values[f"contract_dims_{name}"])
        shape = shape_of(side)
        left = tuple(d for d in range(len(shape)) if d not in (*batch, *summed))
        order = (*batch, *left, *summed) if name == "lhs" else (*batch, *summed, *left)
        sizes = [prod(shape[d] for d in dims) for dims in (batch, left, summed)]
        if name == "rhs":
            sizes = [sizes[0], sizes[2], sizes[1]]
        batches.append(sizes[0])
        sides.append(graph.reshape(graph.permute(side, order), tuple(sizes)))
    rows, columns = shape_of(sides[0])[1], shape_of(sides[1])[2]
    type = tensor_like(sides[0], (batches[0], rows, columns))
    return graph.reshape(graph.add("matmul", sides, type), call.shape)


# Norms --------------------------------------------------------------------------------------------


def _softmax(graph: Graph, call: Call) -> SSAValue:
    x, dim = call.first, call.dim("dimension")
    if not call.in_tiles:
        return graph.add("softmax", [x], call.result, dim=dim)
    return _soft(graph, x, dim)


def _soft(graph: Graph, x: SSAValue, dim: int) -> SSAValue:
    lowered = graph.binary("subtract", x, graph.reduce("max", x, [dim], True))
    powers = graph.unary("exp", lowered)
    return graph.binary("divide", powers, graph.reduce("sum", powers, [dim], True))


def _norm(graph: Graph, call: Call) -> SSAValue:
    """Of the last dimensions together."""
    shape, normalized = shape_of(call.first), tuple(call.values["normalized_shape"])
    if not normalized or shape[-len(normalized) :] != normalized:
        raise ValueError(f"{normalized} are not the last sizes of {shape}")
    width = prod(normalized)
    rows = graph.reshape(call.first, (*shape[: -len(normalized)], width))
    found = _normalized(graph, call, rows, width)
    for position, name in ((1, "multiply"), (2, "add")):
        given = call.inputs[position]
        if given is not None:
            found = graph.binary(name, found, graph.reshape(given, (width,)))
    return graph.reshape(found, shape)


def _normalized(graph: Graph, call: Call, rows: SSAValue, width: int) -> SSAValue:
    last, name = len(shape_of(rows)) - 1, call.name
    if not call.in_tiles:
        epsilon = call.values["epsilon"]
        return graph.add(name, [rows], tensor_like(rows, shape_of(rows)), epsilon=epsilon)
    if name == "layer_norm":
        mean = graph.binary("multiply", graph.reduce("sum", rows, [last], True), 1 / width)
        rows = graph.binary("subtract", rows, mean)
    return graph.binary("multiply", rows, _scale(graph, rows, last, call.values["epsilon"]))


def _scale(graph: Graph, rows: SSAValue, dim: int, epsilon: float) -> SSAValue:
    """1 / sqrt of the mean of the squares."""
    squares = graph.binary("multiply", rows, rows)
    total = graph.reduce("sum", squares, [dim], True)
    mean = graph.binary("multiply", total, 1 / shape_of(rows)[dim])
    return graph.unary("rsqrt", graph.binary("add", mean, epsilon))


def _batch_norm(graph: Graph, call: Call) -> SSAValue:
    dim = call.dim("dimension")
    sizes = [1] * call.rank
    sizes[dim] = shape_of(call.first)[dim]
    scale, offset, mean, variance = (
        graph.reshape(call.given(n), tuple(sizes)) for n in range(1, 5)
    )
    spread = graph.unary("rsqrt", graph.binary("add", variance, call.values["epsilon"]))
    centred = graph.binary("subtract", call.first, mean)
    found = graph.binary("multiply", centred, graph.binary("multiply", spread, scale))
    return graph.binary("add", found, offset)


def _attention(graph: Graph, call: Call) -> SSAValue:
    if call.inputs[4] is not None or call.values["sliding_window_size"] is not None:
        raise ValueError("sinks and sliding windows of attention")
    given = [value for value in call.inputs[:4] if value is not None]
    scale = call.values["scale"]
    if scale is None:
        scale = shape_of(call.first)[-1] ** -0.5
    causal = call.values["is_causal"] and len(given) == 3
    name = "scaled_dot_product_attention"
    return graph.add(name, given, call.result, is_causal=causal, scale=scale)


# Windows ------------------------------------------------------------------------------------------

_FLAT = re.compile(r"(batch_size|input_height|input_width) = (\d+)")


def _image(graph: Graph, call: Call) -> SSAValue:
    """Batch, height, width, channels."""
    value = call.first
    flat = dict(_FLAT.findall(call.values["flattened_compat_info"] or ""))
    if flat:
        sizes = [int(flat[name]) for name in ("batch_size", "input_height", "input_width")]
        return graph.reshape(value, (*sizes, shape_of(value)[-1]))
    return graph.permute(value, _order(call)) if "batch_dim" in call.values else value


def _order(call: Call) -> tuple[int, ...]:
    names = ("batch_dim", "height_dim", "width_dim", "channel_dim")
    return tuple(call.values[name] for name in names)


def _as_given(graph: Graph, call: Call, image: SSAValue) -> SSAValue:
    """The dimensions of an image in the order that the operation has."""
    if "batch_dim" in call.values and not call.values["flattened_compat_info"]:
        order = _order(call)
        image = graph.permute(image, tuple(order.index(dim) for dim in range(4)))
    return graph.reshape(image, call.shape)


def _convolution(graph: Graph, call: Call) -> SSAValue:
    values, name = call.values, call.name
    attributes = {
        "stride": list(two("stride", values["stride"])),
        "padding": list(edges(values["padding"])),
        "dilation": list(two("dilation", values["dilation"])),
        "groups": values["groups"],
    }
    if name == "conv_transpose2d":
        attributes["output_padding"] = list(two("output_padding", values["output_padding"]))
    image, weight = _image(graph, call), call.given(1)
    shape = GRAPH_OPS[name].shape([shape_of(image), shape_of(weight)], attributes)
    found = graph.add(name, [image, weight], tensor_like(image, shape), **attributes)
    bias = call.inputs[2]
    if bias is not None:
        flat = graph.reshape(bias, (1, 1, 1, prod(shape_of(bias))))
        found = graph.binary("add", found, flat)
    return _as_given(graph, call, found)


def _pool(graph: Graph, call: Call) -> SSAValue:
    image = _image(graph, call)
    if call.name == "max_pool2d":
        return graph.reshape(_windows(graph, call, image, "maximum", -inf), call.shape)
    total = _windows(graph, call, image, "add", 0.0)
    ones = graph.full(1.0, tensor_like(image, shape_of(image)))
    if call.values["count_include_pad"]:
        top, bottom, left, right = edges(call.values["padding"])
        one = graph.number(1.0, image)
        ones = padded(graph, ones, 1, (top, bottom, 0), one)
        ones = padded(graph, ones, 2, (left, right, 0), one)
        counts = _windows(graph, call, ones, "add", 0.0, is_padded=True)
    else:
        counts = _windows(graph, call, ones, "add", 0.0)
    return graph.reshape(graph.binary("divide", total, counts), call.shape)


def _windows(
    graph: Graph, call: Call, image: SSAValue, name: str, border: float, is_padded: bool = False
) -> SSAValue:
    """One dimension after the other; with ceil_mode a last window may hang over."""
    values = call.values
    names = ("kernel", "stride", "dilation")
    kernel, stride, dilation = (two(each, values[each]) for each in names)
    around = (0, 0, 0, 0) if is_padded else edges(values["padding"])
    filling = graph.number(border, image)
    for n, dim in enumerate((1, 2)):
        low, high = around[2 * n : 2 * n + 2]
        if values["ceil_mode"]:
            reach = shape_of(image)[dim] + low + high - dilation[n] * (kernel[n] - 1) - 1
            high += -reach % stride[n]
        image = padded(graph, image, dim, (low, high, 0), filling)
        image = reduced_along(graph, name, image, dim, (kernel[n], stride[n], dilation[n]))
    return image


def _global_pool(graph: Graph, call: Call) -> SSAValue:
    _, height, width, _ = shape_of(call.first)
    total = graph.reduce("sum", call.first, [1, 2], True)
    return graph.reshape(graph.binary("multiply", total, 1 / (height * width)), call.shape)


def _upsample(graph: Graph, call: Call) -> SSAValue:
    if call.values["mode"] != "nearest":
        raise ValueError(f"`mode = {call.values['mode']}`")
    high, wide = two("scale_factor", call.values["scale_factor"])
    return interleave(graph, interleave(graph, call.first, 1, high), 2, wide)


RULES: dict[str, Rule] = {
    "matmul": _matmul,
    "linear": _linear,
    "dot_general": _dot_general,
    "softmax": _softmax,
    "layer_norm": _norm,
    "rms_norm": _norm,
    "batch_norm_inference": _batch_norm,
    "scaled_dot_product_attention": _attention,
    "conv2d": _convolution,
    "conv_transpose2d": _convolution,
    "max_pool2d": _pool,
    "avg_pool2d": _pool,
    "global_avg_pool2d": _global_pool,
    "upsample2d": _upsample,
}

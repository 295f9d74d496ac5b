"""Part of ttir-to-ttir-decomposition: products, norms, attention."""

from __future__ import annotations

from math import inf, prod

from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from ttgraph.dialects.graph import shape_of

from .decompose_call import FormCall
from .decompose_elementwise import Rule
from .graph_maker import Graph, GraphTerm, tensor_like


def _transpose_if(graph: Graph, value: SSAValue, is_turned: bool) -> SSAValue:
    rank = len(shape_of(value))
    if not is_turned or rank < 2:
        return value
    return graph.permute(value, (*range(rank - 2), rank - 1, rank - 2))


def _matmul(graph: Graph, call: FormCall) -> SSAValue:
    a = _transpose_if(graph, call.first, call.values["transpose_a"])
    b = _transpose_if(graph, call.given(1), call.values["transpose_b"])
    if len(shape_of(a)) == 1:
        a = graph.reshape(a, (1, *shape_of(a)))
    if len(shape_of(b)) == 1:
        b = graph.reshape(b, (*shape_of(b), 1))
    return graph.reshape(graph.add_by_table("matmul", [a, b]), call.shape)


def _linear(graph: Graph, call: FormCall) -> SSAValue:
    found = _dot_general(graph, call) if "batch_dims_lhs" in call.values else _matmul(graph, call)
    bias = call.inputs[2]
    return found if bias is None else graph.binary("add", found, bias)


def _dot_general(graph: Graph, call: FormCall) -> SSAValue:
    """Multiply; the result has batches, then the free dimensions of the left, then of the right."""
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


def _softmax(graph: Graph, call: FormCall) -> SSAValue:
    x, dim = call.first, call.dim("dimension")
    if not call.in_tiles:
        return graph.add("softmax", [x], call.result, dim=dim)
    return _add_softmax(graph, x, dim)


def _add_softmax(graph: Graph, x: SSAValue, dim: int) -> SSAValue:
    lowered = graph.binary("subtract", x, graph.reduce("max", x, [dim], True))
    powers = graph.unary("exp", lowered)
    return graph.binary("divide", powers, graph.reduce("sum", powers, [dim], True))


def _norm(graph: Graph, call: FormCall) -> SSAValue:
    """Normalize over the last dimensions together."""
    shape, normalized = shape_of(call.first), tuple(call.values["normalized_shape"])
    if not normalized or shape[-len(normalized) :] != normalized:
        raise ValueError(f"{normalized} are not the last sizes of {shape}")
    width = prod(normalized)
    rows = graph.reshape(call.first, (*shape[: -len(normalized)], width))
    found = _normalize_rows(graph, call, rows, call.name)
    for position, name in ((1, "multiply"), (2, "add")):
        given = call.inputs[position]
        if given is not None:
            found = graph.binary(name, found, graph.reshape(given, (width,)))
    return graph.reshape(found, shape)


def _normalize_rows(graph: Graph, call: FormCall, rows: SSAValue, name: str) -> SSAValue:
    last = len(shape_of(rows)) - 1
    if not call.in_tiles:
        epsilon = call.values["epsilon"]
        return graph.add(name, [rows], tensor_like(rows, shape_of(rows)), epsilon=epsilon)
    if name == "layer_norm":
        rows = graph.binary("subtract", rows, graph.mean(rows, [last]))
    return graph.binary("multiply", rows, _scale(graph, rows, last, call.values["epsilon"]))


def _scale(graph: Graph, rows: SSAValue, dim: int, epsilon: float) -> SSAValue:
    """Return 1 / sqrt of the mean of the squares."""
    mean = graph.mean(graph.binary("multiply", rows, rows), [dim])
    return graph.unary("rsqrt", graph.binary("add", mean, epsilon))


def _group_norm(graph: Graph, call: FormCall) -> SSAValue:
    """Normalize each group of channels of a batch as one row."""
    if call.inputs[1] is not None:
        raise ValueError("`input_mask`")
    channel, groups = call.dim("channel_dim"), call.values["num_groups"]
    order = (0, channel, *(dim for dim in range(1, call.rank) if dim != channel))
    front = graph.permute(call.first, order)
    batch, channels, *places = shape_of(front)
    if not channel or groups < 1 or channels % groups:
        raise ValueError(f"{groups} groups of {channels} channels")
    rows = graph.reshape(front, (batch, groups, channels // groups * prod(places)))
    found = graph.reshape(_normalize_rows(graph, call, rows, "layer_norm"), shape_of(front))
    for position, name in ((2, "multiply"), (3, "add")):
        given = call.inputs[position]
        if given is not None:
            each = graph.reshape(given, (1, channels, *[1] * len(places)))
            found = graph.binary(name, found, each)
    return graph.permute(found, tuple(order.index(dim) for dim in range(call.rank)))


def _batch_norm(graph: Graph, call: FormCall) -> SSAValue:
    scale, offset, mean, variance = reshape_by_channel(graph, call)
    return normalize_by(graph, call, mean, variance, scale, offset)


def reshape_by_channel(graph: Graph, call: FormCall) -> list[SSAValue]:
    """Reshape the operands after the first to broadcast along its feature dimension."""
    dim = call.dim("dimension")
    sizes = [1] * call.rank
    sizes[dim] = shape_of(call.first)[dim]
    return [graph.reshape(each, tuple(sizes)) for each in call.all[1:]]


def normalize_by(
    graph: Graph,
    call: FormCall,
    mean: SSAValue,
    variance: SSAValue,
    scale: SSAValue,
    offset: SSAValue,
) -> SSAValue:
    given = (variance, call.first, mean, scale, offset)
    around, x, middle, factor, more = (GraphTerm(graph, each) for each in given)
    epsilon: float = call.values["epsilon"]
    spread = (around + epsilon).rsqrt()
    return ((x - middle) * (spread * factor) + more).value


def _attention(graph: Graph, call: FormCall) -> SSAValue:
    if call.inputs[4] is not None or call.values["sliding_window_size"] is not None:
        raise ValueError("sinks and sliding windows of attention")
    given = [value for value in call.inputs[:4] if value is not None]
    causal = call.values["is_causal"] and len(given) == 3
    return _attend(graph, given, call.values["scale"], causal)


def _attend(graph: Graph, given: list[SSAValue], scale: float | None, causal: bool) -> SSAValue:
    """Compute attention of query, key, value and perhaps a mask, which is not broadcast."""
    query, key, value, *mask = given
    scores = (shape_of(query)[2], shape_of(key)[2])
    mask = [graph.expand(each, (*shape_of(each)[:2], *scores)) for each in mask]
    shape = (*shape_of(query)[:3], shape_of(value)[3])
    if scale is None:
        scale = shape_of(query)[-1] ** -0.5
    name, type = "scaled_dot_product_attention", tensor_like(query, shape)
    return graph.add(name, [query, key, value, *mask], type, is_causal=causal, scale=scale)


def _attention_decode(graph: Graph, call: FormCall) -> SSAValue:
    """Attend with one new query for each batch, (1, batch, heads, size), to keys so far."""
    query, key, value, mask, positions, sink = call.inputs
    assert query is not None and key is not None and value is not None
    if sink is not None:
        raise ValueError("sinks of attention")
    keys = shape_of(key)[2]
    if call.values["is_causal"]:
        assert positions is not None
        numbers = graph.reshape(graph.iota(keys), (1, 1, 1, keys))
        last = graph.reshape(graph.cast(positions, i32), (shape_of(key)[0], 1, 1, 1))
        allowed = graph.compare("le", numbers, last)
        mask = graph.where(allowed, 0.0, graph.full(-inf, tensor_like(query, (1, 1, 1, keys))))
    elif mask is not None:
        mask = graph.permute(mask, (0, 2, 1, 3))
    given = [graph.permute(query, (1, 2, 0, 3)), key, value, *([] if mask is None else [mask])]
    return graph.permute(_attend(graph, given, call.values["scale"], False), (2, 0, 1, 3))


def _attention_training(graph: Graph, call: FormCall) -> SSAValue:
    if call.values["return_intermediates"] or len(call.op.results) > 1:
        raise ValueError("`return_intermediates`")
    if call.values["dropout_probability"]:
        raise ValueError("`dropout_probability`")
    causal = call.values["mask_type"] == "causal"
    return _attend(graph, call.all, None, causal and call.inputs[3] is None)


RULES: dict[str, Rule] = {
    "matmul": _matmul,
    "linear": _linear,
    "dot_general": _dot_general,
    "softmax": _softmax,
    "layer_norm": _norm,
    "rms_norm": _norm,
    "group_norm": _group_norm,
    "batch_norm_inference": _batch_norm,
    "scaled_dot_product_attention": _attention,
    "scaled_dot_product_attention_decode": _attention_decode,
    "sdpa_fw": _attention_training,
}

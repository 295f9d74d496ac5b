"""Part of ttir-to-ttir-decomposition: operations that only move or create elements."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import TensorType, i32
from xdsl.ir import SSAValue

from ttgraph.dialects.graph import shape_of
from ttgraph.graph_shapes import REDUCES

from .decompose_call import FormCall, in_range
from .decompose_elementwise import Rule
from .graph_maker import Graph
from .shlo_places import pad_dim, reverse_dims


def _transpose(graph: Graph, call: FormCall) -> SSAValue:
    order = list(range(call.rank))
    a, b = call.dim("dim0"), call.dim("dim1")
    order[a], order[b] = order[b], order[a]
    return graph.permute(call.first, tuple(order))


def _permute(graph: Graph, call: FormCall) -> SSAValue:
    order = [in_range(dim, call.rank) for dim in call.values["permutation"]]
    return graph.permute(call.first, tuple(order))


def _reshape(graph: Graph, call: FormCall) -> SSAValue:
    """Reshape to the result's shape, since the attribute may have a size of -1."""
    return graph.reshape(call.first, call.shape)


def _expand(graph: Graph, call: FormCall) -> SSAValue:
    factors, shape = call.values["broadcast_dimensions"], shape_of(call.first)
    if len(factors) != call.rank or call.shape != tuple(
        size * factor for size, factor in zip(shape, factors, strict=True)
    ):
        raise ValueError(f"{factors} do not bring {shape} to {call.shape}")
    return _repeat_each(graph, call.first, factors)


def _repeat_each(graph: Graph, value: SSAValue, factors: list[int]) -> SSAValue:
    for dim, factor in enumerate(factors):
        value = _repeat_along(graph, value, dim, factor, one_by_one=False)
    return value


def _repeat_along(
    graph: Graph, value: SSAValue, dim: int, factor: int, *, one_by_one: bool
) -> SSAValue:
    """Repeat a dimension `factor` times; each element in place if `one_by_one`."""
    shape = shape_of(value)
    if factor == 1:
        return value
    if shape[dim] == 1:
        return graph.expand(value, (*shape[:dim], factor, *shape[dim + 1 :]))
    place = dim + one_by_one
    wide = graph.reshape(value, (*shape[:place], 1, *shape[place:]))
    wide = graph.expand(wide, (*shape[:place], factor, *shape[place:]))
    return graph.reshape(wide, (*shape[:dim], factor * shape[dim], *shape[dim + 1 :]))


def interleave(graph: Graph, value: SSAValue, dim: int, factor: int) -> SSAValue:
    return _repeat_along(graph, value, dim, factor, one_by_one=True)


def _to_index(given: int, size: int) -> int:
    """Return a position in 0:size; a negative one counts from the end."""
    return min(size, given + size if given < 0 else given)


def _slice(graph: Graph, call: FormCall) -> SSAValue:
    shape, steps = shape_of(call.first), call.values["step"]
    lists = [call.values["begins"], call.values["ends"], steps]
    if any(len(each) != call.rank for each in lists) or min(steps, default=1) < 1:
        raise ValueError("a slice has as many begins, ends and steps from 1 on as dimensions")
    begins, ends = (
        [_to_index(at, size) for at, size in zip(each, shape, strict=True)] for each in lists[:2]
    )
    return graph.slice(call.first, begins, ends, steps)


def _index(graph: Graph, call: FormCall) -> SSAValue:
    dim = call.dim("dim")
    size = shape_of(call.first)[dim]
    begin, end = (_to_index(call.values[name], size) for name in ("begin", "end"))
    return graph.slice_along(call.first, dim, begin, end, call.values["step"])


def _index_select(graph: Graph, call: FormCall) -> SSAValue:
    """Concatenate pieces of `length` elements, one every `stride` from `begin`."""
    dim, begin, length = call.dim("dim"), call.values["begin"], call.values["length"]
    size = shape_of(call.first)[dim]
    starts = range(begin, size, call.values["stride"]) if call.values["stride"] else [begin]
    pieces = [graph.slice_along(call.first, dim, at, min(at + length, size)) for at in starts]
    return graph.concat(pieces, dim)


def _pad(graph: Graph, call: FormCall) -> SSAValue:
    widths, value = call.values["padding"], call.first
    if len(widths) != 2 * call.rank:
        raise ValueError("`padding` has two widths for each dimension")
    filling = graph.number(call.values["value"], value)
    for dim in range(call.rank):
        value = pad_dim(graph, value, dim, (widths[2 * dim], widths[2 * dim + 1], 0), filling)
    return value


# Elements at computed positions -------------------------------------------------------------------


def _embedding(graph: Graph, call: FormCall) -> SSAValue:
    table = call.given(1)
    shape = shape_of(table)
    table = graph.reshape(table, (shape[-2], shape[-1]))
    return graph.reshape(graph.rows(table, graph.cast(call.first, i32)), call.shape)


def _gather(graph: Graph, call: FormCall) -> SSAValue:
    if "dim" not in call.values:
        raise ValueError("slices at places of several dimensions")
    index = graph.cast(call.given(1), i32)
    return graph.add("gather", [call.first, index], call.result, dim=call.dim("dim"))


_REDUCE = {
    "invalid": "replace",
    "sum": "add",
    "prod": "multiply",
    "max": "maximum",
    "min": "minimum",
}


def _scatter(graph: Graph, call: FormCall) -> SSAValue:
    if "dim" not in call.values:
        raise ValueError("slices at places of several dimensions")
    how = call.values.get("scatter_reduce_type", "invalid")
    if how not in _REDUCE:
        raise ValueError(f"`scatter_reduce_type` {how}")
    inputs = [call.first, graph.cast(call.given(1), i32), call.given(2)]
    reduce = REDUCES.index(_REDUCE[how])
    return graph.add("scatter", inputs, call.result, dim=call.dim("dim"), reduce=reduce)


def _along(graph: Graph, call: FormCall) -> SSAValue:
    return graph.add(call.name, [call.first], call.result, dim=call.dim("dim"))


def _sort(graph: Graph, x: SSAValue, dim: int, descending: bool) -> list[SSAValue]:
    type = TensorType(i32, shape_of(x))
    order = graph.add("argsort", [x], type, dim=dim, descending=descending)
    found = graph.add("gather", [x, order], x.type, dim=dim)  # type: ignore[arg-type]
    return [found, order]


def _topk(graph: Graph, call: FormCall) -> list[SSAValue]:
    dim, count = call.dim("dim"), call.values["k"]
    ordered = _sort(graph, call.first, dim, call.values["largest"])
    return [graph.slice_along(each, dim, 0, count) for each in ordered]


# Tensors without inputs ---------------------------------------------------------------------------


def _arange(graph: Graph, call: FormCall) -> SSAValue:
    dim, start, step = call.values["arange_dimension"], call.values["start"], call.values["step"]
    shape = call.shape
    dim = in_range(dim, len(shape))
    if len(range(start, call.values["end"], step)) != shape[dim]:
        raise ValueError(f"{shape[dim]} numbers are not those from start to end")
    numbers = graph.add("arange", [], TensorType(i32, shape), shape=list(shape), dim=dim)
    numbers = graph.cast(numbers, call.result.element_type)
    numbers = numbers if step == 1 else graph.binary("multiply", numbers, step)
    return numbers if start == 0 else graph.binary("add", numbers, start)


def _split_heads(graph: Graph, call: FormCall) -> list[SSAValue]:
    """Split side-by-side query, key and value: (batch, heads, sequence, size) of each."""
    given, others = call.first, call.inputs[1]
    heads = call.values["num_heads"]
    pairs = call.values["num_kv_heads"] or heads
    size = call.shape[-1]
    parts = [(given, 0, heads), (given, heads, pairs), (given, heads + pairs, pairs)]
    if others is not None:
        parts = [(given, 0, heads), (others, 0, pairs), (others, pairs, pairs)]
    found: list[SSAValue] = []
    for value, start, count in parts:
        part = graph.slice_along(value, 2, start * size, (start + count) * size)
        part = graph.reshape(part, (*shape_of(value)[:2], count, size))
        is_turned = len(found) == 1 and call.values["transpose_key"]
        found.append(graph.permute(part, (0, 2, 3, 1) if is_turned else (0, 2, 1, 3)))
    return found


RULES: dict[str, Rule] = {
    "transpose": _transpose,
    "permute": _permute,
    "reshape": _reshape,
    "squeeze": _reshape,
    "unsqueeze": _reshape,
    "broadcast": _expand,
    "concat": lambda graph, call: graph.concat(call.all, call.dim("dim")),
    "repeat": lambda graph, call: _repeat_each(graph, call.first, call.values["repeat_dimensions"]),
    "repeat_interleave": lambda graph, call: interleave(
        graph, call.first, call.dim("dim"), call.values["repeats"]
    ),
    "slice_static": _slice,
    "index": _index,
    "index_select": _index_select,
    "pad": _pad,
    "reverse": lambda graph, call: reverse_dims(graph, call.first, call.dims("dimensions")),
    "embedding": _embedding,
    "gather": _gather,
    "scatter": _scatter,
    "scatter_in_dim": _scatter,
    "cumsum": _along,
    "cumprod": _along,
    "zeros": lambda graph, call: graph.full(0.0, call.result),
    "ones": lambda graph, call: graph.full(1.0, call.result),
    "full": lambda graph, call: graph.full(call.values["fill_value"], call.result),
    "arange": _arange,
    "concatenate_heads": lambda graph, call: graph.reshape(
        graph.permute(call.first, (0, 2, 1, 3)), call.shape
    ),
    "get_dimension_size": lambda graph, call: graph.full(
        shape_of(call.first)[call.dim("dimension")], call.result
    ),
}
MORE_RESULTS: dict[str, Callable[[Graph, FormCall], list[SSAValue]]] = {
    "sort": lambda graph, call: _sort(
        graph, call.first, call.dim("dim"), call.values["descending"]
    ),
    "topk": _topk,
    "split_query_key_value_and_split_heads": _split_heads,
}

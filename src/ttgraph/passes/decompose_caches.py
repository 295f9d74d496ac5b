"""Part of ttir-to-ttir-decomposition: key and value caches, slices at computed positions.

The dimensions of a cache are batch (or blocks), heads, positions and the size of a head.
"""

from __future__ import annotations

from xdsl.dialects.builtin import f32, i32
from xdsl.ir import SSAValue

from ttgraph.dialects.graph import element_of, shape_of
from ttgraph.graph_shapes import REDUCES

from .decompose_call import FormCall
from .decompose_elementwise import Rule
from .graph_maker import Graph, GraphTerm, tensor_like


def _update(graph: Graph, call: FormCall) -> SSAValue:
    """Write one position of some batches: input is (1, heads, batches, size)."""
    cache, given, place = call.first, call.given(1), call.given(2)
    rows = graph.permute(given, (2, 1, 0, 3))
    start = call.values["batch_offset"]
    part = graph.slice_along(cache, 0, start, start + shape_of(rows)[0])
    index = graph.reshape(graph.slice_along(graph.cast(place, i32), 0, 0, 1), (1, 1, 1, 1))
    return _with_batches(graph, cache, start, _put(graph, part, 2, index, rows))


def _put(graph: Graph, value: SSAValue, dim: int, index: SSAValue, source: SSAValue) -> SSAValue:
    """Scatter a source at an index, which is expanded to the source's shape."""
    index = graph.expand(index, shape_of(source))
    source = graph.cast(source, element_of(value))
    replace, type = REDUCES.index("replace"), tensor_like(value, shape_of(value))
    return graph.add("scatter", [value, index, source], type, dim=dim, reduce=replace)


def _with_batches(graph: Graph, cache: SSAValue, start: int, part: SSAValue) -> SSAValue:
    end, size = start + shape_of(part)[0], shape_of(cache)[0]
    pieces = [graph.slice_along(cache, 0, 0, start), part, graph.slice_along(cache, 0, end, size)]
    return graph.concat([each for each in pieces if shape_of(each)[0]], 0)


def _fill(graph: Graph, call: FormCall) -> SSAValue:
    """Write the first positions of some batches."""
    cache, given, start = call.first, call.given(1), call.values["batch_offset"]
    given = graph.cast(given, element_of(cache))
    batches, places = shape_of(given)[0], shape_of(given)[2]
    part = graph.slice_along(cache, 0, start, start + batches)
    left = graph.slice_along(part, 2, places, shape_of(cache)[2])
    whole = graph.concat([given, left], 2) if shape_of(left)[2] else given
    return _with_batches(graph, cache, start, whole)


# Paged caches: a table has the blocks of each user ------------------------------------------------


def _update_paged(graph: Graph, call: FormCall) -> SSAValue:
    """Write one position of each user: input is (1, users, heads, size)."""
    cache, given, place, table = call.inputs
    assert cache is not None and given is not None and place is not None
    if call.values["share_cache"]:
        raise ValueError("`share_cache`")
    _, heads, size, _ = shape_of(cache)
    users = shape_of(given)[1]
    place = graph.reshape(graph.cast(place, i32), (users, 1))
    if table is None:
        blocks = graph.reshape(graph.iota(users), (users, 1))
    else:
        number = _quotient(graph, place, size)
        table, type = graph.cast(table, i32), tensor_like(place, (users, 1))
        blocks = graph.add("gather", [table, number], type, dim=1)
        place = graph.binary("subtract", place, graph.binary("multiply", number, size))
    given = graph.slice_along(given, 2, 0, heads)
    return _put_rows(graph, cache, blocks, place, graph.reshape(given, shape_of(given)[1:]))


def _quotient(graph: Graph, value: SSAValue, by: int) -> SSAValue:
    """Divide integers; adds 0.5 so that rounding cannot change the quotient."""
    middle = GraphTerm(graph, graph.cast(value, f32)) + 0.5
    return graph.cast((middle * (1 / by)).floor().value, i32)


def _fill_paged(graph: Graph, call: FormCall) -> SSAValue:
    """Write the first positions of one user: input is (1, heads, positions, size)."""
    cache, given, table, user = call.inputs
    assert cache is not None and given is not None and table is not None
    size, places = shape_of(cache)[2], shape_of(given)[2]
    number = graph.number_i32(0) if user is None else graph.cast(user, i32)
    row = graph.take(graph.cast(table, i32), 0, graph.reshape(number, (1,)))
    counted = graph.iota(places)
    block = _quotient(graph, counted, size)
    inside = graph.binary("subtract", counted, graph.binary("multiply", block, size))
    blocks = graph.take(row, 1, block)
    rows = graph.reshape(graph.permute(given, (2, 0, 1, 3)), (places, *shape_of(given)[1::2]))
    shape = (places, 1)
    return _put_rows(graph, cache, graph.reshape(blocks, shape), graph.reshape(inside, shape), rows)


def _put_rows(
    graph: Graph, cache: SSAValue, blocks: SSAValue, places: SSAValue, rows: SSAValue
) -> SSAValue:
    """Write rows (count, heads, size) at blocks (count, 1) and positions (count, 1) in them."""
    count, heads, size = shape_of(rows)
    _, _, length, _ = shape_of(cache)
    head = graph.reshape(graph.iota(heads), (1, heads))
    number = graph.binary("add", graph.binary("multiply", blocks, heads), head)
    number = graph.binary("add", graph.binary("multiply", number, length), places)
    flat = graph.reshape(cache, (shape_of(cache)[0] * heads * length, size))
    index = graph.reshape(number, (count * heads, 1))
    found = _put(graph, flat, 0, index, graph.reshape(rows, (count * heads, size)))
    return graph.reshape(found, shape_of(cache))


# Slices -------------------------------------------------------------------------------------------


def _slice(graph: Graph, call: FormCall) -> SSAValue:
    """Slice at computed positions, with the result's sizes; skip dimensions that stay whole."""
    value, begins = call.first, graph.cast(call.given(1), i32)
    steps = call.values["step"] or [1] * call.rank
    for dim, (size, step) in enumerate(zip(call.shape, steps, strict=True)):
        if size == shape_of(value)[dim] and step == 1:
            continue
        begin = graph.reshape(graph.slice_along(begins, 0, dim, dim + 1), (1,))
        numbers = graph.binary("multiply", graph.iota(size), step)
        value = graph.take(value, dim, graph.binary("add", numbers, begin))
    return value


RULES: dict[str, Rule] = {
    "update_cache": _update,
    "fill_cache": _fill,
    "paged_update_cache": _update_paged,
    "paged_fill_cache": _fill_paged,
    "slice_dynamic": _slice,
}

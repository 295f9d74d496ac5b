"""Part of shlo-to-ttir: a scatter of windows, as a scatter of a table's rows.

Like for a gather, the dimensions with computed positions are flattened to the rows of one table.
Updates outside the tensor go to an extra row, which is cut off afterwards.
"""

from __future__ import annotations

from functools import reduce
from math import prod

from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from ttgraph.dialects import stablehlo
from ttgraph.dialects.stablehlo import shape_of
from ttgraph.graph_shapes import REDUCES

from .graph_maker import Graph, no_counterpart, tensor_like
from .shlo_places import Start, index_parts, positions, row_numbers, window_sizes


def scatter(graph: Graph, op: stablehlo.ScatterOp) -> SSAValue:
    reducer = {"second": "replace", "or": "maximum", "and": "minimum"}
    found = stablehlo.reducer_of(op.update_computation)
    name = reducer.get(str(found), found)
    if name not in REDUCES:
        raise no_counterpart(op, "a scatter by more than one operation")
    shape, starts = shape_of(op.input), _starts(graph, op)
    if not starts:
        raise no_counterpart(op, "a scatter of all elements, without indices")
    front = tuple(start.dim for start in starts)
    others = tuple(dim for dim in range(len(shape)) if dim not in front)
    sizes, columns = tuple(shape[dim] for dim in front), prod(shape[dim] for dim in others)
    rows = prod(sizes)
    numbers = _numbers(graph, op, starts, sizes)
    table = graph.reshape(graph.permute(op.input, (*front, *others)), (rows, columns))
    beyond = graph.full(0, tensor_like(table, (1, columns)))
    table = graph.concat([table, beyond], 0)
    count = prod(shape_of(numbers))
    index = graph.expand(graph.reshape(numbers, (count, 1)), (count, columns))
    source = graph.reshape(_updates(graph, op, starts, others), (count, columns))
    type = tensor_like(table, (rows + 1, columns))
    number = REDUCES.index(name)
    table = graph.add("scatter", [table, index, source], type, dim=0, reduce=number)
    table = graph.reshape(
        graph.slice_along(table, 0, 0, rows), (*sizes, *(shape[dim] for dim in others))
    )
    placed = [*front, *others]
    return graph.permute(table, tuple(placed.index(dim) for dim in range(len(shape))))


def _windows(op: stablehlo.ScatterOp) -> dict[int, int]:
    """Return the window's size along each dimension of the updates."""
    numbers = op.scatter_dimension_numbers.data
    gone = {*numbers.inserted_window_dims, *numbers.input_batching_dims}
    kept = [dim for dim in range(len(shape_of(op.input))) if dim not in gone]
    sizes = [shape_of(op.updates)[dim] for dim in numbers.update_window_dims]
    return dict(zip(kept, sizes, strict=True))


def _starts(graph: Graph, op: stablehlo.ScatterOp) -> list[Start]:
    numbers, shape, windows = op.scatter_dimension_numbers.data, shape_of(op.input), _windows(op)
    indices, vector = op.scatter_indices, numbers.index_vector_dim
    parts = index_parts(graph, indices, vector)
    places = dict(zip(numbers.scatter_dims_to_operand_dims, parts, strict=True))
    for dim, along in zip(
        numbers.input_batching_dims, numbers.scatter_indices_batching_dims, strict=True
    ):
        batch = [size for each, size in enumerate(shape_of(indices)) if each != vector]
        ones = [1] * len(batch)
        place = along - (along > vector)
        ones[place] = batch[place]
        places[dim] = graph.reshape(graph.iota(batch[place]), tuple(ones))
    found = []
    for dim, size in enumerate(shape):
        if dim in places or windows.get(dim, 1) != size:
            start = graph.cast(places[dim], i32) if dim in places else graph.number_i32(0)
            found.append(Start(dim, windows.get(dim, 1), start))
    return found


def _numbers(
    graph: Graph, op: stablehlo.ScatterOp, starts: list[Start], sizes: tuple[int, ...]
) -> SSAValue:
    """Return the row of each update; the row after the last for updates outside the tensor."""
    batch = _batch(op)
    places = positions(graph, starts, len(batch))
    inside = []
    for place, size in zip(places, sizes, strict=True):
        inside += [graph.compare("ge", place, 0), graph.compare("lt", place, size)]
    is_inside = reduce(lambda a, b: graph.compare("logical_and", a, b), inside)
    row = row_numbers(graph, places, sizes)
    row = graph.where(is_inside, row, graph.number_i32(prod(sizes)))
    return graph.expand(row, (*batch, *window_sizes(starts)))


def _batch(op: stablehlo.ScatterOp) -> tuple[int, ...]:
    windows = op.scatter_dimension_numbers.data.update_window_dims
    return tuple(size for dim, size in enumerate(shape_of(op.updates)) if dim not in windows)


def _updates(
    graph: Graph, op: stablehlo.ScatterOp, starts: list[Start], others: tuple[int, ...]
) -> SSAValue:
    """Permute the updates to (batch, windows, other dimensions)."""
    windows = op.scatter_dimension_numbers.data.update_window_dims
    at = dict(zip(_windows(op), windows, strict=True))
    batch = [dim for dim in range(len(shape_of(op.updates))) if dim not in windows]
    front = [at[start.dim] for start in starts if start.dim in at]
    return graph.permute(op.updates, (*batch, *front, *(at[dim] for dim in others)))

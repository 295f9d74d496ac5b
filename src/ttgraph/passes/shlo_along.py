"""Part of shlo-to-ttir: operations along one dimension, each one step of the host.

Gathers and scatters along a dimension, and cumulative sums and products.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import Operation, SSAValue

from ttgraph.dialects import stablehlo
from ttgraph.dialects.stablehlo import shape_of
from ttgraph.dialects.stablehlo.text import tensor_type
from ttgraph.graph_shapes import REDUCES

from .graph_maker import Graph
from .shlo_places import clamp_start, gather
from .shlo_scatter import scatter
from .shlo_windows import reduce_window

# Places -------------------------------------------------------------------------------------------


def _gather(graph: Graph, op: stablehlo.GatherOp) -> SSAValue:
    """Convert a gather of one element for each index along one dimension to one step."""
    numbers, shape = op.dimension_numbers.data, shape_of(op.operand)
    dim = _along(
        numbers.start_index_map,
        numbers.collapsed_slice_dims,
        numbers.operand_batching_dims,
        numbers.start_indices_batching_dims,
        numbers.index_vector_dim,
        len(shape),
    )
    if dim is None or len(shape) < 2 or len(shape_of(op.start_indices)) != len(shape):
        return gather(graph, op)
    places = op.start_indices
    if not stablehlo.has_checked_indices(op):
        places = clamp_start(graph, places, shape[dim] - 1)
    inputs = [op.operand, places]
    return graph.add("gather", inputs, op.result.type, dim=dim)


def _scatter(graph: Graph, op: stablehlo.ScatterOp) -> SSAValue:
    numbers, shape = op.scatter_dimension_numbers.data, shape_of(op.input)
    dim = _along(
        numbers.scatter_dims_to_operand_dims,
        numbers.inserted_window_dims,
        numbers.input_batching_dims,
        numbers.scatter_indices_batching_dims,
        numbers.index_vector_dim,
        len(shape),
    )
    reducer = stablehlo.reducer_of(op.update_computation)
    name = {"second": "replace"}.get(str(reducer), str(reducer))
    if dim is None or name not in REDUCES or not stablehlo.has_checked_indices(op):
        return scatter(graph, op)
    type = tensor_type(op.result)
    inputs = [op.input, op.scatter_indices, op.updates]
    return graph.add("scatter", inputs, type, dim=dim, reduce=REDUCES.index(name))


def _along(
    places: Sequence[int],
    gone: Sequence[int],
    batching: Sequence[int],
    index_batching: Sequence[int],
    vector: int,
    rank: int,
) -> int | None:
    """Return the dimension if an index has one part and the indices have all other dimensions."""
    others = tuple(d for d in range(rank) if d not in places)
    is_along = len(places) == 1 and tuple(gone) == tuple(places) and vector == rank
    return places[0] if is_along and tuple(batching) == others == tuple(index_batching) else None


# Cumulative sums ----------------------------------------------------------------------------------

_RUNNING = {"add": "cumsum", "multiply": "cumprod"}


def _reduce_window(graph: Graph, op: stablehlo.ReduceWindowOp) -> SSAValue:
    """Convert a window as long as its dimension that ends at each element: a cumulative sum."""
    value, *_ = op.inputs
    shape, reducer = shape_of(value), stablehlo.reducer_of(op.body)
    long = [dim for dim, size in enumerate(op.sizes) if size != 1]
    ones = (1,) * len(shape)
    is_plain = op.strides == op.numbers("base_dilations") == op.numbers("window_dilations") == ones
    if len(long) != 1 or not is_plain or reducer not in _RUNNING:
        return reduce_window(graph, op)
    (dim,) = long
    borders = [(0, 0)] * len(shape)
    borders[dim] = (shape[dim] - 1, 0)
    if op.sizes[dim] != shape[dim] or op.borders != borders:
        return reduce_window(graph, op)
    return graph.add(_RUNNING[reducer], [value], op.outputs[0].type, dim=dim)


CONVERTERS: dict[type[Operation], Callable[..., SSAValue]] = {
    stablehlo.GatherOp: _gather,
    stablehlo.ScatterOp: _scatter,
    stablehlo.ReduceWindowOp: _reduce_window,
}

"""Part of shlo-to-ttir: what goes along one dimension, which the host does in one step.

Elements in order, elements at places beside those of the indices, and sums of all so far.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from xdsl.ir import Block, Operation, SSAValue

from ttl.dialects import stablehlo, ttir
from ttl.dialects.stablehlo import shape_of
from ttl.semantics.graph_shapes import REDUCES

from .graph_maker import Graph, no_counterpart, tensor_like
from .shlo_places import clamped, gather
from .shlo_windows import reduce_window

# Order --------------------------------------------------------------------------------------------


def _sort(graph: Graph, op: stablehlo.SortOp) -> list[SSAValue]:
    """The places in order, and each operand at these places."""
    direction = _direction(op)
    if direction is None:
        raise no_counterpart(op, "a sort by something else than the first operand")
    dim, (first, *_) = op.dim, op.inputs
    type = tensor_like(graph.counted(1), shape_of(first))
    order = graph.add("argsort", [first], type, dim=dim, descending=direction == "GT")

    def at_places(value: SSAValue, wanted: SSAValue) -> SSAValue:
        if not any(True for _ in wanted.uses):
            return value
        if _is_counted(value, dim):
            return graph.cast(order, wanted.type.element_type)  # type: ignore[attr-defined]
        return graph.add("gather", [value, order], wanted.type, dim=dim)  # type: ignore[arg-type]

    return [at_places(*pair) for pair in zip(op.inputs, op.outputs, strict=True)]


def _direction(op: stablehlo.SortOp) -> str | None:
    """LT or GT, if the comparator orders by its first two arguments, whatever it is about NaN."""
    block: Block = op.comparator.block
    first, second, *others = block.args
    if any(True for each in others for _ in each.uses):
        return None
    for each in block.ops:
        if isinstance(each, stablehlo.CompareOp):
            direction = each.comparison_direction.data
            if direction in ("LT", "GT") and (each.lhs, each.rhs) == (first, second):
                return direction
    return None


def _is_counted(value: SSAValue, dim: int) -> bool:
    made = value.owner
    return isinstance(made, ttir.MATH["arange"]) and made.values()["dim"] == dim


# Places -------------------------------------------------------------------------------------------


def _gather(graph: Graph, op: stablehlo.GatherOp) -> SSAValue:
    """One element for each index, beside it in all other dimensions, is one step."""
    if stablehlo.refuses_others(op) and op.taken is not None:
        indices = graph.reshape(op.start_indices, (prod(op.indices_shape),))
        return graph.reshape(graph.take(op.operand, op.taken, indices), shape_of(op.result))
    numbers, shape = op.dimension_numbers.data, shape_of(op.operand)
    dim = _along(
        numbers.start_index_map, numbers.collapsed_slice_dims, numbers.operand_batching_dims,
        numbers.start_indices_batching_dims, numbers.index_vector_dim, len(shape),
    )  # fmt: skip
    if dim is None or len(shape) < 2 or len(shape_of(op.start_indices)) != len(shape):
        return gather(graph, op)
    indices = op.start_indices
    if not stablehlo.refuses_others(op):
        indices = clamped(graph, indices, shape[dim] - 1)
    inputs = [op.operand, indices]
    return graph.add("gather", inputs, op.result.type, dim=dim)  # type: ignore[arg-type]


def _scatter(graph: Graph, op: stablehlo.ScatterOp) -> SSAValue:
    numbers, shape = op.scatter_dimension_numbers.data, shape_of(op.input)
    dim = _along(
        numbers.scatter_dims_to_operand_dims, numbers.inserted_window_dims,
        numbers.input_batching_dims, numbers.scatter_indices_batching_dims,
        numbers.index_vector_dim, len(shape),
    )  # fmt: skip
    reducer = stablehlo.reducer_of(op.update_computation)
    name = {"second": "replace"}.get(str(reducer), str(reducer))
    if dim is None or name not in REDUCES:
        raise no_counterpart(op, "a scatter of more than elements along one dimension")
    value, indices, size = op.input, op.scatter_indices, shape[dim]
    if not stablehlo.refuses_others(op):  # what goes nowhere goes to one place more
        outside = graph.compare(
            "logical_or", graph.compare("lt", indices, 0), graph.compare("ge", indices, size)
        )
        indices = graph.where(outside, size, indices)
        value = graph.concat([value, graph.slice_along(value, dim, 0, 1)], dim)
    type = tensor_like(value, shape_of(value))
    inputs = [value, indices, op.updates]
    found = graph.add("scatter", inputs, type, dim=dim, reduce=REDUCES.index(name))
    return graph.slice_along(found, dim, 0, size)


def _along(
    places: Sequence[int],
    gone: Sequence[int],
    batching: Sequence[int],
    index_batching: Sequence[int],
    vector: int,
    rank: int,
) -> int | None:
    """The dimension, if an index has one part and all other dimensions are those of the indices."""
    others = tuple(d for d in range(rank) if d not in places)
    is_along = len(places) == 1 and tuple(gone) == tuple(places) and vector == rank
    return places[0] if is_along and tuple(batching) == others == tuple(index_batching) else None


# Sums so far --------------------------------------------------------------------------------------

_RUNNING = {"add": "cumsum", "multiply": "cumprod"}


def _reduce_window(graph: Graph, op: stablehlo.ReduceWindowOp) -> SSAValue:
    """A window as long as a dimension, that ends at each of its elements."""
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
    return graph.add(_RUNNING[reducer], [value], op.outputs[0].type, dim=dim)  # type: ignore[arg-type]


CONVERTERS: dict[type[Operation], Callable[..., Any]] = {
    stablehlo.SortOp: _sort,
    stablehlo.GatherOp: _gather,
    stablehlo.ScatterOp: _scatter,
    stablehlo.ReduceWindowOp: _reduce_window,
}

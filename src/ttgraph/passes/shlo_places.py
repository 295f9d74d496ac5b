"""Part of shlo-to-ttir: padding, reversal, and elements at computed positions.

ttnn can only take rows of a table at computed positions (ttnn.embedding): the dimensions with
computed positions move to the front and are flattened to the rows of one table.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from ttgraph.dialects import stablehlo
from ttgraph.dialects.stablehlo import ints, shape_of

from .graph_maker import Graph

# Padding ------------------------------------------------------------------------------------------


def pad(graph: Graph, op: stablehlo.PadOp) -> SSAValue:
    value = op.operand
    for dim, (low, high, between) in enumerate(op.borders):
        value = pad_dim(graph, value, dim, (low, high, between), op.padding_value)
    return value


def pad_dim(
    graph: Graph, value: SSAValue, dim: int, border: tuple[int, int, int], filling: SSAValue
) -> SSAValue:
    """Pad along one dimension; negative padding crops."""
    low, high, between = border
    if between:
        value = _insert_between(graph, value, dim, between, filling)
    size = shape_of(value)[dim]
    value = graph.slice_along(value, dim, max(0, -low), size - max(0, -high))
    parts = [value]
    if low > 0:
        parts.insert(0, _make_border(graph, value, dim, low, filling))
    if high > 0:
        parts.append(_make_border(graph, value, dim, high, filling))
    return graph.concat(parts, dim)


def _make_border(graph: Graph, like: SSAValue, dim: int, size: int, filling: SSAValue) -> SSAValue:
    sizes = list(shape_of(like))
    sizes[dim] = size
    return graph.expand(filling, tuple(sizes))


def _insert_between(
    graph: Graph, value: SSAValue, dim: int, between: int, filling: SSAValue
) -> SSAValue:
    """Insert padding between elements: add a dimension, pad it, flatten, and crop."""
    shape = shape_of(value)
    if shape[dim] < 2:
        return value
    apart = graph.reshape(value, (*shape[: dim + 1], 1, *shape[dim + 1 :]))
    apart = graph.concat([apart, _make_border(graph, apart, dim + 1, between, filling)], dim + 1)
    size = shape[dim] * (between + 1)
    joined = graph.reshape(apart, (*shape[:dim], size, *shape[dim + 1 :]))
    return graph.slice_along(joined, dim, 0, size - between)


def reverse(graph: Graph, op: stablehlo.ReverseOp) -> SSAValue:
    return reverse_dims(graph, op.operand, ints(op.dimensions))


def reverse_dims(graph: Graph, value: SSAValue, dims: Iterable[int]) -> SSAValue:
    for dim in dims:
        size = shape_of(value)[dim]
        if size > 1:
            last = graph.binary("subtract", graph.number_i32(size - 1), graph.iota(size))
            value = graph.take(value, dim, last)
    return value


# Computed positions -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Start:
    """Window starts along a dimension of the table: numbers that broadcast to the batch."""

    dim: int
    size: int  # of the window
    place: SSAValue


def window_sizes(starts: list[Start]) -> tuple[int, ...]:
    """Return the sizes of the windows; none if all of them are single elements."""
    sizes = tuple(start.size for start in starts)
    return () if set(sizes) == {1} else sizes


def positions(graph: Graph, starts: list[Start], rank: int) -> list[SSAValue]:
    """Return positions along each dimension of `starts`, which broadcast to the batch's `rank`
    dimensions and the windows.
    """
    found = []
    more = [1] * len(window_sizes(starts))
    for number, start in enumerate(starts):
        given = shape_of(start.place)
        shape = (*[1] * (rank - len(given)), *given, *more)
        place = graph.reshape(start.place, shape)
        if start.size > 1:
            window = [1] * (rank + len(starts))
            window[rank + number] = start.size
            counted = graph.reshape(graph.iota(start.size), tuple(window))
            place = graph.binary("add", place, counted)
        found.append(place)
    return found


def row_numbers(graph: Graph, places: list[SSAValue], sizes: tuple[int, ...]) -> SSAValue:
    """Return row numbers of a table whose rows are the flattened dimensions of these sizes."""
    number, *others = places
    for place, size in zip(others, sizes[1:], strict=True):
        number = graph.binary("add", graph.binary("multiply", number, size), place)
    return number


def clamp_start(graph: Graph, place: SSAValue, limit: int) -> SSAValue:
    """Clamp a start so that the window is inside."""
    low = graph.binary("maximum", graph.cast(place, i32), 0)
    return graph.binary("minimum", low, limit)


def windows(graph: Graph, value: SSAValue, starts: list[Start], batch: tuple[int, ...]) -> SSAValue:
    """Take windows of a tensor: (batch, sizes of the windows, other dimensions)."""
    shape = shape_of(value)
    front = tuple(start.dim for start in starts)
    others = tuple(dim for dim in range(len(shape)) if dim not in front)
    left = tuple(shape[dim] for dim in others)
    sizes = tuple(shape[dim] for dim in front)
    table = graph.permute(value, (*front, *others))
    table = graph.reshape(table, (prod(sizes), prod(left)))
    numbers = row_numbers(graph, positions(graph, starts, len(batch)), sizes)
    found = graph.rows(table, graph.expand(numbers, (*batch, *window_sizes(starts))))
    return graph.reshape(found, (*batch, *(start.size for start in starts), *left))


def dynamic_slice(graph: Graph, op: stablehlo.DynamicSliceOp) -> SSAValue:
    shape, sizes = shape_of(op.operand), ints(op.slice_sizes)
    starts = [
        Start(dim, size, clamp_start(graph, op.start_indices[dim], shape[dim] - size))
        for dim, size in enumerate(sizes)
        if size != shape[dim]
    ]
    if not starts:
        return op.operand
    found = windows(graph, op.operand, starts, ())
    front = [start.dim for start in starts]
    placed = [*front, *(dim for dim in range(len(shape)) if dim not in front)]
    return graph.permute(found, tuple(placed.index(dim) for dim in range(len(shape))))


def dynamic_update_slice(graph: Graph, op: stablehlo.DynamicUpdateSliceOp) -> SSAValue:
    """Convert an update: along each dimension, stretch it to the whole and select its part."""
    shape, update = shape_of(op.operand), op.update
    inside: SSAValue | None = None
    for dim, size in enumerate(shape_of(op.update)):
        if size == shape[dim]:
            continue
        place = graph.reshape(clamp_start(graph, op.start_indices[dim], shape[dim] - size), (1,))
        offset = graph.binary("subtract", graph.iota(shape[dim]), place)
        bounded = graph.binary("minimum", graph.binary("maximum", offset, 0), size - 1)
        update = graph.take(update, dim, bounded)
        here = graph.compare("eq", offset, bounded)
        here = graph.reshape(here, (shape[dim], *[1] * (len(shape) - 1 - dim)))
        inside = here if inside is None else graph.compare("logical_and", inside, here)
    return update if inside is None else graph.where(inside, update, op.operand)


def gather(graph: Graph, op: stablehlo.GatherOp) -> SSAValue:
    numbers, sizes = op.dimension_numbers.data, ints(op.slice_sizes)
    value, batch = op.operand, op.indices_shape
    shape = shape_of(value)
    parts = index_parts(graph, op.start_indices, numbers.index_vector_dim)
    places = dict(zip(numbers.start_index_map, parts, strict=True))
    batching = dict(
        zip(numbers.operand_batching_dims, numbers.start_indices_batching_dims, strict=True)
    )
    starts = []
    for dim, size in enumerate(sizes):
        if dim in batching:
            starts.append(Start(dim, 1, _iota_along(graph, batch, op, batching[dim])))
        elif dim in places and size != shape[dim]:
            place = places[dim]
            if not stablehlo.has_checked_indices(op):
                place = clamp_start(graph, place, shape[dim] - size)
            starts.append(Start(dim, size, place))
        elif dim not in places:
            value = graph.slice_along(value, dim, 0, size)
    if not starts:  # whole slices at position 0
        starts = [Start(0, sizes[0], graph.number_i32(0))]
    found = windows(graph, value, starts, batch)
    return _restore_order(graph, op, found, [start.dim for start in starts])


def index_parts(graph: Graph, indices: SSAValue, place: int) -> list[SSAValue]:
    """Return the positions for each part of the indices."""
    shape = shape_of(indices)
    if place == len(shape):
        return [indices]
    batch = (*shape[:place], *shape[place + 1 :])
    parts = (graph.slice_along(indices, place, n, n + 1) for n in range(shape[place]))
    return [graph.reshape(part, batch) for part in parts]


def _iota_along(graph: Graph, batch: tuple[int, ...], op: stablehlo.GatherOp, dim: int) -> SSAValue:
    """Return positions along a dimension of the indices, ignoring the dimension of their parts."""
    dim -= dim > op.dimension_numbers.data.index_vector_dim
    shape = [1] * len(batch)
    shape[dim] = batch[dim]
    return graph.reshape(graph.iota(batch[dim]), tuple(shape))


def _restore_order(
    graph: Graph, op: stablehlo.GatherOp, found: SSAValue, front: list[int]
) -> SSAValue:
    """Permute (batch, dimensions in front, others) to the gather's order."""
    numbers, rank, batch = op.dimension_numbers.data, len(shape_of(op.operand)), op.indices_shape
    order = [*front, *(dim for dim in range(rank) if dim not in front)]
    gone = {*numbers.collapsed_slice_dims, *numbers.operand_batching_dims}
    sizes = shape_of(found)[len(batch) :]
    kept = [(dim, size) for dim, size in zip(order, sizes, strict=True) if dim not in gone]
    found = graph.reshape(found, (*batch, *(size for _, size in kept)))
    at = {dim: len(batch) + n for n, (dim, _) in enumerate(kept)}
    offsets = dict(zip(numbers.offset_dims, sorted(at), strict=True))
    counted = iter(range(len(batch)))
    total = len(batch) + len(kept)
    return graph.permute(
        found, tuple(at[offsets[d]] if d in offsets else next(counted) for d in range(total))
    )

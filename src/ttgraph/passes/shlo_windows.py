"""Part of shlo-to-ttir: reductions of windows, one dimension at a time."""

from __future__ import annotations

from itertools import product

from xdsl.ir import SSAValue

from ttgraph.dialects import stablehlo
from ttgraph.dialects.stablehlo import shape_of

from .graph_maker import REDUCERS, Graph, no_counterpart
from .shlo_places import pad_dim

_FEW = 4  # windows of at most this size are reduced one element at a time


def reduce_window(graph: Graph, op: stablehlo.ReduceWindowOp) -> SSAValue:
    reducer = stablehlo.reducer_of(op.body)
    if reducer not in REDUCERS or len(op.inputs) != 2:
        raise no_counterpart(op, "a reduction of windows by more than one operation")
    value, init = op.inputs
    name = REDUCERS[reducer][0]
    sizes, strides, borders = op.sizes, op.strides, op.borders
    base, apart = op.numbers("base_dilations"), op.numbers("window_dilations")
    for dim, size in enumerate(sizes):
        low, high = borders[dim]
        value = pad_dim(graph, value, dim, (low, high, base[dim] - 1), init)
        value = reduce_along(graph, name, value, dim, (size, strides[dim], apart[dim]))
    return value


def reduce_along(
    graph: Graph, name: str, value: SSAValue, dim: int, window: tuple[int, int, int]
) -> SSAValue:
    """Reduce windows along one dimension: `window` is size, stride, and distance of elements."""
    size, stride, apart = window
    count = shape_of(value)[dim] - (size - 1) * apart  # windows at stride 1
    if size == 1:
        return graph.slice_along(value, dim, 0, count, stride)
    if size <= _FEW:
        starts = range(0, size * apart, apart)
        parts = [graph.slice_along(value, dim, n, n + count, stride) for n in starts]
    else:
        whole = _reduce_doubling(graph, name, value, dim, window)
        parts = [graph.slice_along(whole, dim, 0, count, stride)]
    found = parts[0]
    for part in parts[1:]:
        found = graph.binary(name, found, part)
    return found


def _shift(graph: Graph, value: SSAValue, dim: int, start: int, count: int) -> SSAValue:
    return graph.slice_along(value, dim, start, start + count)


def _reduce_doubling(
    graph: Graph, name: str, value: SSAValue, dim: int, window: tuple[int, int, int]
) -> SSAValue:
    """Reduce windows of 1, 2, 4 and so on, and join those whose sizes add up to the size."""
    size, _, apart = window
    whole, length, done = value, 1, 0
    found: SSAValue | None = None
    count = shape_of(value)[dim] - (size - 1) * apart
    while True:
        if size & length:
            part = _shift(graph, whole, dim, done * apart, count)
            found = part if found is None else graph.binary(name, found, part)
            done += length
        if done == size:
            assert found is not None
            return found
        left = shape_of(whole)[dim] - length * apart
        first = _shift(graph, whole, dim, 0, left)
        whole = graph.binary(name, first, _shift(graph, whole, dim, length * apart, left))
        length *= 2


_CHOICES = {"GE": "maximum", "GT": "maximum", "LE": "minimum", "LT": "minimum"}


def select_and_scatter(graph: Graph, op: stablehlo.SelectAndScatterOp) -> SSAValue:
    """Convert, for each position in a window: if it is the first chosen one, it gets the source."""
    if stablehlo.reducer_of(op.scatter) != "add":
        raise no_counterpart(op, "a scatter to windows by something else than add")
    border = graph.number(REDUCERS[_choice(op)][1], op.operand)
    wide = op.operand
    for dim, (low, high) in enumerate(op.borders):
        wide = pad_dim(graph, wide, dim, (low, high, 0), border)
    best, taken = _best(graph, op, wide), None
    total: SSAValue | None = None
    nothing = graph.number(0, op.source)
    for place in product(*map(range, op.sizes)):
        here = graph.compare("eq", _window(graph, op, wide, place), best)
        if taken is not None:
            free = graph.add("logical_not", [taken], taken.type)  # type: ignore[arg-type]
            here, taken = (
                graph.compare("logical_and", here, free),
                graph.compare("logical_or", taken, here),
            )
        else:
            taken = here
        part = _put(graph, op, graph.where(here, op.source, nothing), place, shape_of(wide))
        total = part if total is None else graph.binary("add", total, part)
    assert total is not None
    for dim, (low, high) in enumerate(op.borders):
        total = graph.slice_along(total, dim, low, shape_of(total)[dim] - high)
    return graph.binary("add", total, op.init_value)


def _choice(op: stablehlo.SelectAndScatterOp) -> str:
    block = op.select.block
    made = block.last_op.operands[0].owner if block.last_op is not None else None
    if isinstance(made, stablehlo.CompareOp) and [made.lhs, made.rhs] == [*block.args]:
        found = _CHOICES.get(made.comparison_direction.data)
        if found is not None:
            return found
    raise no_counterpart(op, "a choice in windows that is neither the largest nor the smallest")


def _best(graph: Graph, op: stablehlo.SelectAndScatterOp, wide: SSAValue) -> SSAValue:
    for dim, size in enumerate(op.sizes):
        wide = reduce_along(graph, _choice(op), wide, dim, (size, op.strides[dim], 1))
    return wide


def _window(
    graph: Graph, op: stablehlo.SelectAndScatterOp, wide: SSAValue, place: tuple[int, ...]
) -> SSAValue:
    """Return the elements at one position of all windows."""
    counts = shape_of(op.source)
    ends = [
        start + (count - 1) * stride + 1
        for start, count, stride in zip(place, counts, op.strides, strict=True)
    ]
    return graph.slice(wide, list(place), ends, list(op.strides))


def _put(
    graph: Graph,
    op: stablehlo.SelectAndScatterOp,
    part: SSAValue,
    place: tuple[int, ...],
    shape: tuple[int, ...],
) -> SSAValue:
    """Invert _window(): put elements at one position of all windows, zeros elsewhere."""
    zero = graph.number(0, part)
    for dim, start in enumerate(place):
        between = op.strides[dim] - 1
        size = shape_of(part)[dim]
        end = start + (size - 1) * (between + 1) + 1
        part = pad_dim(graph, part, dim, (start, shape[dim] - end, between), zero)
    return part

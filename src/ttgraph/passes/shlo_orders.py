"""Part of shlo-to-ttir: argmax and sorting."""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType, i32
from xdsl.ir import Operation, SSAValue

from ttgraph.dialects import stablehlo, ttir
from ttgraph.dialects.stablehlo import element_of, ints, shape_of

from .graph_maker import Graph, no_counterpart, tensor_like

# Places -------------------------------------------------------------------------------------------


def place_of_extreme(graph: Graph, op: stablehlo.RegionReduceOp) -> list[SSAValue]:
    """Return the largest or smallest number and its first position. NaN counts as largest and as
    smallest.
    """
    name, dims = _extreme(op), ints(op.dimensions)
    if name is None or len(dims) != 1 or len(op.inputs) != 2:
        raise no_counterpart(op, "a reduction of several tensors that is no argmax or argmin")
    values, places = op.inputs
    best = graph.reduce(name, values, dims, True)
    is_none = graph.compare("ne", values, values)
    here = graph.compare("logical_or", graph.compare("eq", values, best), is_none)
    beyond = graph.number(2**31 - 1, places)
    place = graph.reduce("min", graph.where(here, places, beyond), dims, False)
    return [graph.reshape(best, shape_of(op.outputs[0])), place]


def _extreme(op: stablehlo.RegionReduceOp) -> str | None:
    """Read jax's reducer body: the first comparison of values tells max or min."""
    arguments = op.body.block.args
    found = [each for each in op.body.block.ops if isinstance(each, stablehlo.CompareOp)]
    if len(arguments) != 4 or not found:
        return None
    first, second = arguments[0], arguments[2]
    for compare in found:
        if (compare.lhs, compare.rhs) == (first, second):
            direction = compare.comparison_direction.data
            return {"GT": "max", "GE": "max", "LT": "min", "LE": "min"}.get(direction)
    return None


# Orders -------------------------------------------------------------------------------------------

Keys = list[tuple[int, bool]]  # the operand, and whether the largest comes first


def sort(graph: Graph, op: stablehlo.SortOp) -> list[SSAValue]:
    """Sort positions by the keys, and take each operand at these positions."""
    keys = _keys(op.comparator.block.last_op, op)
    if keys is None:
        raise no_counterpart(op, "a sort by something else than its operands")
    order: SSAValue | None = None
    for number, descending in reversed(keys):  # sorting is stable
        order = _sort_by(graph, op.inputs[number], order, op.dim, descending)
    assert order is not None
    return [take_at(graph, value, order, op.dim) for value in op.inputs]


def _sort_by(
    graph: Graph, key: SSAValue, before: SSAValue | None, dim: int, descending: bool
) -> SSAValue:
    if before is not None:
        key = take_at(graph, key, before, dim)
    type = TensorType(i32, shape_of(key))
    order = graph.add("argsort", [key], type, dim=dim, descending=descending)
    return order if before is None else take_at(graph, before, order, dim)


def take_at(graph: Graph, value: SSAValue, places: SSAValue, dim: int) -> SSAValue:
    made = value.owner
    if isinstance(made, ttir.MATH["arange"]) and made.values()["dim"] == dim:
        return graph.cast(places, element_of(value))
    type = tensor_like(value, shape_of(places))
    return graph.add("gather", [value, places], type, dim=dim)


def _keys(end: Operation | None, op: stablehlo.SortOp) -> Keys | None:
    """Read a comparator's keys: `a < b`, or `a < b or (a == b and ...)` for one more key."""
    if not isinstance(end, stablehlo.ReturnOp):
        return None
    return _keys_of(end.operands[0], op)


def _keys_of(value: SSAValue, op: stablehlo.SortOp) -> Keys | None:
    made = value.owner
    if isinstance(made, stablehlo.CompareOp):
        number = _find_compared(made, op)
        direction = {"LT": False, "GT": True}.get(made.comparison_direction.data)
        return None if number is None or direction is None else [(number, direction)]
    if isinstance(made, stablehlo.BINARY["or"]):
        first, rest = _keys_of(made.lhs, op), made.rhs.owner
        if first is not None and isinstance(rest, stablehlo.BINARY["and"]):
            return _more_keys(first, rest, op)
    return None


def _more_keys(first: Keys, rest: Operation, op: stablehlo.SortOp) -> Keys | None:
    equal, others = rest.operands[0].owner, rest.operands[1]
    if not isinstance(equal, stablehlo.CompareOp) or equal.comparison_direction.data != "EQ":
        # NaNs come last, as in every order here
        return first if _is_about_nan(equal) else None
    more = _keys_of(others, op)
    if more is not None and _find_compared(equal, op) == first[0][0]:
        return [*first, *more]
    return first if _is_about_nan(others.owner) and equal.lhs is equal.rhs else None


def _is_about_nan(made: object) -> bool:
    return (
        isinstance(made, stablehlo.CompareOp)
        and made.lhs is made.rhs
        and made.comparison_direction.data in ("NE", "EQ")
    )


def _find_compared(compare: stablehlo.CompareOp, op: stablehlo.SortOp) -> int | None:
    """Return the operand whose two elements are compared."""
    arguments: list[SSAValue] = [*op.comparator.block.args]
    first, second = _plain(compare.lhs), _plain(compare.rhs)
    if first not in arguments or second not in arguments:
        return None
    place = arguments.index(first)
    return place // 2 if place % 2 == 0 and arguments.index(second) == place + 1 else None


def _plain(value: SSAValue) -> SSAValue:
    """Skip jax's normalization of zeros and NaNs before a comparison."""
    made = value.owner
    while isinstance(made, stablehlo.SelectOp) and isinstance(made.on_true.owner, _CONSTANTS):
        value = made.on_false
        made = value.owner
    return value


_CONSTANTS = (stablehlo.ConstantOp, ttir.MATH["full"])  # in the comparator, or outside it


def top_k(graph: Graph, op: stablehlo.TopKOp) -> list[SSAValue]:
    dim = len(shape_of(op.operand)) - 1
    order = _sort_by(graph, op.operand, None, dim, True)
    places = graph.slice_along(order, dim, 0, op.k.value.data)
    values = take_at(graph, op.operand, places, dim)
    return [values, graph.cast(places, element_of(op.indices))]

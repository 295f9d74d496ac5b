"""Part of shlo-to-ttir: the place of the largest element, and elements in order."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ttl.dialects import stablehlo
from ttl.dialects.stablehlo import ints, shape_of

from .graph_maker import Graph, no_counterpart

# argmax and argmin ---------------------------------------------------------------------------------


def place_of_extreme(graph: Graph, op: stablehlo.RegionReduceOp) -> list[SSAValue]:
    """The largest or smallest of numbers and the first of the places that have it: what is no
    number counts as both.
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
    """Of the body that jax writes: the first comparison of the values tells which."""
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

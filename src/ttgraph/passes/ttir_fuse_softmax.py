"""ttir-fuse-softmax: exp(x - max) divided by its sum becomes ttnn.softmax."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from ttgraph.dialects.graph import MathOp, shape_of

from .graph_maker import Graph, tensor_like
from .graph_match import find_maker, replace_each


def apply(op: ModuleOp) -> None:
    replace_each(op, _fuse)


def _fuse(graph: Graph, op: MathOp) -> SSAValue | None:
    if op.ENTRY.name != "divide":
        return None
    power, total = find_maker(op.inputs[0], "exp"), find_maker(op.inputs[1], "sum")
    if power is None or total is None or total.inputs[0] is not power.result:
        return None
    dims, difference = total.values()["dim_arg"], find_maker(power.inputs[0], "subtract")
    if len(dims) != 1 or not total.values()["keep_dim"] or difference is None:
        return None
    value, largest = difference.inputs
    most = find_maker(largest, "max")
    if most is None or most.inputs[0] is not value or most.values() != total.values():
        return None
    if value.type != op.result.type:
        return None
    return graph.add("softmax", [value], tensor_like(value, shape_of(value)), dim=dims[0])

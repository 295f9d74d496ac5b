"""ttir-fuse-casts: what is widened only to be computed with, and rounded after it, stays narrow.

These operations compute in float32 for any input type, and round once, so widening bfloat16 before
one and rounding its result changes nothing.
"""

from __future__ import annotations

from xdsl.dialects.builtin import AnyFloat, ModuleOp, TensorType, f32
from xdsl.ir import SSAValue

from ttgraph.dialects.graph import MathOp, element_of, shape_of

from .graph_maker import Graph
from .graph_match import find_maker, is_only_for, replace_each

WIDENING = (
    "gelu",
    "silu",
    "softmax",
    "rms_norm",
    "layer_norm",
    "linear",
    "matmul",
    "scaled_dot_product_attention",
    "rotary_embedding",
)


def apply(op: ModuleOp) -> None:
    replace_each(op, _narrow)


def _narrow(graph: Graph, op: MathOp) -> SSAValue | None:
    if op.ENTRY.name != "typecast" or not isinstance(element_of(op.result), AnyFloat):
        return None
    wide = find_maker(op.inputs[0], *WIDENING)
    if wide is None or element_of(wide.result) != f32 or not is_only_for(wide.result, op):
        return None
    narrow = element_of(op.result)
    inputs = []
    for value in wide.inputs:
        cast = find_maker(value, "typecast")
        if cast is None or element_of(cast.inputs[0]) != narrow:
            return None
        inputs.append(cast.inputs[0])
    type = TensorType(narrow, shape_of(op.result))
    return graph.add(wide.ENTRY.name, inputs, type, **wide.values())

"""ttir-fuse-linear: a product with transposed weights, or plus a bias, becomes ttnn.linear."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from ttgraph.dialects.graph import MathOp, element_of, shape_of

from .graph_maker import Graph, tensor_like
from .graph_match import both_orders, find_maker, is_only_for, is_row, is_swap_of_last, replace_each


def apply(op: ModuleOp) -> None:
    replace_each(op, _with_bias)
    replace_each(op, _transposed)


def _with_bias(graph: Graph, op: MathOp) -> SSAValue | None:
    if op.ENTRY.name != "add" or not shape_of(op.result):
        return None
    columns = shape_of(op.result)[-1]
    for product, bias in both_orders(op):
        matmul = find_maker(product, "matmul")
        if matmul is None or product.type != op.result.type or not is_only_for(product, op):
            continue
        if is_row(bias, columns) and element_of(bias) == element_of(op.result):
            return _linear(graph, op, list(matmul.inputs), [bias])
    return None


def _transposed(graph: Graph, op: MathOp) -> SSAValue | None:
    if op.ENTRY.name != "matmul":
        return None
    permute = find_maker(op.inputs[1], "permute")
    if permute is None or not is_swap_of_last(permute):
        return None
    return _linear(graph, op, list(op.inputs), [])


def _linear(graph: Graph, op: MathOp, operands: list[SSAValue], bias: list[SSAValue]) -> SSAValue:
    a, b = operands
    permute = find_maker(b, "permute")
    is_transposed = permute is not None and is_swap_of_last(permute)
    if permute is not None and is_transposed:
        b = permute.inputs[0]
    type = tensor_like(op.result, shape_of(op.result))
    return graph.add("linear", [a, b, *bias], type, transpose_b=is_transposed)

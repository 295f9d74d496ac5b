"""ttir-fuse-normalization: rows divided by their spread become ttnn.rms_norm or ttnn.layer_norm.

bfloat16 models compute the spread in float32 and round before they multiply with the weight; ttnn's
operation rounds once, at the end.
"""

from __future__ import annotations

from math import isclose

from xdsl.dialects.builtin import AnyFloat, ModuleOp
from xdsl.ir import SSAValue

from ttgraph.dialects.graph import MathOp, element_of, shape_of

from .graph_maker import Graph, tensor_like
from .graph_match import (
    both_orders,
    find_maker,
    find_users,
    is_only_for,
    is_row,
    last_dim,
    number_of,
    replace_each,
    split_factors,
)


def apply(op: ModuleOp) -> None:
    replace_each(op, _fuse)


def _fuse(graph: Graph, op: MathOp) -> SSAValue | None:
    """Fuse the largest pattern that ends at this operation."""
    if op.ENTRY.name == "add":
        return _layer_norm(graph, op)
    if op.ENTRY.name != "multiply" or not isinstance(element_of(op.result), AnyFloat):
        return None
    return _rms_norm(graph, op)


def _rms_norm(graph: Graph, op: MathOp) -> SSAValue | None:
    columns = shape_of(op.result)[-1:]
    for weight, value in both_orders(op):
        inner = _find_unrounded(value, op)
        found = None if inner is None else _match_scaling(inner)
        if found is None or not columns or not is_row(weight, columns[0]):
            continue
        rows, epsilon, _ = found
        if _is_layer(rows) or element_of(weight) != element_of(op.result):
            return None
        rows = _drop_widening(rows, op)
        return _norm(graph, "rms_norm", [rows, weight], op, epsilon)
    found = _match_scaling(op)
    if found is None or any(is_scaled_by_row(user, op) for user in find_users(op.result)):
        return None
    rows, epsilon, _ = found
    return None if _is_layer(rows) else _norm(graph, "rms_norm", [rows], op, epsilon)


def is_scaled_by_row(user: object, op: MathOp) -> bool:
    """Is the result still multiplied by a weight, or is it rounded for that?"""
    if isinstance(user, MathOp) and user.ENTRY.name == "typecast":
        return any(is_scaled_by_row(each, user) for each in find_users(user.result))
    columns = shape_of(op.result)[-1:]
    return (
        isinstance(user, MathOp)
        and user.ENTRY.name == "multiply"
        and any(is_row(each, columns[0]) for each in user.inputs if each is not op.result)
    )


def _layer_norm(graph: Graph, op: MathOp) -> SSAValue | None:
    columns = shape_of(op.result)[-1:]
    for bias, value in both_orders(op):
        product = find_maker(value, "multiply")
        if product is None or not columns or not is_row(bias, columns[0]):
            continue
        for weight, scaled in both_orders(product):
            inner = _find_unrounded(scaled, product)
            found = None if inner is None else _match_scaling(inner)
            if found is None or not is_row(weight, columns[0]) or not is_only_for(value, op):
                continue
            centred = find_maker(found[0], "subtract")
            if centred is None or not _is_layer(found[0]):
                continue
            rows = _drop_widening(centred.inputs[0], op)
            if len({element_of(each) for each in (rows, weight, bias, op.result)}) == 1:
                return _norm(graph, "layer_norm", [rows, weight, bias], op, found[1])
    return None


def _norm(
    graph: Graph, name: str, inputs: list[SSAValue], op: MathOp, epsilon: float
) -> SSAValue | None:
    if element_of(inputs[0]) != element_of(op.result):
        return None
    type = tensor_like(op.result, shape_of(op.result))
    return graph.add(name, inputs, type, epsilon=epsilon)


def _find_unrounded(value: SSAValue, user: MathOp) -> MathOp | None:
    """Return the product that a value is, before rounding to the weight's type."""
    cast = find_maker(value, "typecast")
    if cast is not None and is_only_for(value, user):
        user, value = cast, cast.inputs[0]
    product = find_maker(value, "multiply")
    return product if product is not None and is_only_for(value, user) else None


def _drop_widening(rows: SSAValue, op: MathOp) -> SSAValue:
    """Return the rows in the result's type if they were only widened for the computation."""
    cast = find_maker(rows, "typecast")
    same = cast is not None and element_of(cast.inputs[0]) == element_of(op.result)
    return cast.inputs[0] if cast is not None and same else rows


def _match_scaling(op: MathOp) -> tuple[SSAValue, float, MathOp] | None:
    """Match rows * rsqrt(mean(rows * rows) + epsilon); return the rows, epsilon and rsqrt."""
    for rows, scale in both_orders(op):
        root = find_maker(scale, "rsqrt")
        if root is None or not is_only_for(scale, op):
            continue
        total = find_maker(root.inputs[0], "add")
        if total is None:
            continue
        for mean, small in both_orders(total):
            epsilon = number_of(small)
            if epsilon is not None and _is_mean_of_squares(mean, rows):
                return rows, epsilon, root
    return None


def _is_mean_of_squares(value: SSAValue, rows: SSAValue) -> bool:
    square = _mean(value, shape_of(rows))
    if square is None:
        return False
    product = find_maker(square, "multiply")
    if product is not None:
        return all(each is rows for each in product.inputs)
    power = find_maker(square, "pow")
    return power is not None and power.inputs[0] is rows and number_of(power.inputs[1]) == 2


def _mean(value: SSAValue, shape: tuple[int, ...]) -> SSAValue | None:
    """Return the operand of a mean along the last dimension, which is kept with size 1."""
    found, number = split_factors(value)
    if len(found) != 1 or not shape or not isclose(number, 1 / shape[-1], rel_tol=1e-2):
        return None
    total = find_maker(found[0], "sum")
    if total is None or shape_of(total.inputs[0]) != shape:
        return None
    values = total.values()
    last = last_dim(total.inputs[0])
    return total.inputs[0] if values["dim_arg"] == [last] and values["keep_dim"] else None


def _is_layer(rows: SSAValue) -> bool:
    """Are they rows minus their mean?"""
    centred = find_maker(rows, "subtract")
    if centred is None:
        return False
    value, mean = centred.inputs
    return _mean(mean, shape_of(value)) is value

"""ttir-fuse-activations: x * sigmoid(x) becomes ttnn.silu, x * (1 + erf(x / sqrt 2)) / 2 ttnn.gelu.

The gelu made of tanh is a different function, up to 5e-4 away: ttnn.gelu with that variant, called
gelu_tanh here.
"""

from __future__ import annotations

from math import pi, sqrt

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from ttgraph.dialects.graph import MathOp

from .graph_maker import Graph
from .graph_match import (
    both_orders,
    find_maker,
    find_users,
    is_near,
    number_of,
    replace_each,
    split_factors,
)


def apply(op: ModuleOp) -> None:
    replace_each(op, _fuse)


def _fuse(graph: Graph, op: MathOp) -> SSAValue | None:
    if op.ENTRY.name != "multiply" or _is_part(op):
        return None
    found, number = split_factors(op.result)
    if len(found) != 2:
        return None
    for x, other in (found, reversed(found)):
        if x.type != op.result.type:
            continue
        gate = find_maker(other, "sigmoid")
        if gate is not None and gate.inputs[0] is x and number == 1:
            return graph.unary("silu", x)
        if is_near(number, 0.5) and _is_gate_of_gelu(x, other):
            return graph.unary("gelu", x)
        if is_near(number, 0.5) and _is_gate_of_gelu_tanh(x, other):
            return graph.unary("gelu_tanh", x)
    return None


def _is_part(op: MathOp) -> bool:
    """Is it a factor of a product by a number, which may match as a whole?"""
    return any(
        isinstance(user, MathOp)
        and user.ENTRY.name in ("multiply", "divide")
        and any(number_of(each) is not None for each in user.inputs)
        for user in find_users(op.result)
    )


def _is_gate_of_gelu(x: SSAValue, value: SSAValue) -> bool:
    """Match 1 + erf(x / sqrt 2), or erfc(-x / sqrt 2)."""
    rest = find_maker(value, "erfc")
    if rest is not None:
        return _is_scaled(rest.inputs[0], x, -1 / sqrt(2))
    error = _find_plus_one(value, "erf")
    return error is not None and _is_scaled(error.inputs[0], x, 1 / sqrt(2))


def _is_gate_of_gelu_tanh(x: SSAValue, value: SSAValue) -> bool:
    """Match 1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x * x * x)), also with x factored out."""
    curve = _find_plus_one(value, "tanh")
    if curve is None:
        return False
    found, number = split_factors(curve.inputs[0])
    is_whole = len(found) == 1
    if x in found:
        found.remove(x)
    if not is_near(number, sqrt(2 / pi)) or len(found) != 1:
        return False
    total = find_maker(found[0], "add")
    return total is not None and any(
        (first is x if is_whole else number_of(first) == 1) and _is_power(rest, x, 2 + is_whole)
        for first, rest in both_orders(total)
    )


def _is_power(value: SSAValue, x: SSAValue, count: int) -> bool:
    found, number = split_factors(value)
    return found == [x] * count and is_near(number, 0.044715)


def _find_plus_one(value: SSAValue, name: str) -> MathOp | None:
    """Return the operation of that name in a sum with 1."""
    total = find_maker(value, "add")
    pairs = both_orders(total) if total is not None else ()
    return next((find_maker(each, name) for each, one in pairs if number_of(one) == 1), None)


def _is_scaled(value: SSAValue, x: SSAValue, wanted: float) -> bool:
    found, number = split_factors(value)
    return found == [x] and is_near(number, wanted)

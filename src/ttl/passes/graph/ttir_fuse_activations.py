"""ttir-fuse-activations: x * sigmoid(x) becomes ttnn.silu, x * (1 + erf(x / sqrt 2)) / 2 ttnn.gelu.

The gelu that is made of tanh stays as it is: it is another function, up to 5e-4 away.
"""

from __future__ import annotations

from math import sqrt

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from ttl.dialects.graph import MathOp

from .graph_maker import Graph
from .graph_match import factors, is_near, made, number_of, replace_each, users


def apply(op: ModuleOp) -> None:
    replace_each(op, _fused)


def _fused(graph: Graph, op: MathOp) -> SSAValue | None:
    if op.ENTRY.name != "multiply" or _is_part(op):
        return None
    found, number = factors(op.result)
    if len(found) != 2:
        return None
    for x, other in (found, reversed(found)):
        if x.type != op.result.type:
            continue
        gate = made(other, "sigmoid")
        if gate is not None and gate.inputs[0] is x and number == 1:
            return graph.unary("silu", x)
        if is_near(number, 0.5) and _is_gate_of_gelu(x, other):
            return graph.unary("gelu", x)
    return None


def _is_part(op: MathOp) -> bool:
    """Is it a factor of a product by a number, in which it may be found as a whole?"""
    return any(
        isinstance(user, MathOp)
        and user.ENTRY.name in ("multiply", "divide")
        and any(number_of(each) is not None for each in user.inputs)
        for user in users(op.result)
    )


def _is_gate_of_gelu(x: SSAValue, value: SSAValue) -> bool:
    """1 + erf(x / sqrt 2), or erfc(-x / sqrt 2)"""
    rest = made(value, "erfc")
    if rest is not None:
        return _is_scaled(rest.inputs[0], x, -1 / sqrt(2))
    total = made(value, "add")
    if total is None:
        return False
    for first, second in ((0, 1), (1, 0)):
        error = made(total.inputs[first], "erf")
        if error is not None and number_of(total.inputs[second]) == 1:
            return _is_scaled(error.inputs[0], x, 1 / sqrt(2))
    return False


def _is_scaled(value: SSAValue, x: SSAValue, wanted: float) -> bool:
    found, number = factors(value)
    return found == [x] and is_near(number, wanted)

"""Part of ttir-to-ttir-decomposition: element by element, and reductions."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, log, prod

from xdsl.dialects.builtin import TensorType, i1, i32
from xdsl.ir import SSAValue

from ttl.dialects.graph import element_of, shape_of
from ttl.semantics.graph_ops import GRAPH_OPS

from .decompose_call import Call
from .graph_maker import Graph, tensor_like

Rule = Callable[[Graph, Call], SSAValue]

_BY_TTIR = {row.ttir: row.name for row in GRAPH_OPS.values()}
TRUTHS = (
    "eq", "ne", "gt", "ge", "lt", "le", "logical_and", "logical_or", "logical_xor", "logical_not",
)  # fmt: skip
_NAMES = {
    "logical_left_shift": "bitwise_left_shift", "right_shift": "bitwise_right_shift",
    "bitcast_convert": "bitcast",
}  # fmt: skip


def same(graph: Graph, call: Call) -> SSAValue:
    """What the table has under the same name."""
    name = call.name
    row = _NAMES.get(name) or _BY_TTIR[name]
    if name in TRUTHS:
        return graph.add(row, call.all, TensorType(i1, call.shape))
    return graph.add(row, call.all, call.result)


def _truncated(graph: Graph, x: SSAValue) -> SSAValue:
    whole = graph.unary("floor", graph.unary("abs", x))
    return graph.binary("multiply", graph.unary("sign", x), whole)


def _clamped(graph: Graph, x: SSAValue, low: float, high: float) -> SSAValue:
    return graph.binary("minimum", graph.binary("maximum", x, low), high)


def _mish(graph: Graph, x: SSAValue) -> SSAValue:
    """log(1 + exp(x)) as what does not overflow."""
    small = graph.unary("exp", graph.unary("neg", graph.unary("abs", x)))
    softplus = graph.binary("add", graph.binary("maximum", x, 0.0), graph.unary("log1p", small))
    return graph.binary("multiply", x, graph.unary("tanh", softplus))


def _cube_root(graph: Graph, x: SSAValue) -> SSAValue:
    root = graph.binary("pow", graph.unary("abs", x), 1 / 3)
    return graph.binary("multiply", graph.unary("sign", x), root)


def _leaky(graph: Graph, x: SSAValue, slope: float) -> SSAValue:
    below = graph.binary("multiply", graph.binary("minimum", x, 0.0), slope)
    return graph.binary("add", graph.binary("maximum", x, 0.0), below)


def _selu(graph: Graph, call: Call) -> SSAValue:
    x, alpha, scale = call.first, call.values["alpha"], call.values["scale"]
    below = graph.unary("expm1", graph.binary("minimum", x, 0.0))
    below = graph.binary("multiply", below, alpha)
    both = graph.binary("add", graph.binary("maximum", x, 0.0), below)
    return graph.binary("multiply", both, scale)


def is_tanh(call: Call) -> bool:
    """Of the two ways to calculate gelu."""
    given: str | None = call.values["approximate"]
    if given not in (None, "none", "tanh"):
        raise ValueError(f"`approximate = {given}`")
    return given == "tanh"


def _unary(rule: Callable[[Graph, SSAValue], SSAValue]) -> Rule:
    return lambda graph, call: rule(graph, call.first)


def _clamp_tensor(graph: Graph, call: Call) -> SSAValue:
    raised = graph.binary("maximum", call.first, call.given(1))
    return graph.binary("minimum", raised, call.given(2))


RULES: dict[str, Rule] = {
    "cbrt": _unary(_cube_root),
    "exp2": _unary(lambda graph, x: graph.unary("exp", graph.binary("multiply", x, log(2)))),
    "trunc": _unary(_truncated),
    "frac": _unary(lambda graph, x: graph.binary("subtract", x, _truncated(graph, x))),
    "hardsigmoid": _unary(
        lambda graph, x: _clamped(
            graph, graph.binary("add", graph.binary("multiply", x, 1 / 6), 0.5), 0.0, 1.0
        )
    ),
    "isfinite": _unary(lambda graph, x: graph.compare("lt", graph.unary("abs", x), inf)),
    "mish": _unary(_mish),
    "reciprocal": _unary(
        lambda graph, x: graph.binary("divide", graph.full(1.0, tensor_like(x, shape_of(x))), x)
    ),
    "relu": _unary(lambda graph, x: graph.binary("maximum", x, 0.0)),
    "relu6": _unary(lambda graph, x: _clamped(graph, x, 0.0, 6.0)),
    "signbit": _unary(lambda graph, x: graph.compare("lt", x, 0.0)),
    "square": _unary(lambda graph, x: graph.binary("multiply", x, x)),
    "softsign": _unary(
        lambda graph, x: graph.binary(
            "divide", x, graph.binary("add", graph.unary("abs", x), 1.0)
        )
    ),
    "gelu": lambda graph, call: graph.unary("gelu_tanh" if is_tanh(call) else "gelu", call.first),
    "selu": _selu,
    "leaky_relu": lambda graph, call: _leaky(graph, call.first, call.values["parameter"]),
    "typecast": lambda graph, call: graph.cast(call.first, call.result.element_type),
    "clamp_scalar": lambda graph, call: _clamped(
        graph, call.first, call.values["min"], call.values["max"]
    ),
    "clamp_tensor": _clamp_tensor,
}

# Reductions ---------------------------------------------------------------------------------------


def reduce(graph: Graph, call: Call) -> SSAValue:
    name, x = call.name, call.first
    dims, keep = call.dims("dim_arg"), call.values["keep_dim"]
    if name == "mean":
        mean = graph.mean(x, dims)
        kept = [size for dim, size in enumerate(shape_of(mean)) if keep or dim not in dims]
        return graph.reshape(mean, tuple(kept))
    if name in ("reduce_and", "reduce_or"):
        truth = graph.cast(graph.compare("ne", x, 0.0), element_of(x))
        return graph.reduce("min" if name == "reduce_and" else "max", truth, dims, keep)
    return graph.reduce(name, x, dims, keep)


def argmax(graph: Graph, call: Call) -> SSAValue:
    """The least number of a place that holds the largest element."""
    x, dims, keep = call.first, call.dims("dim_arg"), call.values["keep_dim"]
    if len(dims) == 1:
        (dim,) = dims
    elif len(dims) == call.rank:
        x, dim = graph.reshape(x, (prod(shape_of(x)),)), 0
    else:
        raise ValueError("it goes along one dimension or along all")
    size = shape_of(x)[dim]
    is_best = graph.compare("eq", x, graph.reduce("max", x, [dim], True))
    places = [1] * len(shape_of(x))
    places[dim] = size
    numbers = graph.reshape(graph.counted(size), tuple(places))
    beyond = graph.full(size, TensorType(i32, shape_of(x)))
    numbers = graph.expand(numbers, shape_of(x))
    found = graph.where(is_best, numbers, beyond)
    return graph.reshape(graph.reduce("min", found, [dim], keep), call.shape)


RULES |= dict.fromkeys(("sum", "mean", "max", "min", "prod", "reduce_and", "reduce_or"), reduce)
RULES["argmax"] = argmax

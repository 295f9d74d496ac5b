"""Part of ttir-to-ttir-decomposition: elementwise operations and reductions."""

from __future__ import annotations

from collections.abc import Callable
from math import log, prod

from xdsl.dialects.builtin import TensorType, i1, i32
from xdsl.ir import SSAValue

from ttgraph.dialects.graph import element_of, shape_of
from ttgraph.graph_ops import GRAPH_OPS

from .decompose_call import FormCall
from .graph_maker import Graph, GraphTerm
from .shlo_functions import cube_root, is_finite

Rule = Callable[[Graph, FormCall], SSAValue]

_BY_TTIR = {row.ttir: row.name for row in GRAPH_OPS.values()}
TRUTHS = (
    "eq",
    "ne",
    "gt",
    "ge",
    "lt",
    "le",
    "logical_and",
    "logical_or",
    "logical_xor",
    "logical_not",
)
_NAMES = {
    "logical_left_shift": "bitwise_left_shift",
    "right_shift": "bitwise_right_shift",
    "bitcast_convert": "bitcast",
}


def same(graph: Graph, call: FormCall) -> SSAValue:
    """Keep an operation that the table has under the same name."""
    name = call.name
    row = _NAMES.get(name) or _BY_TTIR[name]
    if name in TRUTHS:
        return graph.add(row, call.all, TensorType(i1, call.shape))
    return graph.add(row, call.all, call.result)


def _truncate(x: GraphTerm) -> GraphTerm:
    return x.sign() * x.abs().floor()


def _mish(x: GraphTerm) -> GraphTerm:
    """Compute x * tanh(log(1 + exp(x))) without overflow."""
    small = x.abs().neg().exp()
    return x * (x.with_("maximum", 0.0) + small.log1p()).tanh()


def _leaky(x: GraphTerm, slope: float) -> GraphTerm:
    return x.with_("maximum", 0.0) + x.with_("minimum", 0.0) * slope


def _selu(x: GraphTerm, alpha: float, scale: float) -> GraphTerm:
    below = x.with_("minimum", 0.0).expm1() * alpha
    return (x.with_("maximum", 0.0) + below) * scale


def is_tanh(call: FormCall) -> bool:
    """Is gelu's approximation by tanh wanted?"""
    given: str | None = call.values["approximate"]
    if given not in (None, "none", "tanh"):
        raise ValueError(f"`approximate = {given}`")
    return given == "tanh"


def _formula(rule: Callable[..., GraphTerm], *names: str) -> Rule:
    """Make a rule from a formula of the first operand and of attributes."""
    return lambda graph, call: (
        rule(GraphTerm(graph, call.first), *(call.values[name] for name in names)).value
    )


def _clamp_tensor(graph: Graph, call: FormCall) -> SSAValue:
    raised = graph.binary("maximum", call.first, call.given(1))
    return graph.binary("minimum", raised, call.given(2))


def _reciprocal(graph: Graph, call: FormCall) -> SSAValue:
    return graph.binary("divide", graph.full(1.0, call.result), call.first)


RULES: dict[str, Rule] = {
    "cbrt": _formula(cube_root),
    "exp2": _formula(lambda x: (x * log(2)).exp()),
    "trunc": _formula(_truncate),
    "frac": _formula(lambda x: x - _truncate(x)),
    "hardsigmoid": _formula(lambda x: (x * (1 / 6) + 0.5).clamp(0.0, 1.0)),
    "isfinite": _formula(is_finite),
    "mish": _formula(_mish),
    "reciprocal": _reciprocal,
    "relu": _formula(lambda x: x.with_("maximum", 0.0)),
    "relu6": _formula(lambda x: x.clamp(0.0, 6.0)),
    "signbit": _formula(lambda x: x < 0.0),
    "square": _formula(lambda x: x * x),
    "softsign": _formula(lambda x: x / (x.abs() + 1.0)),
    "gelu": lambda graph, call: graph.unary("gelu_tanh" if is_tanh(call) else "gelu", call.first),
    "selu": _formula(_selu, "alpha", "scale"),
    "leaky_relu": _formula(_leaky, "parameter"),
    "typecast": lambda graph, call: graph.cast(call.first, call.result.element_type),
    "clamp_scalar": _formula(GraphTerm.clamp, "min", "max"),
    "clamp_tensor": _clamp_tensor,
}

# Reductions ---------------------------------------------------------------------------------------


def reduce(graph: Graph, call: FormCall) -> SSAValue:
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


def argmax(graph: Graph, call: FormCall) -> SSAValue:
    """Return the first position of the largest element."""
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
    numbers = graph.reshape(graph.iota(size), tuple(places))
    beyond = graph.full(size, TensorType(i32, shape_of(x)))
    numbers = graph.expand(numbers, shape_of(x))
    found = graph.where(is_best, numbers, beyond)
    return graph.reshape(graph.reduce("min", found, [dim], keep), call.shape)


RULES |= dict.fromkeys(("sum", "mean", "max", "min", "prod", "reduce_and", "reduce_or"), reduce)
RULES["argmax"] = argmax

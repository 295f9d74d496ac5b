"""Part of ttir-to-ttir-decomposition: training operations and random numbers."""

from __future__ import annotations

from math import pi, prod, sqrt

from xdsl.dialects.builtin import TensorType, f32, i32
from xdsl.ir import SSAValue

from ttgraph.dialects.graph import element_of, shape_of
from ttgraph.graph_shapes import REDUCES
from ttl.semantics.random_bits import STATE_WORDS

from .decompose_call import FormCall
from .decompose_elementwise import Rule, is_tanh
from .decompose_products import normalize_by, reshape_by_channel
from .graph_maker import Graph, GraphTerm, tensor_like


def _gelu_gradient(graph: Graph, call: FormCall) -> SSAValue:
    x = GraphTerm(graph, call.given(1))
    slope = _slope_of_tanh(x) if is_tanh(call) else _slope(x)
    return graph.binary("multiply", call.first, slope.value)


def _slope(x: GraphTerm) -> GraphTerm:
    """Return the derivative of gelu: the normal distribution plus x times its density."""
    below = ((x * sqrt(0.5)).erf() + 1.0) * 0.5
    density = (x * x * -0.5).exp() * (1 / sqrt(2 * pi))
    return below + x * density


def _slope_of_tanh(x: GraphTerm) -> GraphTerm:
    """Return the derivative of x / 2 * (1 + tanh(a * (x + b * x^3)))."""
    a, b = sqrt(2 / pi), 0.044715
    square = x * x
    turned = (x * (square * (a * b) + a)).tanh()
    inner_slope = square * (3 * a * b) + a
    less = turned * turned - 1.0
    return (turned + 1.0 - x * less * inner_slope) * 0.5


def _embedding_gradient(graph: Graph, call: FormCall) -> SSAValue:
    """Add each row of the gradient to the table row that was taken."""
    table, gradient = call.given(1), call.given(2)
    count, width = prod(shape_of(call.first)), shape_of(table)[-1]
    index = graph.reshape(graph.cast(call.first, i32), (count, 1))
    zeros = graph.full(0.0, tensor_like(gradient, (shape_of(table)[-2], width)))
    inputs = [zeros, graph.expand(index, (count, width)), graph.reshape(gradient, (count, width))]
    found = graph.add("scatter", inputs, zeros.type, dim=0, reduce=REDUCES.index("add"))  # type: ignore[arg-type]
    return graph.reshape(found, call.shape)


def _batch_norm(graph: Graph, call: FormCall) -> list[SSAValue]:
    """Normalize by the batch's mean and variance, and update the running ones."""
    scale, offset, *running = reshape_by_channel(graph, call)
    dims = [dim for dim in range(call.rank) if dim != call.dim("dimension")]
    mean = graph.mean(call.first, dims)
    centred = graph.binary("subtract", call.first, mean)
    variance = graph.mean(graph.binary("multiply", centred, centred), dims)
    found = [normalize_by(graph, call, mean, variance, scale, offset)]
    momentum = call.values["momentum"]
    for old, new, given in zip(running, (mean, variance), call.all[3:], strict=True):
        moved = _mix(GraphTerm(graph, old), GraphTerm(graph, new), 1 - momentum)
        found.append(graph.reshape(moved.value, shape_of(given)))
    return found


def _mix(a: GraphTerm, b: GraphTerm, share: float) -> GraphTerm:
    return a * share + b * (1 - share)


def _adamw(graph: Graph, call: FormCall) -> list[SSAValue]:
    """Return the parameter, its two moments, and the largest second moment if it is given."""
    values = call.values
    if values["stochastic_rounding"]:
        raise ValueError("`stochastic_rounding`")
    parameter, given, *moments = (GraphTerm(graph, each) for each in call.all)
    gradient = GraphTerm(graph, graph.cast(given.value, element_of(moments[0].value)))
    first = _mix(moments[0], gradient, values["beta1"])
    second = _mix(moments[1], gradient * gradient, values["beta2"])
    largest = [each.with_("maximum", second) for each in moments[2:]]
    spread = [second, *largest][-1] * (1 / (1 - values["beta2_pow"]))
    step = first * (values["lr"] / (1 - values["beta1_pow"])) / (spread.sqrt() + values["epsilon"])
    kept = parameter * (1 - values["lr"] * values["weight_decay"])
    kept -= GraphTerm(graph, graph.cast(step.value, element_of(parameter.value)))
    return [each.value for each in (kept, first, second, *largest)]


# Random numbers -----------------------------------------------------------------------------------


def _uniform(graph: Graph, seed: int, shape: tuple[int, ...]) -> SSAValue:
    """Return numbers in [0, 1), as a function of the seed."""
    words = [graph.full(word, TensorType(i32, (1,))) for word in (seed & 0xFFFF, seed >> 16)]
    words += [graph.full(0, TensorType(i32, (STATE_WORDS - 2,)))]
    count = prod(shape)
    type = TensorType(i32, (count,))
    bits = graph.add("random_bits", [graph.concat(words, 0)], type, shape=[count])
    high = graph.add("logical_right_shift", [bits, graph.full(8, type)], type)
    numbers = graph.binary("multiply", graph.cast(high, f32), 2.0**-24)
    return graph.reshape(numbers, shape)


def _rand(graph: Graph, call: FormCall) -> SSAValue:
    low: float = call.values["low"]
    size: float = call.values["high"] - low
    numbers = GraphTerm(graph, _uniform(graph, call.values["seed"], call.shape))
    return (numbers * size + low).value


def _dropout(graph: Graph, call: FormCall) -> SSAValue:
    numbers = _uniform(graph, call.values["seed"], call.shape)
    stays = graph.compare("ge", numbers, call.values["prob"])
    scaled = graph.binary("multiply", call.first, call.values["scale"])
    return graph.where(stays, scaled, graph.number(0.0, scaled))


RULES: dict[str, Rule] = {
    "gelu_bw": _gelu_gradient,
    "embedding_backward": _embedding_gradient,
    "rand": _rand,
    "dropout": _dropout,
}
MORE_RESULTS = {"batch_norm_training": _batch_norm, "adamw": _adamw}

"""Part of shlo-to-ttir: functions of each element that ttnn has under no name."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, log, pi
from typing import Any, cast

from xdsl.ir import SSAValue

from ttl.dialects import stablehlo
from ttl.dialects.stablehlo import element_of, shape_of, tensor_type
from ttl.semantics.random_bits import STATE_WORDS

from .graph_maker import Graph, no_counterpart

Function = Callable[[Graph, SSAValue], SSAValue]


def _truncated(graph: Graph, x: SSAValue) -> SSAValue:
    is_negative = graph.compare("lt", x, 0)
    return graph.where(is_negative, graph.unary("ceil", x), graph.unary("floor", x))


def _round_nearest_afz(graph: Graph, x: SSAValue) -> SSAValue:
    """Halves go away from zero."""
    whole = _truncated(graph, x)
    rest = graph.unary("abs", graph.binary("subtract", x, whole))
    step = graph.where(graph.compare("ge", rest, 0.5), graph.unary("sign", x), graph.number(0, x))
    return graph.binary("add", whole, step)


def _cbrt(graph: Graph, x: SSAValue) -> SSAValue:
    root = graph.binary("pow", graph.unary("abs", x), 1 / 3)
    return graph.binary("multiply", graph.unary("sign", x), root)


def _popcnt(graph: Graph, x: SSAValue) -> SSAValue:
    """Bits are counted in pairs, then in fours, and so on."""

    def halves(value: SSAValue, mask: int, shift: int) -> SSAValue:
        low = graph.binary("bitwise_and", value, mask)
        high = graph.binary("logical_right_shift", value, shift)
        return graph.binary("add", low, graph.binary("bitwise_and", high, mask))

    for mask, shift in _MASKS:
        x = halves(x, mask, shift)
    return x


_MASKS = (
    (0x55555555, 1), (0x33333333, 2), (0x0F0F0F0F, 4), (0x00FF00FF, 8), (0x0000FFFF, 16),
)  # fmt: skip


def _count_leading_zeros(graph: Graph, x: SSAValue) -> SSAValue:
    """All bits below the first are set: what is left are the zeros."""
    for shift in (1, 2, 4, 8, 16):
        x = graph.binary("bitwise_or", x, graph.binary("logical_right_shift", x, shift))
    return graph.binary("subtract", graph.number(32, x), _popcnt(graph, x))


# Lanczos, g = 7, n = 9
_LANCZOS = (
    0.99999999999980993227684700473478, 676.520368121885098567009190444019,
    -1259.13921672240287047156078755283, 771.3234287776530788486528258894,
    -176.61502916214059906584551354, 12.507343278686904814458936853,
    -0.13857109526572011689554707, 9.984369578019570859563e-6, 1.50563273514931155834e-7,
)  # fmt: skip


def _lanczos(graph: Graph, x: SSAValue) -> tuple[SSAValue, SSAValue]:
    """The sum of the series at x - 1, and that of its derivative without the sign."""
    total, slope = graph.number(_LANCZOS[0], x), graph.number(0, x)
    for number, weight in enumerate(_LANCZOS[1:]):
        below = graph.binary("add", x, number)
        term = graph.binary("divide", graph.number(weight, x), below)
        total = graph.binary("add", term, total)
        slope = graph.binary("add", graph.binary("divide", term, below), slope)
    return total, slope


def _lgamma(graph: Graph, x: SSAValue) -> SSAValue:
    """Below 1/2 by the reflection at it."""
    is_low = graph.compare("lt", x, 0.5)
    high = graph.where(is_low, graph.binary("subtract", graph.number(1, x), x), x)
    total, _ = _lanczos(graph, high)
    shifted = graph.binary("add", high, 6.5)
    power = graph.binary("subtract", high, 0.5)
    scaled = graph.binary("multiply", power, graph.unary("log", shifted))
    rest = graph.binary("add", graph.unary("log", total), log(2 * pi) / 2)
    found = graph.binary("add", graph.binary("subtract", scaled, shifted), rest)
    sine = graph.unary("abs", graph.unary("sin", _turned(graph, x)))
    mirrored = graph.binary("subtract", graph.number(log(pi), x), graph.unary("log", sine))
    return graph.where(is_low, graph.binary("subtract", mirrored, found), found)


def _turned(graph: Graph, x: SSAValue) -> SSAValue:
    """pi times the distance from the nearest whole number: the sine has its precision near 0."""
    nearest = graph.unary("round", x)
    return graph.binary("multiply", graph.binary("subtract", x, nearest), pi)


def _digamma(graph: Graph, x: SSAValue) -> SSAValue:
    """The derivative of the function above."""
    is_low = graph.compare("lt", x, 0.5)
    high = graph.where(is_low, graph.binary("subtract", graph.number(1, x), x), x)
    total, slope = _lanczos(graph, high)
    shifted = graph.binary("add", high, 6.5)
    quotient = graph.binary("divide", slope, total)
    found = graph.binary("subtract", graph.unary("log", shifted), quotient)
    found = graph.binary("subtract", found, graph.binary("divide", graph.number(7, x), shifted))
    turned = graph.unary("tan", _turned(graph, x))
    mirrored = graph.binary("subtract", found, graph.binary("divide", graph.number(pi, x), turned))
    return graph.where(is_low, mirrored, found)


_FUNCTIONS: dict[str, Function] = {
    "chlo.square": lambda graph, x: graph.binary("multiply", x, x),
    "chlo.is_inf": lambda graph, x: graph.compare("eq", graph.unary("abs", x), inf),
    "chlo.is_pos_inf": lambda graph, x: graph.compare("eq", x, inf),
    "chlo.is_neg_inf": lambda graph, x: graph.compare("eq", x, -inf),
    "chlo.lgamma": _lgamma,
    "chlo.digamma": _digamma,
    "stablehlo.is_finite": lambda graph, x: graph.compare("lt", graph.unary("abs", x), inf),
    "stablehlo.cbrt": _cbrt,
    "stablehlo.round_nearest_afz": _round_nearest_afz,
    "stablehlo.popcnt": _popcnt,
    "stablehlo.count_leading_zeros": _count_leading_zeros,
}


def function(graph: Graph, op: Any) -> SSAValue:
    return _FUNCTIONS[op.name](graph, op.operand)


def random_bits(graph: Graph, op: stablehlo.RngBitGeneratorOp) -> list[SSAValue]:
    """A list of 32 bits, whose state comes as words: there are no 64 bits here."""
    state, bits = op.initial_state, op.output
    if op.rng_algorithm.data != "THREE_FRY" or len(shape_of(bits)) != 1 or op.output_state.uses:
        what = f"{op.name} by {op.rng_algorithm.data}, or with the state after it,"
        raise no_counterpart(op, what)
    if shape_of(state) != (2, 2):  # not what was words before it was joined
        raise no_counterpart(op)
    words = graph.reshape(state, (STATE_WORDS,))
    found = graph.add("random_bits", [words], tensor_type(bits), shape=list(shape_of(bits)))
    return [words, found]


def bitcast(graph: Graph, op: Any) -> SSAValue:
    users = {use.operation for use in op.result.uses}
    if op.joins_words and all(isinstance(each, stablehlo.RngBitGeneratorOp) for each in users):
        return cast(SSAValue, op.operand)
    if op.joins_words:
        raise no_counterpart(op)
    if element_of(op.operand) == element_of(op.result):
        return cast(SSAValue, op.operand)
    return graph.add("bitcast", [op.operand], op.result.type)

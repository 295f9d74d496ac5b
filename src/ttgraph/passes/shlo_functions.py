"""Part of shlo-to-ttir: elementwise functions that ttnn lacks."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, log, pi
from typing import Any, cast

from xdsl.ir import SSAValue

from ttgraph.dialects import stablehlo
from ttgraph.dialects.stablehlo import element_of, shape_of, tensor_type
from ttl.semantics.random_bits import STATE_WORDS

from .graph_maker import Graph, GraphTerm, no_counterpart

Function = Callable[[GraphTerm], GraphTerm]


def _truncate(x: GraphTerm) -> GraphTerm:
    return (x < 0).where(x.ceil(), x.floor())


def _round_nearest_afz(x: GraphTerm) -> GraphTerm:
    """Round halves away from zero."""
    whole = _truncate(x)
    is_far = (x - whole).abs() >= 0.5
    return whole + is_far.where(x.sign(), x.number(0))


def cube_root(x: GraphTerm) -> GraphTerm:
    return x.sign() * x.abs().with_("pow", 1 / 3)


def _popcnt(x: GraphTerm) -> GraphTerm:
    """Count set bits in pairs, then in fours, and so on."""
    for mask, shift in _MASKS:
        x = (x & mask) + (x >> shift & mask)
    return x


_MASKS = (
    (0x55555555, 1),
    (0x33333333, 2),
    (0x0F0F0F0F, 4),
    (0x00FF00FF, 8),
    (0x0000FFFF, 16),
)


def _count_leading_zeros(x: GraphTerm) -> GraphTerm:
    """Count leading zeros: set all bits below the first one, and count the others."""
    for shift in (1, 2, 4, 8, 16):
        x = x | x >> shift
    return 32 - _popcnt(x)


# Lanczos, g = 7, n = 9
_LANCZOS = (
    0.99999999999980993227684700473478,
    676.520368121885098567009190444019,
    -1259.13921672240287047156078755283,
    771.3234287776530788486528258894,
    -176.61502916214059906584551354,
    12.507343278686904814458936853,
    -0.13857109526572011689554707,
    9.984369578019570859563e-6,
    1.50563273514931155834e-7,
)


def _lanczos(x: GraphTerm) -> tuple[GraphTerm, GraphTerm]:
    """Return the series at x - 1, and its derivative without the sign."""
    total, slope = x.number(_LANCZOS[0]), x.number(0)
    for number, weight in enumerate(_LANCZOS[1:]):
        below = x + number
        term = weight / below
        total, slope = term + total, term / below + slope
    return total, slope


def _lgamma(x: GraphTerm) -> GraphTerm:
    """Compute lgamma, by reflection below 1/2."""
    is_low = x < 0.5
    high = is_low.where(1 - x, x)
    total, _ = _lanczos(high)
    shifted = high + 6.5
    found = (high - 0.5) * shifted.log() - shifted + (total.log() + log(2 * pi) / 2)
    mirrored = log(pi) - _pi_distance(x).sin().abs().log()
    return is_low.where(mirrored - found, found)


def _pi_distance(x: GraphTerm) -> GraphTerm:
    """Return pi times the distance from the nearest integer: the sine is precise near 0."""
    return (x - x.round()) * pi


def _digamma(x: GraphTerm) -> GraphTerm:
    """Compute the derivative of lgamma."""
    is_low = x < 0.5
    high = is_low.where(1 - x, x)
    total, slope = _lanczos(high)
    shifted = high + 6.5
    found = shifted.log() - slope / total - 7 / shifted
    return is_low.where(found - pi / _pi_distance(x).tan(), found)


def is_finite(x: GraphTerm) -> GraphTerm:
    return x.abs() < inf


_FUNCTIONS: dict[str, Function] = {
    "chlo.square": lambda x: x * x,
    "chlo.is_inf": lambda x: x.abs().equals(inf),
    "chlo.is_pos_inf": lambda x: x.equals(inf),
    "chlo.is_neg_inf": lambda x: x.equals(-inf),
    "chlo.lgamma": _lgamma,
    "chlo.digamma": _digamma,
    "stablehlo.is_finite": is_finite,
    "stablehlo.cbrt": cube_root,
    "stablehlo.round_nearest_afz": _round_nearest_afz,
    "stablehlo.popcnt": _popcnt,
    "stablehlo.count_leading_zeros": _count_leading_zeros,
}


def function(graph: Graph, op: Any) -> SSAValue:
    return _FUNCTIONS[op.name](GraphTerm(graph, op.operand)).value


def random_bits(graph: Graph, op: stablehlo.RngBitGeneratorOp) -> list[SSAValue]:
    """Convert to a list of 32-bit numbers, with the state as words: there are no 64 bits here."""
    state, bits = op.initial_state, op.output
    if op.rng_algorithm.data != "THREE_FRY" or len(shape_of(bits)) != 1 or op.output_state.uses:
        what = f"{op.name} by {op.rng_algorithm.data}, or with the state after it,"
        raise no_counterpart(op, what)
    if shape_of(state) != (2, 2):  # not made by joining words
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

"""Run-time integers with few possible values: loop counters, coordinates of nodes.

A statement that needs such a value as a constant gets a branch for each possible value, where it is
that constant. Facts that hold for all possible values are known.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import gcd
from typing import Any

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import DenseArrayBase, FloatAttr, IntegerAttr
from xdsl.ir import Attribute, Operation

from ttl.dialects import ttl
from ttl.dialects.conditions import decided, equal_to

from .builder import KernelBuilder
from .hir import INDEX, Op, PipeValue, RunTime, Scalar, Value
from .linear import Terms, difference, linear
from .nets import nodes_with_role
from .node_values import NodeObjects, RuntimeArgument, of_bits
from .problems import FlowBroken, flow_broken
from .python_operators import BINARY, COMPARISONS

MOST_VALUES = 64  # with a branch each

Interval = tuple[int, int]
Number = int | float | bool


def interval(builder: KernelBuilder, value: Scalar) -> Interval | None:
    """Return its least and greatest possible value, if known."""
    return _sum(builder, *linear(value))


def _sum(builder: KernelBuilder, terms: Terms, constant: int) -> Interval | None:
    low = high = constant
    for term, factor in terms.items():
        values = _values_of_term(builder, term.value)
        if not values:
            return None
        ends = sorted((values[0] * factor, values[-1] * factor))
        low, high = low + ends[0], high + ends[1]
    return low, high


def _values_of_term(builder: KernelBuilder, value: Scalar) -> Sequence[int]:
    """List its possible values in order; empty if unknown."""
    if value.bounds is not None:
        return _between(value.bounds)
    op = value.owner
    if not isinstance(op, Op):
        return ()
    if op.becomes is ttl.NodeIndexOp:
        return range(builder.grid[_integer(op.properties["dimension"])])
    if op.becomes is ttl.RuntimeArgOp and value.kind is int:
        words = builder.handles.words_of(value)[1]
        return sorted({word - (1 << 32) if word >= 1 << 31 else word for word in words})
    if op.becomes is ttl.PipeValueOp:
        return sorted(_numbers_of_pipes(builder, op))
    if op.becomes in (arith.RemSIOp, arith.DivSIOp, arith.FloorDivSIOp):
        return _between(_quotient(builder, op))
    arms = [interval(builder, arm) for arm in arms_of(value)]
    ends = [end for arm in arms if arm is not None for end in arm]
    return _between((min(ends), max(ends))) if ends and None not in arms else ()


def _between(found: Interval | None) -> range:
    return range(0) if found is None else range(found[0], found[1] + 1)


def _integer(attribute: Attribute) -> int:
    assert isinstance(attribute, IntegerAttr)
    return attribute.value.data


def _numbers_of_pipes(builder: KernelBuilder, op: Op) -> set[int]:
    values, pipe = op.properties["values"], op.operands[0]
    assert isinstance(values, DenseArrayBase) and isinstance(pipe, PipeValue)
    numbers = [int(number) for number in values.get_values()]
    is_local = isinstance(pipe.owner, Op) and pipe.made_by is ttl.LocalPipeOp
    place = find_constant(pipe.owner.operands[0]) if is_local else None  # type: ignore[union-attr]
    if not isinstance(place, int):
        return {*numbers}
    of_nodes: dict[
        tuple[int, ...], list[int]
    ] = {}  # the numbers of the pipes in which each node has the role
    routes = builder.nets.routes(pipe.pipe_type.net)
    for number, route in zip(numbers, routes, strict=True):
        for node in nodes_with_role(route, pipe.pipe_type.role.data):
            of_nodes.setdefault(node, []).append(number)
    return {found[place] for found in of_nodes.values() if len(found) > place}


def arms_of(value: Scalar) -> list[Scalar]:
    """List the values that a condition chooses from; empty for other values."""
    op, found = value.owner, []
    if isinstance(op, Op) and op.becomes is arith.SelectOp:
        found = list(op.operands[1:])
    elif isinstance(op, Op) and op.becomes is scf.IfOp:
        found = [body.end.operands[op.results.index(value)] for body in op.bodies]
    return [arm for arm in found if isinstance(arm, Scalar)]


def _quotient(builder: KernelBuilder, op: Op) -> Interval | None:
    divisor = find_constant(op.operands[1])
    if not isinstance(divisor, int) or divisor < 1:
        return None
    assert isinstance(op.operands[0], Scalar)
    found = interval(builder, op.operands[0])
    if op.becomes is arith.RemSIOp:  # operands are not negative
        return 0, min(divisor - 1, found[1] if found else divisor)
    return None if found is None else (found[0] // divisor, found[1] // divisor)


def of_this_path(builder: KernelBuilder, found: Value) -> Value:
    """Return the value; for objects with several forms, the one on the nodes that come here."""
    if not isinstance(found, NodeObjects) or not any(found.cases.words):
        return found
    case = builder.handles.argument(found.cases, INDEX)
    what = f"`{found.name}`, which differs between nodes, here"
    return found.of_case(as_constant(builder, case, what))


def _cases_of_number(builder: KernelBuilder, value: Scalar) -> tuple[Scalar, list[int]]:
    """Return the position of a float or bool that differs by node among its distinct words."""
    name, words = builder.handles.words_of(value)
    found = sorted(set(words))
    cases = RuntimeArgument(f"{name}_case", tuple(found.index(word) for word in words))
    return builder.handles.argument(cases, INDEX), found


def find_constant(value: RunTime) -> Number | None:
    op = value.owner
    if not isinstance(op, Op) or op.becomes is not arith.ConstantOp:
        return None
    constant = op.properties["value"]
    if isinstance(constant, FloatAttr):
        return float(constant.value.data)
    number = _integer(constant)
    return number if isinstance(value, Scalar) and value.kind is int else bool(number)


def is_reached(builder: KernelBuilder, index: Scalar, size: int) -> bool:
    """Does the counter of the surrounding loop, which comes here every time, exceed the size?"""
    counters = [term.value for term in linear(index)[0]]
    if len(counters) != 1 or counters[0].bounds is None:
        return False
    if counters[0].owner is not builder.region or builder.state.facts != builder.loops[-1].facts:
        return False
    found = interval(builder, index)
    return found is not None and (found[1] >= size or found[0] < -size)


# Comparisons --------------------------------------------------------------------------------------


def decide_comparison(builder: KernelBuilder, sign: str, left: Value, right: Value) -> bool | None:
    """Return the result of an integer comparison if it holds for all possible values."""
    terms, constant = difference(left, right)
    found = _sum(builder, terms, constant)
    if found is None:
        return None
    known = _verdict(sign, *found)
    if known is None:
        _note_cuts(builder, sign, terms, constant)
    return known


def _note_cuts(builder: KernelBuilder, sign: str, terms: Terms, constant: int) -> None:
    """Note the counts of loops at which the comparison of a sum with 0 changes."""
    for term, factor in terms.items():
        counter = term.value
        if counter.counter is None or counter.bounds is None:
            continue
        rest = _sum(builder, {t: f for t, f in terms.items() if t is not term}, constant)
        assert rest is not None
        known = {
            count: _verdict(sign, *(end + factor * count for end in rest))
            for near in (-end // factor for end in rest)
            for count in range(near - 2, near + 3)
        }
        first, last = counter.bounds
        inside = (count for count in known if first < count <= last)
        counter.counter.cuts |= {c for c in inside if c - 1 in known and known[c] != known[c - 1]}


def _verdict(sign: str, low: int, high: int) -> bool | None:
    """Compare with 0 any number between these; None if the result varies."""
    if sign in ("==", "!="):
        is_equal = True if low == high == 0 else False if low > 0 or high < 0 else None
        return is_equal if is_equal is None or sign == "==" else not is_equal
    holds = {COMPARISONS[sign].fold(end, 0) for end in (low, high)}
    return holds.pop() if len(holds) == 1 else None


def find_remainder(value: Scalar, divisor: int) -> int | None:
    """Return the remainder of a sum of counters if the divisor divides all their steps."""
    terms, rest = linear(value)
    for term, factor in terms.items():
        counter = term.value.counter
        if counter is None:
            return None
        if factor * counter.step % divisor:
            counter.periods.add(divisor // gcd(factor * counter.step, divisor))
            return None
        rest += factor * counter.start
    return rest % divisor


# Numbers that a path knows ------------------------------------------------------------------------


def find_number(builder: KernelBuilder, value: Value) -> Number | None:
    """Return the number that a scalar is on this path, if known."""
    if not isinstance(value, RunTime):
        return value  # type: ignore[return-value]
    if (constant := find_constant(value)) is not None:
        return constant
    if isinstance(value, Scalar):
        if value.kind is int:
            possible = _possible(builder, value)
            if len(possible) == 1:
                return possible[0]
        elif value.made_by is ttl.RuntimeArgOp:
            case, words = _cases_of_number(builder, value)
            number = find_number(builder, case)
            if number is None:
                return None
            word = words[int(number)]
            return bool(word) if value.kind is bool else of_bits(word)
    return _evaluated(builder, value.owner) if isinstance(value.owner, Op) else None


def _evaluated(builder: KernelBuilder, op: Op) -> Number | None:
    if op.becomes in EVALUATED or op.becomes in COMPARED:
        operands = [find_number(builder, operand) for operand in op.operands]
        if any(operand is None for operand in operands):
            return None
        if op.becomes is arith.DivfOp and not operands[1]:
            return None
        compared = COMPARED.get(op.becomes)
        fold = compared[_integer(op.properties["predicate"])] if compared else EVALUATED[op.becomes]
        return fold(*operands)
    if op.becomes is arith.SelectOp:
        taken = decided(builder.state.facts, op.operands[0])
        if taken is not None:
            return find_number(builder, op.operands[1 if taken else 2])
    return None


def _possible(builder: KernelBuilder, value: Scalar) -> list[int]:
    """List the values that the path allows; empty if there are too many."""
    numbers = sorted(_sums(builder, *linear(value)))
    known = {number: equal_to(builder.state.facts, value, number) for number in numbers}
    is_it = [number for number, answer in known.items() if answer]
    return is_it or [number for number, answer in known.items() if answer is None]


def _sums(builder: KernelBuilder, terms: Terms, constant: int) -> set[int]:
    """Add up the possible sums: 3 * i - 1 is only every third number between its ends."""
    found = {constant}
    for term, factor in terms.items():
        own = _values_of_term(builder, term.value)
        if not 0 < len(own) <= MOST_VALUES:
            return set()
        found = {so_far + factor * number for so_far in found for number in own}
        if len(found) > MOST_VALUES:
            return set()
    return found


EVALUATED: dict[type[Operation], Callable[..., Number]] = {
    **{row.of_integers: row.fold for row in BINARY.values() if row.of_integers},
    **{row.of_floats: row.fold for row in BINARY.values() if row.of_floats},
    arith.DivSIOp: operator.floordiv,  # operands are not negative
    arith.RemSIOp: operator.mod,
    arith.FloorDivSIOp: operator.floordiv,
    arith.MinSIOp: min,
    arith.MaxSIOp: max,
    arith.NegfOp: operator.neg,
    arith.IndexCastOp: int,
    arith.SIToFPOp: float,
}
COMPARED = {  # by predicate
    arith.CmpiOp: {
        arith.CMPI_COMPARISON_OPERATIONS.index(row.of_integers): row.fold
        for row in COMPARISONS.values()
        if row.of_integers
    },
    arith.CmpfOp: {
        arith.CMPF_COMPARISON_OPERATIONS.index(row.of_floats): row.fold
        for row in COMPARISONS.values()
        if row.of_floats
    },
}


# Branches for values ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Undecided:
    """A value that must be a constant, and its possible values."""

    value: Scalar
    values: list[int]


REPEATED = (
    *EVALUATED,
    *COMPARED,
    arith.ConstantOp,
    arith.SelectOp,
    ttl.NodeIndexOp,
    ttl.PipeValueOp,
    ttl.LocalPipeOp,
)


def recalculate(builder: KernelBuilder, value: RunTime) -> RunTime:
    """Recalculate a value, because its first calculation may be on a dropped path."""
    op = value.owner
    if not isinstance(op, Op) or op.becomes not in REPEATED:
        return value
    operands = [recalculate(builder, operand) for operand in op.operands]
    return builder.value(op.becomes, operands, value.type, op.properties)


def needs_constant(
    builder: KernelBuilder, value: Value, what: str, help_text: str = ""
) -> FlowBroken:
    """Explain why a statement cannot be evaluated, and which branches would help."""
    items = value if isinstance(value, tuple) else (value,)
    found = (_undecided(builder, item) for item in items if isinstance(item, RunTime))
    undecided = next((each for each in found if each is not None), None)
    return flow_broken(what, help_text, undecided=undecided)


def as_constant(builder: KernelBuilder, value: Value, what: str, help_text: str = "") -> Any:
    """Replace run-time values by the numbers that the path knows."""
    if isinstance(value, (tuple, list)):
        items = [as_constant(builder, item, what, help_text) for item in value]
        return items if isinstance(value, list) else tuple(items)
    number = find_number(builder, value)
    if number is None and value is not None:
        raise needs_constant(builder, value, what, help_text)
    return number


def _undecided(builder: KernelBuilder, value: RunTime) -> Undecided | None:
    if find_number(builder, value) is not None:
        return None
    if isinstance(value, Scalar) and value.kind is int:
        if values := _possible(builder, value):
            return Undecided(value, values)
    elif isinstance(value, Scalar) and value.made_by is ttl.RuntimeArgOp:
        return _undecided(builder, _cases_of_number(builder, value)[0])
    op = value.owner
    if isinstance(op, Op) and op.becomes in (*EVALUATED, *COMPARED, arith.SelectOp):
        for operand in op.operands:
            if (found := _undecided(builder, operand)) is not None:
                return found
    return None

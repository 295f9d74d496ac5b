"""Run-time integers of which few values are possible: loop counters, coordinates of nodes.

Where a constant is needed and such a value is given, the statement gets a branch for each value it
may have; in the branch it is that constant. What all possible values agree on is known.
"""

from __future__ import annotations

import ast
import operator
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import FloatAttr, IndexType, IntegerAttr, i1
from xdsl.ir import Attribute, Operation, SSAValue

from ttl.dialects import ttl
from ttl.dialects.conditions import decided, equal_to

from .builder import FlowBroken, KernelBuilder, Value, flow_broken
from .environment import NodeObjects, RuntimeArgument
from .linear import Terms, difference, linear

MOST_VALUES = 64  # that get a branch each

Interval = tuple[int, int]


def interval(builder: KernelBuilder, value: SSAValue) -> Interval | None:
    """The least and the greatest value that it may have, if that is known."""
    return _sum(builder, *linear(value))


def _sum(builder: KernelBuilder, terms: Terms, constant: int) -> Interval | None:
    low = high = constant
    for term, factor in terms.items():
        found = _interval_of_term(builder, term.value)
        if found is None:
            return None
        ends = sorted(end * factor for end in found)
        low, high = low + ends[0], high + ends[1]
    return low, high


def _interval_of_term(builder: KernelBuilder, value: SSAValue) -> Interval | None:
    if value in builder.ranges:
        return builder.ranges[value]
    op = value.owner
    if isinstance(op, ttl.NodeIndexOp):
        return 0, builder.grid[op.dimension.value.data] - 1
    if numbers := _numbers(builder, value):
        return min(numbers), max(numbers)
    if isinstance(op, (arith.RemSIOp, arith.DivSIOp, arith.FloorDivSIOp)):
        return _quotient(builder, op)
    arms = [interval(builder, arm) for arm in arms_of(value)]
    ends = [end for arm in arms if arm is not None for end in arm]
    return (min(ends), max(ends)) if ends and None not in arms else None


def _numbers(builder: KernelBuilder, value: SSAValue) -> set[int]:
    """All that a value may be which is looked up; empty if it is another one."""
    op = value.owner
    if isinstance(op, ttl.RuntimeArgOp) and isinstance(value.type, IndexType):
        return {*_numbers_of_nodes(builder, value)}
    return _numbers_of_pipes(builder, op) if isinstance(op, ttl.PipeValueOp) else set()


def _numbers_of_pipes(builder: KernelBuilder, op: ttl.PipeValueOp) -> set[int]:
    numbers = [int(number) for number in op.values.get_values()]
    pipe, type = op.pipe.owner, op.pipe.type
    place = known_constant(pipe.place) if isinstance(pipe, ttl.LocalPipeOp) else None
    if not isinstance(place, int) or not isinstance(type, ttl.PipeType):
        return {*numbers}
    routes = builder.nets.by_name[type.net.root_reference.data].routes(builder.grid)
    of_nodes: dict[Any, list[int]] = {}  # the numbers of the pipes in which each has the role
    for number, route in zip(numbers, routes, strict=True):
        for node in (route.source,) if type.role.data == "src" else route.receivers:
            of_nodes.setdefault(node, []).append(number)
    return {found[place] for found in of_nodes.values() if len(found) > place}


def arms_of(value: SSAValue) -> list[SSAValue]:
    """What a value is that a condition has chosen; nothing if it is another one."""
    op = value.owner
    if isinstance(op, arith.SelectOp):
        return [op.lhs, op.rhs]
    if isinstance(op, scf.IfOp):
        ends = [region.block.last_op for region in op.regions]
        return [end.operands[op.results.index(value)] for end in ends if end is not None]
    return []


def _quotient(
    builder: KernelBuilder, op: arith.RemSIOp | arith.DivSIOp | arith.FloorDivSIOp
) -> Interval | None:
    divisor = known_constant(op.rhs)
    if not isinstance(divisor, int) or divisor < 1:
        return None
    found = interval(builder, op.lhs)
    if isinstance(op, arith.RemSIOp):  # of numbers that are not negative
        return 0, min(divisor - 1, found[1] if found else divisor)
    return None if found is None else (found[0] // divisor, found[1] // divisor)


def node_object(builder: KernelBuilder, found: NodeObjects) -> Value:
    """What an object that differs between nodes is on this path."""
    case = builder.runtime_argument(found.cases, IndexType())
    number = known_number(builder, case)
    if number is None:
        raise needs_constant(builder, case, f"`{found.name}`, which differs between nodes, here")
    return found.distinct[int(number)]


def _cases_of_number(builder: KernelBuilder, value: SSAValue) -> tuple[SSAValue, list[int]]:
    """Which of its distinct words a float or bool that differs between nodes is."""
    argument = next(a for a, result in builder.arguments.items() if result is value)
    found = sorted(set(argument.words))
    words = tuple(found.index(word) for word in argument.words)
    cases = RuntimeArgument(f"{argument.name}_case", words)
    return builder.runtime_argument(cases, IndexType()), found


def _numbers_of_nodes(builder: KernelBuilder, value: SSAValue) -> list[int]:
    """What an argument that differs between nodes is, in the order of nodes."""
    words = next(a.words for a, result in builder.arguments.items() if result is value)
    return [word - (1 << 32) if word >= 1 << 31 else word for word in words]


def known_constant(value: SSAValue) -> int | float | bool | None:
    op = value.owner
    if not isinstance(op, arith.ConstantOp):
        return None
    if isinstance(op.value, FloatAttr):
        return float(op.value.value.data)
    assert isinstance(op.value, IntegerAttr)
    number = op.value.value.data
    return number if isinstance(value.type, IndexType) else bool(number)


def is_reached(builder: KernelBuilder, index: SSAValue, size: int) -> bool:
    """Does the counter of the loop around, which gets here in each iteration, lead behind?"""
    counters = [term.value for term in linear(index)[0]]
    if len(counters) != 1 or counters[0] not in builder.ranges:
        return False
    if counters[0].owner is not builder.block or builder.facts != builder.loops[-1].facts:
        return False
    found = interval(builder, index)
    return found is not None and (found[1] >= size or found[0] < -size)


# Comparisons --------------------------------------------------------------------------------------


def known_comparison(
    builder: KernelBuilder, sign: ast.cmpop, left: Value, right: Value
) -> bool | None:
    """What a comparison of integers gives for all values that they may have."""
    found = _sum(builder, *difference(left, right))
    if found is None:
        return None
    low, high = found
    if isinstance(sign, (ast.Eq, ast.NotEq)):
        is_equal = True if low == high == 0 else False if low > 0 or high < 0 else None
        return is_equal if is_equal is None or isinstance(sign, ast.Eq) else not is_equal
    holds = {ORDERS[type(sign)](end, 0) for end in (low, high)}
    return holds.pop() if len(holds) == 1 else None


ORDERS: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


# Numbers that a path knows ------------------------------------------------------------------------


def known_number(builder: KernelBuilder, value: Value) -> int | float | bool | None:
    """The number that a scalar is on this path."""
    if not isinstance(value, SSAValue):
        return value  # type: ignore[no-any-return]
    if (constant := known_constant(value)) is not None:
        return constant
    if isinstance(value.type, IndexType):
        possible = _possible(builder, value)
        if len(possible) == 1:
            return possible[0]
    op = value.owner
    if isinstance(op, ttl.RuntimeArgOp) and not isinstance(value.type, IndexType):
        case, words = _cases_of_number(builder, value)
        number = known_number(builder, case)
        return None if number is None else _of_word(words[int(number)], value.type)
    if isinstance(op, Operation) and type(op) in EVALUATED:
        operands = [known_number(builder, operand) for operand in op.operands]
        if all(operand is not None for operand in operands):
            if isinstance(op, arith.DivfOp) and not operands[1]:
                return None
            return EVALUATED[type(op)](*operands)  # type: ignore[no-any-return]
    if isinstance(op, arith.SelectOp) and (taken := decided(builder.facts, op.cond)) is not None:
        return known_number(builder, op.lhs if taken else op.rhs)
    return None


def _of_word(word: int, type: Attribute) -> float | bool:
    return bool(word) if type == i1 else float(struct.unpack("<f", struct.pack("<I", word))[0])


def _possible(builder: KernelBuilder, value: SSAValue) -> list[int]:
    """The values that the path leaves; empty if there are too many."""
    found = interval(builder, value)
    numbers: Sequence[int] = sorted(_numbers(builder, value))
    if not numbers and (found is None or found[1] - found[0] >= MOST_VALUES):
        return []
    if not numbers and found is not None:
        numbers = range(found[0], found[1] + 1)
    if len(numbers) > MOST_VALUES:
        return []
    known = {number: equal_to(builder.facts, value, number) for number in numbers}
    is_it = [number for number, answer in known.items() if answer]
    return is_it or [number for number, answer in known.items() if answer is None]


EVALUATED: dict[type[Operation], Callable[..., Any]] = {
    arith.AddiOp: operator.add,
    arith.SubiOp: operator.sub,
    arith.MuliOp: operator.mul,
    arith.DivSIOp: operator.floordiv,  # of numbers that are not negative
    arith.RemSIOp: operator.mod,
    arith.FloorDivSIOp: operator.floordiv,
    arith.MinSIOp: min,
    arith.MaxSIOp: max,
    arith.AddfOp: operator.add,
    arith.SubfOp: operator.sub,
    arith.MulfOp: operator.mul,
    arith.DivfOp: operator.truediv,
    arith.NegfOp: operator.neg,
    arith.IndexCastOp: int,
    arith.SIToFPOp: float,
}


# Branches for values ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Calculation:
    """How a value is calculated, so that it can be done once more."""

    kind: type[Operation]
    properties: dict[str, Attribute]
    type: Attribute
    operands: tuple[Calculation | SSAValue, ...]


REPEATED = (
    *EVALUATED, arith.ConstantOp, ttl.NodeIndexOp, ttl.PipeValueOp, ttl.LocalPipeOp,
)  # fmt: skip


def _calculation(value: SSAValue) -> Calculation | SSAValue:
    op = value.owner
    if not isinstance(op, Operation) or type(op) not in REPEATED:
        return value
    operands = tuple(_calculation(operand) for operand in op.operands)
    return Calculation(type(op), dict(op.properties), value.type, operands)


def repeated(builder: KernelBuilder, made: Calculation | SSAValue) -> SSAValue:
    if isinstance(made, SSAValue):
        return made
    operands = [repeated(builder, operand) for operand in made.operands]
    properties = dict(made.properties)
    return builder.value(
        made.kind.create(operands=operands, properties=properties, result_types=[made.type])
    )


@dataclass(frozen=True, slots=True)
class Undecided:
    """A value that is needed as a constant, and what it may be."""

    made: Calculation | SSAValue
    values: list[int]


def needs_constant(builder: KernelBuilder, value: Value, what: str) -> FlowBroken:
    """Why the statement cannot be translated as it is; `builder.undecided` says what helps."""
    items = value if isinstance(value, tuple) else (value,)
    found = (_undecided(builder, item) for item in items if isinstance(item, SSAValue))
    builder.undecided = next((each for each in found if each is not None), None)
    return flow_broken(what)


def as_constant(builder: KernelBuilder, value: Value, what: str) -> Value:
    """A number or a tuple of numbers that the path knows."""
    if isinstance(value, tuple):
        return tuple(as_constant(builder, item, what) for item in value)
    number = known_number(builder, value)
    if number is None and value is not None:
        raise needs_constant(builder, value, what)
    return number


def _undecided(builder: KernelBuilder, value: SSAValue) -> Undecided | None:
    if known_number(builder, value) is not None:
        return None
    if isinstance(value.type, IndexType) and (values := _possible(builder, value)):
        return Undecided(_calculation(value), values)
    op = value.owner
    if isinstance(op, ttl.RuntimeArgOp):
        return _undecided(builder, _cases_of_number(builder, value)[0])
    if isinstance(op, Operation) and type(op) in (*EVALUATED, arith.SelectOp):
        for operand in op.operands:
            if (found := _undecided(builder, operand)) is not None:
                return found
    return None

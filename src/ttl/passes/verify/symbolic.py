"""Integers that depend on the variables of loops whose body is walked once.

Such a loop does the same in every iteration, except for the tiles it copies. Its variable
represents all of its values, and calculations with it are expressions. Sums with constant factors
stay sums, so their extremes need no enumeration; everything else is a function of the variables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from math import prod
from operator import add, mul, sub
from typing import Any

Number = Any  # an int, a float, an Expression or UNKNOWN


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Unknown:
    """The result of an operation that the walk cannot evaluate."""

    def __repr__(self) -> str:
        return "unknown"


UNKNOWN = _Unknown()


@dataclass(frozen=True, slots=True, eq=False)
class LoopVariable:
    """The variable of a loop that is walked once."""

    values: range


@dataclass(frozen=True, slots=True, eq=False)
class LoopExpression:
    """A function of loop variables; a sum if `factors` is given."""

    variables: frozenset[LoopVariable]
    function: Callable[[Mapping[LoopVariable, int]], Number]
    factors: Mapping[LoopVariable, int] | None = None
    constant: int = 0

    @property
    def count(self) -> int:
        """Return an upper bound for the number of values."""
        return prod(len(variable.values) for variable in self.variables)

    def extremes(self) -> tuple[int, int]:
        """Return the smallest and the largest value."""
        if self.factors is None:
            found = list(self.all_values())
            return min(found), max(found)
        ends = [
            sorted((factor * variable.values[0], factor * variable.values[-1]))
            for variable, factor in self.factors.items()
        ]
        return (
            self.constant + sum(low for low, _ in ends),
            self.constant + sum(high for _, high in ends),
        )

    def all_values(self) -> Iterator[int]:
        for assigned in assignments(self.variables):
            yield self.function(assigned)


def assignments(variables: frozenset[LoopVariable]) -> Iterator[dict[LoopVariable, int]]:
    """Return every combination of the variables' values."""
    ordered = list(variables)
    for values in product(*(variable.values for variable in ordered)):
        yield dict(zip(ordered, values, strict=True))


def variable_of(values: range) -> Number:
    """Return the loop variable; a number if it has one value."""
    if len(values) == 1:
        return values[0]
    made = LoopVariable(values)
    return LoopExpression(frozenset([made]), lambda assigned: assigned[made], {made: 1})


def value_of(number: Number, assigned: Mapping[LoopVariable, int]) -> Number:
    return number.function(assigned) if isinstance(number, LoopExpression) else number


def variables_of(number: Number) -> frozenset[LoopVariable]:
    return number.variables if isinstance(number, LoopExpression) else frozenset()


def extremes_of(number: Number) -> tuple[int, int]:
    return number.extremes() if isinstance(number, LoopExpression) else (number, number)


def lift(function: Callable[..., Number], operands: tuple[Number, ...]) -> Number:
    """Return `function` of operands, one of which is an expression or unknown."""
    if any(operand is UNKNOWN for operand in operands):
        return UNKNOWN
    summed = _sum(function, operands)
    if summed is not None:
        factors, constant = summed
        if not factors:
            return constant
        return LoopExpression(
            frozenset(factors),
            lambda assigned: constant + sum(f * assigned[v] for v, f in factors.items()),
            factors,
            constant,
        )
    variables = frozenset().union(*(variables_of(operand) for operand in operands))
    return LoopExpression(
        variables, lambda assigned: function(*[value_of(operand, assigned) for operand in operands])
    )


Sum = tuple[dict[LoopVariable, int], int]


def _sum(function: Callable[..., Number], operands: tuple[Number, ...]) -> Sum | None:
    if function not in (add, sub, mul):
        return None
    terms = [_terms(operand) for operand in operands]
    if None in terms:
        return None
    (left, first), (right, second) = terms  # type: ignore[misc]
    if function is mul:
        if left and right:
            return None
        factors, factor = (left, second) if left else (right, first)
        scaled = {variable: f * factor for variable, f in factors.items()}
        return _present(scaled), first * second
    sign = 1 if function is add else -1
    total = dict(left)
    for variable, factor in right.items():
        total[variable] = total.get(variable, 0) + sign * factor
    return _present(total), first + sign * second


def _present(factors: dict[LoopVariable, int]) -> dict[LoopVariable, int]:
    return {variable: factor for variable, factor in factors.items() if factor}


def _terms(operand: Number) -> Sum | None:
    if isinstance(operand, LoopExpression):
        return None if operand.factors is None else (dict(operand.factors), operand.constant)
    return ({}, operand) if isinstance(operand, int) else None

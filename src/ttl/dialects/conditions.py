"""Decisions on paths through a kernel, so that branches on equal conditions agree."""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Any

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, i1

from . import ttl

Facts = dict[Hashable, bool]  # decisions on a path, by the condition's key

_EQUAL, _NOT_EQUAL, _LESS, _NOT_GREATER, _GREATER, _NOT_LESS = range(6)  # numbered as in MLIR
_MIRRORED = {
    _EQUAL: _EQUAL,
    _NOT_EQUAL: _NOT_EQUAL,
    _LESS: _GREATER,
    _GREATER: _LESS,
    _NOT_GREATER: _NOT_LESS,
    _NOT_LESS: _NOT_GREATER,
}


def _class_of(value: Any) -> Any:
    """Return the class of the operation that a value comes from.

    Values are SSA values, or values of the frontend's form, whose operations know their later
    class.
    """
    return getattr(value.owner, "becomes", None) or type(value.owner)


def condition_key(value: Any) -> tuple[Hashable, bool]:
    """Return a key, the same for equal conditions, and whether the condition is its opposite."""
    op, kind = value.owner, _class_of(value)
    if kind is arith.XOrIOp and _is_constant(op.operands[1], 1):
        key, is_opposite = condition_key(op.operands[0])
        return key, not is_opposite
    if kind is arith.CmpiOp:
        predicate = op.properties["predicate"].value.data
        one, other = (number_key(operand) for operand in op.operands)
        return _comparison(predicate, one, other)
    if issubclass(kind, ttl.RoleOp) and len(kind.ROLES) == 1:
        return (op.properties["net"], kind.ROLES[0]), False
    return value, False


def _comparison(predicate: int, one: Hashable, other: Hashable) -> tuple[Hashable, bool]:
    """Turn all of `<`, `<=`, `>` and `>=` with a number second into a `<` or its opposite."""
    if predicate in _MIRRORED and isinstance(one, int):
        predicate, one, other = _MIRRORED[predicate], other, one
    if predicate in (_NOT_EQUAL, _NOT_LESS):
        return ("compare", _EQUAL if predicate == _NOT_EQUAL else _LESS, (one, other)), True
    if predicate not in (_GREATER, _NOT_GREATER):
        return ("compare", predicate, (one, other)), False
    is_opposite = predicate == _GREATER
    if isinstance(other, int):
        return ("compare", _LESS, (one, other + 1)), is_opposite
    return ("compare", _LESS, (other, one)), not is_opposite


def number_key(value: Any) -> Hashable:
    """Return a key that is equal for numbers computed in the same way."""
    op, kind = value.owner, _class_of(value)
    if kind is arith.ConstantOp and isinstance(op.properties["value"], IntegerAttr):
        number: int = op.properties["value"].value.data
        return number
    if kind in _CALCULATED:
        return kind.name, *(number_key(operand) for operand in op.operands)
    if kind is ttl.PipeCountOp:
        return op.properties["net"], op.properties["role"]
    if kind is ttl.NodeIndexOp:
        return "node", op.properties["dimension"]
    if kind is ttl.PipeValueOp:
        return op.properties["values"], number_key(op.operands[0])
    if kind is ttl.LocalPipeOp:
        return op.properties["net"], op.results[0].type, number_key(op.operands[0])
    found: Hashable = value
    return found


_CALCULATED: tuple[object, ...] = (
    arith.AddiOp,
    arith.SubiOp,
    arith.MuliOp,
    arith.DivSIOp,
    arith.RemSIOp,
    arith.FloorDivSIOp,
)


def _is_constant(value: Any, truth: int) -> bool:
    is_constant = _class_of(value) is arith.ConstantOp
    return is_constant and value.owner.properties["value"] == IntegerAttr(truth, i1)


def equal_to(facts: Facts, value: Any, number: int) -> bool | None:
    """Is an integer this number? None if the path does not decide it."""
    operands = (number_key(value), number)
    known = facts.get(("compare", _EQUAL, operands))
    return _derive(facts, _EQUAL, operands) if known is None else known


def decided(facts: Facts, condition: object) -> bool | None:
    """Return which branch the path takes; None if both are possible."""
    key, is_opposite = condition_key(condition)
    known = facts.get(key)
    if known is None and isinstance(key, tuple) and key[0] == "compare":
        known = _derive(facts, *key[1:])
    if known is None and (parts := _parts(condition)) is not None:
        end, sides = parts
        outcomes = {decided(facts, side) for side in sides}
        return end if end in outcomes else None if None in outcomes else not end
    return None if known is None else known is not is_opposite


def _derive(facts: Facts, predicate: int, operands: tuple[Hashable, Hashable]) -> bool | None:
    """Derive a comparison from the known bounds of a number."""
    value, number = operands
    if not isinstance(number, int) or predicate not in (_EQUAL, _LESS):
        return None
    least, most = -math.inf, math.inf
    for key, is_so in facts.items():
        if not isinstance(key, tuple) or key[0] != "compare" or key[2][0] != value:
            continue
        bound = key[2][1]
        if key[1] == _EQUAL and is_so and isinstance(bound, int):
            least, most = bound, bound
        elif key[1] == _LESS and isinstance(bound, int):
            least, most = (least, min(most, bound - 1)) if is_so else (max(least, bound), most)
    if predicate == _LESS and (most < number or least >= number):
        return most < number
    return False if predicate == _EQUAL and not least <= number <= most else None


def _parts(condition: Any) -> tuple[bool, tuple[Any, ...]] | None:
    """Return the sides of an `and` or an `or`, and the outcome of one side that decides it."""
    op, kind = condition.owner, _class_of(condition)
    if kind in (arith.AndIOp, arith.OrIOp):
        return kind is arith.OrIOp, tuple(op.operands)
    if kind is arith.SelectOp and _is_constant(op.operands[2], 0):  # a if c else False
        return False, tuple(op.operands[:2])
    if kind is arith.SelectOp and _is_constant(op.operands[1], 1):
        return True, (op.operands[0], op.operands[2])
    return None


def with_fact(facts: Facts, condition: object, is_taken: bool) -> Facts:
    key, is_opposite = condition_key(condition)
    found = {**facts, key: is_taken is not is_opposite}
    parts = _parts(condition)
    if parts is not None and is_taken is not parts[0]:  # both sides have this outcome
        for side in parts[1]:
            found = with_fact(found, side, is_taken)
    return found

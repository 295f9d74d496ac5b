"""Paths through a kernel: what is decided where, so that branches on one condition agree."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, i1

from . import ttl

Facts = dict[Hashable, bool]  # conditions by their key, as they were decided on a path

_EQUAL, _NOT_EQUAL = 0, 1


def _made_by(value: Any) -> Any:
    """The class of the operation that a value comes from.

    Values are those of the IR, or of the frontend's form before it, whose operations know what they
    become.
    """
    return getattr(value.owner, "becomes", None) or type(value.owner)


def condition_key(value: Any) -> tuple[Hashable, bool]:
    """What a condition asks, the same for equal conditions, and whether it asks the opposite."""
    op, kind = value.owner, _made_by(value)
    if kind is arith.XOrIOp and _is_true(op.operands[1]):
        key, is_opposite = condition_key(op.operands[0])
        return key, not is_opposite
    if kind is arith.CmpiOp:
        predicate = op.properties["predicate"].value.data
        operands = tuple(number_key(operand) for operand in op.operands)
        return ("compare", min(predicate, _EQUAL) if predicate == _NOT_EQUAL else predicate,
                operands), predicate == _NOT_EQUAL  # fmt: skip
    if issubclass(kind, ttl.RoleOp) and len(kind.ROLES) == 1:
        return (op.properties["net"], kind.ROLES[0]), False
    return value, False


def number_key(value: Any) -> Hashable:
    """The same for numbers that are calculated in the same way."""
    op, kind = value.owner, _made_by(value)
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


_CALCULATED: tuple[Any, ...] = (
    arith.AddiOp, arith.SubiOp, arith.MuliOp, arith.DivSIOp, arith.RemSIOp, arith.FloorDivSIOp,
)  # fmt: skip


def _is_true(value: Any) -> bool:
    is_constant = _made_by(value) is arith.ConstantOp
    return is_constant and value.owner.properties["value"] == IntegerAttr(1, i1)


def equal_to(facts: Facts, value: Any, number: int) -> bool | None:
    """Is an integer this number? None if the path does not know."""
    return facts.get(("compare", _EQUAL, (number_key(value), number)))


def decided(facts: Facts, condition: Any) -> bool | None:
    """Which branch the path takes; None if both are possible."""
    key, is_opposite = condition_key(condition)
    known = facts.get(key)
    return None if known is None else known is not is_opposite


def with_fact(facts: Facts, condition: Any, is_taken: bool) -> Facts:
    key, is_opposite = condition_key(condition)
    return {**facts, key: is_taken is not is_opposite}

"""Paths through a kernel: what is decided where, so that branches on one condition agree."""

from __future__ import annotations

from collections.abc import Hashable

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, i1
from xdsl.ir import SSAValue

from . import ttl

Facts = dict[Hashable, bool]  # conditions by their key, as they were decided on a path

_EQUAL, _NOT_EQUAL = 0, 1


def condition_key(value: SSAValue) -> tuple[Hashable, bool]:
    """What a condition asks, the same for equal conditions, and whether it asks the opposite."""
    op = value.owner
    if isinstance(op, arith.XOrIOp) and _is_true(op.rhs):
        key, is_opposite = condition_key(op.lhs)
        return key, not is_opposite
    if isinstance(op, arith.CmpiOp):
        predicate = op.predicate.value.data
        operands = (number_key(op.lhs), number_key(op.rhs))
        return ("compare", min(predicate, _EQUAL) if predicate == _NOT_EQUAL else predicate,
                operands), predicate == _NOT_EQUAL  # fmt: skip
    if isinstance(op, ttl.RoleOp) and len(op.ROLES) == 1:
        return (op.net, op.ROLES[0]), False
    return value, False


def number_key(value: SSAValue) -> Hashable:
    """The same for numbers that are calculated in the same way."""
    op = value.owner
    if isinstance(op, arith.ConstantOp) and isinstance(op.value, IntegerAttr):
        return op.value.value.data
    if isinstance(op, ttl.PipeCountOp):
        return op.net, op.role
    if isinstance(op, ttl.NodeIndexOp):
        return "node", op.dimension
    if isinstance(op, ttl.PipeValueOp):
        return op.values, number_key(op.pipe)
    if isinstance(op, ttl.LocalPipeOp):
        return op.net, op.result.type, number_key(op.place)
    if isinstance(op, _CALCULATED):
        return op.name, *(number_key(operand) for operand in op.operands)
    return value


_CALCULATED = (
    arith.AddiOp, arith.SubiOp, arith.MuliOp, arith.DivSIOp, arith.RemSIOp, arith.FloorDivSIOp,
)  # fmt: skip


def _is_true(value: SSAValue) -> bool:
    op = value.owner
    return isinstance(op, arith.ConstantOp) and op.value == IntegerAttr(1, i1)


def equal_to(facts: Facts, value: SSAValue, number: int) -> bool | None:
    """Is an integer this number? None if the path does not know."""
    return facts.get(("compare", _EQUAL, (number_key(value), number)))


def decided(facts: Facts, condition: SSAValue) -> bool | None:
    """Which branch the path takes; None if both are possible."""
    key, is_opposite = condition_key(condition)
    known = facts.get(key)
    return None if known is None else known is not is_opposite


def with_fact(facts: Facts, condition: SSAValue, is_taken: bool) -> Facts:
    key, is_opposite = condition_key(condition)
    return {**facts, key: is_taken is not is_opposite}

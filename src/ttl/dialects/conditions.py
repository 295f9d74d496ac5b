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
        operands = (_operand_key(op.lhs), _operand_key(op.rhs))
        return ("compare", min(predicate, _EQUAL) if predicate == _NOT_EQUAL else predicate,
                operands), predicate == _NOT_EQUAL  # fmt: skip
    if isinstance(op, ttl.RoleOp) and len(op.ROLES) == 1:
        return (op.net, op.ROLES[0]), False
    return value, False


def _operand_key(value: SSAValue) -> Hashable:
    op = value.owner
    if isinstance(op, arith.ConstantOp) and isinstance(op.value, IntegerAttr):
        return op.value.value.data
    if isinstance(op, ttl.PipeCountOp):
        return op.net, op.role
    if isinstance(op, ttl.NodeIndexOp):
        return "node", op.dimension
    if isinstance(op, _CALCULATED):  # the same calculation gives the same number
        return op.name, *(_operand_key(operand) for operand in op.operands)
    return value


_CALCULATED = (
    arith.AddiOp, arith.SubiOp, arith.MuliOp, arith.DivSIOp, arith.RemSIOp, arith.FloorDivSIOp,
)  # fmt: skip


def _is_true(value: SSAValue) -> bool:
    op = value.owner
    return isinstance(op, arith.ConstantOp) and op.value == IntegerAttr(1, i1)


def equal_to(facts: Facts, value: SSAValue, number: int) -> bool | None:
    """Is an integer this number? None if the path does not know."""
    return facts.get(("compare", _EQUAL, (_operand_key(value), number)))


def decided(facts: Facts, condition: SSAValue) -> bool | None:
    """Which branch the path takes; None if both are possible."""
    key, is_opposite = condition_key(condition)
    known = facts.get(key)
    return None if known is None else known is not is_opposite


def with_fact(facts: Facts, condition: SSAValue, is_taken: bool) -> Facts:
    key, is_opposite = condition_key(condition)
    return {**facts, key: is_taken is not is_opposite}

"""Block values with an unknown size."""

from __future__ import annotations

from ttl.dialects import ttl
from ttl.dialects.ttcore import block_type, tensor_of
from ttl.semantics.ops import is_complete
from ttl.semantics.types import Shape

from .hir import BlockValue, Op, RunTime
from .problems import not_yet


def complete_shape(value: BlockValue, shape: Shape) -> BlockValue:
    """Complete the sizes of a value by making it again, at its place, in the whole shape.
    A broadcast without a shape takes it from the values it meets, which may differ in shape."""
    found, op = block_type(value.type), value.owner
    if is_complete(found.shape):
        return value
    is_math = isinstance(op, Op) and issubclass(op.becomes, (ttl.BlockMathOp, ttl.FillOp))
    if not isinstance(op, Op) or not is_math:
        raise not_yet("a broadcast without a shape that a loop or branch carries")
    assert found.dtype is not None
    whole = Op(
        op.becomes, _completed_operands(op, shape), [tensor_of(shape, found.dtype)], op.properties
    )
    whole.place, whole.home, whole.is_optional = op.place, op.home, True
    assert op.home is not None
    op.home.ops.insert(op.home.ops.index(op) + 1, whole)
    (result,) = whole.results
    assert isinstance(result, BlockValue)
    result.hint = value.hint
    return result


def _completed_operands(op: Op, shape: Shape) -> list[RunTime]:
    operands = list(op.operands)
    if not issubclass(op.becomes, ttl.BlockMathOp) or not op.becomes.ENTRY.elementwise:
        return operands
    first = block_type(operands[0].type).shape
    if op.becomes.ENTRY.parameters and not is_complete(first) and len(first or ()) != len(shape):
        raise not_yet(f"{op.becomes.ENTRY.spelling} of a broadcast without a shape")
    return [
        complete_shape(operand, shape) for operand in operands if isinstance(operand, BlockValue)
    ]

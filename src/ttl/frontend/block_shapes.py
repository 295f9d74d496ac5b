"""Block values of which a size is not known yet, and the scalers of reductions."""

from __future__ import annotations

import numpy as np
from xdsl.ir import Operation, SSAValue

from ttl.dialects import ttl
from ttl.dialects.ttcore import block_type, tensor_of
from ttl.semantics.dtypes import bfloat16, round_to
from ttl.semantics.ops import is_complete
from ttl.semantics.types import Shape

from .builder import not_yet


def completed(value: SSAValue, shape: Shape) -> SSAValue:
    """The value with the sizes it lacks: made again, where it was made, in the whole shape.

    A broadcast without a shape takes it from what it meets, which may be different shapes.
    """
    found = block_type(value.type)
    op = value.owner
    if is_complete(found.shape):
        return value
    if not isinstance(op, (ttl.BlockMathOp, ttl.FillOp)):
        raise not_yet("a broadcast without a shape that a loop or branch carries")
    operands = list(op.operands)
    if isinstance(op, ttl.BlockMathOp) and op.ENTRY.elementwise:
        if op.ENTRY.parameters and not is_complete(block_type(operands[0].type).shape):
            operands = _same_rank(op, operands, shape)
        operands = [completed(operand, shape) for operand in operands]
    assert found.dtype is not None
    made = type(op).create(
        operands=operands,
        result_types=[tensor_of(shape, found.dtype)],
        properties=dict(op.properties),
    )
    return _insert_after(made, op, value.name_hint)


def _same_rank(op: ttl.BlockMathOp, operands: list[SSAValue], shape: Shape) -> list[SSAValue]:
    if len(block_type(operands[0].type).shape or ()) != len(shape):
        raise not_yet(f"{op.ENTRY.spelling} of a broadcast without a shape")
    return operands


def _insert_after(made: Operation, op: Operation, hint: str | None) -> SSAValue:
    block = op.parent
    assert block is not None
    made.location = op.location
    block.insert_op_after(made, op)
    made.results[0].name_hint = hint
    return made.results[0]


def fits_scaler_tile(number: float, is_sum: bool, inner_dims: int) -> bool:
    """Can the reduction itself multiply by the number?

    The matrix unit does so in a sum, once for each dimension of the tile, and has 16-bit numbers.
    """
    narrow = float(round_to(np.array(number, np.float32), bfloat16))
    return number == 1 or (is_sum and inner_dims == 1 and narrow == number)

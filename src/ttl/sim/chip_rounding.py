"""Float values of expressions as the chip's units round them (`ttl run --rounding chip`).

UNIT   The matrix unit does + - * if an operand is a bfloat16 block; with 32-bit registers, if both
       are. The vector unit does the rest, as compiled (rules BUFFER and REUSE of
       passes/compute/section_builder.py).
TIES   The matrix unit rounds ties away from zero; the vector unit rounds to even or truncates.
PACK   A cast to a float gives the packer's result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ttl.semantics.dtypes import Array, Way, bfloat16, float32, round_to
from ttl.semantics.ops import BLOCK_OPS, BY_OPERATOR, BlockOp
from ttl.semantics.rounding import multiply_in_phases, product_in_phases

from .block import SimBlock
from .types import Applied

if TYPE_CHECKING:
    from .kernel import KernelRun

_CAST, _MUL = BLOCK_OPS["typecast"], BY_OPERATOR["*"]


def compute(
    kernel: KernelRun,
    applied: Applied,
    op: BlockOp,
    operands: Sequence[object],
    arrays: Sequence[Any],
    parameters: Mapping[str, object],
) -> Array:
    dtype = applied.type.dtype
    if dtype is None or not dtype.is_float:
        return np.asarray(applied.meaning(*arrays, **parameters))
    if op is _CAST:
        return round_to(np.asarray(arrays[0]), dtype, by_packer=True, way="away")  # rule PACK
    by_matrix_unit = is_by_matrix_unit(kernel, op, operands)
    if op is _MUL and by_matrix_unit:
        return _product(kernel, *arrays)
    values = np.asarray(applied.meaning(*arrays, **parameters))
    return round_to(values, kernel.dest, way=_way(op, by_matrix_unit))


def _product(kernel: KernelRun, left: Array, right: Array) -> Array:
    """Multiply; the left operand is in source A. If nothing is rounded or left out, all phases give
    the same result."""
    phases = kernel.simulation.rounding.phases
    if kernel.dest is float32 and phases != 3:
        return np.asarray(product_in_phases(np.multiply, left, right, phases))
    rounded = partial(round_to, dtype=kernel.dest, way="away")
    return multiply_in_phases(left, right, phases, rounded)


def is_by_matrix_unit(kernel: KernelRun, op: BlockOp, operands: Sequence[object]) -> bool:
    """Does the matrix unit compute this? (rule UNIT)"""
    if op.in_sources is not None:
        return True
    enough = all if kernel.dest is float32 else any
    return op.reads_buffers and enough(map(_is_block, operands))


def _is_block(operand: object) -> bool:
    return isinstance(operand, SimBlock) and operand.end.buffer.held is bfloat16


def _way(op: BlockOp, by_matrix_unit: bool) -> Way:
    """Return how a result rounds (rule TIES)."""
    if by_matrix_unit:
        return "away"
    return "cut" if op.is_cut_off else "even"


def way_of_sum(kernel: KernelRun, value: object) -> Way:
    """Return how `block += value` rounds."""
    is_chips = kernel.simulation.rounding.is_chips
    return "away" if is_chips and _is_block(value) else "even"

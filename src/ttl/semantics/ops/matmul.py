"""Matrix multiplication of blocks."""

from __future__ import annotations

import numpy as np

from ttl.diagnostics import RuleBroken, codes

from ..block_math import matrix_product
from ..dtypes import Array
from ..rounding import product_in_phases
from ..types import BlockType
from .meanings import cut_off
from .rules import same_type, whole_shape
from .table import BlockOp, TileCall, TileForms, shape_text
from .tiles import API


def matmul_type(left: BlockType, right: BlockType) -> BlockType:
    """Type [.., M, K] @ [.., K, N] as [.., M, N]; leading dimensions equal or none on the right."""
    rows, columns = whole_shape(left, "@"), whole_shape(right, "@")
    if 1 in (len(rows), len(columns)):
        reason = "a block of one dimension is no matrix, ttl.math.unsqueeze(x, 0) makes it one"
    elif rows[-1] != columns[-2]:
        reason = f"the left block has {rows[-1]} columns of tiles, the right one {columns[-2]} rows"
    elif columns[:-2] not in ((), rows[:-2]):
        reason = f"their leading sizes are {rows[:-2]} and {columns[:-2]}"
    else:
        reason = ""
    if reason:
        raise RuleBroken(
            codes.MATMUL_SHAPES,
            f"{shape_text(left)} @ {shape_text(right)}: {reason}",
            helps=("a @ b needs a of shape (.., M, K) and b of shape (.., K, N)",),
        )
    dtype = same_type(BlockType(None, left.dtype), BlockType(None, right.dtype)).dtype
    return BlockType((*rows[:-1], columns[-1]), dtype)


def _product_in_sources(a: Array, b: Array, phases: int) -> Array:
    """Multiply with the right operand in source A."""
    found: Array = product_in_phases(lambda right, left: matrix_product(left, right), b, a, phases)
    return found


# One for each operand, and one for the digits that four phases leave out (0.27 % measured).
LOST_DIGITS = 3
# Three phases leave this out of a product of bfloat16: the left operand's last digit times the
# right one's last three. (kernel_config.math_fidelity chooses when to use three.)
LEFT_OUT = 2.0**-11


def _sum_bound(spacing: float, a: Array, b: Array) -> Array:
    """Return the bound of K additions in any order, each of which may round differently."""
    each = a.shape[-1] * spacing + (cut_off(LOST_DIGITS, a, b) or LEFT_OUT)
    bound: Array = each * np.matmul(np.abs(a), np.abs(b))
    return bound


_CALL = TileCall("matmul_block", "matmul_block_init", "matmul.h", accumulates=True)
_TILES = TileCall("matmul_tiles", "matmul_init", "matmul.h", accumulates=True)

MATMUL = BlockOp(
    name="matmul",
    operands=2,
    type_rule=matmul_type,
    meaning=matrix_product,
    summary="the matrix product of two blocks",
    operator="@",
    tile={API: TileForms(from_buffers=_CALL, by_tile=_TILES)},
    bound=_sum_bound,
    in_sources=_product_in_sources,
    multiplies=True,
    elementwise=False,
)

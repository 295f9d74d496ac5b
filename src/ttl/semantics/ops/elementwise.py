"""Elementwise operations, and fill."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ttl.diagnostics import RuleBroken, codes

from ..dtypes import Array, DType
from ..types import BlockType, Shape
from .table import BlockOp, TileCall, TileForms, shape_text

Bound = Callable[..., Array] | None


def same_type(left: BlockType, right: BlockType) -> BlockType:
    """Both operands agree; a fill adapts to the other."""
    return BlockType(_agreed_shape(left, right), _agreed_dtype(left, right))


def _agreed_shape(left: BlockType, right: BlockType) -> Shape | None:
    if left.shape is None or right.shape is None:
        return left.shape or right.shape
    if left.shape != right.shape:
        raise RuleBroken(
            codes.SHAPE_MISMATCH,
            f"operands have different shapes: {shape_text(left)} and {shape_text(right)}",
            helps=("expand the smaller operand with ttl.math.broadcast(x, dims=..., shape=...)",),
            left=left.shape,
            right=right.shape,
        )
    return left.shape


def _agreed_dtype(left: BlockType, right: BlockType) -> DType | None:
    if left.dtype is None or right.dtype is None:
        return left.dtype or right.dtype
    if left.dtype != right.dtype:
        raise RuleBroken(
            codes.DTYPE_MISMATCH,
            f"operands have different element types: {left.dtype} and {right.dtype}",
            helps=("convert one of them with ttl.math.typecast(x, dtype)",),
        )
    return left.dtype


def unchanged(operand: BlockType) -> BlockType:
    return operand


def store_type(value: BlockType, block: BlockType) -> BlockType:
    """A stored value has the shape of the block; its element type is converted."""
    if value.shape is not None and value.shape != block.shape:
        raise RuleBroken(
            codes.SHAPE_MISMATCH,
            f"a value of shape {value.shape} is stored into a block of shape {block.shape} "
            "(in tiles)",
            helps=("give the dataflow buffer and the expression the same shape",),
            value=value.shape,
            block=block.shape,
        )
    return block


def _relu(x: Array) -> Array:
    return np.maximum(x, np.float32(0))


def _exp_bound(spacing: float, x: Array) -> Array:
    return spacing * np.exp(x)


def _binary(name: str, sign: str, meaning: np.ufunc, sfpu_call: str) -> BlockOp:
    return BlockOp(
        name=name,
        operands=2,
        type_rule=same_type,
        meaning=meaning,
        summary=f"a {sign} b, elementwise",
        operator=sign,
        tile={
            "0.81": TileForms(
                from_buffers=TileCall(
                    f"{name}_tiles",
                    f"{name}_init",
                    "eltwise_binary.h",
                    accumulates=name == "mul",
                ),
                in_dst=TileCall(
                    sfpu_call, f"{name}_binary_tile_init", "eltwise_binary_sfpu.h"
                ),
            )
        },
    )


def _unary(
    name: str,
    meaning: Callable[..., Array],
    summary: str,
    include: str,
    bound: Bound = None,
) -> BlockOp:
    return BlockOp(
        name=name,
        operands=1,
        type_rule=unchanged,
        meaning=meaning,
        summary=summary,
        function=True,
        tile={
            "0.81": TileForms(in_dst=TileCall(f"{name}_tile", f"{name}_tile_init", include))
        },
        bound=bound,
    )


# The plain add and sub of the vector unit truncate in a 16-bit DST; the language rounds.
_NEAREST = "<ckernel::DstRoundingMode::NearestEven>"

OPS = (
    _binary("add", "+", np.add, f"add_binary_tile{_NEAREST}"),
    _binary("sub", "-", np.subtract, f"sub_binary_tile{_NEAREST}"),
    _binary("mul", "*", np.multiply, "mul_binary_tile"),
    _unary("exp", np.exp, "e to the power of x", "eltwise_unary/exp.h", bound=_exp_bound),
    _unary("relu", _relu, "x where x > 0, else 0", "eltwise_unary/relu.h"),
)

FILL = TileCall("fill_tile", "fill_tile_init", "eltwise_unary/fill.h")
COPY = TileCall("copy_tile", "copy_init", "tile_move_copy.h")

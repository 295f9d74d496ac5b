"""Functions that arrange, fill and select."""

# ruff: noqa
# Written by `python tests/editor/stubs.py`; do not edit.

from collections.abc import Sequence
from typing import Any, overload

from ttl.language.block import Block, BlockExpression

__all__ = [
    "broadcast",
    "fill",
    "mask",
    "mask_posinf",
    "squeeze",
    "transpose",
    "unsqueeze",
    "where",
]

@overload
def broadcast(
    x: BlockExpression,
    dims: int | Sequence[int],
    shape: Sequence[int] | None = None,
) -> BlockExpression:
    """Returns x expanded in dimensions of size 1, inside the tile too.

        ttl.math.broadcast(x, dims=[-1], shape=(2, 2))
        ttl.math.broadcast(x, out_blk, dims=[-1])

    Works on all element types.
    `dims` is an int or a list of ints.
    `shape` is a shape such as (2, 2).
    """
@overload
def broadcast(x: BlockExpression, out_blk: Block, dims: int | Sequence[int]) -> BlockExpression: ...

@overload
def fill(
    value: float,
    shape: Sequence[int] | None = None,
    dtype: Any = None,
) -> BlockExpression:
    """Returns a block full of value; without a shape it takes that of the first operand or store it
    meets.

        ttl.math.fill(value, shape=(2, 2), dtype=ttnn.float32)
        ttl.math.fill(out_blk, value)

    Works on all element types.
    `value` is a number.
    `shape` is a shape such as (2, 2).
    `dtype` is an element type such as ttnn.bfloat16.
    """
@overload
def fill(out_blk: Block, value: float) -> BlockExpression: ...

@overload
def mask(x: BlockExpression, m: BlockExpression) -> BlockExpression:
    """Returns x, or 0 where m is 1, elementwise.

    Works on all element types.
    """
@overload
def mask(x: BlockExpression, mask: BlockExpression) -> BlockExpression: ...

@overload
def mask_posinf(x: BlockExpression, m: BlockExpression) -> BlockExpression:
    """Returns x, or infinity where m is 1, elementwise.

    Works on bfloat16, float16, float32, bfloat8_b and bfloat4_b.
    """
@overload
def mask_posinf(x: BlockExpression, mask: BlockExpression) -> BlockExpression: ...

@overload
def squeeze(x: BlockExpression, dim: int | Sequence[int]) -> BlockExpression:
    """Returns x without a leading dimension of size 1.

    Works on all element types.
    `dim` is an int or a list of ints.
    """
@overload
def squeeze(x: BlockExpression, dims: int | Sequence[int]) -> BlockExpression: ...

def transpose(x: BlockExpression) -> BlockExpression:
    """Returns rows and columns of x exchanged.

    Works on all element types.
    """

@overload
def unsqueeze(x: BlockExpression, dim: int | Sequence[int]) -> BlockExpression:
    """Returns x with a leading dimension of size 1 more, at `dim` of the result.

    Works on all element types.
    `dim` is an int or a list of ints.
    """
@overload
def unsqueeze(x: BlockExpression, dims: int | Sequence[int]) -> BlockExpression: ...

@overload
def where(c: BlockExpression, a: BlockExpression, b: BlockExpression) -> BlockExpression:
    """Returns a, or b where c is 0, elementwise.

    Works on all element types.
    """
@overload
def where(
    condition: BlockExpression,
    true_value: BlockExpression,
    false_value: BlockExpression,
) -> BlockExpression: ...

"""The columns of the op table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ..dtypes import Array
from ..types import BlockType


@dataclass(frozen=True, slots=True)
class TileCall:
    """One call of the chip's compute interface and the init that must come before it.

    `call` may end in template arguments. `include` is relative to api/compute/. A call that
    `accumulates` adds to what the register holds, so it needs one that is still zero.
    """

    call: str
    init: str
    include: str
    accumulates: bool = False


@dataclass(frozen=True, slots=True)
class TileForms:
    """How an op is done on tiles, by where its operands are.

    `from_buffers`: the matrix unit reads both operands from buffers. `in_dst`: the vector unit
    works on DST registers, in place on the first.
    """

    from_buffers: TileCall | None = None
    in_dst: TileCall | None = None


@dataclass(frozen=True, slots=True)
class BlockOp:
    """Everything there is to know about one block operation.

    `meaning` works on arrays in the carrier of the element type; the caller rounds its result to
    the DST format. `bound` says how far two engines may differ before that rounding, given the
    spacing of the DST format at 1.0 and the operands; None means bit for bit.
    """

    name: str
    operands: int
    type_rule: Callable[..., BlockType]
    meaning: Callable[..., Array]
    summary: str
    operator: str | None = None  # its Python operator
    function: bool = False  # callable as ttl.math.<name>
    tile: dict[str, TileForms] = field(default_factory=dict)  # by device API version
    bound: Callable[..., Array] | None = None


def shape_text(operand: BlockType) -> str:
    return f"{operand} (in tiles)"

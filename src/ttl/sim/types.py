"""Types of block values, made once: comparing them is then comparing objects."""

from __future__ import annotations

from typing import Any

from ttl.diagnostics import RuleBroken, codes
from ttl.semantics.dtypes import DType
from ttl.semantics.ops import BlockOp
from ttl.semantics.types import BlockType, Shape, is_block_shape


class TypeTable:
    """The type rules of the op table, each applied once to the same operand types."""

    __slots__ = ("_results", "_types")

    def __init__(self) -> None:
        self._types: dict[tuple[Shape | None, DType | None], BlockType] = {}
        # by the identity of op and operand types; both live as long as this table
        self._results: dict[tuple[int, ...], BlockType] = {}

    def block(self, shape: Shape | None, dtype: DType | None) -> BlockType:
        known = self._types.get((shape, dtype))
        return known or self._types.setdefault((shape, dtype), BlockType(shape, dtype))

    def result(self, op: BlockOp, operands: tuple[Any, ...]) -> BlockType:
        """The type of `op` on these operands; raises RuleBroken if they do not fit."""
        key = (id(op), *[id(operand.type) for operand in operands])
        known = self._results.get(key)
        if known is not None:
            return known
        if len(operands) != op.operands:
            raise _operand_count(op, len(operands))
        result = op.type_rule(*[operand.type for operand in operands])
        return self._results.setdefault(key, self.block(result.shape, result.dtype))

    def fill(self, value: Any, shape: Any) -> BlockType:
        if not isinstance(value, (int, float)):
            raise RuleBroken(
                codes.WRONG_ARGUMENT,
                f"ttl.math.fill() takes a number, not {value!r}",
                helps=("write for example ttl.math.fill(0, shape=(2, 2))",),
            )
        if shape is not None and not is_block_shape(shape):
            raise RuleBroken(
                codes.WRONG_ARGUMENT,
                f"shape={shape!r}: a block of tiles has two or more positive sizes",
                helps=("write for example shape=(2, 2)",),
            )
        return self.block(None if shape is None else tuple(shape), None)


def _operand_count(op: BlockOp, given: int) -> RuleBroken:
    return RuleBroken(
        codes.WRONG_ARGUMENT,
        f"ttl.math.{op.name}() takes {op.operands} block expression"
        f"{'s' if op.operands > 1 else ''}, not {given}",
    )

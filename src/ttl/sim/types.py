"""Types of block values, each created once: comparing types is comparing objects."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ttl.language.block import BlockExpression
from ttl.semantics.dtypes import DType
from ttl.semantics.layout import TILE_LAYOUT, Layout
from ttl.semantics.ops import (
    NO_PARAMETERS,
    BlockOp,
    ParameterKind,
    Parameters,
    is_complete,
    meaning_of,
    operand_dtype,
    result_type,
)
from ttl.semantics.ops.reduce import native_reduction
from ttl.semantics.ops.special_values import native_operation
from ttl.semantics.rounding import LANGUAGE, Rounding
from ttl.semantics.types import BlockType, Shape, element_shape


@dataclass(slots=True, eq=False)
class Applied:
    """Facts about an operation on operands of some types."""

    type: BlockType  # the result's
    meaning: Callable[..., Any]
    dtype: DType | None  # the operands' type, in which the operation computes
    converts: tuple[bool, ...]  # operands (numbers, fills) that are converted to `dtype`
    is_open: bool  # some operand or the result has no shape yet
    extents: tuple[Shape | None, ...]  # elements each operand must have, if that matters
    numbers: tuple[str, ...]  # parameters that are converted to `dtype`
    is_plain: bool  # whole blocks of one element type, and no parameters
    native: int  # its number in block_math.OPERATIONS if plain, or -1
    computes: bool  # if so, a NaN has no sign
    row: int  # number in block_math.ROW_REDUCTIONS for whole blocks of floats, or -1


class RecentOperands:
    """A pair of operand types with an operator: programs repeat few of them."""

    __slots__ = ("applied", "left", "op", "right")

    def __init__(self, op: BlockOp, left: BlockType, right: BlockType, applied: Applied):
        self.op = op
        self.left = left
        self.right = right
        self.applied = applied


MOST_RECENT = 8


class TypeTable:
    """The type rules of the op table, each applied once to the same operand types.

    `looks_at_each` means that the run inspects each operation, `in_16_bits` that registers are 16
    bits wide.
    """

    __slots__ = (
        "_recent",
        "_types",
        "in_16_bits",
        "known",
        "looks_at_each",
        "number",
        "rounding",
    )

    def __init__(
        self,
        looks_at_each: bool = False,
        rounding: Rounding = LANGUAGE,
        in_16_bits: bool = False,
    ) -> None:
        self._types: dict[tuple[Shape | None, DType | None, Layout], BlockType] = {}
        # By the identity of op, parameters and operand types, which live as long as this table.
        self.known: dict[tuple[int, ...], Applied] = {}
        self._recent: list[
            RecentOperands
        ] = []  # some values of `known`, in the order of their first use
        self.number = BlockType(None, None)  # the type of a Python number as an operand
        self.looks_at_each = looks_at_each
        self.rounding = rounding
        self.in_16_bits = in_16_bits

    def block(
        self, shape: Shape | None, dtype: DType | None, layout: Layout = TILE_LAYOUT
    ) -> BlockType:
        key = (shape, dtype, layout)
        return self._types.get(key) or self._types.setdefault(key, BlockType(*key))

    def of_operator(self, op: BlockOp, left: BlockExpression, right: BlockExpression) -> Applied:
        """Return result() without parameters."""
        left_type, right_type = left.type, right.type
        for recent in self._recent:
            if recent.op is op and recent.left is left_type and recent.right is right_type:
                return recent.applied
        applied = self.known.get((id(op), id(NO_PARAMETERS), id(left_type), id(right_type)))
        if applied is None:
            applied = self.result(op, (left, right), NO_PARAMETERS)
        if len(self._recent) < MOST_RECENT:
            self._recent.append(RecentOperands(op, left_type, right_type, applied))
        return applied

    def result(
        self, op: BlockOp, operands: tuple[object, ...], parameters: Mapping[str, object]
    ) -> Applied:
        """Apply the type rule of `op` to these operands; raise RuleBroken if they do not fit."""
        types = [getattr(operand, "type", self.number) for operand in operands]
        applied = self._apply(op, types, parameters)
        if type(parameters) is Parameters:  # other mappings are for one call only
            self.known[id(op), id(parameters), *map(id, types)] = applied
        return applied

    def _apply(
        self, op: BlockOp, types: Sequence[BlockType], parameters: Mapping[str, object]
    ) -> Applied:
        found = result_type(op, types, parameters)
        result = self.block(found.shape, found.dtype)
        blocks = [type_ for type_ in types if type_ is not self.number]
        untyped = tuple(type_.dtype is None for type_ in types)
        is_open = not all(is_complete(type_.shape) for type_ in (*blocks, result))
        is_special = any(untyped) or is_open or parameters
        numbers = [each.name for each in op.parameters if each.kind is ParameterKind.NUMBER]
        meaning = meaning_of(op, types, result, self.rounding, self.in_16_bits)
        is_plain = bool(types) and not is_special and not self.looks_at_each
        return Applied(
            result,
            meaning,
            operand_dtype(types),
            untyped if any(untyped) else (),
            is_open,
            extents=() if op.elementwise else tuple(map(_extent, types)),
            numbers=tuple(numbers) if types else (),
            is_plain=is_plain,
            native=native_operation(meaning) if is_plain else -1,
            computes=op.computes,
            row=-1 if is_open or self.looks_at_each else _row(meaning, types, parameters),
        )


def _row(
    meaning: Callable[..., object], types: Sequence[BlockType], parameters: Mapping[str, object]
) -> int:
    is_of_floats = bool(types) and types[0].dtype is not None and types[0].dtype.is_float
    return native_reduction(meaning, parameters) if is_of_floats else -1


def _extent(type_: BlockType) -> Shape | None:
    """Return the block's extent in elements; None for a number or an unknown extent."""
    shape = type_.shape
    return None if shape is None or not is_complete(shape) else element_shape(shape)

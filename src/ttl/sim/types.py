"""Types of block values, made once: comparing them is then comparing objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ttl.semantics.dtypes import DType
from ttl.semantics.layout import TILE_LAYOUT, Layout
from ttl.semantics.ops import BlockOp, is_complete, operand_dtype, result_type
from ttl.semantics.types import BlockType, Shape


class Applied(NamedTuple):
    """What is known of an operation on operands of some types."""

    type: BlockType  # of the result
    dtype: DType | None  # of the operands, in which the operation works
    converts: bool  # some operands, numbers or fills, have to become values of that type
    is_open: bool  # some operand or the result has no shape yet
    is_plain: bool  # nothing of all that, and no number among the parameters


class TypeTable:
    """The type rules of the op table, each applied once to the same operand types."""

    __slots__ = ("_types", "known", "number")

    def __init__(self) -> None:
        self._types: dict[tuple[Shape | None, DType | None, Layout], BlockType] = {}
        # by the identity of op and operand types; both live as long as this table
        self.known: dict[tuple[object, ...], Applied] = {}
        self.number = BlockType(None, None)  # of a Python number as an operand

    def block(
        self, shape: Shape | None, dtype: DType | None, layout: Layout = TILE_LAYOUT
    ) -> BlockType:
        key = (shape, dtype, layout)
        return self._types.get(key) or self._types.setdefault(key, BlockType(*key))

    def result(
        self, op: BlockOp, types: Sequence[BlockType], parameters: Mapping[str, Any]
    ) -> Applied:
        """`op` on operands of these types; raises RuleBroken if they do not fit."""
        key: tuple[object, ...] = (id(op), *map(id, types))
        if parameters:
            key += tuple(parameters[p.name] for p in op.parameters if p.kind.decides_types)
        known = self.known.get(key)
        if known is None:
            known = self.known[key] = self._apply(op, types, parameters)
        return known

    def _apply(
        self, op: BlockOp, types: Sequence[BlockType], parameters: Mapping[str, Any]
    ) -> Applied:
        found = result_type(op, types, parameters)
        result = self.block(found.shape, found.dtype)
        blocks = [type_ for type_ in types if type_ is not self.number]
        converts = any(type_.dtype is None for type_ in types)
        is_open = not all(is_complete(type_.shape) for type_ in (*blocks, result))
        is_plain = bool(types) and not (converts or is_open or op.has_numbers)
        return Applied(result, operand_dtype(types), converts, is_open, is_plain)

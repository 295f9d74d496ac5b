"""Block math of the ttl dialect, from the op table: on whole blocks, on tiles, on one tile."""

from __future__ import annotations

from abc import ABC
from typing import Any, ClassVar

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FloatAttr,
    IndexType,
    StringAttr,
    TensorType,
    UnitAttr,
)
from xdsl.ir import Attribute, Operation, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_attr_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    param_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import NoTerminator
from xdsl.utils.exceptions import VerifyException

from ttl.semantics.ops import TILE_OPS, BlockOp, ParameterKind
from ttl.semantics.types import Shape

from ..building import QuickOperation
from ..definitions import OperationTable, define_operation, rules_of_the_language
from ..ttcore import block_type

__all__ = [
    "BLOCK_MATH",
    "PACKING",
    "TILE_MATH",
    "BlockMathOp",
    "ComputeOp",
    "DstType",
    "FillOp",
    "SectionOp",
    "TileCallOp",
    "TileCopyOp",
    "TileDuplicateOp",
    "TileFillOp",
    "TileMathOp",
    "TileStoreOp",
    "packing_of",
]


@irdl_attr_definition
class DstType(ParametrizedAttribute, TypeAttribute):
    """A block value held in the DST registers."""

    name = "ttl.dst"
    block: TensorType = param_def()


def _one_number(op: FillOp | TileFillOp) -> None:
    if (op.number is None) is (op.value is None):
        raise VerifyException(f"{op.name} has a value or a number")


class FillOp(QuickOperation):
    """A block full of `value`, or of a run-time `number`."""

    name = "ttl.fill"
    number = opt_operand_def()
    value = opt_prop_def(FloatAttr)
    result = result_def(TensorType)

    def verify_(self) -> None:
        _one_number(self)


class BlockMathOp(QuickOperation, ABC):
    """An operation of the op table on whole blocks, with its numbers in `parameters`, by name."""

    inputs = var_operand_def(TensorType)
    result = result_def(TensorType)
    parameters = opt_prop_def(DictionaryAttr)
    ENTRY: ClassVar[BlockOp]

    def verify_(self) -> None:
        operands = [block_type(value.type) for value in self.inputs]
        with rules_of_the_language():
            expected = self.ENTRY.type_rule(*operands, **self.given_types())
        if block_type(self.result.type) != expected:
            raise VerifyException(f"the result of {self.name} has type {expected}")

    def given_types(self) -> dict[str, Any]:
        """Return the requested element type or shape, which the result has, and dimensions."""
        result = block_type(self.result.type)
        asked = {ParameterKind.DTYPE: result.dtype, ParameterKind.SHAPE: result.shape}
        parameters = self.ENTRY.parameters
        found: dict[str, Any] = {p.name: asked[p.kind] for p in parameters if p.kind in asked}
        return found | {
            p.name: self._dims(p.name) for p in parameters if p.kind is ParameterKind.DIMS
        }

    def _dims(self, name: str) -> Shape:
        given = self.parameters.data.get(name) if self.parameters is not None else None
        if not isinstance(given, ArrayAttr):
            raise VerifyException(f"{self.name} needs `{name}`")
        return tuple(dim.value.data for dim in given)


class TileMathOp(QuickOperation, ABC):
    """An op-table operation on every tile, operands in buffers (tensor) or registers (!ttl.dst).

    `element_type` is the type of integer operands.
    """

    inputs = var_operand_def()
    result = result_def(DstType)
    parameters = opt_prop_def(DictionaryAttr)
    element_type = opt_prop_def(StringAttr)
    ENTRY: ClassVar[BlockOp]

    @property
    def from_buffers(self) -> bool:
        return not any(isinstance(value.type, DstType) for value in self.inputs[:2])


def _math_table(base: type[QuickOperation], prefix: str) -> OperationTable:
    return OperationTable(
        (name for name, op in TILE_OPS.items() if op.tile),
        lambda name: define_operation(f"ttl.{prefix}{name}", base, ENTRY=TILE_OPS[name]),
    )


BLOCK_MATH = _math_table(BlockMathOp, "")
TILE_MATH = _math_table(TileMathOp, "tile_")


class TileFillOp(QuickOperation):
    name = "ttl.tile_fill"
    number = opt_operand_def()
    value = opt_prop_def(FloatAttr)
    result = result_def(DstType)

    def verify_(self) -> None:
        _one_number(self)


# From a buffer to registers.
TileCopyOp = define_operation(
    "ttl.tile_copy", source=operand_def(TensorType), result=result_def(DstType)
)
# From registers to others: for a value that is needed after a change in place.
TileDuplicateOp: type[QuickOperation] = define_operation(
    "ttl.tile_duplicate", source=operand_def(DstType), result=result_def(DstType)
)


PACKING = ("accumulate", "after_first", "in_order", "relu")  # how the packer stores a tile


def packing_of(store: Operation) -> dict[str, Attribute]:
    return {name: store.properties[name] for name in PACKING if name in store.properties}


class TileStoreOp(QuickOperation):
    """Pack registers into a reserved block.

    With `accumulate` the packer adds to the block; with `after_first`, only after the first
    iteration of the loop around it. `in_order`: the block's tiles are packed once, one after the
    other. `relu`: values below zero become zero.
    """

    name = "ttl.tile_store"
    value = operand_def(DstType)
    view = operand_def(TensorType)
    accumulate = opt_prop_def(UnitAttr)
    after_first = opt_prop_def(UnitAttr)
    in_order = opt_prop_def(UnitAttr)
    relu = opt_prop_def(UnitAttr)


class ComputeOp(QuickOperation):
    """A DST section: the operations between acquiring and releasing the registers."""

    name = "ttl.compute"
    body = region_def("single_block")
    traits = traits_def(NoTerminator())


# Single tiles, after ttl-lower-to-loops -----------------------------------------------------------


class SectionOp(QuickOperation):
    """A step of the DST protocol: acquire, commit, wait or release."""

    name = "ttl.tile_regs"
    step = prop_def(StringAttr)


class TileCallOp(QuickOperation):
    """One tile operation on one tile.

    `action` is a tile operation of this dialect without its prefix; `buffers` are read or written
    at the tiles `tiles`; `registers` are indices into DST, the result last.
    """

    name = "ttl.tile_call"
    action = prop_def(StringAttr)
    value = opt_prop_def(FloatAttr)
    parameters = opt_prop_def(DictionaryAttr)
    element_type = opt_prop_def(StringAttr)  # of integers
    sizes = opt_prop_def(ArrayAttr)  # for a matrix product: columns and rows of the result
    accumulate = opt_prop_def(UnitAttr)  # for a store, like the next three
    after_first = opt_prop_def(UnitAttr)
    in_order = opt_prop_def(UnitAttr)
    relu = opt_prop_def(UnitAttr)
    left_in_dst = opt_prop_def(UnitAttr)  # the left operand is in a register
    buffers = var_operand_def(TensorType)
    tiles = var_operand_def(IndexType)
    registers = var_operand_def(IndexType)
    number = opt_operand_def()  # run-time number of a fill

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

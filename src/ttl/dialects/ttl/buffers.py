"""Dataflow buffers of the ttl dialect, and their blocks."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from functools import lru_cache

from xdsl.dialects.builtin import (
    ArrayAttr,
    IndexType,
    IntegerAttr,
    ModuleOp,
    SymbolNameConstraint,
    SymbolRefAttr,
    TensorType,
    UnitAttr,
    f64,
    i1,
    i64,
)
from xdsl.ir import Attribute, Operation, ParametrizedAttribute, SSAValue, TypeAttribute
from xdsl.irdl import (
    irdl_attr_definition,
    operand_def,
    opt_prop_def,
    param_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from ttl.semantics.dtypes import DType
from ttl.semantics.layout import ROW_MAJOR_LAYOUT, TILE_LAYOUT, Layout
from ttl.semantics.ops import store_type
from ttl.semantics.types import Shape, row_page_bytes, tile_count

from ..building import QuickOperation
from ..definitions import define_operation, rules_of_the_language
from ..ttcore import TileType, block_type, tensor_of

__all__ = [
    "PUBLISHED",
    "AcquireOp",
    "BindBufferOp",
    "CanAcquireOp",
    "DataflowBufferType",
    "DeclareBufferOp",
    "End",
    "HandOverOp",
    "PopOp",
    "PushOp",
    "ReadElementOp",
    "ReleaseOp",
    "ReserveOp",
    "ScopeEndOp",
    "StoreOp",
    "WaitOp",
    "WriteElementOp",
    "backing_tensors",
    "buffer_name",
    "buffer_name_of",
    "buffer_of",
    "end_of",
    "is_block_value",
    "is_resumed",
    "is_tensor_backed",
    "page_bytes_of",
    "released_by",
]


@irdl_attr_definition
class DataflowBufferType(ParametrizedAttribute, TypeAttribute):
    name = "ttl.dfb"
    shape: ArrayAttr[IntegerAttr] = param_def()
    tile: TileType = param_def()
    block_count: IntegerAttr = param_def()

    @classmethod
    @lru_cache(maxsize=1024)
    def of(
        cls, shape: Shape, dtype: DType, block_count: int, layout: Layout = TILE_LAYOUT
    ) -> DataflowBufferType:
        sizes = ArrayAttr([IntegerAttr(size, i64) for size in shape])
        return cls(sizes, TileType.of(dtype, layout), IntegerAttr(block_count, i64))

    @property
    def sizes(self) -> Shape:
        return tuple(size.value.data for size in self.shape)

    @property
    def block(self) -> TensorType[TileType]:
        """The type of one of its blocks."""
        return tensor_of(self.sizes, self.tile.dtype, self.tile.layout)

    @property
    def block_tiles(self) -> int:
        """The pages of a block: tiles, or rows in row-major layout."""
        is_row_major = self.tile.layout is ROW_MAJOR_LAYOUT
        return tile_count(self.sizes[:-1] if is_row_major else self.sizes)

    def page_bytes(self, has_room: bool) -> int:
        if self.tile.layout is ROW_MAJOR_LAYOUT:
            return row_page_bytes(self.sizes[-1], self.tile.dtype, has_room)
        return self.tile.dtype.tile_bytes


class DeclareBufferOp(QuickOperation):
    """A dataflow buffer of the operation; ttl-finalize-dfb-indices sets its index."""

    name = "ttl.dataflow_buffer"
    sym_name = prop_def(SymbolNameConstraint())
    type = prop_def(DataflowBufferType)
    index = opt_prop_def(IntegerAttr)
    unpack_to_dest_fp32 = opt_prop_def(IntegerAttr)
    compiler_allocated = opt_prop_def(UnitAttr)  # for values of expressions
    row_room = opt_prop_def(UnitAttr)  # row-major: is there room after each row? set with the index
    tensor = opt_prop_def(IntegerAttr)  # position of the tensor whose shards it is in
    tensor_offset = opt_prop_def(IntegerAttr)  # in bytes, from the start of a shard
    traits = traits_def(SymbolOpInterface())

    @property
    def size_bytes(self) -> int:
        """Return its size in L1: zero if it is in a tensor."""
        if self.tensor is not None:
            return 0
        blocks, type = self.type.block_count.value.data, self.type
        return blocks * type.block_tiles * type.page_bytes(self.row_room is not None)


class BindBufferOp(QuickOperation):
    """A kernel's handle of a dataflow buffer."""

    name = "ttl.bind_dfb"
    buffer = prop_def(SymbolRefAttr)
    index = opt_prop_def(IntegerAttr)
    row_room = opt_prop_def(UnitAttr)
    tensor_backed = opt_prop_def(UnitAttr)
    result = result_def(DataflowBufferType)


class AcquireOp(QuickOperation, ABC):
    buffer = operand_def(DataflowBufferType)
    block = result_def(TensorType)

    def verify_(self) -> None:
        """Check the block's type; of a shared buffer, some blocks are smaller than the buffer's."""
        buffer, block = self.buffer.type, block_type(self.block.type)
        assert isinstance(buffer, DataflowBufferType)
        is_part = self.block.type.element_type == buffer.tile and (
            tile_count(block.shape or ()) <= tile_count(buffer.sizes)
        )
        if not is_part:
            raise VerifyException(f"{self.name} gives a block of its buffer's type")


class ReleaseOp(QuickOperation, ABC):
    buffer = operand_def(DataflowBufferType)


ReserveOp: type[AcquireOp] = define_operation("ttl.dfb_reserve", AcquireOp)
WaitOp = define_operation("ttl.dfb_wait", AcquireOp)


class CanAcquireOp(QuickOperation):
    """Would a reserve, or a wait, of the buffer return at once?"""

    name = "ttl.dfb_can_acquire"
    buffer = operand_def(DataflowBufferType)
    is_wait = opt_prop_def(UnitAttr)
    result = result_def(i1)


PushOp = define_operation("ttl.dfb_push", ReleaseOp)
PUBLISHED = "published"  # on a push: a tensor already has the data


class PopOp(ReleaseOp):
    name = "ttl.dfb_pop"


class HandOverOp(ReleaseOp):
    """Give the oldest block at a buffer's end another name, by acquiring it again.

    The chip does nothing: only releases move the buffer's pointers, not acquires. The acquire that
    follows is marked `resumed`.
    """

    name = "ttl.dfb_hand_over"
    is_wait = opt_prop_def(UnitAttr)


class ScopeEndOp(QuickOperation):
    """The end of a `with`, or of blocks or transfers that the program leaves to be finished.

    ttl-insert-copy-wait waits for the transfers, ttl-insert-cb-sync releases the blocks in order.
    """

    name = "ttl.scope_end"
    handles = var_operand_def()


class StoreOp(QuickOperation):
    """`block.store(value)`, or with `accumulate` `block += value`.

    With `after_first` the first iteration of the loop around it overwrites.
    """

    name = "ttl.store"
    value = operand_def(TensorType)
    view = operand_def(TensorType)
    accumulate = opt_prop_def(UnitAttr)
    after_first = opt_prop_def(UnitAttr)

    def verify_(self) -> None:
        with rules_of_the_language():
            store_type(block_type(self.value.type), block_type(self.view.type))


class ReadElementOp(QuickOperation):
    """`ttl.raw_element_read(block, *coordinates)`"""

    name = "ttl.raw_element_read"
    block = operand_def(TensorType)
    coordinates = var_operand_def(IndexType)
    result = result_def(f64)


class WriteElementOp(QuickOperation):
    """`ttl.raw_element_write(block, *coordinates, value)`"""

    name = "ttl.raw_element_write"
    block = operand_def(TensorType)
    coordinates = var_operand_def(IndexType)
    value = operand_def(f64)


def is_resumed(op: Operation) -> bool:
    """Does an acquire only give a held block another name?"""
    return "resumed" in op.attributes


def buffer_of(block: SSAValue) -> SSAValue:
    """Return the dataflow buffer that a block was acquired from."""
    assert isinstance(block.owner, AcquireOp)
    return block.owner.buffer


End = tuple[SSAValue, bool]  # a buffer, and whether it is the producer's end


def end_of(op: AcquireOp | ReleaseOp | CanAcquireOp) -> End:
    """Return the end that an operation acts on."""
    if isinstance(op, (HandOverOp, CanAcquireOp)):
        return op.buffer, op.is_wait is None
    return op.buffer, isinstance(op, (ReserveOp, PushOp))


def released_by(op: ReleaseOp, held: Sequence[SSAValue]) -> SSAValue | None:
    """Return which of the held blocks a release is for; without a number, the oldest, which is
    first.
    """
    number = op.attributes.get("number")
    meant = [b for b in held if number is not None and _number(b) == number]
    return next(iter(meant or held), None)


def _number(block: SSAValue) -> Attribute | None:
    return block.owner.attributes.get("number") if isinstance(block.owner, Operation) else None


def buffer_name(buffer: SSAValue) -> str:
    """Return the name in the buffer's declaration."""
    assert isinstance(buffer.owner, BindBufferOp)
    name: str = buffer.owner.buffer.root_reference.data
    return name


def buffer_name_of(block: SSAValue) -> str:
    return buffer_name(buffer_of(block))


def page_bytes_of(buffer: SSAValue) -> int:
    """Return a bound buffer's page size: bytes of a tile, or from one row to the next."""
    assert isinstance(buffer.owner, BindBufferOp)
    return buffer.owner.result.type.page_bytes(buffer.owner.row_room is not None)


def is_tensor_backed(buffer: SSAValue) -> bool:
    return isinstance(buffer.owner, BindBufferOp) and buffer.owner.tensor_backed is not None


def backing_tensors(module: ModuleOp) -> set[Attribute]:
    """Return the positions of tensors with buffers in their shards."""
    declared = (op for op in module.ops if isinstance(op, DeclareBufferOp))
    return {op.tensor for op in declared if op.tensor is not None}


def is_block_value(type: Attribute) -> bool:
    return isinstance(type, TensorType) and isinstance(type.element_type, TileType)

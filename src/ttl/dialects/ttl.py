"""ttl: the user's program, one operation for each thing a user can say.

Block operations come from the op table: `ttl.<name>` works on whole blocks, `ttl.tile_<name>` on
every tile of a block once it is known where the operands are (a buffer, or the DST registers).
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, ClassVar

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    Float64Type,
    FloatAttr,
    IndexType,
    IntegerAttr,
    StringAttr,
    SymbolNameConstraint,
    SymbolRefAttr,
    TensorType,
    UnitAttr,
    i1,
    i64,
)
from xdsl.ir import (
    Attribute,
    Dialect,
    Operation,
    ParametrizedAttribute,
    SSAValue,
    TypeAttribute,
)
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_attr_definition,
    irdl_op_definition,
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
from xdsl.traits import NoTerminator, SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from ttl.diagnostics import RuleBroken
from ttl.semantics.dtypes import DType
from ttl.semantics.layout import ROW_MAJOR_LAYOUT, TILE_LAYOUT, Layout
from ttl.semantics.ops import TILE_OPS, BlockOp, Kind, store_type
from ttl.semantics.types import Shape, row_page_bytes, tile_count

from .building import QuickOperation
from .node_to_node import OPERATIONS as NODE_TO_NODE_OPERATIONS
from .node_to_node import DeclarePipeNetOp as DeclarePipeNetOp
from .node_to_node import DeclareSemaphoreOp as DeclareSemaphoreOp
from .node_to_node import ForEachPipeOp as ForEachPipeOp
from .node_to_node import IfDstOp as IfDstOp
from .node_to_node import IfSrcOp as IfSrcOp
from .node_to_node import IsActiveOp as IsActiveOp
from .node_to_node import IsDstOp as IsDstOp
from .node_to_node import IsSrcOp as IsSrcOp
from .node_to_node import LocalPipeOp as LocalPipeOp
from .node_to_node import NetUserOp as NetUserOp
from .node_to_node import PipeCountOp as PipeCountOp
from .node_to_node import PipeNodes as PipeNodes
from .node_to_node import PipeType as PipeType
from .node_to_node import PipeValueOp as PipeValueOp
from .node_to_node import RoleOp as RoleOp
from .node_to_node import SemaphoreIncRemoteOp as SemaphoreIncRemoteOp
from .node_to_node import SemaphoreOp as SemaphoreOp
from .node_to_node import SemaphoreSetMulticastOp as SemaphoreSetMulticastOp
from .node_to_node import SemaphoreSetOp as SemaphoreSetOp
from .node_to_node import SemaphoreSetRemoteOp as SemaphoreSetRemoteOp
from .node_to_node import SemaphoreWaitOp as SemaphoreWaitOp
from .node_to_node import YieldOp as YieldOp
from .node_to_node import find_net as find_net
from .node_to_node import nets_of as nets_of
from .node_to_node import semaphores_of as semaphores_of
from .ttcore import TileType, block_type, tensor_of


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


@irdl_attr_definition
class DstType(ParametrizedAttribute, TypeAttribute):
    """A block value held in the DST registers."""

    name = "ttl.dst"
    block: TensorType = param_def()


@irdl_attr_definition
class TransferType(ParametrizedAttribute, TypeAttribute):
    """A transfer under way: `read` from a tensor or `write` to one, `send` or `receive`."""

    name = "ttl.transfer_handle"
    kind: StringAttr = param_def()


@irdl_attr_definition
class GroupType(ParametrizedAttribute, TypeAttribute):
    """Transfers that are waited for together."""

    name = "ttl.transfer_group"


# Declarations -------------------------------------------------------------------------------------


@irdl_op_definition
class DeclareBufferOp(QuickOperation):
    """A dataflow buffer of the operation. Its index is set by ttl-finalize-dfb-indices."""

    name = "ttl.dataflow_buffer"
    sym_name = prop_def(SymbolNameConstraint())
    type = prop_def(DataflowBufferType)
    index = opt_prop_def(IntegerAttr)
    unpack_to_dest_fp32 = opt_prop_def(IntegerAttr)
    compiler_allocated = opt_prop_def(UnitAttr)  # holds values of expressions, not of the user
    row_room = opt_prop_def(UnitAttr)  # row-major: is there room behind each row? set likewise
    traits = traits_def(SymbolOpInterface())


@irdl_op_definition
class BindBufferOp(QuickOperation):
    """A kernel's handle of a dataflow buffer."""

    name = "ttl.bind_dfb"
    buffer = prop_def(SymbolRefAttr)
    index = opt_prop_def(IntegerAttr)
    row_room = opt_prop_def(UnitAttr)
    result = result_def(DataflowBufferType)


@irdl_op_definition
class RuntimeArgOp(QuickOperation):
    """A number that differs between nodes: runtime argument `index` of the kernel."""

    name = "ttl.runtime_arg"
    index = prop_def(IntegerAttr)
    arg_name = prop_def(StringAttr)
    result = result_def()


@contextmanager
def _rules() -> Iterator[None]:
    """A rule of the language that is broken is IR that does not verify."""
    try:
        yield
    except RuleBroken as broken:
        raise VerifyException(broken.message) from None


# Blocks -------------------------------------------------------------------------------------------


class AcquireOp(QuickOperation, ABC):
    buffer = operand_def(DataflowBufferType)
    block = result_def(TensorType)

    def verify_(self) -> None:
        if self.block.type != self.buffer.type.block:  # type: ignore[attr-defined]
            raise VerifyException(f"{self.name} gives a block of its buffer's type")


class ReleaseOp(QuickOperation, ABC):
    buffer = operand_def(DataflowBufferType)


@irdl_op_definition
class ReserveOp(AcquireOp):
    name = "ttl.dfb_reserve"


@irdl_op_definition
class WaitOp(AcquireOp):
    name = "ttl.dfb_wait"


@irdl_op_definition
class CanAcquireOp(QuickOperation):
    """Would a reserve, or a wait, of the buffer return at once?"""

    name = "ttl.dfb_can_acquire"
    buffer = operand_def(DataflowBufferType)
    is_wait = opt_prop_def(UnitAttr)
    result = result_def(i1)

    @classmethod
    def of(cls, buffer: SSAValue, is_wait: bool) -> CanAcquireOp:
        properties = {"is_wait": UnitAttr()} if is_wait else {}
        return cls.create(operands=[buffer], properties=properties, result_types=[i1])


@irdl_op_definition
class PushOp(ReleaseOp):
    name = "ttl.dfb_push"


@irdl_op_definition
class PopOp(ReleaseOp):
    name = "ttl.dfb_pop"


@irdl_op_definition
class HandOverOp(ReleaseOp):
    """The oldest block that the buffer's end holds gets another name: it is acquired again.

    Nothing happens on the chip: acquiring does not move the buffer's pointers, releasing does. The
    acquire that follows is marked `resumed`.
    """

    name = "ttl.dfb_hand_over"
    is_wait = opt_prop_def(UnitAttr)

    @classmethod
    def of(cls, acquire: AcquireOp) -> HandOverOp:
        properties = {"is_wait": UnitAttr()} if isinstance(acquire, WaitOp) else {}
        return cls.create(operands=[acquire.buffer], properties=properties)


@irdl_op_definition
class ScopeEndOp(QuickOperation):
    """The end of a `with`: the blocks it acquired, in order. ttl-insert-cb-sync releases them."""

    name = "ttl.scope_end"
    blocks = var_operand_def(TensorType)


@irdl_op_definition
class StoreOp(QuickOperation):
    """`block.store(value)`, or with `accumulate` `block += value`."""

    name = "ttl.store"
    value = operand_def(TensorType)
    view = operand_def(TensorType)
    accumulate = opt_prop_def(UnitAttr)

    def verify_(self) -> None:
        with _rules():
            store_type(block_type(self.value.type), block_type(self.view.type))


# Data movement ------------------------------------------------------------------------------------


@irdl_op_definition
class NodeIndexOp(QuickOperation):
    """Coordinate `dimension` of the node: 0 is x, 1 is y."""

    name = "ttl.node_index"
    dimension = prop_def(IntegerAttr)
    result = result_def(IndexType)


@irdl_op_definition
class TensorSliceOp(QuickOperation):
    """The tiles of a tensor that start at `starts`; the result type gives the extent."""

    name = "ttl.tensor_slice"
    tensor = operand_def(TensorType)
    starts = var_operand_def(IndexType)
    result = result_def(TensorType)

    def verify_(self) -> None:
        whole, part = block_type(self.tensor.type), block_type(self.result.type)
        assert whole.shape is not None and part.shape is not None
        if not len(whole.shape) == len(part.shape) == len(self.starts):
            raise VerifyException(f"{self.name} has one start and one size for each dimension")
        fits = all(size <= most for size, most in zip(part.shape, whole.shape, strict=True))
        if not fits or whole.dtype != part.dtype:
            raise VerifyException(f"a slice {part} of a tensor {whole}")


@irdl_op_definition
class CopyOp(QuickOperation):
    """Between a block and a slice of a tensor, another block, or a pipe."""

    name = "ttl.copy"
    source = operand_def()
    destination = operand_def()
    transfer = result_def(TransferType)

    @property
    def pipe(self) -> SSAValue | None:
        """The pipe that the block is sent through, or received from."""
        ends = (self.source, self.destination)
        return next((end for end in ends if isinstance(end.type, PipeType)), None)

    def verify_(self) -> None:
        if self.pipe is not None:
            self._verify_pipe()
            return
        if not all(isinstance(end.type, TensorType) for end in self.operands):
            raise VerifyException("a copy connects blocks, slices of tensors and pipes")
        source, destination = block_type(self.source.type), block_type(self.destination.type)
        assert source.shape is not None and destination.shape is not None
        if tile_count(source.shape) != tile_count(destination.shape):
            raise VerifyException(f"a copy from {source} to {destination}")
        if source.dtype != destination.dtype:
            raise VerifyException(f"a copy from {source.dtype} to {destination.dtype}")

    def _verify_pipe(self) -> None:
        kind, role, block = "send", "src", self.source
        if self.pipe is self.source:
            kind, role, block = "receive", "dst", self.destination
        if not isinstance(block.owner, AcquireOp):
            raise VerifyException("a pipe connects blocks of dataflow buffers")
        assert self.pipe is not None and isinstance(self.pipe.type, PipeType)
        assert isinstance(self.transfer.type, TransferType)
        if self.pipe.type.role.data != role or self.transfer.type.kind.data != kind:
            raise VerifyException(f"a {kind} goes by a pipe of which the node is {role}")


@irdl_op_definition
class MulticastOp(QuickOperation):
    """A block to where `destination` is in its buffer, on all nodes of a rectangle: x, y, x, y.

    Not on the own node if source and destination are one block. Receivers say by semaphores that
    they have reserved theirs.
    """

    name = "ttl.multicast"
    source = operand_def(TensorType)
    destination = operand_def(TensorType)
    place = var_operand_def(IndexType)
    transfer = result_def(TransferType)

    @property
    def is_loopback(self) -> bool:
        return self.source is not self.destination

    def verify_(self) -> None:
        if len(self.place) != 4:
            raise VerifyException(f"{self.name} has four coordinates")
        if self.source.type != self.destination.type:
            raise VerifyException(f"{self.name} connects blocks of one type")
        if not isinstance(self.destination.owner, ReserveOp):
            raise VerifyException(f"{self.name} goes to reserved blocks")


@irdl_op_definition
class NoTransferOp(QuickOperation):
    """What a variable for a transfer holds before there is one; there is nothing to wait for."""

    name = "ttl.no_transfer"
    transfer = result_def(TransferType)


@irdl_op_definition
class TransferPartsOp(QuickOperation):
    """A receive as numbers: the place of its pipe among the node's, and which post it is of."""

    name = "ttl.transfer_parts"
    transfer = operand_def(TransferType)
    place = result_def(IndexType)
    number = result_def(IndexType)


@irdl_op_definition
class TransferOfOp(QuickOperation):
    """The receive of a net that has these parts; number 0 is none."""

    name = "ttl.transfer_of"
    net = prop_def(SymbolRefAttr)
    place = operand_def(IndexType)
    number = operand_def(IndexType)
    transfer = result_def(TransferType)


@irdl_op_definition
class WaitTransferOp(QuickOperation):
    name = "ttl.wait"
    transfer = operand_def(TransferType)


@irdl_op_definition
class ResumeTransferOp(QuickOperation):
    """Another name for a transfer under way: of the transfers handed over, the next."""

    name = "ttl.resume_transfer"
    transfer = result_def(TransferType)


@irdl_op_definition
class HandOverTransferOp(QuickOperation):
    """From here on another name stands for the transfer: see ResumeTransferOp."""

    name = "ttl.hand_over_transfer"
    transfer = operand_def(TransferType)


@irdl_op_definition
class GroupOp(QuickOperation):
    name = "ttl.group"
    result = result_def(GroupType)


@irdl_op_definition
class GroupAddOp(QuickOperation):
    """From here on the group waits for the transfer, and nobody else does."""

    name = "ttl.group_add"
    group = operand_def(GroupType)
    transfer = operand_def(TransferType)


@irdl_op_definition
class GroupWaitOp(QuickOperation):
    name = "ttl.group_wait"
    group = operand_def(GroupType)


@irdl_op_definition
class SignpostOp(QuickOperation):
    """The start or the end of a region that the profiler measures."""

    name = "ttl.signpost"
    region_name = prop_def(StringAttr)
    is_end = opt_prop_def(UnitAttr)

    @classmethod
    def of(cls, name: str, is_end: bool) -> SignpostOp:
        end = {"is_end": UnitAttr()} if is_end else {}
        return cls.create(properties={"region_name": StringAttr(name), **end})


@irdl_op_definition
class PrintOp(QuickOperation):
    """print(): a format with the scalars, and what `shows` says of one object behind `before`.

    The object stands among the values behind the scalars of `before`: a block, a dataflow buffer,
    or a tensor, behind which comes a buffer for its pages.
    """

    name = "ttl.print"
    before = prop_def(StringAttr)
    after = prop_def(StringAttr)
    shows = opt_prop_def(StringAttr)
    position = prop_def(IntegerAttr)
    num_pages = prop_def(IntegerAttr)
    heading = opt_prop_def(StringAttr)
    end = opt_prop_def(StringAttr)  # of the text, if it is not a newline
    values = var_operand_def()


@irdl_op_definition
class AssertOp(QuickOperation):
    """Where the condition is false the kernel fails: it `error`, as in "raised IndexError"."""

    name = "ttl.assert"
    condition = operand_def(i1)
    error = prop_def(StringAttr)


# Scalars: what arith has not ----------------------------------------------------------------------


class FloatDivisionOp(QuickOperation, ABC):
    """Division of floats as in Python: the quotient is rounded down."""

    lhs = operand_def(Float64Type)
    rhs = operand_def(Float64Type)
    result = result_def(Float64Type)

    @classmethod
    def of(cls, one: SSAValue, other: SSAValue) -> FloatDivisionOp:
        return cls.create(operands=[one, other], result_types=[one.type])


@irdl_op_definition
class FloorDivideOp(FloatDivisionOp):
    name = "ttl.floor_divide"


@irdl_op_definition
class RemainderOp(FloatDivisionOp):
    """What the rounded quotient leaves; it has the sign of the divisor."""

    name = "ttl.remainder"


# Block math, from the op table --------------------------------------------------------------------


def _one_number(op: FillOp | TileFillOp) -> None:
    if (op.number is None) is (op.value is None):
        raise VerifyException(f"{op.name} has a value or a number")


@irdl_op_definition
class FillOp(QuickOperation):
    """A block full of `value`, or of a `number` that is known when the kernel runs."""

    name = "ttl.fill"
    number = opt_operand_def()
    value = opt_prop_def(FloatAttr)
    result = result_def(TensorType)

    def verify_(self) -> None:
        _one_number(self)


class BlockMathOp(QuickOperation, ABC):
    """An operation of the op table on whole blocks; its numbers are in `parameters`, by name."""

    inputs = var_operand_def(TensorType)
    result = result_def(TensorType)
    parameters = opt_prop_def(DictionaryAttr)
    ENTRY: ClassVar[BlockOp]

    def verify_(self) -> None:
        try:
            expected = self.ENTRY.type_rule(
                *(block_type(v.type) for v in self.inputs), **self.given_types()
            )
        except RuleBroken as broken:
            raise VerifyException(broken.message) from None
        if block_type(self.result.type) != expected:
            raise VerifyException(f"the result of {self.name} has type {expected}")

    def given_types(self) -> dict[str, Any]:
        """An element type or a shape that was asked for is that of the result."""
        result = block_type(self.result.type)
        asked = {Kind.DTYPE: result.dtype, Kind.SHAPE: result.shape}
        parameters = self.ENTRY.parameters
        found: dict[str, Any] = {p.name: asked[p.kind] for p in parameters if p.kind in asked}
        return found | {p.name: self._dims(p.name) for p in parameters if p.kind is Kind.DIMS}

    def _dims(self, name: str) -> Shape:
        given = self.parameters.data.get(name) if self.parameters is not None else None
        if not isinstance(given, ArrayAttr):
            raise VerifyException(f"{self.name} needs `{name}`")
        return tuple(dim.value.data for dim in given)


class TileMathOp(QuickOperation, ABC):
    """The same on every tile, operands in buffers (tensor) or in registers (!ttl.dst).

    `element_type` is that of integer operands.
    """

    inputs = var_operand_def()
    result = result_def(DstType)
    parameters = opt_prop_def(DictionaryAttr)
    element_type = opt_prop_def(StringAttr)
    ENTRY: ClassVar[BlockOp]

    @property
    def from_buffers(self) -> bool:
        return not any(isinstance(value.type, DstType) for value in self.inputs[:2])


def _math_class(base: type[QuickOperation], prefix: str, op: BlockOp) -> Any:
    name = f"{base.__name__.removesuffix('Op')}_{op.name}"
    made: Any = irdl_op_definition(type(name, (base,), {"name": f"ttl.{prefix}{op.name}"}))
    made.ENTRY = op
    return made


class _MathClasses(dict[str, Any]):
    """The operation classes by name in the op table, each made when it is first needed."""

    def __init__(self, base: type[QuickOperation], prefix: str):
        self.base, self.prefix = base, prefix

    def __missing__(self, name: str) -> Any:
        made = self[name] = _math_class(self.base, self.prefix, TILE_OPS[name])
        return made

    def all(self) -> list[Any]:
        return [self[name] for name, op in TILE_OPS.items() if op.tile]


BLOCK_MATH = _MathClasses(BlockMathOp, "")
TILE_MATH = _MathClasses(TileMathOp, "tile_")


@irdl_op_definition
class TileFillOp(QuickOperation):
    name = "ttl.tile_fill"
    number = opt_operand_def()
    value = opt_prop_def(FloatAttr)
    result = result_def(DstType)

    def verify_(self) -> None:
        _one_number(self)


@irdl_op_definition
class TileCopyOp(QuickOperation):
    """Buffer to registers."""

    name = "ttl.tile_copy"
    source = operand_def(TensorType)
    result = result_def(DstType)


@irdl_op_definition
class TileDuplicateOp(QuickOperation):
    """Registers to other registers: of a value that is needed again after a change in place."""

    name = "ttl.tile_duplicate"
    source = operand_def(DstType)
    result = result_def(DstType)


@irdl_op_definition
class TileStoreOp(QuickOperation):
    """Registers to a reserved block; with `accumulate` the packer adds to what is there."""

    name = "ttl.tile_store"
    value = operand_def(DstType)
    view = operand_def(TensorType)
    accumulate = opt_prop_def(UnitAttr)


@irdl_op_definition
class ComputeOp(QuickOperation):
    """A DST section: what happens between acquiring and releasing the registers."""

    name = "ttl.compute"
    body = region_def("single_block")
    traits = traits_def(NoTerminator())


# Single tiles, after ttl-lower-to-loops -----------------------------------------------------------


@irdl_op_definition
class SectionOp(QuickOperation):
    """A step of the DST protocol: acquire, commit, wait or release."""

    name = "ttl.tile_regs"
    step = prop_def(StringAttr)


@irdl_op_definition
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
    sizes = opt_prop_def(ArrayAttr)  # of a matrix product: columns and rows of the result
    accumulate = opt_prop_def(UnitAttr)  # of a store: the packer adds
    left_in_dst = opt_prop_def(UnitAttr)  # of two operands, one in a buffer, the left is not
    buffers = var_operand_def(TensorType)
    tiles = var_operand_def(IndexType)
    registers = var_operand_def(IndexType)
    number = opt_operand_def()  # that a fill takes when the kernel runs

    irdl_options = (AttrSizedOperandSegments(as_property=True),)


def is_resumed(op: Operation) -> bool:
    """Does an acquire give a block that the kernel holds already another name?"""
    return "resumed" in op.attributes


def buffer_of(block: SSAValue) -> SSAValue:
    """The dataflow buffer a block was acquired from."""
    assert isinstance(block.owner, AcquireOp)
    return block.owner.buffer


def copies_of(transfer: SSAValue) -> list[CopyOp]:
    """The copies that a transfer may be of: a variable may have left the body of a pipe's role."""
    op = transfer.owner
    if isinstance(op, CopyOp):
        return [op]
    if not isinstance(op, ForEachPipeOp):
        return []
    position = op.ends.index(transfer)
    end = op.body.block.last_op
    assert end is not None
    return [*copies_of(op.start[position]), *copies_of(end.operands[position])]


def page_bytes_of(buffer: SSAValue) -> int:
    """Of a buffer that a kernel has bound: the bytes of a tile, or from one row to the next."""
    assert isinstance(buffer.owner, BindBufferOp)
    return buffer.owner.result.type.page_bytes(buffer.owner.row_room is not None)


def is_scalar_math(op: Operation) -> bool:
    """Does it only calculate numbers from numbers?"""
    return op.name.startswith("arith.") or isinstance(op, (NodeIndexOp, FloatDivisionOp))


def is_block_value(type: Attribute) -> bool:
    return isinstance(type, TensorType) and isinstance(type.element_type, TileType)


_OPERATIONS: list[type[QuickOperation]] = [
    DeclareBufferOp,
    BindBufferOp,
    RuntimeArgOp,
    ReserveOp,
    WaitOp,
    CanAcquireOp,
    PushOp,
    PopOp,
    HandOverOp,
    ScopeEndOp,
    StoreOp,
    NodeIndexOp,
    TensorSliceOp,
    CopyOp,
    MulticastOp,
    NoTransferOp,
    TransferPartsOp,
    TransferOfOp,
    WaitTransferOp,
    HandOverTransferOp,
    ResumeTransferOp,
    GroupOp,
    GroupAddOp,
    GroupWaitOp,
    SignpostOp,
    PrintOp,
    AssertOp,
    FloorDivideOp,
    RemainderOp,
    FillOp,
    TileFillOp,
    TileCopyOp,
    TileDuplicateOp,
    TileStoreOp,
    ComputeOp,
    SectionOp,
    TileCallOp,
]


def make_dialect() -> Dialect:
    """The dialect with all its operations, for reading IR text."""
    operations = [
        *_OPERATIONS,
        *NODE_TO_NODE_OPERATIONS,
        *BLOCK_MATH.all(),
        *TILE_MATH.all(),
    ]
    types: list[type[Attribute]] = [
        DataflowBufferType,
        DstType,
        TransferType,
        GroupType,
        PipeType,
    ]
    return Dialect("ttl", operations, types)

"""d2m: programs as threads of cores with circular buffers, before and after bufferization.

A `d2m.generic` has one region for each thread. Its arguments are the circular buffers of the
generic's operands, then semaphores. Block math is `linalg.generic` around tile operations, one for
each entry of the op table.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Iterator
from math import prod
from typing import ClassVar, Self

from xdsl.dialects import func
from xdsl.dialects.builtin import (
    I64,
    ArrayAttr,
    DictionaryAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
    SymbolNameConstraint,
    SymbolRefAttr,
    TensorType,
    i64,
)
from xdsl.ir import Attribute, Dialect, SSAValue
from xdsl.irdl import operand_def, opt_prop_def, prop_def, result_def, traits_def, var_operand_def
from xdsl.traits import Pure, SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from ttl.dialects.building import DefinedOperation, around
from ttl.dialects.definitions import OperationTable, define_operation, dialect_of, element_of
from ttl.dialects.definitions import shape_of as shape_of
from ttl.dialects.metal import MemorySpaceAttr, sizes_of
from ttl.dialects.ttcore import TileType
from ttl.semantics.ops import TILE_OPS, BlockOp

from .d2m_generic import Affine as Affine
from .d2m_generic import GenericOp as GenericOp
from .d2m_generic import YieldOp as YieldOp
from .d2m_movement import DmaOp as DmaOp
from .d2m_movement import DmaReadOp as DmaReadOp
from .d2m_movement import DmaWaitOp as DmaWaitOp
from .d2m_movement import DmaWriteOp as DmaWriteOp
from .d2m_movement import NullTxOp as NullTxOp
from .d2m_movement import SemaphoreChangeOp as SemaphoreChangeOp
from .d2m_movement import SemaphoreIncOp as SemaphoreIncOp
from .d2m_movement import SemaphoreSetOp as SemaphoreSetOp
from .d2m_movement import SemaphoreWaitOp as SemaphoreWaitOp
from .d2m_movement import TransferOp as TransferOp
from .d2m_types import CBType as CBType
from .d2m_types import MemTxType as MemTxType
from .d2m_types import SemaphoreType as SemaphoreType
from .d2m_types import ThreadAttr as ThreadAttr
from .d2m_types import is_remote as is_remote
from .d2m_types import layout_of as layout_of

# Globals ------------------------------------------------------------------------------------------


class GlobalOp(DefinedOperation):
    """A tensor that threads name: operand `index` of the generic."""

    name = "ttcore.global"
    sym_name = prop_def(SymbolNameConstraint())
    type = prop_def(Attribute)
    index = opt_prop_def(IntegerAttr[I64])
    assembly_format = "$sym_name `=` $type (` ` `[` $index^ `]`)? attr-dict"
    traits = traits_def(SymbolOpInterface())


class GetGlobalOp(DefinedOperation):
    name = "ttcore.get_global"
    global_name = prop_def(SymbolRefAttr)
    result = result_def()
    assembly_format = "$global_name attr-dict `:` type($result)"
    traits = traits_def(Pure())


# Tensors ------------------------------------------------------------------------------------------


EmptyOp = define_operation(
    "d2m.empty", result=result_def(), assembly_format="`(` `)` attr-dict `:` type($result)"
)


class FullOp(DefinedOperation):
    """A block filled with one value."""

    name = "d2m.full"
    value = prop_def(FloatAttr)
    result = result_def()
    assembly_format = "`(` $value `)` attr-dict `:` type($result)"
    traits = traits_def(Pure())


class LayoutOp(DefinedOperation, ABC):
    """Converts the first operand to the layout of the second."""

    input = operand_def()
    output = operand_def()
    result = result_def()
    assembly_format = (
        "`(` $input `,` $output `)` attr-dict `:` "
        "`(` type($input) `,` type($output) `)` `->` type($result)"
    )


ToLayoutOp = define_operation("d2m.to_layout", LayoutOp)


# A host tensor, divided into tiles among the cores.
TilizeOp = define_operation("d2m.tilize", LayoutOp)
UntilizeOp = define_operation("d2m.untilize", LayoutOp)
# A view of `input` to read blocks from, through the buffers in `output`.
StreamLayoutOp = define_operation("d2m.stream_layout", LayoutOp)


class ViewLayoutOp(DefinedOperation):
    """Another division of the same elements; moves nothing."""

    name = "d2m.view_layout"
    input = operand_def()
    result = result_def()
    assembly_format = "$input attr-dict `:` type($input) `->` type($result)"
    traits = traits_def(Pure())

    def verify_(self) -> None:
        if element_of(self.input) != element_of(self.result):
            raise VerifyException("d2m.view_layout keeps the elements")
        if prod(shape_of(self.input)) != prod(shape_of(self.result)):
            raise VerifyException("d2m.view_layout keeps the number of elements")


class MeshShardOp(DefinedOperation):
    """The part of a tensor on each device of a mesh, or all parts joined."""

    name = "d2m.mesh_shard"
    input = operand_def(TensorType)
    shard_type = prop_def(StringAttr)
    shard_direction = prop_def(StringAttr)
    shard_shape = prop_def(ArrayAttr[IntegerAttr])
    shard_dims = prop_def(ArrayAttr[IntegerAttr])
    result = result_def(TensorType)
    assembly_format = (
        "`(` $input `)` $shard_type $shard_direction `shape` $shard_shape `dims` $shard_dims "
        "attr-dict `:` `(` type($input) `)` `->` type($result)"
    )
    traits = traits_def(Pure())

    TYPES: ClassVar = ("identity", "replicate", "maximal", "devices")
    DIRECTIONS: ClassVar = ("full_to_shard", "shard_to_full")

    def verify_(self) -> None:
        if self.shard_type.data not in self.TYPES:
            raise VerifyException(f"d2m.mesh_shard: a type is one of {', '.join(self.TYPES)}")
        if self.shard_direction.data not in self.DIRECTIONS:
            raise VerifyException(f"d2m.mesh_shard: {' or '.join(self.DIRECTIONS)}")
        if self.shard_type.data != "devices":
            return
        whole, part = shape_of(self.input), shape_of(self.result)
        if self.shard_direction.data == "shard_to_full":
            whole, part = part, whole
        parts = sizes_of(self.shard_shape)
        if len(parts) != len(whole) or any(
            size != piece * count for size, piece, count in zip(whole, part, parts, strict=True)
        ):
            raise VerifyException("d2m.mesh_shard: shape times the part is not the whole")


class CallOp(DefinedOperation):
    """Runs a program, which is its own module; the last argument receives the result."""

    name = "d2m.call"
    program = prop_def(SymbolRefAttr)
    arguments = var_operand_def(TensorType)
    result = result_def(TensorType)
    assembly_format = (
        "$program `(` $arguments `)` attr-dict `:` functional-type($arguments, $result)"
    )


# Threads ------------------------------------------------------------------------------------------


class AcquireOp(DefinedOperation, ABC):
    cb = operand_def(CBType)
    block = result_def()
    assembly_format = "$cb attr-dict `:` type($cb) `->` type($block)"

    def verify_(self) -> None:
        assert isinstance(self.cb.type, CBType)
        if self.block.type != self.cb.type.underlying:
            raise VerifyException(f"{self.name} gives a block of its buffer")


# The next block to read; for the output, whether the stored data are ready.
WaitOp = define_operation("d2m.wait", AcquireOp)
ReserveOp: type[AcquireOp] = define_operation("d2m.reserve", AcquireOp)


class ReleaseOp(DefinedOperation):
    """Releases a block before the end of the region that acquires it."""

    name = "d2m.release"
    block = operand_def()
    assembly_format = "$block attr-dict `:` type($block)"

    def verify_(self) -> None:
        if not isinstance(self.block.owner, AcquireOp):
            raise VerifyException("d2m.release is of a block that d2m.wait or d2m.reserve gave")


class ToTensorOp(DefinedOperation):
    """Reads a block's memory as a value for math (bufferization does this without L1)."""

    name = "d2m.to_tensor"
    block = operand_def(MemRefType)
    value = result_def(TensorType)
    assembly_format = "$block attr-dict `:` type($block) `->` type($value)"

    @classmethod
    def of(cls, block: SSAValue) -> ToTensorOp:
        assert isinstance(block.type, MemRefType)
        type = TensorType(block.type.element_type, block.type.get_shape())
        return cls.create(operands=[block], result_types=[type])


class StoreOp(DefinedOperation):
    """Makes the value in the block; adds a matrix product to the block's contents."""

    name = "d2m.store"
    value = operand_def()
    block = operand_def()
    assembly_format = "$value `,` $block attr-dict `:` type($value) `,` type($block)"


class IndexOp(DefinedOperation, ABC):
    dim = prop_def(IntegerAttr)
    result = result_def(IndexType)
    assembly_format = "`(` $dim `)` attr-dict `:` type($result)"
    traits = traits_def(Pure())

    @classmethod
    def of(cls, dim: int) -> Self:
        return cls.create(properties={"dim": IntegerAttr(dim, i64)}, result_types=[IndexType()])


CoreIndexOp = define_operation("d2m.core_index", IndexOp)  # 0 is y, 1 is x


class IterIndexOp(IndexOp):
    """The step of an iterator of the surrounding generic, in affine form."""

    name = "d2m.iter_index"

    def verify_(self) -> None:
        parent = next((each for each in around(self) if isinstance(each, GenericOp)), None)
        if parent is not None and not 0 <= self.dim.value.data < len(parent.iterator_types):
            raise VerifyException("d2m.iter_index counts an iterator of its d2m.generic")


class GetGlobalOperandOp(DefinedOperation):
    """The operand of the generic with this number."""

    name = "d2m.get_global_operand"
    index = prop_def(IntegerAttr)
    result = result_def()
    assembly_format = "`(` $index `)` attr-dict `:` type($result)"
    traits = traits_def(Pure())

    def verify_(self) -> None:
        if self.index.value.data < 0:
            raise VerifyException("d2m.get_global_operand: operands are counted from 0")


# Tiles, from the op table -------------------------------------------------------------------------

# Names in the guide that differ from the table's.
GUIDE_NAMES = {"max": "maximum", "min": "minimum", "neg": "negative", "broadcast": "bcast"}


class TileOp(DefinedOperation, ABC):
    """An operation of the op table on one tile; an accumulated operand comes last."""

    inputs = var_operand_def(TileType)
    result = result_def(TileType)
    parameters = opt_prop_def(DictionaryAttr)
    assembly_format = (
        "`(` $inputs `)` (`with` $parameters^)? attr-dict `:` functional-type($inputs, $result)"
    )
    traits = traits_def(Pure())
    ENTRY: ClassVar[BlockOp]


TILES = OperationTable(
    (name for name, op in TILE_OPS.items() if op.tile),
    lambda name: define_operation(
        f"d2m.tile_{GUIDE_NAMES.get(name, name)}", TileOp, ENTRY=TILE_OPS[name]
    ),
)


# Registers and whole blocks -----------------------------------------------------------------------

# Our own passes assign registers later (convert-ttl-to-compute, ttl-assign-dst) and make none of
# these operations; we read, check and write them for IR of other frontends.


class AcquireDstOp(DefinedOperation):
    """The registers of the math unit as memory."""

    name = "d2m.acquire_dst"
    result = result_def(MemRefType)
    assembly_format = "`(` `)` attr-dict `:` type($result)"

    def verify_(self) -> None:
        assert isinstance(self.result.type, MemRefType)
        space = self.result.type.memory_space
        if not isinstance(space, MemorySpaceAttr) or space.space.data != "dst":
            raise VerifyException("d2m.acquire_dst gives memory in #ttcore.memory_space<dst>")


# Treats a register as one of another element type.
DstReinterpretCastOp = define_operation(
    "d2m.dst_reinterpret_cast",
    input=operand_def(TileType),
    result=result_def(TileType),
    assembly_format="$input attr-dict `:` type($input) `->` type($result)",
)
# Lets the packer write whole tiles again after a reduction.
PackerMaskResetOp = define_operation("d2m.packer_mask_reset", assembly_format="attr-dict")


class WholeBlockOp(DefinedOperation, ABC):
    """An operation on whole blocks in memory; it writes the last operand."""


class TileMatmulBlockOp(WholeBlockOp):
    name = "d2m.tile_matmul_block"
    a = operand_def(MemRefType)
    b = operand_def(MemRefType)
    output = operand_def(MemRefType)
    assembly_format = (
        "`(` $a `,` $b `,` $output `)` attr-dict `:` type($a) `,` type($b) `,` type($output)"
    )

    def verify_(self) -> None:
        a, b, output = (shape_of(each) for each in self.operands)
        if not len(a) == len(b) == len(output) == 2 or (a[0], b[1]) != output or a[1] != b[0]:
            raise VerifyException("d2m.tile_matmul_block: the shapes are not those of a product")


class BetweenRowsAndTilesOp(WholeBlockOp, ABC):
    input = operand_def(MemRefType)
    output = operand_def(MemRefType)
    assembly_format = "`(` $input `,` $output `)` attr-dict `:` type($input) `,` type($output)"

    def verify_(self) -> None:
        tiles = [isinstance(element_of(each), TileType) for each in self.operands]
        if tiles != [isinstance(self, TileUntilizeBlockOp), isinstance(self, TileTilizeBlockOp)]:
            raise VerifyException(f"{self.name} is between rows of elements and tiles")


TileTilizeBlockOp = define_operation("d2m.tile_tilize_block", BetweenRowsAndTilesOp)
TileUntilizeBlockOp = define_operation("d2m.tile_untilize_block", BetweenRowsAndTilesOp)


# Kernels ------------------------------------------------------------------------------------------


def generics_of(module: ModuleOp) -> Iterator[GenericOp]:
    for op in module.ops:
        if isinstance(op, func.FuncOp):
            yield from (inner for inner in op.walk() if isinstance(inner, GenericOp))


def make_dialect() -> Dialect:
    return dialect_of("d2m", globals(), calls=TILES.all())

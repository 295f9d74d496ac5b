"""Registers and whole blocks in the d2m dialect.

Our own passes decide on registers below it (convert-ttl-to-compute, ttl-assign-dst), so none of
these is made here; they are read, checked and written for IR of other frontends.
"""

from __future__ import annotations

from abc import ABC

from xdsl.dialects.builtin import MemRefType
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, result_def
from xdsl.utils.exceptions import VerifyException

from .d2m_types import element_type, shape_of
from .definitions import define_operation
from .metal import MemorySpaceAttr
from .ttcore import TileType


@irdl_op_definition
class AcquireDstOp(IRDLOperation):
    """The registers of the math unit, as memory."""

    name = "d2m.acquire_dst"
    result = result_def(MemRefType)
    assembly_format = "`(` `)` attr-dict `:` type($result)"

    def verify_(self) -> None:
        assert isinstance(self.result.type, MemRefType)
        space = self.result.type.memory_space
        if not isinstance(space, MemorySpaceAttr) or space.space.data != "dst":
            raise VerifyException("d2m.acquire_dst gives memory in #ttcore.memory_space<dst>")


# A register, taken for one of another element type.
DstReinterpretCastOp = define_operation(
    "d2m.dst_reinterpret_cast",
    input=operand_def(TileType),
    result=result_def(TileType),
    assembly_format="$input attr-dict `:` type($input) `->` type($result)",
)
# After a reduction: the packer writes whole tiles again.
PackerMaskResetOp = define_operation("d2m.packer_mask_reset", assembly_format="attr-dict")


class BlockOp(IRDLOperation, ABC):
    """Of whole blocks in memory; the last operand is written."""


@irdl_op_definition
class TileMatmulBlockOp(BlockOp):
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


class BetweenRowsAndTilesOp(BlockOp, ABC):
    input = operand_def(MemRefType)
    output = operand_def(MemRefType)
    assembly_format = "`(` $input `,` $output `)` attr-dict `:` type($input) `,` type($output)"

    def verify_(self) -> None:
        tiles = [isinstance(element_type(each), TileType) for each in self.operands]
        if tiles != [isinstance(self, TileUntilizeBlockOp), isinstance(self, TileTilizeBlockOp)]:
            raise VerifyException(f"{self.name} is between rows of elements and tiles")


TileTilizeBlockOp = define_operation("d2m.tile_tilize_block", BetweenRowsAndTilesOp)
TileUntilizeBlockOp = define_operation("d2m.tile_untilize_block", BetweenRowsAndTilesOp)

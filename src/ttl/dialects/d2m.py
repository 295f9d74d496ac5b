"""d2m: programs as threads of cores with circular buffers, before and behind bufferization.

A `d2m.generic` has one region for each thread. Its arguments are the circular buffers of the
generic's operands, then semaphores. Block math is `linalg.generic` around tile operations, one for
each entry of the op table.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Iterator
from typing import Any, ClassVar

from xdsl.dialects import func
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    SymbolNameConstraint,
    SymbolRefAttr,
    TensorType,
    i64,
)
from xdsl.ir import (
    Attribute,
    Dialect,
    Operation,
    Region,
    SSAValue,
)
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_region_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import NoTerminator, Pure, SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from ttl.semantics.ops import TILE_OPS, BlockOp
from ttl.semantics.types import Shape

from .d2m_movement import OPERATIONS as MOVEMENT
from .d2m_movement import DmaOp as DmaOp
from .d2m_movement import DmaReadOp as DmaReadOp
from .d2m_movement import DmaWaitOp as DmaWaitOp
from .d2m_movement import DmaWriteOp as DmaWriteOp
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
from .d2m_types import shape_of as shape_of
from .metal import GridAttr
from .ttcore import TileType

# Globals ------------------------------------------------------------------------------------------


@irdl_op_definition
class GlobalOp(IRDLOperation):
    """A tensor that threads name: the operand `index` of the generic."""

    name = "ttcore.global"
    sym_name = prop_def(SymbolNameConstraint())
    type = prop_def(Attribute)
    index = opt_prop_def(IntegerAttr)
    traits = traits_def(SymbolOpInterface())

    def print(self, printer: Printer) -> None:
        printer.print_string(f" @{self.sym_name.data} = ")
        printer.print_attribute(self.type)
        if self.index is not None:
            printer.print_string(f" [{self.index.value.data}]")

    @classmethod
    def parse(cls, parser: Parser) -> GlobalOp:
        name = parser.parse_symbol_name()
        parser.parse_punctuation("=")
        properties: dict[str, Attribute] = {"sym_name": name, "type": parser.parse_type()}
        if parser.parse_optional_punctuation("["):
            properties["index"] = IntegerAttr(parser.parse_integer(), i64)
            parser.parse_punctuation("]")
        return cls.create(properties=properties)


@irdl_op_definition
class GetGlobalOp(IRDLOperation):
    name = "ttcore.get_global"
    global_name = prop_def(SymbolRefAttr)
    result = result_def()
    assembly_format = "$global_name attr-dict `:` type($result)"
    traits = traits_def(Pure())


# Tensors ------------------------------------------------------------------------------------------


@irdl_op_definition
class EmptyOp(IRDLOperation):
    name = "d2m.empty"
    result = result_def()
    assembly_format = "`(` `)` attr-dict `:` type($result)"


@irdl_op_definition
class FullOp(IRDLOperation):
    """A block with one value everywhere."""

    name = "d2m.full"
    value = prop_def(FloatAttr)
    result = result_def()
    assembly_format = "`(` $value `)` attr-dict `:` type($result)"
    traits = traits_def(Pure())


class LayoutOp(IRDLOperation, ABC):
    """The first operand as the second has room for it."""

    input = operand_def()
    output = operand_def()
    result = result_def()
    assembly_format = (
        "`(` $input `,` $output `)` attr-dict `:` "
        "`(` type($input) `,` type($output) `)` `->` type($result)"
    )


@irdl_op_definition
class ToLayoutOp(LayoutOp):
    name = "d2m.to_layout"


@irdl_op_definition
class TilizeOp(LayoutOp):
    """A tensor of the host, divided into tiles among the cores."""

    name = "d2m.tilize"


@irdl_op_definition
class UntilizeOp(LayoutOp):
    name = "d2m.untilize"


@irdl_op_definition
class StreamLayoutOp(LayoutOp):
    """A view of `input` that blocks are read from, by way of the buffers in `output`."""

    name = "d2m.stream_layout"


@irdl_op_definition
class CallOp(IRDLOperation):
    """Runs a program, which is a module of its own; the last argument is for its result."""

    name = "d2m.call"
    program = prop_def(SymbolRefAttr)
    arguments = var_operand_def(TensorType)
    result = result_def(TensorType)
    assembly_format = (
        "$program `(` $arguments `)` attr-dict `:` functional-type($arguments, $result)"
    )


# Threads ------------------------------------------------------------------------------------------


@irdl_op_definition
class GenericOp(IRDLOperation):
    """The threads that every core of the grid runs."""

    name = "d2m.generic"
    inputs = var_operand_def()
    outputs = var_operand_def()
    grid = prop_def(GridAttr)
    threads = prop_def(ArrayAttr[ThreadAttr])
    block_factors = prop_def(ArrayAttr)
    indexing_maps = prop_def(ArrayAttr)
    iterator_types = prop_def(ArrayAttr)
    bodies = var_region_def()
    ends = var_result_def()
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(NoTerminator())

    @classmethod
    def of(
        cls,
        inputs: list[SSAValue],
        output: SSAValue,
        grid: Shape,
        kinds: list[str],
        regions: list[Region],
    ) -> GenericOp:
        return cls.build(
            operands=[inputs, [output]],
            properties={
                "grid": GridAttr.of(grid),
                "threads": ArrayAttr([ThreadAttr.of(kind) for kind in kinds]),
                "block_factors": ArrayAttr([]),
                "indexing_maps": ArrayAttr([]),
                "iterator_types": ArrayAttr([]),
            },
            regions=[regions],
            result_types=[[output.type]],
        )

    def verify_(self) -> None:
        if len(self.outputs) != 1:
            raise VerifyException("d2m.generic has exactly one output")
        bodies = [body for body in self.bodies if body.blocks]
        if bodies and len(bodies) != len(self.threads):
            raise VerifyException("d2m.generic has one region for each thread")
        types = [[argument.type for argument in body.block.args] for body in bodies]
        if any(each != types[0] for each in types):
            raise VerifyException("the regions of d2m.generic have the same arguments")
        for type in types[0] if types else ():
            if not isinstance(type, (CBType, SemaphoreType)):
                raise VerifyException("the regions of d2m.generic take !d2m.cb and !d2m.semaphore")
        if types and len(types[0]) < len(self.inputs) + 1:
            raise VerifyException("a region of d2m.generic has a !d2m.cb for each operand")
        self._verify_grid()

    def _verify_grid(self) -> None:
        output = shape_of(self.outputs[0])
        rank = len(output) // 2
        grid = self.grid.shape
        if len(grid) != rank or any(n % g for n, g in zip(output[:rank], grid, strict=True)):
            raise VerifyException("the output of d2m.generic is divided among its grid")

    ATTRIBUTES: ClassVar = ("block_factors", "grid", "indexing_maps", "iterator_types", "threads")

    def print(self, printer: Printer) -> None:
        printer.print_string(" {")
        named = [(name, self.properties[name]) for name in self.ATTRIBUTES]

        def attribute(pair: tuple[str, Attribute]) -> None:
            printer.print_string(f"{pair[0]} = ")
            printer.print_attribute(pair[1])

        printer.print_list(named, attribute)
        printer.print_string("}")
        for keyword, values in (("ins", self.inputs), ("outs", self.outputs)):
            printer.print_string(f" {keyword}(")
            printer.print_list(values, printer.print_ssa_value)
            printer.print_string(" : ")
            printer.print_list([value.type for value in values], printer.print_attribute)
            printer.print_string(")")
        printer.print_string(" ")
        printer.print_list(self.bodies, printer.print_region)
        if self.ends:
            printer.print_string(" : ")
            printer.print_list([value.type for value in self.ends], printer.print_attribute)

    @classmethod
    def parse(cls, parser: Parser) -> GenericOp:
        properties = parser.parse_optional_dictionary_attr_dict()
        operands = []
        for keyword in ("ins", "outs"):
            parser.parse_keyword(keyword)
            with parser.in_parens():
                names = parser.parse_optional_undelimited_comma_separated_list(
                    parser.parse_optional_unresolved_operand, parser.parse_unresolved_operand
                )
                parser.parse_punctuation(":")
                types = parser.parse_optional_undelimited_comma_separated_list(
                    parser.parse_optional_type, parser.parse_type
                )
            operands.append(parser.resolve_operands(names or [], types or [], parser.pos))
        regions = parser.parse_optional_undelimited_comma_separated_list(
            parser.parse_optional_region, parser.parse_region
        )
        ends: list[Attribute] = []
        if parser.parse_optional_punctuation(":"):
            ends = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
        return cls.build(
            operands=operands, properties=properties, regions=[regions or []], result_types=[ends]
        )


class AcquireOp(IRDLOperation, ABC):
    cb = operand_def(CBType)
    block = result_def()
    assembly_format = "$cb attr-dict `:` type($cb) `->` type($block)"

    def verify_(self) -> None:
        assert isinstance(self.cb.type, CBType)
        if self.block.type != self.cb.type.underlying:
            raise VerifyException(f"{self.name} gives a block of its buffer")


@irdl_op_definition
class WaitOp(AcquireOp):
    """The next block to read; of the output: what was stored is ready."""

    name = "d2m.wait"


@irdl_op_definition
class ReserveOp(AcquireOp):
    name = "d2m.reserve"


@irdl_op_definition
class ToTensorOp(IRDLOperation):
    """What is in the memory of a block, for math to read (bufferization has it without L1)."""

    name = "d2m.to_tensor"
    block = operand_def(MemRefType)
    value = result_def(TensorType)
    assembly_format = "$block attr-dict `:` type($block) `->` type($value)"

    @classmethod
    def of(cls, block: SSAValue) -> ToTensorOp:
        assert isinstance(block.type, MemRefType)
        type = TensorType(block.type.element_type, block.type.get_shape())
        return cls.create(operands=[block], result_types=[type])


@irdl_op_definition
class StoreOp(IRDLOperation):
    """The value is made in the block: a matrix product is added to what is there."""

    name = "d2m.store"
    value = operand_def()
    block = operand_def()
    assembly_format = "$value `,` $block attr-dict `:` type($value) `,` type($block)"


@irdl_op_definition
class CoreIndexOp(IRDLOperation):
    """0 is y, 1 is x."""

    name = "d2m.core_index"
    dim = prop_def(IntegerAttr)
    result = result_def(IndexType)
    assembly_format = "`(` $dim `)` attr-dict `:` type($result)"
    traits = traits_def(Pure())


@irdl_op_definition
class IterIndexOp(IRDLOperation):
    """Of the loops around a generic in affine form, which is not built here."""

    name = "d2m.iter_index"
    dim = prop_def(IntegerAttr)
    result = result_def(IndexType)
    assembly_format = "`(` $dim `)` attr-dict `:` type($result)"
    traits = traits_def(Pure())


# Tiles, from the op table -------------------------------------------------------------------------

# The guide's names, where the table has others.
GUIDE_NAMES = {"max": "maximum", "min": "minimum", "neg": "negative", "broadcast": "bcast"}


class TileOp(IRDLOperation, ABC):
    """An operation of the op table on one tile; what it sums up comes last."""

    inputs = var_operand_def(TileType)
    result = result_def(TileType)
    parameters = opt_prop_def(DictionaryAttr)
    assembly_format = (
        "`(` $inputs `)` (`with` $parameters^)? attr-dict `:` functional-type($inputs, $result)"
    )
    traits = traits_def(Pure())
    ENTRY: ClassVar[BlockOp]


def _tile_class(op: BlockOp) -> Any:
    name = f"d2m.tile_{GUIDE_NAMES.get(op.name, op.name)}"
    made: Any = irdl_op_definition(type(f"Tile_{op.name}", (TileOp,), {"name": name}))
    made.ENTRY = op
    return made


class _TileClasses(dict[str, Any]):
    """By name in the op table, each made when it is first needed."""

    def __missing__(self, name: str) -> Any:
        made = self[name] = _tile_class(TILE_OPS[name])
        return made


TILES = _TileClasses()


# Kernels ------------------------------------------------------------------------------------------


def generics_of(module: ModuleOp) -> Iterator[GenericOp]:
    for op in module.ops:
        if isinstance(op, func.FuncOp):
            yield from (inner for inner in op.walk() if isinstance(inner, GenericOp))


_OPERATIONS: list[type[Operation]] = [
    EmptyOp,
    FullOp,
    ToLayoutOp,
    TilizeOp,
    UntilizeOp,
    StreamLayoutOp,
    CallOp,
    GenericOp,
    WaitOp,
    ReserveOp,
    ToTensorOp,
    StoreOp,
    CoreIndexOp,
    IterIndexOp,
]


def make_dialect() -> Dialect:
    tiles = [TILES[name] for name, op in TILE_OPS.items() if op.tile]
    types: list[type[Attribute]] = [CBType, MemTxType, SemaphoreType, ThreadAttr]
    return Dialect("d2m", [*_OPERATIONS, *MOVEMENT, *tiles], types)

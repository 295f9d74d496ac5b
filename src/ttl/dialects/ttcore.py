"""ttcore: attributes and types shared by all Tenstorrent dialects; here the tile type."""

from __future__ import annotations

from functools import lru_cache

from xdsl.dialects.builtin import (
    IntegerAttr,
    IntegerType,
    Signedness,
    TensorType,
    bf16,
    f16,
    f32,
    i32,
    i64,
)
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition, param_def
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from ttl.diagnostics import CompileError, codes
from ttl.semantics.dtypes import (
    DTYPES,
    DType,
    bfloat4_b,
    bfloat8_b,
    bfloat16,
    float16,
    float32,
    int32,
)
from ttl.semantics.layout import ROW_MAJOR_LAYOUT, TILE_LAYOUT, Layout
from ttl.semantics.types import TILE_SIZE, BlockType, Shape

from . import metal
from .definitions import dialect_of


@irdl_attr_definition
class BlockFloatType(ParametrizedAttribute, TypeAttribute):
    """A float that shares its exponent with its neighbors."""

    name = "ttcore.block_float"
    bits: IntegerAttr = param_def()


def _integer(dtype: DType) -> IntegerType:
    sign = Signedness.UNSIGNED if dtype.spelling.startswith("u") else Signedness.SIGNED
    return IntegerType(dtype.element_bytes * 8, sign)


_ELEMENTS: dict[str, Attribute] = {
    bfloat16.spelling: bf16,
    float16.spelling: f16,
    float32.spelling: f32,
    bfloat8_b.spelling: BlockFloatType(IntegerAttr(8, i64)),
    bfloat4_b.spelling: BlockFloatType(IntegerAttr(4, i64)),
    **{dtype.spelling: _integer(dtype) for dtype in DTYPES.values() if not dtype.is_float},
}
_DTYPES = {element: DTYPES[name] for name, element in _ELEMENTS.items()}


@irdl_attr_definition
class TileType(ParametrizedAttribute, TypeAttribute):
    """A tile of 32x32 elements, the chip's unit of computation; of 1x1 in row-major layout."""

    name = "ttcore.tile"
    rows: IntegerAttr = param_def()
    columns: IntegerAttr = param_def()
    element: Attribute = param_def()

    @classmethod
    @lru_cache(maxsize=64)
    def of(cls, dtype: DType, layout: Layout = TILE_LAYOUT) -> TileType:
        size = IntegerAttr(TILE_SIZE if layout is TILE_LAYOUT else 1, i64)
        return cls(size, size, _ELEMENTS[dtype.spelling])

    def print_parameters(self, printer: Printer) -> None:
        """Print as in the guides; the generic form, which MLIR reads, prints the parameters."""
        if printer.print_generic_format:
            super().print_parameters(printer)
            return
        with printer.in_angle_brackets():
            printer.print_string(f"{self.rows.value.data}x{self.columns.value.data}, ")
            printer.print_attribute(self.element)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        with parser.in_angle_brackets():
            rows = parser.parse_integer()
            if parser.parse_optional_punctuation(":"):  # the generic form
                parser.parse_type()
                parser.parse_punctuation(",")
                columns = parser.parse_integer()
                parser.parse_punctuation(":")
                parser.parse_type()
            else:
                columns = int(parser.parse_identifier().removeprefix("x"))
            parser.parse_punctuation(",")
            element = parser.parse_attribute()
        return [IntegerAttr(rows, i64), IntegerAttr(columns, i64), element]

    @property
    def layout(self) -> Layout:
        return ROW_MAJOR_LAYOUT if self.rows.value.data == 1 else TILE_LAYOUT

    @property
    def dtype(self) -> DType:
        return _DTYPES[self.element]


def dtype_of_element(element: Attribute) -> DType:
    """Return the type of a host tensor's elements, numbers that include signless integers.

    Raise CompileError for others.
    """
    found = int32 if element == i32 else _DTYPES.get(element)
    if found is None:
        message = f"there is no element type {element} on the chip"
        raise CompileError(codes.GRAPH_NOT_LOWERED.broken(message).at(None))
    return found


@lru_cache(maxsize=1024)
def tensor_of(shape: Shape, dtype: DType, layout: Layout = TILE_LAYOUT) -> TensorType[TileType]:
    """Return the type of a tensor's or block's tiles, or of its elements in row-major layout."""
    return TensorType(TileType.of(dtype, layout), shape)


def block_type(type: Attribute) -> BlockType:
    """Return the language's type of a block value's IR type."""
    assert isinstance(type, TensorType) and isinstance(type.element_type, TileType)
    tile = type.element_type
    return BlockType(tuple(type.get_shape()), tile.dtype, tile.layout)


TTCore = dialect_of("ttcore", globals(), vars(metal))

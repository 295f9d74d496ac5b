"""ttcore: what all Tenstorrent dialects share, here the tile type."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, TensorType, bf16, f32, i64
from xdsl.ir import Attribute, Dialect, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition, param_def

from ttl.semantics.dtypes import DType, bfloat16, float32
from ttl.semantics.types import TILE_SIZE, BlockType, Shape

_ELEMENTS: dict[str, Attribute] = {bfloat16.name: bf16, float32.name: f32}
_DTYPES = {element: dtype for dtype in (bfloat16, float32) for element in (_ELEMENTS[dtype.name],)}


@irdl_attr_definition
class TileType(ParametrizedAttribute, TypeAttribute):
    """A tile of 32x32 elements: the unit the chip computes on."""

    name = "ttcore.tile"
    rows: IntegerAttr = param_def()
    columns: IntegerAttr = param_def()
    element: Attribute = param_def()

    @classmethod
    def of(cls, dtype: DType) -> TileType:
        size = IntegerAttr(TILE_SIZE, i64)
        return cls(size, size, _ELEMENTS[dtype.name])

    @property
    def dtype(self) -> DType:
        return _DTYPES[self.element]


def tensor_of(shape: Shape, dtype: DType) -> TensorType[TileType]:
    """Tiles of a tensor or of a block."""
    return TensorType(TileType.of(dtype), shape)


def block_type(type: Attribute) -> BlockType:
    """The language's view of a block value's IR type."""
    assert isinstance(type, TensorType) and isinstance(type.element_type, TileType)
    return BlockType(tuple(type.get_shape()), type.element_type.dtype)


TTCore = Dialect("ttcore", [], [TileType])

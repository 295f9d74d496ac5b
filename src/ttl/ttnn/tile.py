"""Tiles, the unit of storage and computation."""

from __future__ import annotations

from typing import Any

from ttl.semantics.dtypes import as_dtype
from ttl.semantics.types import FACE_SIZE, TILE_SIZE

from .cores import EqualParts
from .faults import wrong, wrong_type

__all__ = ["Tile", "tile_size"]


class Tile(EqualParts):
    """Rows and columns of a tile; kernels here have tiles of 32 by 32 only."""

    __slots__ = ("tile_shape",)

    def __init__(self, tile_shape: Any = (TILE_SIZE, TILE_SIZE), transpose_tile: bool = False):
        if list(tile_shape) != [TILE_SIZE] * 2 or transpose_tile:
            raise wrong(
                f"a tile of {tuple(tile_shape)} elements",
                f"pyttlang has tiles of {TILE_SIZE} by {TILE_SIZE} elements only",
            )
        self.tile_shape = [TILE_SIZE, TILE_SIZE]

    @property
    def face_shape(self) -> list[int]:
        return [FACE_SIZE, FACE_SIZE]

    @property
    def num_faces(self) -> int:
        return (TILE_SIZE // FACE_SIZE) ** 2

    def get_tile_size(self, dtype: Any) -> int:
        """In bytes."""
        found = as_dtype(dtype)
        if found is None:
            raise wrong_type("dtype", dtype, "an element type", "use for example ttnn.bfloat16")
        return found.tile_bytes

    def _parts(self) -> tuple[Any, ...]:
        return tuple(self.tile_shape)

    def __repr__(self) -> str:
        return f"Tile with shape: {self.tile_shape}"


DEFAULT_TILE = Tile()


def tile_size(dtype: Any) -> int:
    """The bytes of a tile."""
    return DEFAULT_TILE.get_tile_size(dtype)

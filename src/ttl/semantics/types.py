"""Tile geometry and the types of block values."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import prod

from ttl.target import of_all_chips
from ttl.target.data_formats import FACE_SIZE as FACE_SIZE
from ttl.target.data_formats import TILE_SIZE as TILE_SIZE

from .dtypes import DType
from .layout import TILE_LAYOUT, Layout
from .ttnn_values import as_sizes

TILE_SHAPE = (TILE_SIZE, TILE_SIZE)

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class BlockType:
    """Shape (its two innermost sizes count tiles) and element type of a block value.

    A block of one size is a row of tiles, each with 32 rows of elements.

    None means: not known yet. A fill without a shape or an element type takes them from the value
    it is combined with. Shapes of row-major blocks count elements; nothing can compute with these.
    """

    shape: Shape | None
    dtype: DType | None
    layout: Layout = TILE_LAYOUT

    def __str__(self) -> str:
        shape = "any shape" if self.shape is None else str(self.shape)
        return shape if self.dtype is None else f"{shape} {self.dtype}"


def is_block_shape(shape: object) -> bool:
    """Return whether it is one or more positive sizes; a single size means a row of tiles."""
    sizes = as_sizes(shape)
    return bool(sizes) and all(isinstance(size, int) and size > 0 for size in sizes or ())


def block_bytes(shape: Shape, dtype: DType, layout: Layout) -> int:
    """Return the L1 bytes of one block."""
    unit_bytes = dtype.tile_bytes if layout is TILE_LAYOUT else dtype.element_bytes
    return prod(shape) * unit_bytes


def row_alignment_bytes() -> int:
    """Return the alignment that a read from DRAM needs at both ends, on every chip."""
    return of_all_chips("dram_alignment_bytes")


def row_page_bytes(elements: int, dtype: DType, has_room: bool) -> int:
    """Return the L1 bytes of a row of a row-major block in compiled kernels.

    Rows begin aligned. A transfer from an unaligned address also brings the bytes in front of it,
    which need room after the row (`has_room`).
    """
    alignment = row_alignment_bytes()
    units = -(-elements * dtype.element_bytes // alignment)
    return (units + has_room) * alignment


def tile_count(shape: Shape) -> int:
    return prod(shape)


def at_least_matrix(shape: Shape) -> Shape:
    """Add leading ones up to two dimensions: one dimension is a row of tiles."""
    return (1,) * (2 - len(shape)) + shape


def element_shape(tiles: Shape) -> Shape:
    """Return the elements of a block whose two innermost dimensions count tiles."""
    *leading, rows, columns = at_least_matrix(tiles)
    return (*leading, rows * TILE_SIZE, columns * TILE_SIZE)


def block_elements(shape: Shape, layout: Layout) -> Shape:
    """Return the sizes in elements of a block of either layout."""
    return element_shape(shape) if layout is TILE_LAYOUT else shape


@lru_cache
def tiles_of(elements: Shape) -> Shape:
    """Return the sizes in tiles of a tensor, with its last tiles padded."""
    return (*elements[:-2], *[-(-size // TILE_SIZE) for size in elements[-2:]])

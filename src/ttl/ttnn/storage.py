"""The elements of a tensor: row-major for the simulator, pages in chip order for the executor."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from numpy.typing import NDArray

from ttl.semantics.dtypes import Array, DType
from ttl.semantics.tensors import Extent
from ttl.semantics.types import TILE_SIZE, Shape, element_shape, tiles_of

FACE_SIZE = 16  # a tile is four faces: (0, 0), (0, 1), (1, 0), (1, 1), each row-major


class Storage:
    """The padded elements of one tensor. The padding is zero, whoever writes."""

    __slots__ = ("_is_ragged", "_logical", "dtype", "elements", "tiles")

    memory = "dram"

    def __init__(self, shape: Shape, dtype: DType):
        self.dtype = dtype
        self.tiles = tiles_of(shape)
        self.elements: Array = np.zeros(element_shape(self.tiles), dtype.storage)
        self._logical = shape
        self._is_ragged = self.elements.shape != shape

    @property
    def logical(self) -> Array:
        """A view of the elements without the padding."""
        rows, columns = self._logical[-2:]
        return self.elements[..., :rows, :columns]

    @property
    def page_bytes(self) -> int:
        return self.dtype.tile_bytes

    @property
    def num_pages(self) -> int:
        return prod(self.tiles)

    def view(self, extents: Sequence[Extent]) -> Array:
        """The part given in shape units; writing to it writes the tensor."""
        *leading, rows, columns = extents
        part = self.elements
        if leading:
            part = part[tuple([slice(extent.start, extent.stop) for extent in leading])]
        return part[
            ...,
            rows.start * TILE_SIZE : rows.stop * TILE_SIZE,
            columns.start * TILE_SIZE : columns.stop * TILE_SIZE,
        ]

    def read(self, extents: Sequence[Extent], block: Array) -> None:
        """Copy a part, tile by tile, to a block that has as many tiles."""
        _copy_tiles(self.view(extents), block)

    def write(self, extents: Sequence[Extent], block: Array) -> None:
        """Copy a block, tile by tile, to a part that has as many tiles."""
        part = self.view(extents)
        _copy_tiles(block, part)
        if self._is_ragged:
            rows, columns = self._logical[-2:]
            part[..., max(0, rows - extents[-2].start * TILE_SIZE) :, :] = 0
            part[..., max(0, columns - extents[-1].start * TILE_SIZE) :] = 0

    def read_pages(self) -> NDArray[np.uint8]:
        """All tiles in chip order, one row of bytes a tile."""
        in_order = np.ascontiguousarray(_chip_order(self.elements))
        return in_order.reshape(self.num_pages, -1).view(np.uint8)

    def write_pages(self, pages: NDArray[np.uint8]) -> None:
        """Replace all tiles by `pages`, as read_pages() gives them."""
        in_order = _chip_order(self.elements)
        in_order[...] = np.ascontiguousarray(pages).view(self.dtype.storage).reshape(in_order.shape)
        if self._is_ragged:
            rows, columns = self._logical[-2:]
            self.elements[..., rows:, :] = 0
            self.elements[..., columns:] = 0


def _chip_order(elements: Array) -> Array:
    """A view (leading, tile row, tile column, face row, face column, row, column)."""
    rows, columns = (size // TILE_SIZE for size in elements.shape[-2:])
    faces = TILE_SIZE // FACE_SIZE
    split = elements.reshape(-1, rows, faces, FACE_SIZE, columns, faces, FACE_SIZE)
    return split.transpose(0, 1, 4, 2, 5, 3, 6)


def _copy_tiles(source: Array, destination: Array) -> None:
    if source.shape == destination.shape:
        destination[...] = source
        return
    # An int-indexed dimension may be missing on one side: tile n goes to tile n all the same.
    to_tiles = _tiles(destination)
    to_tiles[...] = _tiles(source).reshape(to_tiles.shape)


def _tiles(elements: Array) -> Array:
    """A view (.., tile row, tile column, row, column)."""
    *leading, rows, columns = elements.shape
    split = (*leading, rows // TILE_SIZE, TILE_SIZE, columns // TILE_SIZE, TILE_SIZE)
    return elements.reshape(split).swapaxes(-3, -2)

"""Elements of tensors: arrays for the simulator, pages in chip order for the executor."""

from __future__ import annotations

from math import prod
from typing import Any
from weakref import ref

import numpy as np
from numpy.typing import NDArray

from ttl.semantics import memory
from ttl.semantics.dtypes import Array, DType, round_to
from ttl.semantics.layout import TILE_LAYOUT, Layout
from ttl.semantics.tensors import TensorSlice, slice_tensor
from ttl.semantics.types import (
    FACE_SIZE,
    TILE_SIZE,
    Shape,
    at_least_matrix,
    element_shape,
    tiles_of,
)

from .faults import wrong


def tile_bounds(items: Any, rows: int, columns: int) -> tuple[Shape, Shape] | None:
    """Return starts and sizes of items of a matrix with this many rows and columns of tiles; None
    unless these are two plain slices, or two indices, in range.
    """
    if type(items) is not tuple or len(items) != 2:
        return None
    row, column = items
    bounds: Any
    if type(row) is int and type(column) is int:
        bounds = row, row + 1, column, column + 1
    elif type(row) is slice and type(column) is slice and row.step is None and column.step is None:
        bounds = row.start, row.stop, column.start, column.stop
    else:
        return None
    if any([type(each) is not int for each in bounds]):
        return None
    top, bottom, left, right = bounds
    if 0 <= top < bottom <= rows and 0 <= left < right <= columns:
        return (top, left), (bottom - top, right - left)
    return None


class Storage:
    """Elements of one tensor, rounded to its element type.

    `units` are the sizes that slices count: tiles in the two innermost dimensions, or elements.
    `is_ragged` tells whether it has padding. `words` are the elements as unsigned integers: numpy
    copies them faster than bfloat16, which it does not know.
    """

    __slots__ = (
        "_elements",
        "_logical",
        "_rounded",
        "dtype",
        "is_ragged",
        "memory",
        "shard_words",
        "units",
        "users",
        "words",
    )

    def __init__(
        self, shape: Shape, dtype: DType, padded: Shape, units: Shape, shared: Storage | None
    ):
        self.dtype = dtype
        if shared is None:
            self.elements = memory.zeros(padded, dtype.storage)
        else:
            self.elements = shared.elements.reshape(padded)
        # The tensors in this memory, which are all deallocated with it.
        self.users: list[ref[Any]] = [] if shared is None else shared.users
        self._rounded: Array | None = None
        self.units = units
        self.is_ragged = False
        self._logical = shape
        self.memory = "dram"  # "dram" or "l1": the memory of the pages
        self.shard_words: tuple[int, ...] = ()  # the kernels' accessors' description of shards

    @property
    def elements(self) -> Array:
        return self._elements

    @elements.setter
    def elements(self, elements: Array) -> None:
        self._elements = elements
        self.words: Array = elements.view(f"u{elements.itemsize}")

    @property
    def address(self) -> int:
        """Unique number of this memory, in the 32 bits of a device address."""
        start: int = self._elements.__array_interface__["data"][0]
        return start & 0xFFFF_FFFF

    def reshaped(self, shape: Shape) -> Storage | None:
        """Return this memory in another shape if the pages stay the same, else None."""
        raise NotImplementedError

    def reaches_padding(self, part: TensorSlice) -> tuple[bool, bool]:
        """Does the part have rows, and columns, outside the tensor?"""
        return False, False

    def part(self, tensor: Any, items: Any) -> TensorSlice:
        """Return tensor[items]."""
        part = slice_tensor(tensor, items, self.units)
        part.view = self.region(part)
        part.has_padding = self.is_ragged
        return part

    def region(self, part: TensorSlice) -> Array:
        """Return a view of the part's words; writing to it writes the tensor."""
        raise NotImplementedError

    @property
    def logical(self) -> Array:
        """View of the elements without the padding."""
        raise NotImplementedError

    @property
    def page_bytes(self) -> int:
        raise NotImplementedError

    def fill(self, values: Array) -> None:
        """Replace all elements but the padding, rounding them."""
        values = np.asarray(values)
        with np.errstate(all="ignore"):  # out of range becomes infinity, as on the chip
            # An assignment rounds like round_to() if that rounds once, in one pass.
            once = not self.dtype.is_block_float and self.elements.dtype == self.dtype.storage
            if once and (values.dtype == self.dtype.storage or self._rounds_single(values)):
                self.logical[...] = values
            else:
                self.logical[...] = round_to(values, self.dtype)

    def _rounds_single(self, values: Array) -> bool:
        return self.dtype.is_float and values.dtype == np.float32

    def keep_float32(self, wide: bool) -> None:
        """Keep floats unrounded from now on, as for a run with float32=True, or round them."""
        if not self.dtype.is_float:
            return
        if wide and self._rounded is None:
            self._rounded = self.elements
            self.elements = self.elements.astype(np.float32, copy=False)
        elif not wide and self._rounded is not None:
            # Keep the memory, which other tensors may share.
            self._rounded[...] = round_to(self.elements, self.dtype)
            self.elements, self._rounded = self._rounded, None

    def read(self, part: TensorSlice, block: Array) -> None:
        """Copy the words of a part to a block that has as many shape units."""
        raise NotImplementedError

    def write(self, part: TensorSlice, block: Array) -> None:
        """Copy the words of a block to a part that has as many shape units."""
        raise NotImplementedError

    def page_views(self, count: int) -> Array:
        """Return a view of the first pages, for reading: a tile or a row each."""
        raise NotImplementedError

    def read_pages(self) -> NDArray[np.uint8]:
        """Return all pages in chip order, a row of bytes per page."""
        raise NotImplementedError

    def write_pages(self, pages: NDArray[np.uint8]) -> None:
        """Replace all pages, in the form of read_pages()."""
        raise NotImplementedError


class NoStorage:
    """Replaces the storage of a tensor without one; any use raises the reason.

    Tensors themselves have no __getattr__: it would slow down each of the accesses of kernels.
    """

    __slots__ = ("_cause", "_help")

    def __init__(self, cause: str, help_text: str):
        self._cause = cause
        self._help = help_text

    def __getattr__(self, name: str) -> Any:
        raise wrong(self._cause, self._help)


def make_storage(shape: Shape, dtype: DType, layout: Layout) -> Storage:
    return TileStorage(shape, dtype) if layout is TILE_LAYOUT else RowMajorStorage(shape, dtype)


class RowMajorStorage(Storage):
    """Consecutive rows without padding. A page is a row, or a shard's part of it."""

    __slots__ = ("page_elements",)

    def __init__(self, shape: Shape, dtype: DType, shared: Storage | None = None):
        super().__init__(shape, dtype, shape, shape, shared)
        self.page_elements = shape[-1] if shape else 1

    def reshaped(self, shape: Shape) -> Storage | None:
        if shape[-1:] != self._logical[-1:]:
            return None
        return RowMajorStorage(shape, self.dtype, self)

    @property
    def logical(self) -> Array:
        return self.elements

    @property
    def page_bytes(self) -> int:
        return self.page_elements * self.dtype.element_bytes

    @property
    def row_pages(self) -> int:
        return -(-(self._logical[-1] if self._logical else 1) // max(1, self.page_elements))

    def region(self, part: TensorSlice) -> Array:
        sizes = zip(part.starts, part.shape, strict=True)
        return self.words[tuple([slice(start, start + size) for start, size in sizes])]

    def read(self, part: TensorSlice, block: Array) -> None:
        block[...] = part.region.reshape(block.shape)

    def write(self, part: TensorSlice, block: Array) -> None:
        part.region[...] = block.reshape(part.region.shape)

    def page_views(self, count: int) -> Array:
        return self.elements.reshape(-1, self._logical[-1])[:count]

    def read_pages(self) -> NDArray[np.uint8]:
        if self.row_pages == 1:
            rows: Array = self.elements.astype(self.dtype.storage).reshape(-1)
            return rows.view(np.uint8).reshape(-1, self.page_bytes)
        row = self._logical[-1]
        padded = np.zeros(
            (self.elements.size // row, self.row_pages * self.page_elements), self.dtype.storage
        )
        padded[:, :row] = self.elements.reshape(-1, row)
        return padded.view(np.uint8).reshape(-1, self.page_bytes)

    def write_pages(self, pages: NDArray[np.uint8]) -> None:
        elements = self.dtype.from_bytes(pages)
        if self.row_pages > 1:
            rows = elements.reshape(-1, self.row_pages * self.page_elements)
            elements = rows[:, : self._logical[-1]]
        self.elements[...] = elements.reshape(self.elements.shape)


class TileStorage(Storage):
    """Tiles, the last ones padded. The padding is always zero. A page is a tile.

    `rows` and `columns` are the tiles of a matrix, 0 if the tensor has more dimensions or fewer.
    """

    __slots__ = ("columns", "rows")

    def __init__(self, shape: Shape, dtype: DType, shared: Storage | None = None):
        tiles = tiles_of(shape or (1,))  # 0-D tensors exist, though kernels do not slice them
        super().__init__(shape, dtype, element_shape(tiles), tiles, shared)
        self.is_ragged = self.elements.shape != at_least_matrix(shape)
        self.rows: int = tiles[0] if len(tiles) == 2 else 0
        self.columns: int = tiles[1] if len(tiles) == 2 else 0

    def reshaped(self, shape: Shape) -> Storage | None:
        rows, columns = at_least_matrix(shape)[-2:]
        own_rows, own_columns = self._logical_matrix
        has_whole_tiles = rows % TILE_SIZE == 0 == own_rows % TILE_SIZE
        if columns != own_columns or not (rows == own_rows or has_whole_tiles):
            return None
        return TileStorage(shape, self.dtype, self)

    @property
    def logical(self) -> Array:
        rows, columns = self._logical_matrix
        return self.elements[..., :rows, :columns].reshape(self._logical)

    @property
    def _logical_matrix(self) -> Shape:
        return at_least_matrix(self._logical)[-2:]

    @property
    def page_bytes(self) -> int:
        return self.dtype.tile_bytes

    @property
    def num_pages(self) -> int:
        return prod(self.units)

    def reaches_padding(self, part: TensorSlice) -> tuple[bool, bool]:
        ends = [start + size for start, size in zip(part.starts[-2:], part.shape[-2:], strict=True)]
        limits = zip(ends, self._logical[-2:], strict=True)
        *rows, columns = [end * TILE_SIZE > limit for end, limit in limits]
        return any(rows), columns

    def part(self, tensor: Any, items: Any) -> TensorSlice:
        """Return tensor[items]; two dimensions, the common case, in one call without a view."""
        found: tuple[Shape, Shape] | None = tile_bounds(items, self.rows, self.columns)
        if found is None:
            return super().part(tensor, items)
        part = TensorSlice(tensor, items, found[0], found[1])
        part.words = self.words
        part.has_padding = self.is_ragged
        return part

    def region(self, part: TensorSlice) -> Array:
        *leading, row, column = part.starts if len(part.starts) > 1 else (0, *part.starts)
        *sizes, rows, columns = at_least_matrix(part.shape)
        outer = [slice(start, start + size) for start, size in zip(leading, sizes, strict=True)]
        return self.words[
            (
                *outer,
                slice(row * TILE_SIZE, (row + rows) * TILE_SIZE),
                slice(column * TILE_SIZE, (column + columns) * TILE_SIZE),
            )
        ]

    def read(self, part: TensorSlice, block: Array) -> None:
        _copy_tiles(part.region, block)

    def write(self, part: TensorSlice, block: Array) -> None:
        region = part.region
        _copy_tiles(block, region)
        if self.is_ragged:
            rows, columns = self._logical_matrix
            first_row = part.starts[-2] if len(part.starts) > 1 else 0
            region[..., max(0, rows - first_row * TILE_SIZE) :, :] = 0
            region[..., max(0, columns - part.starts[-1] * TILE_SIZE) :] = 0

    def page_views(self, count: int) -> Array:
        return _tiles(self.elements).reshape(-1, TILE_SIZE, TILE_SIZE)[:count]

    def read_pages(self) -> NDArray[np.uint8]:
        in_order = np.ascontiguousarray(_chip_order(self.elements))
        return self.dtype.to_bytes(in_order.reshape(self.num_pages, -1))

    def write_pages(self, pages: NDArray[np.uint8]) -> None:
        in_order = _chip_order(self.elements)
        in_order[...] = self.dtype.from_bytes(pages).reshape(in_order.shape)
        self.clear_padding()

    def clear_padding(self) -> None:
        """Zero the padding after a write to whole tiles."""
        if self.is_ragged:
            rows, columns = self._logical_matrix
            self.elements[..., rows:, :] = 0
            self.elements[..., columns:] = 0


def _chip_order(elements: Array) -> Array:
    """Return a view (leading, tile row, tile column, face row, face column, row, column)."""
    *leading, rows, columns = elements.shape
    faces = TILE_SIZE // FACE_SIZE
    split = elements.reshape(
        prod(leading), rows // TILE_SIZE, faces, FACE_SIZE, columns // TILE_SIZE, faces, FACE_SIZE
    )
    return split.transpose(0, 1, 4, 2, 5, 3, 6)


def _copy_tiles(source: Array, destination: Array) -> None:
    if source.shape == destination.shape:
        destination[...] = source
        return
    # An int-indexed dimension may be missing on one side: tile n still goes to tile n.
    to_tiles = _tiles(destination)
    to_tiles[...] = _tiles(source).reshape(to_tiles.shape)


def _tiles(elements: Array) -> Array:
    """Return a view (.., tile row, tile column, row, column)."""
    *leading, rows, columns = elements.shape
    split = (*leading, rows // TILE_SIZE, TILE_SIZE, columns // TILE_SIZE, TILE_SIZE)
    return elements.reshape(split).swapaxes(-3, -2)

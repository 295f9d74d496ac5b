"""The shapes a tensor goes through on its way to the cores: logical, collapsed, physical, device.

Dimensions are grouped into intervals; each interval becomes one dimension. Every logical dimension
that ends an interval is a multiple of a tile's side, and so is every product on the way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ttl.diagnostics import wrong_argument

from .dtypes import Array
from .types import TILE_SIZE, Shape

MemorySpace = Literal["l1", "dram"]
Interval = tuple[int, int]


@dataclass(frozen=True, slots=True)
class MetalLayout:
    """How a tensor of `logical_shape` lies on a grid of cores."""

    logical_shape: Shape
    memory_space: MemorySpace = "l1"

    @property
    def matrix_shape(self) -> Shape:
        """The logical shape, with one row if it has one dimension."""
        return self.logical_shape if len(self.logical_shape) > 1 else (1, *self.logical_shape)

    @property
    def collapsed_intervals(self) -> tuple[Interval, ...]:
        """Two intervals: all dimensions but the last, and the last."""
        rank = len(self.logical_shape)
        return ((0, rank - 1), (rank - 1, rank))

    @property
    def dim_alignments(self) -> Shape:
        """A tile's side in the last dimension of each interval, 1 in the others."""
        return self._alignments[-len(self.logical_shape) :]

    @property
    def _alignments(self) -> Shape:
        """Alignments of the dimensions of `matrix_shape`."""
        return (1,) * (len(self.matrix_shape) - 2) + (TILE_SIZE, TILE_SIZE)

    @property
    def collapsed_shape(self) -> Shape:
        rank = len(self.matrix_shape)
        return self._collapse(0, rank - 1), self._collapse(rank - 1, rank)

    def _collapse(self, first: int, end: int) -> int:
        size = 1
        for dim in reversed(range(first, end)):
            size = _aligned(size * self.matrix_shape[dim], self._alignments[dim])
        return size

    @property
    def physical_shape(self) -> Shape:
        """The collapsed shape in tiles."""
        return tuple(size // TILE_SIZE for size in self.collapsed_shape)

    def shard_shape(self, grid: Shape) -> Shape:
        """Return the tiles of each core."""
        pairs = zip(self.physical_shape, grid, strict=True)
        return tuple(size // cores for size, cores in pairs)

    def device_shape(self, grid: Shape) -> Shape:
        """Return the grid's sizes, then each core's shard."""
        self.check(grid)
        return (*grid, *self.shard_shape(grid))

    @property
    def padded_shape(self) -> Shape:
        """The matrix shape with its last two dimensions in whole tiles."""
        pairs = zip(self.matrix_shape, self._alignments, strict=True)
        return tuple(_aligned(size, to) for size, to in pairs)

    def collapse(self, array: Array) -> Array:
        """Return the elements of a tensor in the collapsed shape, padded with zeros."""
        padded = np.zeros(self.padded_shape, array.dtype)
        padded[tuple(slice(size) for size in self.matrix_shape)] = array
        return padded.reshape(self.collapsed_shape)

    def restore(self, array: Array) -> Array:
        """Reverse collapse(), removing the padding."""
        whole = array.reshape(self.padded_shape)
        values = whole[tuple(slice(size) for size in self.matrix_shape)]
        return values.reshape(self.logical_shape)

    def check(self, grid: Shape) -> None:
        """Raise RuleBroken if the cores cannot share the tensor evenly."""
        if not self.logical_shape or len(grid) != 2:
            raise wrong_argument(
                f"a tensor of shape {self.logical_shape} on a grid of {grid}",
                "tensors have one dimension or more, grids have two: (rows, columns)",
            )
        for dim, (size, cores) in enumerate(zip(self.physical_shape, grid, strict=True)):
            if size % cores:
                elements = self.collapsed_shape[dim]
                raise wrong_argument(
                    f"dimension {dim} of {self.logical_shape} has {elements} elements or {size} "
                    f"tiles, which {cores} cores cannot share",
                    "choose a grid that divides the tiles of the tensor",
                )


def _aligned(size: int, to: int) -> int:
    return -(-size // to) * to

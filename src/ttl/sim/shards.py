"""Dataflow buffers in the shards of tensors: their blocks are the tensor's elements.

rule VIEW  a block of whole rows of a shard, or of a part of one row, is a view of the tensor
rule COPY  any other block, and one that reaches past the end of the tensor, is a copy: made when
           the run starts and at publish, written back after the run
rule MARK  published blocks count as read and pushed blocks as written by the node itself: other
           nodes may copy from and to these tiles of the tensor
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ttl.diagnostics.buffer_ends import not_backed, published_twice
from ttl.language.buffer import DataflowBuffer
from ttl.semantics.dtypes import Array
from ttl.semantics.types import TILE_SIZE, Shape, block_elements, tile_count

from .marks import Marks
from .place import Place

if TYPE_CHECKING:
    from .buffer import NodeBuffer
    from .kernel import KernelRun


class Shard:
    """The part of a tensor that a dataflow buffer holds on one node."""

    __slots__ = ("_copies", "_first_row", "_rows", "_starts", "buffer", "slots")

    def __init__(self, buffer: DataflowBuffer, node: Shape):
        assert buffer.backing is not None
        tensor, shards = buffer.backing.tensor, buffer.backing.shards
        elements: Array = tensor.storage.elements
        height = shards.rows * TILE_SIZE
        self._first_row = shards.cores.index((node[0], node[1])) * shards.rows
        first = self._first_row * TILE_SIZE
        self._rows: Array = elements.reshape(-1, elements.shape[-1])[first : first + height]
        self.buffer = buffer
        self._copies: list[tuple[int, Array]] = []  # first tile and block
        block = tile_count(buffer.shape)
        first_tile = buffer.backing.first_tile
        self._starts = [first_tile + n * block for n in range(buffer.block_count)]
        self.slots = [self._slot(start) for start in self._starts]
        self.read()

    def _slot(self, start: int) -> Array:
        shape = block_elements(self.buffer.shape, self.buffer.layout)
        if (view := self._view(start)) is not None:  # rule VIEW
            return view.reshape(shape)
        copy = np.zeros(shape, self._rows.dtype)
        self._copies.append((start, copy))
        return copy

    def _view(self, start: int) -> Array | None:
        row, column = divmod(start, self._columns)
        width = (1, *self.buffer.shape)[-1]
        height = tile_count(self.buffer.shape) // width
        is_whole = column == 0 and width == self._columns
        in_row = height == 1 and column + width <= self._columns
        bottom = (row + height) * TILE_SIZE
        if not (is_whole or in_row) or bottom > len(self._rows):
            return None
        right = (column + width) * TILE_SIZE
        return self._rows[row * TILE_SIZE : bottom, column * TILE_SIZE : right]

    @property
    def _columns(self) -> int:
        return int(self._rows.shape[1]) // TILE_SIZE

    # rule COPY

    def read(self) -> None:
        for start, copy in self._copies:
            for number, tile in enumerate(_tiles(copy)):
                if (place := self._tile(start + number)) is not None:
                    tile[...] = place

    def write_back(self) -> None:
        for start, copy in self._copies:
            for number, tile in enumerate(_tiles(copy)):
                if (place := self._tile(start + number)) is not None:
                    place[...] = tile
        assert self.buffer.backing is not None
        self.buffer.backing.tensor.storage.clear_padding()

    def _tile(self, number: int) -> Array | None:
        """Return a view of a tile of the shard; None past the end of the tensor."""
        row, column = divmod(number, self._columns)
        if (row + 1) * TILE_SIZE > len(self._rows):
            return None
        rows = self._rows[row * TILE_SIZE : (row + 1) * TILE_SIZE]
        return rows[:, column * TILE_SIZE : (column + 1) * TILE_SIZE]

    # rule MARK

    def mark(self, buffer: NodeBuffer) -> None:
        """Mark the tiles that the kernel at the producer's end read and wrote."""
        kernel, place = buffer.producer.kernel, buffer.producer.place
        if kernel is None or place is None:
            return
        pushed = buffer.producer.released
        if buffer.is_published:
            kernel.read = kernel.read or Marks()
            self._mark(kernel.read, place, len(self._starts))
            pushed -= len(self._starts)
        if pushed:
            kernel.written = kernel.written or Marks()
            self._mark(kernel.written, place, pushed)

    def _mark(self, marks: Marks, place: Place, blocks: int) -> None:
        assert self.buffer.backing is not None
        tensor, size = self.buffer.backing.tensor, tile_count(self.buffer.shape)
        *sizes, columns = tensor.storage.units
        for start in self._starts[:blocks]:
            for number in range(start, start + size):
                row, column = divmod(number, columns)
                if self._tile(number) is not None:
                    above = np.unravel_index(self._first_row + row, sizes) if sizes else ()
                    items = (*map(int, above), column)
                    marks.mark(tensor.storage.part(tensor, items), place)


def _tiles(block: Array) -> list[Array]:
    """Return views of the tiles in their order."""
    rows = block.reshape(-1, block.shape[-1])
    return [
        rows[top : top + TILE_SIZE, left : left + TILE_SIZE]
        for top in range(0, len(rows), TILE_SIZE)
        for left in range(0, rows.shape[1], TILE_SIZE)
    ]


def shard_of(buffer: DataflowBuffer, node: Shape) -> Shard | None:
    return None if buffer.backing is None else Shard(buffer, node)


def mark_shards(nodes: Mapping[Shape, Sequence[NodeBuffer]]) -> None:
    """Mark all shards, after the kernels have ended."""
    for buffers in nodes.values():
        for buffer in buffers:
            if buffer.shard is not None:
                buffer.shard.mark(buffer)


def begin_publish(kernel: KernelRun, buffer: NodeBuffer) -> None:
    kernel.require_data_movement("DataflowBuffer.publish()")
    name = buffer.declared.name
    if buffer.shard is None:
        raise not_backed(name)
    if buffer.is_published:
        raise published_twice(name)
    buffer.is_published = True
    buffer.shard.read()

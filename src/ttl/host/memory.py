"""What the runtime works on: the elements of a tensor where they are, or a copy of its pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ttl.ttnn.storage import RowMajorStorage, TileStorage

TILE_ROWS = 32


class PagedTensor(Protocol):
    """A tensor as the chip stores it: pages of bytes, tiles as four faces."""

    @property
    def page_bytes(self) -> int: ...

    @property
    def memory(self) -> str:
        """Where the pages lie: "dram" or "l1"."""

    def read_pages(self) -> np.ndarray:
        """All pages, uint8 of shape (number of pages, page_bytes)."""

    def write_pages(self, pages: np.ndarray) -> None: ...


def shard_words_of(tensor: PagedTensor) -> tuple[int, ...]:
    """What accessors are told of a tensor's shards; nothing where it has none."""
    words: tuple[int, ...] = getattr(tensor, "shard_words", ())
    return words


@dataclass(frozen=True, slots=True)
class Units:
    """What nodes write by itself, tiles or elements; of each matrix of tiles the rows and columns
    that are no padding, and all rows of tiles.
    """

    bytes: int = 0  # not known
    rows: int = 0
    columns: int = 0
    tile_rows: int = 0

    @classmethod
    def of(cls, tensor: PagedTensor) -> Units:
        if isinstance(tensor, RowMajorStorage):
            return cls(tensor.dtype.element_bytes)
        if not isinstance(tensor, TileStorage):
            return cls()
        rows, columns = (1, 1, *tensor.logical.shape)[-2:]
        return cls(tensor.page_bytes, rows, columns, tensor.elements.shape[-2] // TILE_ROWS)


@dataclass(frozen=True, slots=True)
class TensorMemory:
    """Pages of bytes, one a row, or the matrix of elements of which each page is a tile."""

    array: np.ndarray
    is_in_rows: bool
    units: Units = Units()

    def write_back(self, tensor: Any) -> None:
        """After the run has written to it."""
        if self.is_in_rows:
            tensor.clear_padding()
        else:
            tensor.write_pages(self.array)


def tensor_memories(tensors: Sequence[PagedTensor]) -> list[TensorMemory]:
    """A tensor given twice is one memory."""
    memories: dict[int, TensorMemory] = {}
    for tensor in tensors:
        if id(tensor) not in memories:
            memories[id(tensor)] = _memory(tensor)
    return [memories[id(tensor)] for tensor in tensors]


def _memory(tensor: PagedTensor) -> TensorMemory:
    if type(tensor) is TileStorage and not tensor.dtype.is_block_float:
        elements: np.ndarray = tensor.elements
        if elements.flags.c_contiguous and elements.flags.writeable:
            return TensorMemory(elements, True, Units.of(tensor))
    pages = np.require(tensor.read_pages(), np.uint8, ["C", "W"])
    assert pages.ndim == 2 and pages.shape[1] == tensor.page_bytes
    return TensorMemory(pages, False, Units.of(tensor))

"""Units of tensors that several nodes write, and whether they write the same bytes.

rule OWNER    a unit belongs to the node that has written it, and to all once two have
rule CHANGED  a write to another's unit changes its bytes or not
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ttl.semantics.dtypes import Array
from ttl.semantics.layout import TILE_LAYOUT
from ttl.semantics.tensors import TensorSlice
from ttl.semantics.types import TILE_SIZE

if TYPE_CHECKING:
    from .kernel import KernelRun

Changed = NDArray[np.bool_]  # by unit
ALL = 0xFFFF  # instead of the number of a node


class Overwrites:
    """Of one run; tensors are known by the identity of their storage."""

    __slots__ = ("_changed", "_owners")

    def __init__(self) -> None:
        self._owners: dict[int, NDArray[np.uint16]] = {}
        self._changed: dict[int, Changed] = {}

    def changed_by(self, tensor: Any) -> Changed:
        """The units in which nodes wrote different bytes."""
        found = self._changed.get(id(tensor.storage))
        return np.zeros(tensor.storage.units, np.bool_) if found is None else found

    def clash(self, part: TensorSlice, words: Array, kernel: KernelRun) -> bool:
        """Write to the part if other nodes have written in it; False if the caller is to do it.
        Either way, this node has written it from now on.
        """
        node = kernel.node_number
        storage = part.tensor.storage
        owners = self._owners.get(id(storage))
        if owners is None:
            owners = self._owners[id(storage)] = np.zeros(storage.units, np.uint16)
        owned: Any = owners[part.items]  # type: ignore[index]  # ints and slices of units
        # One unit is a number, which numpy is slow to count.
        if not (owned if isinstance(owned, np.uint16) else np.count_nonzero(owned)):
            owners[part.items] = node  # type: ignore[index]
            return False
        is_others = np.asarray((owned != 0) & (owned != node)).reshape(part.shape)
        owners[_box(part)] = np.where(is_others, ALL, node)  # rule OWNER
        if not is_others.any():
            return False
        self._write(part, words, is_others)
        return True

    def _write(self, part: TensorSlice, words: Array, is_others: Changed) -> None:
        storage = part.tensor.storage
        before = np.empty_like(words)
        storage.read(part, before)
        storage.write(part, words)
        after = np.empty_like(words)
        storage.read(part, after)  # without what the padding of the block held
        differs = units_of(before != after, part).any(axis=1)
        changed = self._changed.setdefault(id(storage), np.zeros(storage.units, np.bool_))
        changed[_box(part)] |= differs.reshape(part.shape) & is_others  # rule CHANGED


def units_of(elements: Array, part: TensorSlice) -> Array:
    """The elements of a block, one row for each unit of the part."""
    if part.tensor.layout is not TILE_LAYOUT:
        return elements.reshape(-1, 1)
    rows, columns = (size // TILE_SIZE for size in elements.shape[-2:])
    tiles = elements.reshape(-1, rows, TILE_SIZE, columns, TILE_SIZE)
    return tiles.swapaxes(2, 3).reshape(-1, TILE_SIZE * TILE_SIZE)


def _box(part: TensorSlice) -> tuple[slice, ...]:
    bounds = zip(part.starts, part.shape, strict=True)
    return tuple([slice(start, start + size) for start, size in bounds])

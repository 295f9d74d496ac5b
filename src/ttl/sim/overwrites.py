"""Units of tensors that several nodes write, and whether they write equal bytes.

rule OWNER      a unit belongs to the node that wrote it, and to all after a second node wrote it
rule CHANGED    a write to another's unit changes its bytes or not
rule READ_BACK  a node that reads its own writes reads the same data in any order if no write to the
                unit, even its own, has changed its bytes
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ttl.semantics import block_math
from ttl.semantics.dtypes import Array
from ttl.semantics.layout import TILE_LAYOUT
from ttl.semantics.tensors import TensorSlice
from ttl.semantics.types import TILE_SIZE

if TYPE_CHECKING:
    from .kernel import KernelRun

Changed: TypeAlias = NDArray[np.bool_]  # by unit
ALL: Final = 0xFFFF  # all nodes, in place of a node's number
claimed: Final = block_math.claimed


class Overwrites:
    """The owner of each unit in one run. Tensors are known by the identity of their storage."""

    __slots__ = ("_changed", "_current", "_follows_reads", "_owners", "_tensor", "_unsteady")

    def __init__(self, follows_reads: bool) -> None:
        self._follows_reads = follows_reads
        self._owners: dict[int, NDArray[np.uint16]] = {}
        self._changed: dict[int, Changed] = {}  # of tensors with units that two nodes wrote
        self._unsteady: dict[int, Changed] = {}
        self._tensor: object = None  # the latest; most writes go to the same as the last
        self._current: Any = None

    @property
    def has_shared_units(self) -> bool:
        """Have two nodes written the same unit?"""
        return bool(self._changed)

    def has_all(self, tensor: Any) -> bool:
        """Has every unit been written?"""
        owners = self._owners.get(id(tensor.storage))
        return owners is not None and bool(owners.all())

    def changed_units(self, tensor: Any) -> Changed | None:
        """Return the units with different bytes from nodes; None if no two wrote the same unit."""
        return self._changed.get(id(tensor.storage))

    def unsteady_units(self, tensor: Any) -> Changed:
        """Return the units in which a later write changed the bytes."""
        found = self._unsteady.get(id(tensor.storage))
        return np.zeros(tensor.storage.units, np.bool_) if found is None else found

    def reads_back(self, part: TensorSlice, kernel: KernelRun) -> bool:
        """Has the kernel's node itself written all of the part before?"""
        owners = self._owners.get(id(part.tensor.storage))
        if owners is None:
            return False
        owned = owners[_box(part)]
        is_own = owned == kernel.node_number
        if is_own.all():
            return True
        if not (is_own | (owned == ALL)).all():
            return False
        written = np.zeros(part.shape, np.bool_)
        for each in kernel.simulation.kernels:
            if each.coordinate == kernel.coordinate and each.written is not None:
                written |= each.written.units_in(part) != 0
        return bool(written.all())

    def write_shared(self, part: TensorSlice, words: Array, kernel: KernelRun) -> bool:
        """Write the part if other nodes have written there; return False if the caller must write
        it. In both cases, the node's write is recorded.
        """
        node = kernel.node_number
        if part.tensor is not self._tensor:
            self._turn_to(part.tensor)
        owners = self._current
        if claimed(owners, part.starts, part.shape, node):
            return False
        owned: Any = owners[part.items]  # ints and slices of units
        # The truth of a single unit is faster than counting with numpy.
        if not (owned if owned.size == 1 else np.count_nonzero(owned)):
            owners[part.items] = node
            return False
        is_written = np.asarray(owned != 0).reshape(part.shape)
        is_others = is_written & np.asarray(owned != node).reshape(part.shape)
        owners[_box(part)] = np.where(is_others, ALL, node)  # rule OWNER
        if not self._follows_reads and not is_others.any():
            return False
        differs = self._write(part, words)
        self._note(self._changed, part, differs & is_others)  # rule CHANGED
        self._note(self._unsteady, part, differs & is_written)  # rule READ_BACK
        return True

    def _turn_to(self, tensor: Any) -> None:
        storage = tensor.storage
        owners = self._owners.get(id(storage))
        if owners is None:
            owners = self._owners[id(storage)] = np.zeros(storage.units, np.uint16)
        self._tensor, self._current = tensor, owners

    def _write(self, part: TensorSlice, words: Array) -> Changed:
        """Write the part and return the units whose bytes changed."""
        storage = part.tensor.storage
        before = np.empty_like(words)
        storage.read(part, before)
        storage.write(part, words)
        after = np.empty_like(words)
        storage.read(part, after)  # without the padding of the block
        differs: Changed = units_of(before != after, part).any(axis=1).reshape(part.shape)
        return differs

    def _note(self, found: dict[int, Changed], part: TensorSlice, units: Changed) -> None:
        storage = part.tensor.storage
        if id(storage) not in found:
            found[id(storage)] = np.zeros(storage.units, np.bool_)
        found[id(storage)][_box(part)] |= units


def units_of(elements: Array, part: TensorSlice) -> Array:
    """Return a block's elements, one row for each unit of the part."""
    if part.tensor.layout is not TILE_LAYOUT:
        return elements.reshape(-1, 1)
    rows, columns = (size // TILE_SIZE for size in elements.shape[-2:])
    tiles = elements.reshape(-1, rows, TILE_SIZE, columns, TILE_SIZE)
    return tiles.swapaxes(2, 3).reshape(-1, TILE_SIZE * TILE_SIZE)


def _box(part: TensorSlice) -> tuple[slice, ...]:
    bounds = zip(part.starts, part.shape, strict=True)
    return tuple([slice(start, start + size) for start, size in bounds])

"""Units of tensors that several nodes write, and whether they write the same bytes.

rule OWNER      a unit belongs to the node that has written it, and to all once two have
rule CHANGED    a write to another's unit changes its bytes or not
rule READ_BACK  a node that reads what it has written itself reads the same in any order if no write
                to the unit, not even its own, has changed its bytes
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
ALL: Final = 0xFFFF  # instead of the number of a node
claimed: Final = block_math.claimed


class Overwrites:
    """Of one run; tensors are known by the identity of their storage."""

    __slots__ = ("_changed", "_current", "_follows_reads", "_owners", "_tensor", "_unsteady")

    def __init__(self, follows_reads: bool) -> None:
        self._follows_reads = follows_reads
        self._owners: dict[int, NDArray[np.uint16]] = {}
        self._changed: dict[int, Changed] = {}  # of the tensors in which nodes met
        self._unsteady: dict[int, Changed] = {}
        self._tensor: Any = None  # of the latest write; most go where the last one went
        self._current: Any = None

    @property
    def found_any(self) -> bool:
        """Have two nodes written the same unit of any tensor?"""
        return bool(self._changed)

    def has_all(self, tensor: Any) -> bool:
        """Has each unit been written?"""
        owners = self._owners.get(id(tensor.storage))
        return owners is not None and bool(owners.all())

    def changed_by(self, tensor: Any) -> Changed | None:
        """The units in which nodes wrote different bytes; None if no two wrote the same unit."""
        return self._changed.get(id(tensor.storage))

    def is_unsteady(self, tensor: Any) -> Changed:
        """The units of which a write has changed the bytes that another had written."""
        found = self._unsteady.get(id(tensor.storage))
        return np.zeros(tensor.storage.units, np.bool_) if found is None else found

    def reads_back(self, part: TensorSlice, kernel: KernelRun) -> bool:
        """Has the kernel's node written all of the part before?"""
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

    def clash(self, part: TensorSlice, words: Array, kernel: KernelRun) -> bool:
        """Write to the part if other nodes have written in it; False if the caller is to do it.
        Either way, this node has written it from now on.
        """
        node = kernel.node_number
        if part.tensor is not self._tensor:
            self._turn_to(part.tensor)
        owners = self._current
        if claimed(owners, part.starts, part.shape, node):
            return False
        owned: Any = owners[part.items]  # ints and slices of units
        # One unit is true or false by itself; numpy is slow to count.
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
        """The units that have other bytes than before."""
        storage = part.tensor.storage
        before = np.empty_like(words)
        storage.read(part, before)
        storage.write(part, words)
        after = np.empty_like(words)
        storage.read(part, after)  # without what the padding of the block held
        differs: Changed = units_of(before != after, part).any(axis=1).reshape(part.shape)
        return differs

    def _note(self, found: dict[int, Changed], part: TensorSlice, units: Changed) -> None:
        storage = part.tensor.storage
        if id(storage) not in found:
            found[id(storage)] = np.zeros(storage.units, np.bool_)
        found[id(storage)][_box(part)] |= units


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

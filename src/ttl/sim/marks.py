"""The parts of tensors that a kernel has written and, if it can matter, read.

rule UNITS   a tensor of tiles has a map of its tiles, a row-major one a list of boxes of elements
rule MARK    a unit holds the number of the line that last touched it, 0 if none has
rule READS   reads are marked only in programs that may read tensors they write
"""

from __future__ import annotations

from types import CodeType
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ttl.semantics import block_math
from ttl.semantics.layout import TILE_LAYOUT
from ttl.semantics.tensors import TensorSlice
from ttl.semantics.types import Shape

from .place import Place

MOST_PLACES = 255  # places per kernel and tensor; further ones share the last number
UnitMap: TypeAlias = NDArray[np.uint8]
marked: Final = block_math.marked


class TensorMarks:
    """The units of one tensor that one kernel has touched."""

    __slots__ = ("boxes", "map", "places", "tensor")

    def __init__(self, tensor: Any):
        self.tensor = tensor
        self.places: list[Place] = []
        self.boxes: dict[tuple[Shape, Shape], int] = {}  # by their starts and sizes
        self.map: UnitMap | None = None
        if tensor.layout is TILE_LAYOUT:
            self.map = np.zeros(tensor.storage.units, np.uint8)

    def number_of(self, place: Place) -> int:
        if place not in self.places:
            if len(self.places) == MOST_PLACES:
                return MOST_PLACES
            self.places.append(place)
        return self.places.index(place) + 1

    def unit_map(self) -> UnitMap:
        if self.map is not None:
            return self.map
        units = np.zeros(self.tensor.storage.units, np.uint8)
        for (starts, sizes), number in self.boxes.items():
            bounds = zip(starts, sizes, strict=True)
            units[tuple([slice(start, start + size) for start, size in bounds])] = number
        return units


class Marks:
    """Parts that one kernel has read or written; most copies come from the last one's line."""

    __slots__ = ("_at", "_code", "_current", "_map", "_number", "_tensor", "by_tensor")

    def __init__(self) -> None:
        self.by_tensor: dict[int, TensorMarks] = {}  # by the identity of its storage
        self._tensor: object = None
        self._code: CodeType | None = None
        self._at = 0
        self._current: TensorMarks | None = None
        self._map: Any = None
        self._number = 0

    def mark(self, part: TensorSlice, place: Place) -> None:
        if part.tensor is not self._tensor or place[0] is not self._code or place[1] != self._at:
            self._turn_to(part.tensor, place)
        if self._map is not None:
            if not marked(self._map, part.starts, part.shape, self._number):
                self._map[part.items] = self._number  # ints and slices of units
        else:
            assert self._current is not None
            self._current.boxes[part.starts, part.shape] = self._number

    def units_in(self, part: TensorSlice) -> UnitMap:
        """Return the marks of the units of a part, in its shape."""
        found = self.by_tensor.get(id(part.tensor.storage))
        if found is None:
            return np.zeros(part.shape, np.uint8)
        bounds = zip(part.starts, part.shape, strict=True)
        return found.unit_map()[tuple([slice(start, start + size) for start, size in bounds])]

    def _turn_to(self, tensor: Any, place: Place) -> None:
        key = id(tensor.storage)
        found = self.by_tensor.get(key)
        if found is None:
            found = self.by_tensor[key] = TensorMarks(tensor)
        self._tensor, self._current = tensor, found
        self._code, self._at = place
        self._map, self._number = found.map, found.number_of(place)

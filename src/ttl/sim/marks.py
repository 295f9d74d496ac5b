"""Which parts of tensors a kernel has written and, where it can matter, read.

rule UNITS   a tensor of tiles has a map of its tiles, a row-major one a list of boxes of elements
rule MARK    a unit holds the number of the line that touched it last, 0 if none has
rule READS   reads are marked only in programs that may read what they write
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache
from types import CodeType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ttl.language.operation import KernelFunction, Program, is_tensor
from ttl.semantics.function_source import definition_of
from ttl.semantics.layout import TILE_LAYOUT
from ttl.semantics.tensors import TensorSlice
from ttl.semantics.types import Shape

from .place import Place

MOST_PLACES = 255  # of one kernel and tensor; those behind share the last number
UnitMap = NDArray[np.uint8]


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
    """What one kernel has read, or written; most copies are made by the line that made the last."""

    __slots__ = ("_current", "_map", "_number", "_place", "_tensor", "by_tensor")

    def __init__(self) -> None:
        self.by_tensor: dict[int, TensorMarks] = {}  # by the identity of its storage
        self._tensor: Any = None
        self._place: Place | None = None
        self._current: TensorMarks | None = None
        self._map: UnitMap | None = None
        self._number = 0

    def mark(self, part: TensorSlice, place: Place) -> None:
        if part.tensor is not self._tensor or place != self._place:
            self._turn_to(part.tensor, place)
        if self._map is not None:
            self._map[part.items] = self._number  # type: ignore[index]  # ints and slices of units
        else:
            assert self._current is not None
            self._current.boxes[part.starts, part.shape] = self._number

    def _turn_to(self, tensor: Any, place: Place) -> None:
        key = id(tensor.storage)
        found = self.by_tensor.get(key)
        if found is None:
            found = self.by_tensor[key] = TensorMarks(tensor)
        self._tensor, self._place, self._current = tensor, place, found
        self._map, self._number = found.map, found.number_of(place)


def may_read_what_it_writes(program: Program) -> bool:
    """rule READS: False only if the kernels show which tensors they read and which they write."""
    read: set[int] = set()
    written: set[int] = set()
    for kernel in program.kernels:
        uses = _uses(kernel.function.__code__)
        for name, tensor in _tensors(kernel):
            if uses is None or name in uses.otherwise:
                return True
            if name in uses.read:
                read.add(id(tensor.storage))
            if name in uses.written:
                written.add(id(tensor.storage))
    return not read.isdisjoint(written)


def _tensors(kernel: KernelFunction) -> Iterator[tuple[str, Any]]:
    around = kernel.function.__globals__
    named = {name: around[name] for name in kernel.function.__code__.co_names if name in around}
    for name, value in (kernel.captures() | named).items():
        if is_tensor(value) and hasattr(value, "storage"):
            yield name, value


class _Uses(NamedTuple):
    """How a kernel uses names: `ttl.copy(read[..], x)`, `ttl.copy(x, written[..])`, or not so."""

    read: frozenset[str]
    written: frozenset[str]
    otherwise: frozenset[str]


@lru_cache(maxsize=1024)
def _uses(code: CodeType) -> _Uses | None:
    tree = definition_of(code)
    if tree is None:
        return None
    read: set[str] = set()
    written: set[str] = set()
    plain: set[ast.AST] = set()  # names whose use is understood
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            plain.add(node.value)
        elif isinstance(node, ast.Call) and _is_copy(node.func) and len(node.args) == 2:
            for argument, names in zip(node.args, (read, written), strict=True):
                if isinstance(argument, ast.Subscript) and isinstance(argument.value, ast.Name):
                    names.add(argument.value.id)
                    plain.add(argument.value)
    names_used = [node for node in ast.walk(tree) if isinstance(node, ast.Name)]
    otherwise = {node.id for node in names_used if node not in plain}
    return _Uses(frozenset(read), frozenset(written), frozenset(otherwise))


def _is_copy(function: ast.expr) -> bool:
    if isinstance(function, ast.Attribute):
        return function.attr == "copy"
    return isinstance(function, ast.Name) and function.id == "copy"

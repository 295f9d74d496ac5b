"""Checks after a run: tiles that nodes touched without an order, and output tiles nobody wrote.

rule UNORDERED  nodes that used no pipe and no semaphore have no order: a tile that one writes and
                another reads, or writes with other bytes, is a race. It is none if the other node
                reads the same bytes, which it has written itself
rule TWICE      a tile that two nodes write gets a note if the bytes are the same, or if pipes or
                semaphores may have ordered the nodes: only clocks show whether it is a race
                (races.py)
rule COVERED    a tensor that an operation writes and does not read is an output, and all of it must
                be written; a buffer in its shards is an exception, as it may cover only a part of
                these
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ttl.diagnostics import Diagnostic, RuleBroken, accesses
from ttl.semantics.layout import TILE_LAYOUT
from ttl.semantics.tensor_like import StoredTensor
from ttl.semantics.types import Shape

from .marks import TensorMarks, UnitMap
from .overwrites import Changed, Overwrites
from .place import Place, span_of
from .races import Clash, TensorAccess

if TYPE_CHECKING:
    from .kernel import KernelRun
    from .simulation import Simulation


# Write or read; the marks; the units that can clash, or None for all.
Kind = tuple[bool, "list[tuple[KernelRun, TensorMarks]]", Changed | None]


@dataclass(slots=True)
class Touched:
    """A tensor and the kernels that touched it."""

    tensor: StoredTensor
    writes: list[tuple[KernelRun, TensorMarks]] = field(default_factory=list)
    reads: list[tuple[KernelRun, TensorMarks]] = field(default_factory=list)
    reads_back: list[tuple[KernelRun, TensorMarks]] = field(default_factory=list)


def find_unordered_accesses(simulation: Simulation, overwrites: Overwrites) -> list[Diagnostic]:
    """Find the first race on each tensor (rule UNORDERED), for nodes without an order."""
    if not overwrites.has_shared_units and not simulation.marks_reads:
        return []
    tensors = find_touched_tensors(simulation)
    found = [_first_race(each, overwrites) for each in tensors]
    return _diagnostics(simulation, found, accesses.race)


def find_double_writes(
    simulation: Simulation, overwrites: Overwrites, why: str
) -> list[Diagnostic]:
    """Find the first unit of each tensor that two nodes wrote (rule TWICE)."""
    if not overwrites.has_shared_units:
        return []
    tensors = find_touched_tensors(simulation)
    writes = [each for each in tensors if overwrites.changed_units(each.tensor) is not None]
    found = [_first_clash(touched, [(True, touched.writes, None)]) for touched in writes]
    return _diagnostics(simulation, found, partial(accesses.written_twice, why=why))


def _diagnostics(
    simulation: Simulation, clashes: Sequence[Clash | None], rule: Callable[..., RuleBroken]
) -> list[Diagnostic]:
    names = simulation.tensor_names
    return [
        clash.diagnostic(rule, names.get(id(clash.tensor), ""))
        for clash in clashes
        if clash is not None
    ]


def find_touched_tensors(simulation: Simulation) -> list[Touched]:
    by_tensor: dict[int, Touched] = {}
    for kernel in simulation.kernels:
        if kernel.written is None and kernel.read is None and kernel.read_back is None:
            continue
        for name, marks in (
            ("writes", kernel.written),
            ("reads", kernel.read),
            ("reads_back", kernel.read_back),
        ):
            for key, own in marks.by_tensor.items() if marks is not None else ():
                touched = by_tensor.get(key)
                if touched is None:
                    touched = by_tensor[key] = Touched(own.tensor)
                getattr(touched, name).append((kernel, own))
    return [touched for touched in by_tensor.values() if touched.writes]


def _first_race(touched: Touched, overwrites: Overwrites) -> Clash | None:
    changed, unsteady = overwrites.changed_units(touched.tensor), None
    if changed is None and not touched.reads:
        return None  # each unit has one writer, and no other node reads it
    if touched.reads_back:
        unsteady = overwrites.unsteady_units(touched.tensor)
    kinds: list[Kind] = [] if changed is None else [(True, touched.writes, changed)]
    kinds += [(False, touched.reads, None), (False, touched.reads_back, unsteady)]
    return _first_clash(touched, kinds)


def _first_clash(touched: Touched, kinds: Sequence[Kind]) -> Clash | None:
    """Find a unit that two nodes touch, of which the other one writes it."""
    together = (*touched.writes, *touched.reads, *touched.reads_back)
    if len({kernel.coordinate for kernel, _ in together}) < 2:
        return None
    writers = _Writers(touched)
    for is_write, found, among in kinds:
        for kernel, marks in found:
            units = marks.unit_map()
            if among is not None:
                units = np.where(among, units, 0)
            if (unit := writers.other_than(kernel, units, is_write)) is not None:
                own = TensorAccess(kernel, 0, is_write, _place(marks, units, unit))
                return Clash(own, writers.access(kernel, unit), touched.tensor, unit)
    return None


class _Writers:
    """The node that wrote each unit, by number; the last one for units with several writers."""

    def __init__(self, touched: Touched):
        self._writes = touched.writes
        self._numbers: dict[Shape, int] = {}
        self._node: NDArray[np.uint16] = np.zeros(touched.tensor.storage.units, np.uint16)
        self._is_shared: NDArray[np.bool_] = np.zeros_like(self._node, np.bool_)
        for kernel, marks in reversed(touched.writes):
            number = self._numbers.setdefault(kernel.coordinate, len(self._numbers) + 1)
            is_written = marks.unit_map() != 0
            self._is_shared |= is_written & (self._node != 0) & (self._node != number)
            self._node[is_written] = number

    def other_than(self, kernel: KernelRun, units: UnitMap, is_write: bool) -> Shape | None:
        """Find the first unit marked by the kernel that another node has written."""
        own = self._numbers.get(kernel.coordinate, 0)
        is_others = (self._node != 0) & (self._node != own)
        if not is_write:  # all writers of a unit but the last find the last here
            is_others |= self._is_shared
        clash = (units != 0) & is_others
        return _first(clash) if clash.any() else None

    def access(self, kernel: KernelRun, unit: Shape) -> TensorAccess:
        for writer, marks in self._writes:
            units = marks.unit_map()
            if writer.coordinate != kernel.coordinate and units[unit]:
                return TensorAccess(writer, 0, True, _place(marks, units, unit))
        raise AssertionError("some other node has written the unit")


def _place(marks: TensorMarks, units: UnitMap, unit: Shape) -> Place:
    return marks.places[int(units[unit]) - 1]


def _first(where: NDArray[np.bool_]) -> Shape:
    return tuple([int(index) for index in np.argwhere(where)[0]])


# Outputs


def find_uncovered_outputs(simulation: Simulation) -> list[Diagnostic]:
    """Warn once for each output that has units nobody wrote (rule COVERED)."""
    backings = [buffer.backing for buffer in simulation.program.buffers]
    found = [
        _uncovered_warning(touched, simulation)
        for touched in find_touched_tensors(simulation)
        if not touched.reads
        and not touched.reads_back
        and not any(each is not None and each.tensor is touched.tensor for each in backings)
    ]
    return [warning for warning in found if warning is not None]


def _uncovered_warning(touched: Touched, simulation: Simulation) -> Diagnostic | None:
    overwrites = simulation.overwrites
    if overwrites is not None and overwrites.has_all(touched.tensor):
        return None
    covered = np.zeros(touched.tensor.storage.units, bool)
    for _, marks in touched.writes:
        covered |= marks.unit_map() != 0
    left = covered.size - int(covered.sum())
    if not left:
        return None
    kernel, marks = touched.writes[0]
    name = simulation.tensor_names.get(id(touched.tensor), "") or "a tensor"
    what = "tiles" if touched.tensor.layout is TILE_LAYOUT else "elements"
    broken = accesses.not_covered(
        name,
        covered.shape,
        (left, covered.size),
        _first(~covered),
        (_nodes(touched.writes), len(simulation.nodes)),
        what,
    )
    return broken.at(span_of(marks.places[0]), f"`{kernel.name}` writes `{name}` here")


def _nodes(writes: Sequence[tuple[KernelRun, TensorMarks]]) -> int:
    return len({kernel.coordinate for kernel, _ in writes})

"""After a run: tiles that several nodes touched though nothing orders nodes, and tiles of an
output that nobody wrote.

rule UNORDERED  nodes that used no pipe and no semaphore are in no order: a tile that one writes and
                another one reads, or writes with other bytes, is a race
rule TWICE      a tile that two nodes write is worth a look where the bytes are the same, or where
                pipes or semaphores may have ordered the nodes: only clocks tell whether it is a
                race there (races.py)
rule COVERED    a tensor that an operation writes and does not read is an output; all of it is
                written
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ttl.diagnostics import Diagnostic, RuleBroken, accesses
from ttl.semantics.layout import TILE_LAYOUT
from ttl.semantics.types import Shape

from .marks import Marks, TensorMarks, UnitMap
from .overwrites import Changed, Overwrites
from .place import span_of
from .races import Access, Clash

if TYPE_CHECKING:
    from .kernel import KernelRun
    from .simulation import Simulation


@dataclass(slots=True)
class Touched:
    """One tensor, by the kernels that touched it."""

    tensor: Any
    writes: list[tuple[KernelRun, TensorMarks]] = field(default_factory=list)
    reads: list[tuple[KernelRun, TensorMarks]] = field(default_factory=list)


def unordered_accesses(simulation: Simulation, overwrites: Overwrites) -> list[Diagnostic]:
    """rule UNORDERED: the first race on each tensor. Only for nodes that were in no order."""
    tensors = touched_tensors(simulation)
    found = [_first_clash(each, overwrites.changed_by(each.tensor)) for each in tensors]
    return _diagnostics(simulation, found, accesses.race)


def written_twice(simulation: Simulation, why: str) -> list[Diagnostic]:
    """rule TWICE: the first unit of each tensor."""
    writes = [replace(touched, reads=[]) for touched in touched_tensors(simulation)]
    found = [_first_clash(touched) for touched in writes]
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


def touched_tensors(simulation: Simulation) -> list[Touched]:
    by_tensor: dict[int, Touched] = {}
    for kernel in simulation.kernels:
        if kernel.written is None is kernel.read:
            continue
        for key, marks in _by_tensor(kernel.written):
            by_tensor.setdefault(key, Touched(marks.tensor)).writes.append((kernel, marks))
        for key, marks in _by_tensor(kernel.read):
            by_tensor.setdefault(key, Touched(marks.tensor)).reads.append((kernel, marks))
    return [touched for touched in by_tensor.values() if touched.writes]


def _by_tensor(marks: Marks | None) -> Iterator[tuple[int, TensorMarks]]:
    if marks is not None:
        yield from marks.by_tensor.items()


def _first_clash(touched: Touched, changed: Changed | None = None) -> Clash | None:
    """Two nodes touch a unit, and the other one writes it; with `changed`, of writes only those
    that clash in these units.
    """
    if len({kernel.coordinate for kernel, _ in (*touched.writes, *touched.reads)}) < 2:
        return None
    writers = _Writers(touched)
    for is_write, found in ((True, touched.writes), (False, touched.reads)):
        for kernel, marks in found:
            units = marks.unit_map()
            if is_write and changed is not None:
                units = np.where(changed, units, 0)
            if (unit := writers.other_than(kernel, units)) is not None:
                own = Access(kernel, 0, is_write, _place(marks, units, unit))
                return Clash(own, writers.access(kernel, unit), touched.tensor, unit)
    return None


class _Writers:
    """Which node wrote each unit, by its number; units that several have written have the last."""

    def __init__(self, touched: Touched):
        self._writes = touched.writes
        self._numbers: dict[Shape, int] = {}
        self._node: NDArray[np.uint16] = np.zeros(touched.tensor.storage.units, np.uint16)
        for kernel, marks in reversed(touched.writes):
            number = self._numbers.setdefault(kernel.coordinate, len(self._numbers) + 1)
            self._node[marks.unit_map() != 0] = number

    def other_than(self, kernel: KernelRun, units: UnitMap) -> Shape | None:
        """The first unit marked by the kernel that another node has written."""
        own = self._numbers.get(kernel.coordinate, 0)
        clash = (units != 0) & (self._node != 0) & (self._node != own)
        return _first(clash) if clash.any() else None

    def access(self, kernel: KernelRun, unit: Shape) -> Access:
        for writer, marks in self._writes:
            units = marks.unit_map()
            if writer.coordinate != kernel.coordinate and units[unit]:
                return Access(writer, 0, True, _place(marks, units, unit))
        raise AssertionError("some other node has written the unit")


def _place(marks: TensorMarks, units: UnitMap, unit: Shape) -> Any:
    return marks.places[int(units[unit]) - 1]


def _first(where: NDArray[np.bool_]) -> Shape:
    return tuple([int(index) for index in np.argwhere(where)[0]])


# Outputs


def uncovered_outputs(simulation: Simulation) -> list[Diagnostic]:
    """rule COVERED: one warning for each output that has units nobody wrote."""
    found = [
        _uncovered(touched, simulation)
        for touched in touched_tensors(simulation)
        if not touched.reads
    ]
    return [warning for warning in found if warning is not None]


def _uncovered(touched: Touched, simulation: Simulation) -> Diagnostic | None:
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

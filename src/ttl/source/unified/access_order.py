"""Which accesses to tensors come after which, on a node and between nodes.

rule BLOCKS   what data in blocks leads from one statement to another orders them; that a buffer has
              only so many blocks orders more, which is not counted on
rule OWN      a node's signal to itself orders what waits for it, if the wait cannot end without it
rule SIGNALS  a node may be ordered after another one if that signals after its access and this one
              waits before its own; whether it is the right signal, a run with --strict tells
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import product
from typing import NamedTuple

from ttl.diagnostics import Diagnostic
from ttl.semantics.types import Shape

from .cells import Cell, Cells
from .own_signals import OwnSignals
from .problems import NodeAccess, read_back_between_nodes, touched_while_copied
from .rehearsal import Awaited, Does, Signal, Step, Steps
from .units import Thread, Unit

Pair = tuple[Unit, Unit]
TENSORS = (Does.LOAD, Does.SAVE)


def cells_of(steps: Steps) -> Cells:
    return Cells(s.what for of_node in steps.values() for s in of_node if s.does in TENSORS)


# On a node ----------------------------------------------------------------------------------------

Clock = dict[Thread, int]  # how many steps of each thread have happened before


class Order:
    """What orders the steps of one node, when they are taken in the order of the text."""

    def __init__(
        self,
        node: Shape,
        units: Sequence[Unit],
        threads: Mapping[Unit, Thread],
        cells: Cells,
        signals: OwnSignals,
    ):
        self.node, self.units, self.threads = node, units, threads
        self.cells, self.signals = cells, signals
        self.sent: list[tuple[Signal, Clock]] = []
        self.clocks: dict[Thread, Clock] = {thread: {} for thread in Thread}
        self.blocks: dict[Hashable, Clock] = {}
        self.latest: dict[Cell, dict[tuple[Thread, bool], tuple[int, Unit]]] = {}

    def unordered(self, steps: Sequence[Step]) -> Iterator[Pair]:
        for step in steps:
            unit = None if step.unit is None else self.units[step.unit]
            thread = Thread.COMPUTE if unit is None else self.threads[unit]
            if step.does is Does.USE:  # rule BLOCKS
                self._join(self.clocks[thread], self.blocks.get(step.what, {}))
            elif step.does is Does.FILL:
                self._join(self.blocks.setdefault(step.what, {}), self.clocks[thread])
            elif isinstance(step.what, Signal):
                self.sent.append((step.what, dict(self.clocks[thread])))
            elif isinstance(step.what, Awaited):  # rule OWN
                for signal, clock in self.sent:
                    if self.signals.is_needed(signal, step.what, self.node):
                        self._join(self.clocks[thread], clock)
            elif step.does in TENSORS and unit is not None:
                yield from self._access(unit, thread, step)

    @staticmethod
    def _join(clock: Clock, other: Clock) -> None:
        for thread, count in other.items():
            clock[thread] = max(count, clock.get(thread, 0))

    def _access(self, unit: Unit, thread: Thread, step: Step) -> Iterator[Pair]:
        clock, is_write = self.clocks[thread], step.does is Does.SAVE
        clock[thread] = clock.get(thread, 0) + 1
        for cell in self.cells.of(step.what):
            latest = self.latest.setdefault(cell, {})
            for (other, wrote), (count, before) in latest.items():
                if (wrote or is_write) and clock.get(other, 0) < count:
                    yield before, unit
            latest[thread, is_write] = clock[thread], unit


def unordered(
    steps: Steps, units: Sequence[Unit], threads: Mapping[Unit, Thread]
) -> list[Pair]:
    """Statements on two threads that touch one tile, of which nothing makes the second wait."""
    cells = cells_of(steps)
    signals = OwnSignals(steps)
    found: dict[Pair, None] = {}
    for node, of_node in steps.items():
        order = Order(node, units, threads, cells, signals)
        found |= dict.fromkeys(order.unordered(of_node))
    return list(found)


class _Open(NamedTuple):
    """A copy that is waited for later."""

    end: int
    unit: int
    is_write: bool
    cells: frozenset[Cell]


def before_waited(
    steps: Steps, units: Sequence[Unit], names: Mapping[Hashable, str]
) -> Diagnostic | None:
    """Two copies of a node that touch one tile, the second before the first is waited for."""
    cells = cells_of(steps)
    for node, of_node in steps.items():
        for first, second, (memory, tile) in _unwaited(of_node, cells):
            one, other = NodeAccess(units[first], node), NodeAccess(units[second], node)
            return touched_while_copied(one, other, tile, names.get(memory, ""))
    return None


def _unwaited(steps: Sequence[Step], cells: Cells) -> Iterator[tuple[int, int, Cell]]:
    ends = {step.what: place for place, step in enumerate(steps) if step.does is Does.END}
    still: list[_Open] = []
    for place, step in enumerate(steps):
        if step.does in TENSORS and step.unit is not None:
            one = _Open(
                ends.get(place, place), step.unit, step.does is Does.SAVE,
                frozenset(cells.of(step.what)),
            )  # fmt: skip
            still = [each for each in still if each.end > place]
            for each in still:
                if (each.is_write or one.is_write) and (shared := each.cells & one.cells):
                    yield each.unit, one.unit, min(shared, key=lambda cell: cell[1])
            still.append(one)


# Between nodes ------------------------------------------------------------------------------------


class _Access(NamedTuple):
    node: Shape
    place: int  # among the steps of its node
    unit: int


class Nodes:
    """The first and the last access of each node to each tile, and where nodes wait and signal."""

    def __init__(self, steps: Steps, cells: Cells):
        self.waits: dict[Shape, int] = {}  # the first one
        self.signals: dict[Shape, int] = {}  # the last one
        self.loads: dict[Cell, dict[Shape, list[_Access]]] = {}
        self.saves: dict[Cell, dict[Shape, list[_Access]]] = {}
        for node, of_node in steps.items():
            for place, step in enumerate(of_node):
                self._take(node, place, step, cells)

    def _take(self, node: Shape, place: int, step: Step, cells: Cells) -> None:
        if step.does is Does.AWAIT:
            self.waits.setdefault(node, place)
        elif step.does is Does.SIGNAL:
            self.signals[node] = place
        elif step.does in TENSORS and step.unit is not None:
            by_cell = self.loads if step.does is Does.LOAD else self.saves
            for cell in cells.of(step.what):
                ends = by_cell.setdefault(cell, {}).setdefault(node, [])
                ends[1:] = [_Access(node, place, step.unit)]

    def unordered(self) -> Iterator[tuple[Cell, _Access, _Access]]:
        """A write and a read on another node that no signal and wait can have ordered."""
        for cell, writers in self.saves.items():
            readers = self.loads.get(cell, {})
            for one, other in product(writers.values(), readers.values()):
                if one[0].node != other[0].node:
                    pairs = product(one, other)
                    yield from ((cell, w, r) for w, r in pairs if not self._may_be_ordered(w, r))

    def _may_be_ordered(self, one: _Access, other: _Access) -> bool:
        return self._may_precede(one, other) or self._may_precede(other, one)

    def _may_precede(self, first: _Access, second: _Access) -> bool:
        signaled = self.signals.get(first.node, -1) > first.place
        return signaled and self.waits.get(second.node, second.place) < second.place


def between_nodes(
    steps: Steps, units: Sequence[Unit], names: Mapping[Hashable, str]
) -> Diagnostic | None:
    """What one node writes and another reads, if nothing can order the two."""
    for (memory, tile), write, read in Nodes(steps, cells_of(steps)).unordered():
        one = NodeAccess(units[write.unit], write.node)
        return read_back_between_nodes(
            one, NodeAccess(units[read.unit], read.node), tile, names.get(memory, "")
        )
    return None

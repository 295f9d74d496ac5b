"""Which accesses to tensors come after which, on a node and between nodes.

rule BLOCKS   what data in blocks leads from one statement to another orders them; that a buffer has
              only so many blocks orders more, which is not counted on
rule OWN      a node's signal to itself orders what waits for it, if the wait cannot end without it
rule SIGNALS  a node may be ordered after another one if that signals after its access and this one
              waits before its own; whether it is the right signal, a run with --strict tells
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import product
from math import gcd, prod
from typing import Any, NamedTuple

from ttl.diagnostics import Diagnostic, Label
from ttl.language.semaphores import Semaphore
from ttl.semantics.types import Shape

from .opaque import NotFollowed
from .problems import READ_BETWEEN_NODES, TOUCHED_WHILE_COPIED
from .rehearsal import ACCESSES, Awaited, Does, Part, Signal, Step, Steps
from .units import Thread, Unit

Pair = tuple[Unit, Unit]
Names = Mapping[Hashable, str]  # of the memory of tensors
Cell = tuple[Hashable, Shape]
MOST_CELLS = 1 << 20


def _all(steps: Steps) -> Iterator[tuple[Shape, int, Step]]:
    for node, of_node in steps.items():
        for place, step in enumerate(of_node):
            yield node, place, step


class Cells:
    """The parts of tensors that a body copies as sets of equal boxes: those that overlap share one.

    The largest box of which all parts of a tensor consist; none for two views of different shapes.
    """

    def __init__(self, steps: Steps):
        by_memory: dict[Hashable, set[Part]] = defaultdict(set)
        for *_, step in _all(steps):
            if step.does in ACCESSES:
                by_memory[step.what.memory].add(step.what)
        self._sizes: dict[Hashable, Shape] = {}
        for memory, parts in by_memory.items():
            if len({part.sizes for part in parts}) == 1:
                sizes = [part.starts for part in parts] + [part.shape for part in parts]
                self._sizes[memory] = tuple(reduce(gcd, each) for each in zip(*sizes, strict=True))
        self._found: dict[Part, list[Cell]] = {}
        self._left = MOST_CELLS

    def of(self, part: Part) -> list[Cell]:
        """NotFollowed if there are too many."""
        if part not in self._found:
            sizes = self._sizes.get(part.memory, ())
            places = zip(part.starts, part.shape, sizes, strict=bool(sizes))
            bounds = [range(start, start + size, step) for start, size, step in places]
            self._left -= prod(map(len, bounds))
            if self._left < 0:
                raise NotFollowed("too many tiles")
            self._found[part] = [(part.memory, place) for place in product(*bounds)]
        return self._found[part]


class OwnSignals:
    """What all nodes do to each semaphore on each node, whenever they do it."""

    def __init__(self, steps: Steps):
        self._changes: dict[tuple[Semaphore, Shape], list[Signal]] = defaultdict(list)
        for *_, step in _all(steps):
            if isinstance(step.what, Signal):
                for node in step.what.nodes:
                    self._changes[step.what.semaphore, node].append(step.what)

    def is_needed(self, signal: Signal, awaited: Awaited, node: Shape) -> bool:
        """Without this signal, does the semaphore on the node never have the value waited for?"""
        if signal.semaphore is not awaited.semaphore or node not in signal.nodes:
            return False
        others = [each for each in self._changes[signal.semaphore, node] if each is not signal]
        start = max([signal.semaphore.initial, *(each.value for each in others if each.is_set)])
        most = start + sum(each.value for each in others if not each.is_set)  # in whatever order
        return bool(most < awaited.value)


# On a node ----------------------------------------------------------------------------------------

Clock = dict[Thread, int]  # how many steps of each thread have happened before


class Order:
    """What orders the steps of one node, when they are taken in the order of the text."""

    def __init__(self, threads: Mapping[Unit, Thread], cells: Cells):
        self.threads, self.cells = threads, cells
        self.sent: list[tuple[Signal, Clock]] = []
        self.clocks: dict[Thread, Clock] = {thread: {} for thread in Thread}
        self.blocks: dict[Hashable, Clock] = {}
        self.latest: dict[Cell, dict[tuple[Thread, bool], tuple[int, Unit]]] = defaultdict(dict)

    def unordered(self, node: Shape, steps: Sequence[Step], signals: OwnSignals) -> Iterator[Pair]:
        for step in steps:
            unit = step.unit
            thread = Thread.COMPUTE if unit is None else self.threads[unit]
            clock = self.clocks[thread]
            if step.does is Does.USE:  # rule BLOCKS
                _advance(clock, self.blocks.get(step.what, {}))
            elif step.does is Does.FILL:
                _advance(self.blocks.setdefault(step.what, {}), clock)
            elif isinstance(step.what, Signal):
                self.sent.append((step.what, dict(clock)))
            elif isinstance(step.what, Awaited):  # rule OWN
                for signal, before in self.sent:
                    if signals.is_needed(signal, step.what, node):
                        _advance(clock, before)
            elif step.does in ACCESSES and unit is not None:
                yield from self._access(unit, thread, step)

    def _access(self, unit: Unit, thread: Thread, step: Step) -> Iterator[Pair]:
        clock, is_write = self.clocks[thread], step.does is Does.SAVE
        clock[thread] = clock.get(thread, 0) + 1
        for cell in self.cells.of(step.what):
            for (other, wrote), (count, before) in self.latest[cell].items():
                if (wrote or is_write) and clock.get(other, 0) < count:
                    yield before, unit
            self.latest[cell][thread, is_write] = clock[thread], unit


def _advance(clock: Clock, other: Clock) -> None:
    for thread, count in other.items():
        clock[thread] = max(count, clock.get(thread, 0))


def unordered(steps: Steps, threads: Mapping[Unit, Thread]) -> list[Pair]:
    """Statements on two threads that touch one tile, of which nothing makes the second wait."""
    cells, signals = Cells(steps), OwnSignals(steps)
    found: dict[Pair, None] = {}
    for node, of_node in steps.items():
        order = Order(threads, cells)
        found |= dict.fromkeys(order.unordered(node, of_node, signals))
    return list(found)


class _Open(NamedTuple):
    """A copy that is waited for later."""

    end: int
    unit: Unit
    is_write: bool
    cells: frozenset[Cell]


def before_waited(steps: Steps, names: Names) -> Diagnostic | None:
    """Two copies of a node that touch one tile, the second before the first is waited for."""
    cells = Cells(steps)
    for node, of_node in steps.items():
        for first, second, (memory, tile) in _unwaited(of_node, cells):
            again = Label(second.span, "touched again here")
            return TOUCHED_WHILE_COPIED.at(first, again, **_facts(names, memory, tile, node))
    return None


def _unwaited(steps: Sequence[Step], cells: Cells) -> Iterator[tuple[Unit, Unit, Cell]]:
    ends = {step.what: place for place, step in enumerate(steps) if step.does is Does.END}
    still: list[_Open] = []
    for place, step in enumerate(steps):
        if step.does in ACCESSES and step.unit is not None:
            end, is_write = ends.get(place, place), step.does is Does.SAVE
            one = _Open(end, step.unit, is_write, frozenset(cells.of(step.what)))
            still = [each for each in still if each.end > place]
            for each in still:
                if (each.is_write or one.is_write) and (shared := each.cells & one.cells):
                    yield each.unit, one.unit, min(shared, key=lambda cell: cell[1])
            still.append(one)


# Between nodes ------------------------------------------------------------------------------------


class _Access(NamedTuple):
    node: Shape
    place: int  # among the steps of its node
    unit: Unit


Accesses = dict[Cell, dict[Shape, list[_Access]]]  # the first and the last of each node


def between_nodes(steps: Steps, names: Names) -> Diagnostic | None:
    """What one node writes and another reads, if nothing can order the two."""
    for (memory, tile), write, read in _between(steps):
        again = Label(read.unit.span, f"node {read.node} reads it here")
        facts = _facts(names, memory, tile, write.node, read.node)
        return READ_BETWEEN_NODES.at(write.unit, again, **facts)
    return None


def _facts(names: Names, memory: Hashable, tile: Shape, *nodes: Shape) -> dict[str, Any]:
    tensor = names.get(memory, "")
    return {"tensor": tensor, "part": f"tile {tile} of `{tensor or 'a tensor'}`", "nodes": nodes}


def _between(steps: Steps) -> Iterator[tuple[Cell, _Access, _Access]]:
    """A write and a read on another node that no signal and wait can have ordered."""
    ordering: dict[tuple[Shape, Does], list[int]] = defaultdict(list)
    for node, place, step in _all(steps):
        ordering[node, step.does].append(place)

    def may_precede(first: _Access, second: _Access) -> bool:  # rule SIGNALS
        signals = any(place > first.place for place in ordering[first.node, Does.SIGNAL][-1:])
        waits = any(place < second.place for place in ordering[second.node, Does.AWAIT][:1])
        return signals and waits

    cells = Cells(steps)
    loads, saves = _accesses(steps, Does.LOAD, cells), _accesses(steps, Does.SAVE, cells)
    for cell, writers in saves.items():
        for one, other in product(writers.values(), loads.get(cell, {}).values()):
            for write, read in product(one, other) if one[0].node != other[0].node else ():
                if not may_precede(write, read) and not may_precede(read, write):
                    yield cell, write, read


def _accesses(steps: Steps, does: Does, cells: Cells) -> Accesses:
    found: Accesses = defaultdict(dict)
    for node, place, step in _all(steps):
        for cell in cells.of(step.what) if step.does is does and step.unit is not None else ():
            ends = found[cell].setdefault(node, [])
            ends[1:] = [_Access(node, place, step.unit)]  # type: ignore[arg-type]
    return found

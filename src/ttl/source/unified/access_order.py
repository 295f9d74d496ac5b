"""The order of accesses to tensors, on a node and between nodes.

rule BLOCKS   data passed in blocks orders statements; the limit on blocks of a buffer does not
count
rule OWN      a node's signal to itself orders its wait, if the wait cannot end without it
rule SIGNALS  a node may be ordered after another one if that one signals after its access and this
              one waits before its own; a run with --strict tells whether it is the right signal
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import product
from math import gcd, prod
from typing import NamedTuple

from ttl.diagnostics import Diagnostic, Label
from ttl.language.semaphores import Semaphore
from ttl.semantics.types import Shape

from .opaque import NotFollowed
from .problems import READ_BETWEEN_NODES, TOUCHED_WHILE_COPIED
from .rehearsal import ACCESSES, Awaited, Does, Part, Signal, Step, Steps
from .units import Thread, Unit

Pair = tuple[Unit, Unit]
Names = Mapping[Hashable, str]  # of the tensors' memory
Cell = tuple[Hashable, Shape]
MOST_CELLS = 1 << 20


def with_cells(steps: Steps) -> Steps:
    """Replace parts of tensors by sets of equal boxes: parts that overlap share one.

    The box is the largest one that divides all parts of a tensor, or the whole tensor if it has two
    views of different shapes. Raises NotFollowed if there are too many boxes.
    """
    by_memory: dict[Hashable, dict[Part, None]] = defaultdict(dict)
    for *_, step in _all(steps):
        if isinstance(step.what, Part):
            by_memory[step.what.memory][step.what] = None
    cells: dict[Part, tuple[Cell, ...]] = {}
    left = MOST_CELLS
    for memory, parts in by_memory.items():
        sizes = _box(parts)
        for part in parts:
            places = zip(part.starts, part.shape, sizes, strict=bool(sizes))
            bounds = [range(start, start + size, step) for start, size, step in places]
            left -= prod(map(len, bounds))
            if left < 0:
                raise NotFollowed("too many tiles")
            cells[part] = tuple((memory, place) for place in product(*bounds))
    return {
        node: [s._replace(what=cells[s.what]) if isinstance(s.what, Part) else s for s in of_node]
        for node, of_node in steps.items()
    }


def _box(parts: Collection[Part]) -> Shape:
    if len({part.sizes for part in parts}) > 1:
        return ()
    sizes = [part.starts for part in parts] + [part.shape for part in parts]
    return tuple(reduce(gcd, each) for each in zip(*sizes, strict=True))


def _all(steps: Steps) -> Iterator[tuple[Shape, int, Step]]:
    for node, of_node in steps.items():
        for place, step in enumerate(of_node):
            yield node, place, step


class OwnSignals:
    """The changes of each semaphore on each node by all nodes, at any time."""

    def __init__(self, steps: Steps):
        self._changes: dict[tuple[Semaphore, Shape], list[Signal]] = defaultdict(list)
        for *_, step in _all(steps):
            if isinstance(step.what, Signal):
                for node in step.what.nodes:
                    self._changes[step.what.semaphore, node].append(step.what)

    def is_needed(self, signal: Signal, awaited: Awaited, node: Shape) -> bool:
        """Can the semaphore on the node not reach the awaited value without this signal?"""
        if signal.semaphore is not awaited.semaphore or node not in signal.nodes:
            return False
        others = [each for each in self._changes[signal.semaphore, node] if each is not signal]
        start = max([signal.semaphore.initial, *(each.value for each in others if each.is_set)])
        most = start + sum(each.value for each in others if not each.is_set)  # in any order
        return bool(most < awaited.value)


# On a node ----------------------------------------------------------------------------------------

Clock = dict[Thread, int]  # how many steps of each thread happened before


class Order:
    """The order of one node's steps, taken in the order of the text."""

    def __init__(self, threads: Mapping[Unit, Thread]):
        self.threads = threads
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
        for cell in step.what:
            for (other, wrote), (count, before) in self.latest[cell].items():
                if (wrote or is_write) and clock.get(other, 0) < count:
                    yield before, unit
            self.latest[cell][thread, is_write] = clock[thread], unit


def _advance(clock: Clock, other: Clock) -> None:
    for thread, count in other.items():
        clock[thread] = max(count, clock.get(thread, 0))


def unordered(steps: Steps, threads: Mapping[Unit, Thread]) -> list[Pair]:
    """Return pairs of statements on two threads that touch one tile without any order."""
    signals = OwnSignals(steps)
    found: dict[Pair, None] = {}
    for node, of_node in steps.items():
        found |= dict.fromkeys(Order(threads).unordered(node, of_node, signals))
    return list(found)


# Between nodes ------------------------------------------------------------------------------------


class _Access(NamedTuple):
    unit: Unit
    node: Shape
    place: int  # among the node's steps
    end: int  # the step that waits for it
    is_write: bool
    cells: tuple[Cell, ...]


def wrong(steps: Steps, names: Names) -> Diagnostic | None:
    """Return the error for a race between nodes, or for a tile touched while it is copied."""
    accesses = [*_accesses(steps)]
    for (memory, tile), write, read in _between(steps, accesses):
        label = Label(read.unit.span, f"node {read.node} reads it here")
        facts = _facts(names.get(memory, ""), tile, write.node, read.node)
        return READ_BETWEEN_NODES.at(write.unit, label, **facts)
    for (memory, tile), one, other in _unwaited(accesses):
        label = Label(other.unit.span, "touched again here")
        return TOUCHED_WHILE_COPIED.at(
            one.unit, label, **_facts(names.get(memory, ""), tile, one.node)
        )
    return None


def _facts(tensor: str, tile: Shape, *nodes: Shape) -> dict[str, object]:
    return {"tensor": tensor, "part": f"tile {tile} of `{tensor or 'a tensor'}`", "nodes": nodes}


def _accesses(steps: Steps) -> Iterator[_Access]:
    ends = {(node, s.what): place for node, place, s in _all(steps) if s.does is Does.END}
    for node, place, step in _all(steps):
        if step.does in ACCESSES and step.unit is not None:
            end, is_write = ends.get((node, place), place), step.does is Does.SAVE
            yield _Access(step.unit, node, place, end, is_write, step.what)


Conflict = tuple[Cell, _Access, _Access]


def _unwaited(accesses: Iterable[_Access]) -> Iterator[Conflict]:
    """Yield accesses that come before the wait for an earlier one."""
    still: list[_Access] = []
    for one in accesses:
        still = [each for each in still if each.node == one.node and each.end > one.place]
        for each in still:
            if (each.is_write or one.is_write) and (shared := {*each.cells} & {*one.cells}):
                yield min(shared, key=lambda cell: cell[1]), each, one
        still.append(one)


def _between(steps: Steps, accesses: Iterable[_Access]) -> Iterator[Conflict]:
    """Yield a write and a read on another node that no signal and wait can have ordered."""
    places: dict[tuple[Shape, Does], list[int]] = defaultdict(list)
    for node, place, step in _all(steps):
        places[node, step.does].append(place)

    def may_precede(first: _Access, second: _Access) -> bool:  # rule SIGNALS
        signals = any(place > first.place for place in places[first.node, Does.SIGNAL][-1:])
        waits = any(place < second.place for place in places[second.node, Does.AWAIT][:1])
        return signals and waits

    # The first and the last access of each node to a cell.
    ends: dict[tuple[Cell, bool], dict[Shape, list[_Access]]] = defaultdict(dict)
    for each in accesses:
        for cell in each.cells:
            ends[cell, each.is_write].setdefault(each.node, [])[1:] = [each]
    for (cell, is_write), writers in ends.items():
        readers = ends.get((cell, False), {}) if is_write else {}
        for one, other in product(writers.values(), readers.values()):
            for write, read in product(one, other) if one[0].node != other[0].node else ():
                if not may_precede(write, read) and not may_precede(read, write):
                    yield cell, write, read

"""Tensors that a unified body writes and reads again, or writes after reading.

rule TEXT     an access to a tile comes after those above it in the text, as in sequential Python
rule THREAD   two accesses that no block orders are put on one thread, which keeps their order
rule NODES    the program orders a write on one node and a read on another with pipes or semaphores;
              if these cannot do it, it is an error
rule ALONE    if data decides something, the statements that touch the tensors are followed without
              the order of blocks, and both sides of conditions on data happen
rule UNKNOWN  if data decides which tiles they are, the whole tensor counts
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING

from ttl.diagnostics import Diagnostic, Label, RuleBroken, UsageError
from ttl.loading.forks import computed_once

from .. import tree
from .assignment import Assignment
from .opaque import NotFollowed
from .problems import PERHAPS_READ
from .sections import all_in_one
from .splitting import Splitter
from .things import memory_of
from .units import Inline, Unit, grid_of

if TYPE_CHECKING:
    from .rehearsal import Steps

Pair = tuple[Unit, Unit]


class ReadBack:
    """The tensors of a body that it both writes and reads, or writes in several statements."""

    def __init__(self, frame: Inline, units: Sequence[Unit], arguments: Mapping[str, object]):
        self.frame, self.units, self.arguments = frame, units, arguments
        self.is_rehearsed = False
        self._steps: Steps | None = None

    @computed_once
    def pairs(self) -> list[Pair]:
        """List statements that may touch one tensor, the first of which writes it."""
        savers = [unit for unit in self.units if unit.saves]
        pairs = ((one, other) for one in savers for other in self.units)
        return [
            (one, other)
            for one, other in pairs
            if _may_share(one.saves, other.loads)
            or (one is not other and _may_share(one.saves, other.saves))
        ]

    def unordered(self, assignment: Assignment) -> Sequence[Pair]:
        """Return pairs on two threads where nothing makes the second wait for the first."""
        threads = assignment.threads
        apart = [(one, other) for one, other in self.pairs if threads[one] is not threads[other]]
        if not apart and not any(map(_is_read_back, self.pairs)):
            return ()
        if not self.is_rehearsed:
            self.is_rehearsed = True
            self._steps = self._rehearsed(assignment)
        if self._steps is None:  # rule UNKNOWN
            return apart
        from .access_order import find_unordered  # most bodies never need it

        return find_unordered(self._steps, threads)

    def _rehearsed(self, assignment: Assignment) -> Steps | None:
        """Return None if the body cannot be followed; UsageError if nodes race."""
        steps: Steps | None = None
        try:
            try:
                steps = self._follow(assignment, assignment.threads)
                wrong = self._wrong(steps)
            except NotFollowed:
                touching = {unit for pair in self.pairs for unit in pair}
                steps = self._follow(assignment, touching)  # rule ALONE
                wrong = None if self._has_order else self._wrong(steps)
        except NotFollowed:
            steps, wrong = None, self._perhaps_between_nodes()
        except (Exception, RuleBroken):  # the run reports errors of the body
            return None
        if wrong is not None:
            raise UsageError(wrong)
        return steps

    def _wrong(self, steps: Steps) -> Diagnostic | None:
        from .access_order import find_race

        return find_race(steps, self._names)

    @property
    def _has_order(self) -> bool:
        """Can anything in the body order nodes?"""
        return any(unit.awaits or unit.receives for unit in self.units)

    def _follow(self, assignment: Assignment, wanted: Collection[Unit]) -> Steps:
        from .access_order import with_cells
        from .rehearsal import rehearse

        if any((u.saves or u.loads) and not isinstance(u.node, tree.Statement) for u in self.units):
            raise NotFollowed("a copy that is no statement")
        sections = all_in_one(assignment, wanted)
        if any(unit.is_print for unit in sections.needed):
            raise NotFollowed("a value that a print gives")
        numbers = {unit: number for number, unit in enumerate(self.units)}
        declare = Splitter(sections, numbers).split(self.frame).function(self.frame.function)
        given, named = self.frame.operation.split_arguments(self.arguments)
        has_elements = wanted is not assignment.threads
        steps = rehearse(declare, given, named, grid_of(self.frame), self.units, has_elements)
        return with_cells(steps)

    @property
    def _names(self) -> dict[Hashable, str]:
        return {memory_of(value): name for name, value in self.arguments.items()}

    def _perhaps_between_nodes(self) -> Diagnostic | None:  # rule UNKNOWN
        read_back = [pair for pair in self.pairs if _is_read_back(pair)]
        if self._has_order or not read_back or prod(grid_of(self.frame)) == 1:
            return None
        one, other = read_back[0]
        known = one.saves & other.loads
        names = [name for memory, name in self._names.items() if memory in known]
        name = next(iter(names), "")
        read = Label(other.span, "read here")
        return PERHAPS_READ.at(one, read, tensor=name, part=f"`{name or 'a tensor'}`")


def _is_read_back(pair: Pair) -> bool:
    return _may_share(pair[0].saves, pair[1].loads)


def _may_share(some: set[Hashable], others: set[Hashable]) -> bool:
    if None in some or None in others:
        return bool(some and others)
    return not some.isdisjoint(others)

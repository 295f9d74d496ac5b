"""The setup that the operation runs before its kernels, and the units of each kernel.

rule SETUP   the operation makes buffers, nets and semaphores once, and computes values that depend
             only on tensors, constants and the grid; not inside a loop of a kernel
rule NEEDED  a kernel has the units of its thread, the loops and conditions around them, and the
             shared units that assign the names which these read; nothing else
rule LOCAL   a name that a kernel assigns is its own: all assignments of it are copied
rule JUMPS   a kernel with a loop has the jumps out of it
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from ttl.diagnostics import Label, UsageError

from .. import tree
from ..bindings import Variable
from ..walking import walk
from .assignment import Assignment, find_fixed_units
from .problems import MADE_IN_LOOP, NAME_USED_AGAIN, NOT_KNOWN_BEFORE, unknown_call
from .units import Inline, Thread, Unit, in_text


@dataclass(frozen=True, slots=True)
class Sections:
    setup: frozenset[Unit]
    kernels: dict[Thread, frozenset[Unit]]

    @property
    def needed(self) -> frozenset[Unit]:
        return frozenset().union(*self.kernels.values())

    def has(self, frame: Inline, thread: Thread) -> bool:
        """Has the kernel of this thread any units in the frame?"""
        return any(unit.frame is frame and unit.argument is None for unit in self.kernels[thread])


def all_in_one(assignment: Assignment, wanted: Collection[Unit]) -> Sections:
    """Make one kernel of these units and their needs for a rehearsal, without prints."""
    setup = setup_of(assignment.units)
    threads = {u: Thread.COMPUTE for u in assignment.units if u in wanted and not u.is_print}
    kernel = _kernel(Assignment(assignment.units, threads), Thread.COMPUTE, setup)
    return Sections(frozenset(setup), {Thread.COMPUTE: kernel})


def sections_of(assignment: Assignment) -> Sections:
    setup = setup_of(assignment.units)
    _check_made(assignment.units, setup)
    _place_prints(assignment)
    threads = [each for each in Thread if each in assignment.threads.values()]
    kernels = {thread: _kernel(assignment, thread, setup) for thread in threads}
    return Sections(frozenset(setup), kernels)


def setup_of(units: Sequence[Unit]) -> set[Unit]:  # rule SETUP
    fixed = find_fixed_units(units)
    setup = {unit for unit in units if unit not in fixed and _may_be_setup(unit)}
    while True:
        gone = {unit for unit in setup if _is_kernels(unit, setup)}
        left = [unit for unit in units if unit not in setup or unit in gone]
        gone |= {each for unit in left for each in unit.controls() if each.is_loop} & setup
        if not gone:
            return setup
        setup -= gone


def _may_be_setup(unit: Unit) -> bool:
    leaves = unit.is_jump and not isinstance(unit.node, (tree.Assert, tree.Raise))
    is_kernels = leaves or unit.is_print or unit.is_signpost or unit.in_kernels
    return not (is_kernels or unit.expansion is not None)


def _is_kernels(unit: Unit, setup: set[Unit]) -> bool:
    if not unit.depends <= setup:
        return True
    if unit.argument is not None:  # an argument of an expansion, which is made once for all calls
        final = unit.frame.final
        return any(final[name].origins != given for name, given in unit.reads.items())
    around = (control for control in unit.controls() if control.frame is unit.frame)
    return any(control not in setup for control in around)


def _check_made(units: Iterable[Unit], setup: set[Unit]) -> None:
    others = [unit for unit in units if unit not in setup]
    wrong = [MADE_IN_LOOP.at(unit) for unit in others if unit.makes]
    wrong += [NOT_KNOWN_BEFORE.at(u, parameter=u.argument) for u in others if u.must_be_known]
    wrong += [unknown_call(u.frame, u.unknown) for u in others if u.unknown is not None]
    if wrong:
        raise UsageError(*wrong)


def _place_prints(assignment: Assignment) -> None:
    """Give prints of numbers to the first kernel in the same body, so they print once. The kernel
    of the next statement starts a debugger."""
    units, threads = [*assignment.units], assignment.threads
    for place, unit in enumerate(units):
        if not unit.is_print or unit in threads:
            continue
        if unit.is_breakpoint:
            after = [threads[u] for u in (*units[place:], *reversed(units)) if u in threads]
            threads[unit] = after[0] if after else Thread.COMPUTE
            continue
        body = unit.control
        near = [t for u, t in threads.items() if body is not None and body in u.controls()]
        found = near or [*threads.values()]
        threads[unit] = next((t for t in Thread if t in found), Thread.COMPUTE)


# Kernels ------------------------------------------------------------------------------------------


def only_counts(unit: Unit, included: Iterable[Unit]) -> bool:
    """Does a kernel with these units ignore the variable of the loop?"""
    return not any(unit in origins for other in included for origins in other.reads.values())


class _Kernel:
    def __init__(self, assignment: Assignment, setup: set[Unit]):
        self.units = assignment.units
        self.setup = setup
        self.included: set[Unit] = set()
        self.local: set[tuple[Inline, Variable]] = set()
        self.binders: dict[tuple[Inline, Variable], set[Unit]] = {}
        for unit in self.units:
            for name in unit.binds:
                self.binders.setdefault((unit.frame, name), set()).add(unit)

    def include(self, units: Iterable[Unit]) -> bool:
        news = {*units} - self.included
        self.included |= news
        self.local |= {(unit.frame, name) for unit in news for name in unit.binds}
        return bool(news)

    def needs(self) -> set[Unit]:
        """Return the units that the included units need."""
        found: set[Unit] = set()
        for unit in self.included:
            found.update(unit.controls())
            for name, origins in self._reads(unit):
                if self._is_own(unit, name, origins):  # rule LOCAL
                    found |= origins
        return found | self._jumps()

    def _reads(self, unit: Unit) -> Iterable[tuple[Variable, set[Unit]]]:
        reads = unit.reads.items()
        if unit.counts is None or not only_counts(unit, self.included):
            return reads
        names = {each.binding for each in walk(unit.counts) if isinstance(each, tree.Name)}
        return [(name, origins) for name, origins in reads if name in names]

    def _is_own(self, unit: Unit, name: Variable, origins: set[Unit]) -> bool:
        if (unit.frame, name) in self.local:
            return True
        binders = self.binders.get((unit.frame, name), set())
        if not binders:
            return not origins <= self.setup  # a parameter, passed by the call
        is_function = any(binder.is_function for binder in binders)
        is_final = origins == unit.frame.final[name].origins
        return is_function or not binders <= self.setup or not is_final

    def _jumps(self) -> set[Unit]:  # rule JUMPS
        frames = {unit.frame for unit in self.included}
        return {
            unit
            for unit in self.units
            if unit.is_jump
            and unit not in self.setup
            and (loop in self.included if (loop := unit.loop()) else unit.frame in frames)
        }


def _kernel(assignment: Assignment, thread: Thread, setup: set[Unit]) -> frozenset[Unit]:
    kernel = _Kernel(assignment, setup)
    kernel.include(unit for unit, own in assignment.threads.items() if own is thread)
    while kernel.include(kernel.needs()):  # rule NEEDED
        pass
    for unit in in_text(kernel.included):
        if unit.makes:
            _refuse_local(unit, kernel)
    return frozenset(kernel.included)


def _refuse_local(unit: Unit, kernel: _Kernel) -> None:
    for name in sorted(unit.binds, key=lambda each: each.name):
        for other in in_text(kernel.binders[unit.frame, name] - {unit}):
            raise NAME_USED_AGAIN.error(unit, Label(other.span, "here"), name=name.name)
    raise MADE_IN_LOOP.error(unit)

"""Set up a node's engines, and only if a setting may differ from the current one.

Each call needs certain settings, and an engine keeps the last one.

rule HOIST    a setting that everything in a loop agrees on is made before the loop.
rule LOOP     any other setting is unknown when an iteration starts: the last one ended elsewhere.
rule BRANCH   after a branch, settings hold that held before it and at the end of both sides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from xdsl.dialects import scf
from xdsl.ir import Block, Operation, SSAValue

from ttl.dialects import ttkernel

from ..module_pass import Maker
from .kernel_calls import call


@dataclass(frozen=True, slots=True)
class Setting:
    """A setup of `unit` for `key` by a call of `function`; none is needed if that is empty.

    Its arguments are values and, after them, C++ texts. A setting that changes with the iterations
    of the loop `within` is moved neither out of that loop nor out of one around it.
    """

    unit: str
    key: object
    function: str
    arguments: tuple[SSAValue, ...]
    origin: Operation
    literals: tuple[str, ...] = ()
    within: Operation | None = None


Needs = dict[Operation, list[Setting]]
Holds = dict[str, object]  # the key that each unit is set up for


def find_settings(
    block: Block, needed_by: Callable[[Operation], Iterable[Setting]], needs: Needs
) -> list[Setting]:
    """Return a block's settings, and fill `needs` with those of each operation."""
    found: list[Setting] = []
    for op in block.ops:
        if op.regions:
            needs[op] = []
            for body in (body for region in op.regions for body in region.blocks):
                needs[op] += find_settings(body, needed_by, needs)
        else:
            needs[op] = list(needed_by(op))
        found += needs[op]
    return found


def insert_settings(block: Block, needs: Needs, holds: Holds) -> None:
    for op in list(block.ops):
        if isinstance(op, scf.IfOp):
            _enter_branches(op, needs, holds)
        elif op.regions:
            _enter_loop(op, needs, holds)
        else:
            for setting in needs.get(op, ()):  # startup code needs none
                ensure(setting, holds, op)


def _enter_branches(op: Operation, needs: Needs, holds: Holds) -> None:
    """Insert settings in branches; keep those that hold at both ends (rule BRANCH)."""
    ends = []
    for region in op.regions:
        inside = dict(holds)
        for block in region.blocks:
            insert_settings(block, needs, inside)
        ends.append(inside)
    for unit in list(holds):
        if any(end.get(unit) != holds[unit] for end in ends):
            del holds[unit]


def _enter_loop(loop: Operation, needs: Needs, holds: Holds) -> None:
    bodies = [block for region in loop.regions for block in region.blocks]
    by_unit: dict[str, dict[object, Setting]] = {}
    for setting in needs[loop]:
        by_unit.setdefault(setting.unit, {}).setdefault(setting.key, setting)
    changing = set()
    for unit, settings in by_unit.items():
        first = next(iter(settings.values()))
        if len(settings) == 1 and not _changes_in(first, loop):
            ensure(first, holds, loop)  # rule HOIST
        else:
            changing.add(unit)
            holds.pop(unit, None)  # rule LOOP
    inside = dict(holds)
    for body in bodies:
        insert_settings(body, needs, inside)
    for unit in changing:
        holds.pop(unit, None)  # the loop may run zero iterations


def _changes_in(setting: Setting, loop: Operation) -> bool:
    """Does the setting change with the iterations of `loop`, or of a loop in it?"""
    return setting.within is not None and loop.is_ancestor(setting.within)


def ensure(setting: Setting, holds: Holds, before: Operation) -> None:
    if holds.get(setting.unit) == setting.key:
        return
    holds[setting.unit] = setting.key
    if not setting.function:
        return
    make = Maker.before(before, setting.origin)
    arguments = [_make_available(value, before) for value in setting.arguments]
    call(make, setting.function, *arguments, literals=setting.literals)


def _make_available(value: SSAValue, before: Operation) -> SSAValue:
    """Return the value in front of `before`: sizes for an init are constants, cloned there."""
    if isinstance(value.type, ttkernel.CBType):
        return value
    assert isinstance(value.owner, Operation)
    return Maker.before(before).value(value.owner.clone())

"""Run kernels recompiled with the releases and waits that the program left out.

Kernels that may meet numpy numbers are recompiled too: source/python_numbers.py.

rule CALLED  `Finish` becomes `for .finish in .left(...): .finish()`: the list is made when the
             place is reached, and the user's own frame makes the calls
rule PLACE   each inserted call has the lines and columns of its acquire or copy
rule SAME    function objects stay the user's own, with their cells and defaults; during the run,
             only their code changes. So every caller of a helper calls the repair one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any

from ttl.language.copies import GroupTransfer
from ttl.language.operation import Program
from ttl.semantics.block_protocol import State
from ttl.source import code, tree
from ttl.source.bindings import Variable
from ttl.source.code import call_of, with_functions
from ttl.source.facts import facts_of
from ttl.source.facts.releases import CodePoints, function_points
from ttl.source.functions import REPLACED, own_code, place_of, reachable_functions
from ttl.source.python_numbers import with_python_numbers
from ttl.source.trees import tree_of
from ttl.source.walking import Changer

from .block import SimBlock
from .transfers import SimTransfer


@contextmanager
def repair(program: Program) -> Iterator[None]:
    """Repair the program's kernels and their helpers inside the `with`."""
    facts = facts_of(program)
    is_changed = facts.points or facts.may_meet_numpy
    replaced = dict(_replacements(program)) if is_changed else {}
    try:
        for function, new in replaced.items():
            REPLACED.enter(function, new)
        yield
    finally:
        for function in replaced:
            REPLACED.leave(function)


def _replacements(program: Program) -> Iterator[tuple[FunctionType, CodeType]]:
    for kernels in program.kernels_by_node.values() or (program.kernels,):
        for kernel in kernels:
            points = {place_of(found.code): found for found in function_points(kernel.function)}
            meets_numpy = facts_of(program).may_meet_numpy
            for function in reachable_functions(kernel.function):
                found = points.get(place_of(own_code(function)))
                new = None
                if meets_numpy:
                    new = with_numbers(function, found)
                elif found is not None:
                    new = recompiled(found)
                if new is not None:
                    yield function, new


@lru_cache(maxsize=1024)
def recompiled(points: CodePoints) -> CodeType | None:
    """Return the function's repair code; None if the source is not the one it was made from."""
    return code.recompiled(with_calls(points.function), points.code)


def with_numbers(function: FunctionType, points: CodePoints | None) -> CodeType | None:
    """Return code that turns numpy numbers into Python's, repair if necessary."""
    found = tree_of(function) if points is None else points.function
    if found is None:
        return None
    return _recompiled(with_python_numbers(found), *place_of(own_code(function)))


@lru_cache(maxsize=1024)
def _recompiled(function: tree.Function, original: CodeType, file: str) -> CodeType | None:
    return code.recompiled(with_calls(function), original)


def with_calls(function: tree.Function) -> tree.Function:
    """Replace `Finish` by Python statements."""
    calls = _Calls(Variable(".left", function.scope), Variable(".finish", function.scope))
    made: tree.Function = calls.node(function)
    return made if made is function else with_functions(made, {calls.left: find_unfinished})


class _Calls(Changer):
    def __init__(self, left: Variable, finish: Variable):
        self.left, self.finish = left, finish

    def change(self, node: tree.Node) -> tree.Node:
        if not isinstance(node, tree.Finish):
            return node
        place = node.place  # rule PLACE
        given = [
            tree.Sequence(place, "tuple", tuple(tree.Constant(place, each.name) for each in part))
            for part in (node.names, node.kept)
        ]
        left = call_of(place, self.left, *given, tree.Constant(place, node.is_wait))
        called = tree.Evaluate(place, call_of(place, self.finish))
        return tree.Loop(place, tree.Target(place, self.finish), left, (called,))


# When a place is reached --------------------------------------------------------------------------


def find_unfinished(
    names: Sequence[str], kept: Sequence[str], is_wait: bool
) -> list[Callable[[], None]]:  # rule CALLED
    """List the waits or releases still due for variables of the caller, oldest first."""
    values = sys._getframe(1).f_locals
    found = _find_handles([values.get(name) for name in names], is_wait)
    used = _find_handles([values.get(name) for name in kept], is_wait)
    left = [handle for handle in found if handle not in used]
    if is_wait:
        return [h.wait_all if isinstance(h, GroupTransfer) else h.wait for h in left]
    return [block.release for block in sorted(left, key=lambda block: block.sequence)]


def _find_handles(values: Iterable[object], is_wait: bool) -> dict[Any, None]:
    """Find unfinished transfers, or blocks, including the blocks of transfers."""
    found: dict[Any, None] = {}
    for value in values:
        if isinstance(value, dict):
            value = tuple(value.values())
        if isinstance(value, (list, tuple, set)):
            found |= _find_handles(value, is_wait)
        elif isinstance(value, SimTransfer):
            if not is_wait:
                found |= _find_handles((value.block, getattr(value, "source", None)), is_wait)
            elif not value.is_done and value.group is None:
                found[value] = None
        elif isinstance(value, GroupTransfer):
            if not is_wait:
                found |= _find_handles(value.transfers, is_wait)
            elif not value.is_done and value.transfers:
                found[value] = None
        elif isinstance(value, SimBlock) and not is_wait and value.state is not State.RELEASED:
            found[value] = None
    return found

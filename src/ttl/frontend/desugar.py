"""Rewrite statements as simpler ones, for evaluations that need them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from ttl.source import tree
from ttl.source.bindings import Variable
from ttl.source.walking import Changer, changed, children, walk

SIMPLE = (tree.Evaluate, tree.Assign, tree.Update)


@lru_cache(maxsize=256)
def tested_inside(node: tree.While) -> tree.While:
    """Rewrite `while f() > 0:` as a loop with a `break` where the test fails."""
    place = node.place
    fails = tree.Unary(node.test.place, "not", node.test)
    leave = tree.Branch(place, fails, (tree.Jump(place, "break"),), ())
    return tree.While(place, tree.Constant(place, True), (leave, *node.body))


# Nests of loops -----------------------------------------------------------------------------------


class RangeLoop(NamedTuple):
    node: tree.Loop
    variable: Variable  # its counter
    call: tree.Call  # of range()


@lru_cache(maxsize=256)
def nest_of(node: tree.Loop | tree.While) -> tuple[RangeLoop, ...]:
    """Return perfectly nested loops over calls without calls in their arguments, each with its own
    counter; () for others.
    """
    if not isinstance(node, tree.Loop) or not isinstance(node.over, tree.Call):
        return ()
    if not isinstance(node.target, tree.Target) or not isinstance(node.target.binding, Variable):
        return ()
    first = RangeLoop(node, node.target.binding, node.over)
    if len(node.body) != 1 or not isinstance(node.body[0], tree.Loop):
        return (first,)
    nest = nest_of(node.body[0])
    parts = [part for each in nest for part in walk(each.call) if part is not each.call]
    is_mixed = any(isinstance(part, tree.Call) for part in parts)
    is_mixed |= any(each.variable is first.variable for each in nest)
    return (first, *nest) if nest and not is_mixed else ()


@lru_cache(maxsize=256)
def without_first(nest: tuple[RangeLoop, ...], ranges: tuple[range, ...]) -> tree.Loop:
    """Return a nest without its very first iteration: the innermost loop starts at its second step
    if all others are at their first.
    """
    *outer, inner = nest
    place, steps = inner.node.place, ranges[-1]

    def number(value: int) -> tree.Expression:
        return tree.Constant(place, value)

    are_first = tuple(
        tree.Compare(place, ("==",), tree.Name(place, each.variable), (number(steps[0]),))
        for each, steps in zip(outer, ranges, strict=False)
    )
    is_first = tree.Logic(place, "and", are_first)
    start = tree.Choice(place, is_first, number(steps[1]), number(steps[0]))
    bounds = (start, number(steps.stop), number(steps.step))
    loop = changed(inner.node, over=changed(inner.call, arguments=bounds))
    for each in reversed(outer):
        loop = changed(each.node, body=(loop,))
    return loop


# Conditional expressions --------------------------------------------------------------------------


@lru_cache(maxsize=1024)
def without_choice(node: tree.Statement) -> tree.Branch | None:
    """Rewrite `f(a if c else b)` as `if c: f(a)` and `else: f(b)`; None without a choice."""
    choice = next(_choices(node), None) if isinstance(node, SIMPLE) else None
    if choice is None:
        return None
    sides = [(_Put(choice, each).inside(node),) for each in (choice.then, choice.otherwise)]
    return tree.Branch(node.place, choice.test, *sides)


SKIPPED = (tree.Function, tree.Comprehension, tree.Logic)


def _choices(node: tree.Node) -> Iterator[tree.Choice]:
    """Yield conditional expressions that the statement evaluates exactly once."""
    if isinstance(node, tree.Choice):
        yield node
    elif not isinstance(node, SKIPPED):
        for child in children(node):
            yield from _choices(child)


class _Put(Changer):
    def __init__(self, old: tree.Choice, new: tree.Expression):
        self.old, self.new = old, new

    def node(self, node: tree.Node) -> tree.Node:
        return self.new if node is self.old else self.inside(node)

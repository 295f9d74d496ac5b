"""Loops over operations: each round calls another one, so each becomes statements of its own.

rule LISTED  a loop over a list or tuple that is written there, or that a name outside stands for
rule BESIDE  over enumerate(), zip() and reversed() of such, whose other parts are known, or indexed
rule GIVEN   also a loop over what is written there and given to an operation, a buffer for example
rule JUMPS   a loop with a `break` or a `continue` of its own is left as it is
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from types import FunctionType
from typing import Any

from ttl.language.operation import Operation

from .. import tree
from ..bindings import Binding, Variable
from ..functions import MISSING
from ..walking import Changer, walk
from .forms import value_of

Names = dict[Binding, tree.Expression]  # what the variables of a loop stand for in one round
BESIDE = (enumerate, zip, reversed)


def unrolled(function: tree.Function, around: FunctionType) -> tree.Function:
    """The definition without its loops over lists of operations; itself if it has none."""
    if not any(_rounds(loop, around) for loop in _loops(function)):
        return function
    return _Unroller(around).inside(function)


@lru_cache(maxsize=1024)
def _loops(function: tree.Function) -> tuple[tree.Loop, ...]:
    """Each call of an operation asks for them."""
    return tuple(node for node in walk(*function.body) if isinstance(node, tree.Loop))


class _Unroller(Changer):
    def __init__(self, around: FunctionType):
        self.around = around

    def change(self, node: tree.Node) -> Any:
        if not isinstance(node, tree.Loop):
            return node
        rounds = _rounds(node, self.around)
        if not rounds:
            return node
        return tuple(_Round(names).node(each) for names in rounds for each in node.body)


class _Round(Changer):
    """New nodes, with expressions in the place of names: each round has statements of its own."""

    def __init__(self, names: Mapping[Binding, tree.Expression]):
        self.names = names

    def change(self, node: tree.Node) -> tree.Node:
        meant = self.names.get(node.binding) if isinstance(node, tree.Name) else None
        return replace(node) if meant is None else replace(meant, place=node.place)


def _rounds(loop: tree.Loop, function: FunctionType) -> list[Names]:
    """The rounds of a loop over operations; none of any other."""
    length = _length(loop.over, function)
    if length is None or any(_jumps(loop.body)):
        return []
    rounds = [_bound(loop.target, loop.over, place, function) for place in range(length)]
    known = [each for each in rounds if each is not None]
    if len(known) < length:
        return []
    values = (value_of(meant, function) for each in known for meant in each.values())
    is_meant = any(isinstance(each, Operation) for each in values)
    return known if is_meant or _gives(loop, known, function) else []


def _gives(loop: tree.Loop, rounds: list[Names], function: FunctionType) -> bool:  # rule GIVEN
    """Does an operation get a name of the loop that is a thing with a name of its own?"""
    held = (item for each in rounds for item in each.items())
    named = {name for name, meant in held if isinstance(meant, tree.Name)}
    calls = (node for node in walk(*loop.body) if isinstance(node, tree.Call))
    return any(
        isinstance(each, tree.Name) and each.binding in named
        for call in calls
        if isinstance(value_of(call.function, function), Operation)
        for each in call.given
    )


def _jumps(body: tree.Body) -> Iterator[tree.Statement]:  # rule JUMPS
    for statement in body:
        if isinstance(statement, tree.Jump):
            yield statement
        elif isinstance(statement, tree.Branch):
            yield from _jumps((*statement.then, *statement.otherwise))
        elif isinstance(statement, tree.With):
            yield from _jumps(statement.body)


def _called(
    node: tree.Expression, function: FunctionType
) -> tuple[Any, tuple[tree.Expression, ...]]:  # rule BESIDE
    value = value_of(node.function, function) if isinstance(node, tree.Call) else MISSING
    if not isinstance(node, tree.Call) or not any(value is each for each in BESIDE):
        return None, ()
    is_plain = all(each.name == "strict" for each in node.keywords)
    is_one = value is zip or len(node.arguments) == 1
    return (value, node.arguments) if is_plain and is_one else (None, ())


def _length(node: tree.Expression, function: FunctionType) -> int | None:
    """How many items something has; of a zip() as many as those that are known."""
    called, arguments = _called(node, function)
    if called is not None:
        lengths = [_length(each, function) for each in arguments]
        return min((each for each in lengths if each is not None), default=None)
    if isinstance(node, tree.Sequence):
        return None if node.kind == "set" else len(node.items)
    listed: Any = value_of(node, function)
    return len(listed) if type(listed) in (list, tuple) else None


def _bound(
    target: tree.Expression, given: tree.Expression, place: int, function: FunctionType
) -> Names | None:
    """What the names of a target stand for in one round."""
    called, arguments = _called(given, function)
    if called is None:
        return _meant(target, _item(given, place))
    if called is reversed:
        last = (_length(arguments[0], function) or 0) - 1
        return _bound(target, arguments[0], last - place, function)
    parts = target.items if isinstance(target, tree.Sequence) else ()
    found: list[Names | None] = []
    if called is enumerate and parts:
        found.append(_meant(parts[0], tree.Constant(given.place, place)))
        parts = parts[1:]
    if len(parts) != len(arguments):
        return None
    found += [_bound(*each, place, function) for each in zip(parts, arguments, strict=True)]
    return _united(found)


def _meant(target: tree.Expression, given: tree.Expression) -> Names | None:
    """What the names of a target stand for that is given this."""
    if isinstance(target, tree.Target) and isinstance(target.binding, Variable):
        return {target.binding: given}
    if not isinstance(target, tree.Sequence) or not isinstance(given, tree.Sequence):
        return None
    if len(target.items) != len(given.items):
        return None
    return _united([_meant(*each) for each in zip(target.items, given.items, strict=True)])


def _united(parts: list[Names | None]) -> Names | None:
    known = [each for each in parts if each is not None]
    if len(known) < len(parts):
        return None
    return {name: meant for each in known for name, meant in each.items()}


def _item(listed: tree.Expression, place: int) -> tree.Expression:
    if isinstance(listed, tree.Sequence):
        return listed.items[place]
    return tree.Item(listed.place, listed, tree.Constant(listed.place, place))

"""Unroll loops over operations: each round calls another one, so each gets its own statements.

rule LISTED  loops over a list or tuple in the text, or over the value of an outer name
rule BESIDE  loops over enumerate(), zip() and reversed() of these; other parts are known or indexed
rule GIVEN   loops over listed items that are passed to an operation, such as a buffer
rule JUMPS   a loop with its own `break` or `continue` stays a loop
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from types import FunctionType

from ttl.language.operation import Operation

from .. import tree
from ..bindings import Binding, Variable
from ..walking import Changer, walk
from .forms import value_of

Names = dict[Binding, tree.Expression]  # the values of a loop's variables in one round


def unrolled(function: tree.Function, around: FunctionType) -> tree.Function:
    """Return the definition without loops over lists of operations; itself if it has none."""
    if not any(_rounds(loop, around) for loop in _loops(function)):
        return function
    return _Unroller(around).inside(function)


@lru_cache(maxsize=1024)
def _loops(function: tree.Function) -> tuple[tree.Loop, ...]:
    """Cache the loops: each call of an operation asks for them."""
    return tuple(node for node in walk(*function.body) if isinstance(node, tree.Loop))


class _Unroller(Changer):
    def __init__(self, around: FunctionType):
        self.around = around

    def change(self, node: tree.Node) -> tree.Node | tree.Body:
        if not isinstance(node, tree.Loop):
            return node
        rounds = _rounds(node, self.around)
        if not rounds:
            return node
        return tuple(_Round(names).node(each) for names in rounds for each in node.body)


class _Round(Changer):
    """Makes one round's statements, with expressions in place of the loop's names."""

    def __init__(self, names: Mapping[Binding, tree.Expression]):
        self.names = names

    def change(self, node: tree.Node) -> tree.Node:
        meant = self.names.get(node.binding) if isinstance(node, tree.Name) else None
        return replace(node) if meant is None else replace(meant, place=node.place)


def _rounds(loop: tree.Loop, function: FunctionType) -> list[Names]:
    """Return the rounds of a loop over operations; no rounds for other loops."""
    items = _items(loop.over, function)
    if items is None or any(_jumps(loop.body)):
        return []
    rounds = [names for item in items if (names := _meant(loop.target, item)) is not None]
    if len(rounds) < len(items):
        return []
    values = (value_of(meant, function) for each in rounds for meant in each.values())
    is_meant = any(isinstance(each, Operation) for each in values)
    return rounds if is_meant or _gives(loop, rounds, function) else []


def _gives(loop: tree.Loop, rounds: list[Names], function: FunctionType) -> bool:  # rule GIVEN
    """Does an operation get an object with a name of its own from the loop?"""
    held = (item for each in rounds for item in each.items())
    named = {name for name, meant in held if isinstance(meant, tree.Name)}
    return any(
        isinstance(each, tree.Name) and each.binding in named
        for call in walk(*loop.body)
        if isinstance(call, tree.Call) and isinstance(value_of(call.function, function), Operation)
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


def _items(node: tree.Expression, function: FunctionType) -> list[tree.Expression] | None:
    """List the items of a loop over it; None if they are not known."""
    if isinstance(node, tree.Call):
        return _beside(node, function)
    if isinstance(node, tree.Sequence):  # rule LISTED
        return None if node.kind == "set" else [*node.items]
    listed = value_of(node, function)
    return _indexed(node, len(listed)) if type(listed) in (list, tuple) else None


def _indexed(node: tree.Expression, length: int) -> list[tree.Expression]:
    places = (tree.Constant(node.place, place) for place in range(length))
    return [tree.Item(node.place, node, place) for place in places]


def _beside(call: tree.Call, function: FunctionType) -> list[tree.Expression] | None:  # rule BESIDE
    """List items of enumerate() or reversed() of a known list, or of zip() with one known."""
    value = value_of(call.function, function)
    columns = [_items(each, function) for each in call.arguments]
    length = min((len(each) for each in columns if each is not None), default=None)
    is_plain = all(each.name == "strict" for each in call.keywords)
    if length is None or not is_plain or (value is not zip and len(columns) > 1):
        return None
    known = [
        _indexed(node, length) if column is None else column
        for node, column in zip(call.arguments, columns, strict=True)
    ]
    if value is reversed:
        return known[0][::-1]
    if value is enumerate:
        known.insert(0, [tree.Constant(call.place, place) for place in range(length)])
    rows = [tree.Sequence(call.place, "tuple", each) for each in zip(*known, strict=False)]
    return [*rows] if value is enumerate or value is zip else None


def _meant(target: tree.Expression, given: tree.Expression) -> Names | None:
    """Match the names of a target with the parts of its value."""
    if isinstance(target, tree.Target) and isinstance(target.binding, Variable):
        return {target.binding: given}
    if not isinstance(target, tree.Sequence) or not isinstance(given, tree.Sequence):
        return None
    parts = [_meant(*each) for each in zip(target.items, given.items, strict=False)]
    known = [each for each in parts if each is not None]
    if not len(known) == len(target.items) == len(given.items):
        return None
    return {name: meant for each in known for name, meant in each.items()}

"""Loops over operations: each round calls another one, so each becomes statements of its own.

rule LISTED  a loop over a list or tuple that is written there, or that a name outside stands for
rule BESIDE  over enumerate() and zip() of such, whose other parts are known, or indexed
rule GIVEN   also a loop over what is written there and given to an operation, a buffer for example
rule JUMPS   a loop with a `break`, a `continue` or an `else` of its own is left as it is
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from copy import deepcopy
from functools import lru_cache
from types import FunctionType
from typing import Any

from ttl.language.operation import Operation
from ttl.semantics.function_source import nodes_of
from ttl.semantics.syntax import walk

from .forms import value_of

Names = dict[str, ast.expr]  # what the variables of a loop stand for in one round


def unrolled(tree: ast.FunctionDef, function: FunctionType) -> ast.FunctionDef:
    """The definition without its loops over lists of operations; itself if it has none."""
    if not any(_rounds(loop, function) for loop in _loops(tree)):
        return tree
    found: ast.FunctionDef = _Unroller(function).visit(deepcopy(tree))
    return found


@lru_cache(maxsize=1024)
def _loops(tree: ast.FunctionDef) -> tuple[ast.For, ...]:
    """Each call of an operation asks for them."""
    return tuple(node for node in nodes_of(tree) if isinstance(node, ast.For))


def _rounds(loop: ast.For, function: FunctionType) -> list[Names]:
    """The rounds of a loop over operations; none of any other."""
    if loop.orelse or any(_jumps(loop.body)):
        return []
    length = _length(loop.iter, function)
    if length is None:
        return []
    rounds = [_bound(loop.target, loop.iter, place) for place in range(length)]
    known = [each for each in rounds if each is not None]
    if len(known) < length:
        return []
    values = (value_of(meant, function) for each in known for meant in each.values())
    is_meant = any(isinstance(each, Operation) for each in values) or _gives(loop, known, function)
    return known if is_meant else []


def _gives(loop: ast.For, rounds: list[Names], function: FunctionType) -> bool:  # rule GIVEN
    """Does an operation get a name of the loop that is a thing with a name of its own?"""
    named = {name for each in rounds for name, meant in each.items() if isinstance(meant, ast.Name)}
    calls = (node for body in loop.body for node in walk(body) if isinstance(node, ast.Call))
    return any(
        isinstance(each, ast.Name) and each.id in named
        for call in calls
        if isinstance(value_of(call.func, function), Operation)
        for each in (*call.args, *(keyword.value for keyword in call.keywords))
    )


def _jumps(body: list[ast.stmt]) -> Iterator[ast.stmt]:  # rule JUMPS
    for statement in body:
        if isinstance(statement, (ast.Break, ast.Continue)):
            yield statement
        elif isinstance(statement, (ast.If, ast.With)):
            yield from _jumps([*statement.body, *getattr(statement, "orelse", ())])


def _called(node: ast.expr) -> tuple[str, list[ast.expr]]:
    """enumerate() or zip() of some arguments."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        return "", []
    is_plain = all(each.arg == "strict" for each in node.keywords)
    is_known = is_plain and node.func.id in ("enumerate", "zip")
    return (node.func.id, node.args) if is_known else ("", [])


def _length(node: ast.expr, function: FunctionType) -> int | None:
    """How many items something has; of a zip() as many as those that are known."""
    name, arguments = _called(node)
    if name == "enumerate":
        return _length(arguments[0], function) if len(arguments) == 1 else None
    if name == "zip":
        lengths = [_length(each, function) for each in arguments]
        return min((each for each in lengths if each is not None), default=None)
    if isinstance(node, (ast.Tuple, ast.List)):
        return len(node.elts)
    listed: Any = value_of(node, function)
    return len(listed) if type(listed) in (list, tuple) else None


def _bound(target: ast.expr, given: ast.expr, place: int) -> Names | None:
    """What the names of a target stand for in one round."""
    name, arguments = _called(given)
    if not name:
        return _meant(target, _item(given, place))
    parts = target.elts if isinstance(target, ast.Tuple) else []
    found: list[Names | None] = []
    if name == "enumerate" and parts:
        found.append(_meant(parts[0], ast.copy_location(ast.Constant(place), given)))
        parts = parts[1:]
    if len(parts) != len(arguments):
        return None
    found += [_bound(*each, place) for each in zip(parts, arguments, strict=True)]
    return _united(found)


def _meant(target: ast.expr, given: ast.expr) -> Names | None:
    """What the names of a target stand for that is given this."""
    if isinstance(target, ast.Name):
        return {target.id: given}
    if not isinstance(target, ast.Tuple) or not isinstance(given, (ast.Tuple, ast.List)):
        return None
    if len(target.elts) != len(given.elts):
        return None
    return _united([_meant(*each) for each in zip(target.elts, given.elts, strict=True)])


def _united(parts: list[Names | None]) -> Names | None:
    found: Names = {}
    for each in parts:
        if each is None:
            return None
        found |= each
    return found


def _item(listed: ast.expr, place: int) -> ast.expr:
    if isinstance(listed, (ast.Tuple, ast.List)):
        return listed.elts[place]
    made = ast.Subscript(listed, ast.Constant(place), ast.Load())
    return ast.fix_missing_locations(ast.copy_location(made, listed))


class _Unroller(ast.NodeTransformer):
    def __init__(self, function: FunctionType):
        self.function = function

    def visit_For(self, node: ast.For) -> Any:
        self.generic_visit(node)
        rounds = _rounds(node, self.function)
        if not rounds:
            return node
        return [_Named(names).visit(deepcopy(each)) for names in rounds for each in node.body]


class _Named(ast.NodeTransformer):
    """Expressions in the place of names."""

    def __init__(self, names: Names):
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.expr:
        meant = self.names.get(node.id) if isinstance(node.ctx, ast.Load) else None
        return node if meant is None else ast.copy_location(deepcopy(meant), node)

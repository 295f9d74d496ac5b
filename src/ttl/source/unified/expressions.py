"""Expressions of a unified body: what they stand for, and what they do."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from dataclasses import replace
from inspect import getattr_static
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from ..functions import MISSING, member
from ..scopes import COMPREHENSIONS
from ..uses import uses_of_all
from .calls import call
from .problems import no_such_name
from .scopes import Scope
from .things import OF_TILES, SCALAR, Kind, Thing, container, container_of, joined, thing_of
from .units import Effect

if TYPE_CHECKING:
    from .reading import Reader

Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


def evaluate(reader: Reader, node: ast.expr) -> Thing:
    found = _EXPRESSIONS.get(type(node))
    if found is not None:
        return found(reader, node)
    _parts(reader, node)
    return SCALAR


def _parts(reader: Reader, node: ast.AST) -> list[Thing]:
    inside = (n for n in ast.iter_child_nodes(node) if isinstance(n, ast.expr))
    return [evaluate(reader, each) for each in inside]


def _attribute(reader: Reader, node: ast.Attribute) -> Thing:
    owner = evaluate(reader, node.value)
    if owner.value is not MISSING and owner.kind in (Kind.SCALAR, Kind.CONTAINER):
        found = _known_attribute(owner.value, node.attr)
        if found is not MISSING:
            return thing_of(found)
        if isinstance(owner.value, ModuleType) and owner.value.__name__.startswith("ttl"):
            raise no_such_name(reader.frame, node, owner.value)
    return Thing(Kind.METHOD, owner=owner, name=node.attr, sites=owner.sites)


def _known_attribute(owner: Any, name: str) -> Any:
    if isinstance(owner, ModuleType):
        return vars(owner).get(name, MISSING)
    found = getattr_static(owner, name, MISSING)
    if isinstance(found, (FunctionType, staticmethod, classmethod)):
        return member(owner, name)
    is_computed = hasattr(type(found), "__get__") and found is not MISSING
    return MISSING if is_computed else found


def _subscript(reader: Reader, node: ast.Subscript) -> Thing:
    owner, place = evaluate(reader, node.value), evaluate(reader, node.slice)
    if owner.kind is Kind.TENSOR:
        reader.unit.in_kernels = True
        return Thing(Kind.SLICE, owner.value)
    if owner.kind is not Kind.CONTAINER:
        return Thing(Kind.ELEMENT) if owner.kind is Kind.ELEMENT else SCALAR
    is_known = isinstance(place.value, (int, str))
    key = place.value if is_known else constant_index(node.slice)
    if isinstance(owner.value, dict) and key is not None and key in owner.value:
        return thing_of(owner.value[key])
    if owner.keys is not None and key is not None:
        return owner.under(key)
    if isinstance(node.slice, ast.Slice):
        places = _constant_slice(node.slice)
        if owner.items is None or places is None:
            return container_of(owner.any_item())
        return container(owner.items[places])
    return owner.at(key if isinstance(key, int) else None)


def constant_index(node: ast.expr) -> int | str | None:
    try:
        found = ast.literal_eval(node)
    except (ValueError, SyntaxError, TypeError):
        return None
    return found if isinstance(found, (int, str)) else None


def _constant_slice(node: ast.Slice) -> slice | None:
    ends = [None if e is None else constant_index(e) for e in (node.lower, node.upper, node.step)]
    given = [e is not None for e in (node.lower, node.upper, node.step)]
    is_known = all(isinstance(e, int) or not g for e, g in zip(ends, given, strict=True))
    return slice(*ends) if is_known else None


def _operator(reader: Reader, node: ast.expr) -> Thing:
    """Operators on blocks compute; on numbers they are index arithmetic."""
    things = _parts(reader, node)
    kinds = {thing.kind for thing in things}
    if not kinds.isdisjoint(OF_TILES):
        reader.does(Effect.COMPUTE, node)
        return Thing(Kind.VALUE)
    if Kind.CONTAINER in kinds:
        return container_of(joined(t.any_item() for t in things if t.kind is Kind.CONTAINER))
    return Thing(Kind.ELEMENT) if Kind.ELEMENT in kinds else Thing(value=_result(node, things))


def _result(node: ast.expr, things: list[Thing]) -> Any:
    """Of arithmetic on known integers, by which lists are indexed, and of `not`."""
    values = [thing.value for thing in things]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return MISSING if type(values[0]) is not bool else not values[0]
    known = isinstance(node, ast.BinOp) and all(type(each) is int for each in values)
    calculate = _ARITHMETIC.get(type(node.op)) if known else None  # type: ignore[attr-defined]
    return MISSING if calculate is None else calculate(*values)


_ARITHMETIC: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
}


def _compare(reader: Reader, node: ast.Compare) -> Thing:
    if all(isinstance(op, (ast.Is, ast.IsNot, ast.In, ast.NotIn)) for op in node.ops):
        _parts(reader, node)
        return SCALAR
    return _operator(reader, node)


def _choice(reader: Reader, node: ast.IfExp) -> Thing:
    test = evaluate(reader, node.test)
    found = joined([evaluate(reader, node.body), evaluate(reader, node.orelse)])
    is_read = test.kind is Kind.ELEMENT and found.kind is Kind.SCALAR
    return Thing(Kind.ELEMENT) if is_read else found


def _named(reader: Reader, node: ast.NamedExpr) -> Thing:
    found = evaluate(reader, node.value)
    reader.bind(node.target, found)
    return found


def _lambda(reader: Reader, node: ast.Lambda) -> Thing:
    return Thing(Kind.FUNCTION, tree=node, scope=reader.scope)


def _items(reader: Reader, node: ast.Tuple | ast.List | ast.Set) -> Thing:
    things = [evaluate(reader, each) for each in node.elts]
    if any(isinstance(each, ast.Starred) for each in node.elts):
        return container_of(joined(thing.inside for thing in things))
    return container(things)


def _dict(reader: Reader, node: ast.Dict) -> Thing:
    for key in node.keys:
        if key is not None:
            evaluate(reader, key)
    things = [evaluate(reader, each) for each in node.values]
    keys = [None if key is None else constant_index(key) for key in node.keys]
    if None in keys or len({*keys}) < len(keys):
        return container_of(joined(things))
    return replace(container(things), keys=tuple(keys))


def _comprehension(reader: Reader, node: Comprehension) -> Thing:
    targets = uses_of_all(each.target for each in node.generators).stored
    with reader.inside(Scope(targets, reader.scope)):
        length = None
        for each in node.generators:
            given = evaluate(reader, each.iter)
            reader.bind(each.target, item_of(given))
            for test in each.ifs:
                evaluate(reader, test)
            length = None if each.ifs else _length(reader, each.iter, given)
        if isinstance(node, ast.DictComp):
            evaluate(reader, node.key)
        made = container_of(evaluate(reader, getattr(node, "elt", None) or node.value))  # type: ignore[union-attr]
        if length is None or len(node.generators) > 1 or isinstance(node, ast.DictComp):
            return made
        return container(made.at(place) for place in range(length))


MOST_ITEMS = 256  # that are told apart


def _length(reader: Reader, node: ast.expr, given: Thing) -> int | None:
    """Of a container, or of range() of a number."""
    if given.items is not None:
        return len(given.items)
    if not isinstance(node, ast.Call) or len(node.args) != 1 or node.keywords:
        return None
    is_range = evaluate(reader, node.func).value is range
    count = evaluate(reader, node.args[0]).value if is_range else None
    return max(0, count) if type(count) is int and count <= MOST_ITEMS else None


def item_of(thing: Thing, position: int | None = None) -> Thing:
    """What a loop over it gives, or what one name of `a, b = ...` gets."""
    if thing.kind is Kind.METHOD and thing.owner is not None and thing.name == "pipes":
        return replace(thing.owner, kind=Kind.PIPE, value=MISSING)
    if thing.kind is Kind.CONTAINER:
        return thing.at(position)
    return Thing(Kind.ELEMENT) if thing.kind is Kind.ELEMENT else SCALAR


_EXPRESSIONS: dict[type[ast.expr], Callable[[Reader, Any], Thing]] = {
    ast.Name: lambda reader, node: reader.read(node.id),
    ast.Constant: lambda reader, node: Thing(value=node.value),
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.BinOp: _operator,
    ast.UnaryOp: _operator,
    ast.Compare: _compare,
    ast.IfExp: _choice,
    ast.BoolOp: lambda reader, node: joined(_parts(reader, node)),
    ast.NamedExpr: _named,
    ast.Lambda: _lambda,
    ast.Tuple: _items,
    ast.List: _items,
    ast.Set: _items,
    ast.Starred: lambda reader, node: evaluate(reader, node.value),
    ast.Dict: _dict,
    ast.Call: call,
    **dict.fromkeys(COMPREHENSIONS, _comprehension),
}

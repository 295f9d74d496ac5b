"""Make new tree nodes at places in the user's code."""

from __future__ import annotations

from . import tree
from .bindings import Around, Binding, Place, Scope


def around(name: str, place: Place) -> tree.Name:
    return tree.Name(place, Around(name))


def called(function: tree.Expression, *arguments: tree.Expression) -> tree.Call:
    return tree.Call(function.place, function, arguments, ())


def method_call(
    owner: tree.Expression, method: str, place: Place, *arguments: tree.Expression
) -> tree.Call:
    return tree.Call(place, tree.Attribute(place, owner, method), arguments, ())


def assigned(binding: Binding, value: tree.Expression, place: Place) -> tree.Assign:
    return tree.Assign(place, (tree.Target(place, binding),), value)


def read_again(target: tree.Expression) -> tree.Expression:
    """Read a target of an assignment before the assignment."""
    return tree.Name(target.place, target.binding) if isinstance(target, tree.Target) else target


def without_parameters(name: str, body: tree.Body, place: Place, scope: Scope) -> tree.Function:
    return tree.Function(place, name, (), (), body, scope)

"""Evaluate known values as Python would, without calling anybody's function."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, Final

from ttl.diagnostics import RuleBroken
from ttl.language.arguments import is_tensor
from ttl.semantics.numpy_numbers import python_number

from . import tree
from .numpy_numbers import has_numpy

UNKNOWN: Final = object()
SCALARS = (bool, int, float, str, type(None))

OPERATORS: dict[str, Callable[..., object]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "**": operator.pow,
    "@": operator.matmul,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "is": operator.is_,
    "is not": operator.is_not,
    "in": lambda item, items: item in items,
    "not in": lambda item, items: item not in items,
}
MAY_NOT_END = ("**", "<<", "@")
SIGNS: dict[str, Callable[..., object]] = {
    "-": operator.neg,
    "+": operator.pos,
    "~": operator.invert,
    "not": operator.not_,
}
PURE = (abs, bool, float, getattr, hasattr, int, isinstance, len, max, min, range, str, sum, tuple)


def calculate(node: tree.Node, values: Sequence[object]) -> object:
    """Evaluate an operation; UNKNOWN if an operand is, or if the result cannot be told.
    A kernel calculates with Python's numbers, not with numpy's."""
    if any(value is UNKNOWN or has_numpy(value) for value in values):
        return UNKNOWN
    return attempt(_result, node, values)


def _result(node: tree.Node, values: Sequence[Any]) -> object:
    match node:
        case tree.Item() if not is_tensor(values[0]):
            return values[0][values[1]]
        case tree.Slice():
            return slice(*values)
        case tree.Sequence(kind="tuple"):
            is_plain = not any(isinstance(each, tree.Starred) for each in node.items)
            return tuple(values) if is_plain else UNKNOWN
        case tree.Unary():
            return SIGNS[node.sign](values[0])
        case tree.Binary() if node.sign not in MAY_NOT_END:
            return OPERATORS[node.sign](*values)
        case tree.Compare():
            pairs = zip(node.signs, values, values[1:], strict=False)
            return all(OPERATORS[sign](left, right) for sign, left, right in pairs)
        case tree.Call() if not node.keywords and any(values[0] is pure for pure in PURE):
            return values[0](*values[1:])
    return UNKNOWN


def read_attribute(owner: object, name: str) -> object:
    if isinstance(owner, ModuleType):  # a module may import a missing attribute
        return vars(owner).get(name, UNKNOWN)
    return UNKNOWN if owner is UNKNOWN else python_number(attempt(getattr, owner, name))


def attempt(function: Callable[..., object], *arguments: object) -> object:
    """Call a function as the run would; return UNKNOWN if it raises, which the run reports."""
    try:
        return function(*arguments)
    except (Exception, RuleBroken):
        return UNKNOWN


def truth(value: object) -> bool | None:
    """Return None if the value is unknown."""
    found = UNKNOWN if value is UNKNOWN else attempt(bool, value)
    return found if isinstance(found, bool) else None

"""Values that are known before a kernel runs, and what Python makes of them."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from types import ModuleType
from typing import Any, Final


class Unknown:
    """Stands for a value that only the run knows."""

    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN: Final = Unknown()

OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.Not: operator.not_,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda one, other: one in other,
    ast.NotIn: lambda one, other: one not in other,
}  # no power: it may take for ever

# Of constants they give constants, and they keep none of them.
PURE = (
    abs, all, any, bool, divmod, float, getattr, hasattr, int, isinstance, issubclass, len, max,
    min, range, round, str, sum, tuple, type,
)  # fmt: skip

LARGEST = 1 << 64
SCALARS = (bool, int, float, str, type(None))


def is_scalar(value: object) -> bool:
    return isinstance(value, SCALARS)


def is_any_unknown(*values: Any) -> bool:
    return any(value is UNKNOWN for value in values)


def calculated(operation: type[ast.AST], *operands: Any) -> Any:
    """UNKNOWN if an operand is, or if it has no value."""
    function = OPERATORS.get(operation)
    if function is None or is_any_unknown(*operands):
        return UNKNOWN
    if operation in (ast.Mult, ast.LShift) and any(
        isinstance(operand, int) and abs(operand) > LARGEST for operand in operands
    ):
        return UNKNOWN
    return attempt(function, *operands)


def attempt(function: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
    """What the run would make of it; what it would raise is its own affair."""
    try:
        return function(*arguments, **keywords)
    except Exception:
        return UNKNOWN


def attribute(owner: Any, name: str) -> Any:
    if isinstance(owner, ModuleType):  # one may import what is asked for
        return vars(owner).get(name, UNKNOWN)
    return attempt(getattr, owner, name)


def truth(value: Any) -> bool | None:
    """None if it is not known."""
    found = UNKNOWN if value is UNKNOWN else attempt(bool, value)
    return None if found is UNKNOWN else found

"""The names that a unified body, and the functions that it calls, see."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from types import FunctionType

from ..functions import MISSING, named_value
from .things import SCALAR, Thing, joined, thing_of

Names = dict[str, Thing]


@dataclass(eq=False, slots=True)
class Scope:
    """The variables of a function that is being read; `around` is what its other names mean."""

    own: frozenset[str]
    around: Scope | FunctionType
    names: Names = field(default_factory=dict)

    def chain(self) -> Iterator[Scope]:
        scope: Scope | FunctionType = self
        while isinstance(scope, Scope):
            yield scope
            scope = scope.around

    def home(self, name: str) -> Scope | None:
        """Whose variable it is; None if it is one of none of them."""
        return self.lookup(name)[1]

    def lookup(self, name: str) -> tuple[Thing, Scope | None]:
        """What it stands for, and whose variable it is."""
        scope: Scope | FunctionType = self
        while isinstance(scope, Scope):
            if name in scope.own:
                return scope.names.get(name, SCALAR), scope
            scope = scope.around
        value = named_value(name, scope)
        return SCALAR if value is MISSING else thing_of(value), None


Flow = list[tuple[Scope, Names]]


def flow_of(scope: Scope) -> Flow:
    """What all variables stand for at this place."""
    return [(each, dict(each.names)) for each in scope.chain()]


def go_to(flow: Flow) -> None:
    for scope, names in flow:
        scope.names = dict(names)


def joined_flow(one: Flow, other: Flow) -> Flow:
    """Where two paths meet."""
    return [
        (scope, {name: _either(name, names, others) for name in {**names, **others}})
        for (scope, names), (_, others) in zip(one, other, strict=True)
    ]


def _either(name: str, names: Names, others: Names) -> Thing:
    return joined([each[name] for each in (names, others) if name in each])

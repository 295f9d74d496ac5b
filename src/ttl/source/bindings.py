"""Places in the user's files, and the bindings of names in a tree."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple


class Place(NamedTuple):
    line: int
    column: int
    end_line: int
    end_column: int


# Names --------------------------------------------------------------------------------------------


@dataclass(eq=False, slots=True)
class Scope:
    """The variables of a function, of a comprehension or of a class."""

    name: str
    outer: Scope | None = None
    variables: dict[str, Variable] = field(default_factory=dict)
    shared: set[Variable] = field(default_factory=set)  # which inner functions assign
    is_class: bool = False  # inner functions do not see its variables

    def variable(self, name: str) -> Variable:
        return self.variables.setdefault(name, Variable(name, self))

    def is_in(self, other: Scope) -> bool:
        """Is it `other`, or inside it?"""
        scope: Scope | None = self
        while scope is not None and scope is not other:
            scope = scope.outer
        return scope is not None


@dataclass(eq=False, slots=True, repr=False)
class Variable:
    name: str
    scope: Scope

    def __repr__(self) -> str:
        return f"{self.scope.name}.{self.name}"


@dataclass(frozen=True, slots=True)
class Around:
    """A name defined outside the function being read."""

    name: str


Binding = Variable | Around

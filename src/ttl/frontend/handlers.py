"""The tables of handlers that evaluate a language of kernels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ttl.source import tree

if TYPE_CHECKING:
    from .continuations import Steps

Handler = Callable[..., object]  # gets the builder and the program's arguments
Evaluate = Callable[..., "Steps | None"]  # a statement; returns the steps left of it
Methods = Mapping[str, Handler]


@dataclass(frozen=True, slots=True)
class Handlers:
    """The handlers of the language, or of one built on it."""

    calls: Mapping[object, Handler]  # by called function
    methods: Mapping[type, Methods]  # by the type of a run-time value
    object_methods: Mapping[type, Methods]  # by the class of a language object
    subscripts: Mapping[type, Handler] = field(default_factory=dict)  # `owner[index]`
    statements: Mapping[type[tree.Statement], Evaluate] = field(default_factory=dict)

    def extended(self, **tables: Mapping[object, object]) -> Handlers:
        """Add rows to some of the tables."""
        return Handlers(
            **{name: {**getattr(self, name), **tables.get(name, {})} for name in Handlers.__slots__}
        )

"""Which function evaluates what: the tables of one language of kernels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ttl.source import tree

Handler = Callable[..., Any]  # gets the builder, then what the program gives
Methods = Mapping[str, Handler]


@dataclass(frozen=True, slots=True)
class Handlers:
    """Of the language, or of one that is built on it."""

    calls: Mapping[object, Handler]  # by the function that is called
    methods: Mapping[type, Methods]  # by the type of a run-time value
    object_methods: Mapping[type, Methods]  # by the class of an object of the language
    subscripts: Mapping[type, Handler] = field(default_factory=dict)  # `owner[index]`
    statements: Mapping[type[tree.Statement], Handler] = field(default_factory=dict)  # instead

    def extended(self, **tables: Mapping[object, object]) -> Handlers:
        """With further rows in some of the tables."""
        return Handlers(
            **{name: {**getattr(self, name), **tables.get(name, {})} for name in Handlers.__slots__}
        )

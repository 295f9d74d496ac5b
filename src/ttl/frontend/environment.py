"""The surroundings of a kernel: the outer names of its functions, and their trees."""

from __future__ import annotations

from types import CodeType, FunctionType
from typing import Any

from ttl.diagnostics import codes
from ttl.semantics.function_source import help_without_source
from ttl.source import tree
from ttl.source.facts.releases import function_points
from ttl.source.functions import MISSING as MISSING
from ttl.source.functions import named_value, own_code, place_of
from ttl.source.trees import tree_of

from .node_values import MakeArgument, merged


class Environment:
    """The names around one function, which has one closure per node or one for all."""

    def __init__(self, functions: tuple[FunctionType, ...]):
        self.functions = functions
        self._found: dict[str, object] = {}

    def lookup(self, name: str, make: MakeArgument) -> object:
        """Return the value of an outer name, or MISSING."""
        function = self.functions[0]
        if name not in own_code(function).co_freevars:
            return named_value(name, function)
        if name not in self._found:
            values = [named_value(name, each) for each in self.functions]
            self._found[name] = merged(name, values, make)
        return self._found[name]


def definition(function: Any) -> tree.Function:
    found = tree_of(function)
    if found is None or found.is_async:
        code = own_code(function)
        raise codes.NO_SOURCE.broken(
            f"the source of `{code.co_name}` is not available", help_without_source(code)
        )
    return found


def repaired_trees(function: object) -> dict[tuple[CodeType, str], tree.Function]:
    """Return the definitions of kernel and helpers that needed supplied releases or waits."""
    return {place_of(points.code): points.function for points in function_points(function)}

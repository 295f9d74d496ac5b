"""Names around a kernel: what it captures, the globals of its module, Python's own."""

from __future__ import annotations

from types import FunctionType
from typing import Any

from ttl.source.functions import MISSING as MISSING
from ttl.source.functions import named_value, own_code

from .node_values import MakeArgument, merged


class Environment:
    """The names around one function, which has one closure for each node or one for all."""

    def __init__(self, functions: tuple[FunctionType, ...]):
        self.functions = functions
        self._found: dict[str, Any] = {}

    def lookup(self, name: str, make: MakeArgument) -> Any:
        """What `name` stands for; MISSING if nothing."""
        function = self.functions[0]
        if name not in own_code(function).co_freevars:
            return named_value(name, function)
        if name not in self._found:
            values = [named_value(name, each) for each in self.functions]
            self._found[name] = merged(name, values, make)
        return self._found[name]

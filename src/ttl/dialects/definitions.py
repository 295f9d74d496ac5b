"""What the definitions of all dialects share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from xdsl.ir import Attribute, Dialect, Operation
from xdsl.irdl import IRDLOperation, irdl_op_definition
from xdsl.utils.exceptions import VerifyException

from ttl.diagnostics import RuleBroken


def define_operation(
    class_name: str, base: type[IRDLOperation], name: str, **constants: Any
) -> Any:
    """An operation that differs from others by its name and its constants only."""
    defined: Any = irdl_op_definition(type(class_name, (base,), {"name": name}))
    for constant, value in constants.items():
        setattr(defined, constant, value)
    return defined


class OperationTable(dict[str, Any]):
    """Operations by name, each defined when it is first needed: most kernels use few."""

    def __init__(self, names: Iterable[str], define: Callable[[str], Any]):
        self.names, self.define = tuple(names), define

    def __missing__(self, name: str) -> Any:
        self[name] = self.define(name)
        return self[name]

    def all(self) -> list[Any]:
        return [self[name] for name in self.names]


def dialect_of(
    name: str, *namespaces: Mapping[str, Any], calls: Iterable[type[Operation]] = ()
) -> Dialect:
    """The operations and types called `<name>.*` that modules define, and the `calls`.

    What several operations inherit from has no name of its own.
    """
    found: dict[type, None] = {
        each: None
        for namespace in namespaces
        for each in namespace.values()
        if isinstance(each, type) and str(vars(each).get("name")).startswith(f"{name}.")
    }
    operations = [each for each in found if issubclass(each, Operation)]
    types = [each for each in found if issubclass(each, Attribute)]
    return Dialect(name, [*operations, *calls], types)


@contextmanager
def rules_of_the_language() -> Iterator[None]:
    """A rule of the language that is broken is IR that does not verify."""
    try:
        yield
    except RuleBroken as broken:
        raise VerifyException(broken.message) from None

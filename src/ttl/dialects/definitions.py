"""Shared helpers of all dialect definitions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar

from xdsl.dialects.builtin import ContainerType, ShapedType
from xdsl.ir import Attribute, Dialect, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from ttl.diagnostics import RuleBroken
from ttl.semantics.types import Shape

from .building import DefinedOperation, QuickOperation


def define_operation(
    name: str, base: type[DefinedOperation] = QuickOperation, /, **members: object
) -> Any:
    """Define an operation that has only a name and these members of its own.

    Members in capitals are constants of the class; xDSL reads the others.
    """
    title = "".join(word.capitalize() for word in name.partition(".")[2].split("_"))
    constants = {member: ClassVar for member in members if member.isupper()}
    return type(f"{title}Op", (base,), {"name": name, "__annotations__": constants, **members})


class OperationTable(dict[str, Any]):
    """Operations by name, each defined on first use: most kernels use few."""

    def __init__(self, names: Iterable[str], define: Callable[[str], object]):
        self.names, self.define = tuple(names), define

    def __missing__(self, name: str) -> Any:
        self[name] = self.define(name)
        return self[name]

    def all(self) -> list[Any]:
        return [self[name] for name in self.names]


def dialect_of(
    name: str, *namespaces: Mapping[str, object], calls: Iterable[type[Operation]] = ()
) -> Dialect:
    """Make a dialect from operations and types called `<name>.*` in these modules, and `calls`.

    Base classes of several operations have no name of their own.
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


def shape_of(value: SSAValue) -> Shape:
    """Return the shape of a tensor, or of a tensor's memory."""
    assert isinstance(value.type, ShapedType)
    return tuple(value.type.get_shape())


def element_of(value: SSAValue) -> Attribute:
    assert isinstance(value.type, ContainerType)
    found: Attribute = value.type.get_element_type()
    return found


@contextmanager
def rules_of_the_language() -> Iterator[None]:
    """Report broken rules of the language as IR that does not verify."""
    try:
        yield
    except RuleBroken as broken:
        raise VerifyException(broken.message) from None

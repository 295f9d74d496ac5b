"""Print the multi-kernel operation of a unified one as Python that runs by itself.

The text defines the outer names of the body (constants, modules, functions): at its start for the
operation, at the start of its function for an expanded one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from types import FunctionType, ModuleType

from ttl import language
from ttl.language.operation import Operation
from ttl.semantics.kernel_kinds import KernelKind

from .. import tree
from ..bindings import Around, Place
from ..functions import MISSING, named_value, own_code
from ..making import around, assigned, method_call
from ..python import as_text
from ..tree import Body, Statement
from ..trees import tree_of
from ..walking import Changer, walk
from .forms import value_of
from .splitting import NAMED, Split

CONSTANTS = (int, float, str, bool, type(None))
PLACE = Place(1, 0, 1, 0)
DECORATORS = {f".{kind.value}": kind.value for kind in KernelKind}


def kernel_text(split: Split, function: FunctionType) -> str:
    """Return the text of the operation, after everything it needs."""
    made = _Readable(function).inside(split.tree)
    made = replace(made, decorators=tuple(_decorators(split, function)))
    names = {*_around(made), "ttl"}
    made = replace(made, body=(*_inner_functions(split), *made.body))
    return as_text(*_definitions(names, function, set()), _defined(made)) + "\n"


def _decorators(split: Split, function: FunctionType) -> Iterator[tree.Expression]:
    """Yield the language's decorators; the program applies others itself."""
    for each in split.frame.tree.decorators:
        called = each.function if isinstance(each, tree.Call) else each
        if value_of(called, function) is language.operation:
            yield each


def _inner_functions(split: Split) -> Body:
    """Define expanded operations first, with the names they use."""
    inner: list[Statement] = []
    for name, expansion in split.expansions.items():
        function = expansion.frame.function
        made = _Readable(function).inside(expansion.tree)
        needed = _definitions(_around(made), function, set())
        body = (*needed, *_inner_functions(expansion), *made.body)
        inner.append(_defined(replace(made, name=_identifier(name), body=body)))
    return tuple(inner)


def _defined(function: tree.Function, name: str = "") -> Statement:
    return assigned(Around(name or function.name), function, function.place)


def _around(function: tree.Function) -> set[str]:
    """Return the names that a function, and those in it, do not define themselves."""
    named = (each for each in walk(function) if isinstance(each, tree.Name))
    return {each.binding.name for each in named if isinstance(each.binding, Around)}


def _identifier(name: str) -> str:
    """Make an identifier of a name that only code can have."""
    return name if name.isidentifier() else re.sub(r"\W+", "_", name).strip("_")


class _Readable(Changer):
    """Rewrites a tree as readable Python: valid names, constants for attributes of outer objects,
    no annotations.
    """

    def __init__(self, function: FunctionType):
        self.function = function

    def change(self, node: tree.Node) -> tree.Node | Body:
        if isinstance(node, tree.Attribute):
            value = value_of(node, self.function)
            is_known = value is not MISSING and _is_constant(value)
            return tree.Constant(node.place, value) if is_known else node
        if isinstance(node, (tree.Name, tree.Target)):
            return self._named(node)
        if isinstance(node, tree.Parameter):
            return replace(node, annotation=None)
        called = node.value if isinstance(node, tree.Evaluate) else None
        if isinstance(called, tree.Call) and isinstance(called.function, tree.Name):
            return () if called.function.binding.name == _identifier(NAMED) else node
        return node

    def _named(self, node: tree.Name | tree.Target) -> tree.Expression:
        name = node.binding.name
        if name in DECORATORS:
            return method_call(around("ttl", node.place), DECORATORS[name], node.place)
        return node if name.isidentifier() else replace(node, binding=Around(_identifier(name)))


# Outer names --------------------------------------------------------------------------------------


def _definitions(
    names: Iterable[str], function: FunctionType, seen: set[tuple[int, str]]
) -> list[Statement]:
    """Return statements that define a function's outer names; imports first."""
    found = [each for name in sorted(names) for each in _definition(name, function, seen)]
    once = {as_text(each): each for each in found}.values()
    return sorted(once, key=lambda each: not isinstance(each, tree.Import))


def _definition(
    name: str, function: FunctionType, seen: set[tuple[int, str]]
) -> Iterator[Statement]:
    value = named_value(name, function)
    is_builtin = getattr(value, "__module__", "") == "builtins"
    if value is MISSING or (is_builtin and name not in function.__globals__):
        return
    place = id(function.__globals__), name
    if place in seen:
        return
    seen.add(place)
    inner = tree_of(value) if isinstance(value, FunctionType) else None
    is_known = any(value is known for known in _language().values())
    if isinstance(value, FunctionType) and inner is not None and not is_known:
        made = _Readable(value).inside(inner)
        yield from _definitions(_around(made), value, seen)
        yield _defined(made, name)
    else:
        yield from _given_as(name, value, function)


def _language() -> dict[str, object]:
    return {name: getattr(language, name) for name in language.__all__}


def _given_as(name: str, value: object, function: FunctionType) -> Iterator[Statement]:
    """Yield a statement that gives a name its value."""
    known = next((n for n, each in _language().items() if each is value), None)
    if isinstance(value, ModuleType):
        yield _import(value.__name__, None, name, value.__name__ != name)
    elif _is_constant(value) or isinstance(value, Operation):  # an operation's calls are expanded
        given = None if isinstance(value, Operation) else value
        yield assigned(Around(name), tree.Constant(PLACE, given), PLACE)
    elif known is not None:
        yield _import("ttl", known, name, known != name)
    elif name in function.__globals__:
        yield _import(_module_of(function), name, name, has_alias=False)


def _import(module: str, name: str | None, target: str, has_alias: bool) -> Statement:
    made = tree.Imported(PLACE, name, tree.Target(PLACE, Around(target)), has_alias)
    return tree.Import(PLACE, module, 0, (made,))


def _module_of(function: FunctionType) -> str:
    """Return the module's name; for a program that is run, the name of its file."""
    name: str = function.__globals__.get("__name__", "__main__")
    return Path(own_code(function).co_filename).stem if name == "__main__" else name


def _is_constant(value: object) -> bool:
    if isinstance(value, (tuple, list)):
        return all(map(_is_constant, value))
    return type(value) in CONSTANTS

"""The multi-kernel operation that a unified one becomes, as Python that runs by itself.

What the body names around it (constants, modules, functions) is defined in the text: at its start
for the operation, at the start of its function for one that is expanded.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from copy import deepcopy
from types import FunctionType, ModuleType
from typing import Any

from ttl import language
from ttl.semantics.function_source import definition_of
from ttl.semantics.kernel_kinds import KernelKind

from ..functions import MISSING, named_value, own_code
from .splitting import NAMED, Split

CONSTANTS = (int, float, str, bool, type(None))


def kernel_text(split: Split, function: Any) -> str:
    """Everything that it needs, then the operation."""
    tree = _readable(split)
    tree.decorator_list = deepcopy(split.frame.tree.decorator_list)
    _inner_functions(split, tree)
    names = _Names(function)
    decorators = set().union(*map(_named, tree.decorator_list))
    around = names.definitions(_named(split.tree) | decorators | {"ttl"})
    module = ast.Module([*around, tree], [])
    return ast.unparse(ast.fix_missing_locations(module)) + "\n"


def _readable(split: Split) -> ast.FunctionDef:
    tree = _Readable().visit(deepcopy(split.tree))
    assert isinstance(tree, ast.FunctionDef)
    return tree


def _inner_functions(split: Split, tree: ast.FunctionDef) -> None:
    """Expanded operations stand first, with what they name."""
    inner: list[ast.stmt] = []
    for name, expansion in split.expansions.items():
        made = _readable(expansion)
        made.name = name.removeprefix(".")
        _inner_functions(expansion, made)
        names = _Names(expansion.frame.function)
        made.body[:0] = names.definitions(_named(expansion.tree))
        inner.append(made)
    tree.body[:0] = inner


class _Readable(ast.NodeTransformer):
    """Names that a program could have, in place of those that only code can have."""

    def visit_Name(self, node: ast.Name) -> ast.expr:
        decorators = {f".{kind.value}": kind for kind in KernelKind}
        if node.id in decorators:
            made = ast.Attribute(ast.Name("ttl", ast.Load()), decorators[node.id].value, ast.Load())
            return ast.Call(made, [], [])
        return ast.Name(node.id.removeprefix("."), node.ctx)

    def visit_Expr(self, node: ast.Expr) -> ast.stmt | None:
        called = node.value.func if isinstance(node.value, ast.Call) else None
        if isinstance(called, ast.Name) and called.id == NAMED:
            return None
        self.generic_visit(node)
        return node


def _named(tree: ast.AST) -> set[str]:
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


class _Names:
    """What names around a function stand for, as statements that give them."""

    def __init__(self, function: FunctionType):
        self.function = function
        self.seen: set[str] = set()

    def definitions(self, names: set[str]) -> list[ast.stmt]:
        found = [each for name in sorted(names) for each in self._definition(name)]
        imports = [each for each in found if isinstance(each, (ast.Import, ast.ImportFrom))]
        return [*imports, *(each for each in found if each not in imports)]

    def _definition(self, name: str) -> Iterator[ast.stmt]:
        own = own_code(self.function)
        is_own = name in (*own.co_varnames, *own.co_cellvars)
        value = MISSING if is_own else named_value(name, self.function)
        is_builtin = getattr(value, "__module__", "") == "builtins" and name not in (
            self.function.__globals__
        )
        if name in self.seen or value is MISSING or is_builtin:
            return
        self.seen.add(name)
        if isinstance(value, FunctionType) and (tree := definition_of(own_code(value))):
            yield from _Names(value).definitions(_named(tree) - {name})
            yield tree
        else:
            yield from _given_as(name, value)


def _given_as(name: str, value: Any) -> Iterator[ast.stmt]:
    """A statement that gives a name its value."""
    if isinstance(value, ModuleType):
        alias = None if value.__name__ == name else name
        yield ast.Import([ast.alias(value.__name__, alias)])
    elif _is_constant(value):
        yield ast.Assign([ast.Name(name, ast.Store())], ast.parse(repr(value), mode="eval").body)
    elif any(value is getattr(language, known) for known in language.__all__):
        known = next(each for each in language.__all__ if value is getattr(language, each))
        yield ast.ImportFrom("ttl", [ast.alias(known, None if known == name else name)], 0)
    elif isinstance(getattr(value, "__module__", None), str):
        qualified = getattr(value, "__name__", name)
        yield ast.ImportFrom(value.__module__, [ast.alias(qualified, name)], 0)


def _is_constant(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return all(map(_is_constant, value))
    return type(value) in CONSTANTS


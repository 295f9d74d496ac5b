"""The multi-kernel operation that a unified one becomes, as Python that runs by itself.

What the body names around it (constants, modules, functions) is defined in the text: at its start
for the operation, at the start of its function for one that is expanded.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

from ttl import language
from ttl.language.operation import Operation
from ttl.semantics.function_source import definition_of, global_names
from ttl.semantics.kernel_kinds import KernelKind
from ttl.semantics.syntax import walk

from ..functions import MISSING, named_value, own_code
from .forms import value_of
from .splitting import NAMED, Split

CONSTANTS = (int, float, str, bool, type(None))


def kernel_text(split: Split, function: Any) -> str:
    """Everything that it needs, then the operation."""
    tree = _readable(split, function)
    tree.decorator_list = deepcopy(_decorators(split, function))
    _inner_functions(split, tree)
    names = _Names(function)
    decorators = set().union(*map(_named, tree.decorator_list))
    around = names.definitions(_looked_up(split, function) | decorators | {"ttl"})
    module = ast.Module([*around, tree], [])
    return ast.unparse(ast.fix_missing_locations(module)) + "\n"


def _decorators(split: Split, function: Any) -> list[ast.expr]:
    """Those of the language: what else a program does with the operation, it does itself."""
    return [
        each
        for each in split.frame.tree.decorator_list
        if value_of(each.func if isinstance(each, ast.Call) else each, function)
        is language.operation
    ]


def _looked_up(split: Split, function: FunctionType) -> set[str]:
    return _named(_readable(split, function)) & _around(split.code)


def _around(code: CodeType) -> set[str]:
    """The names that a function, and those in it, do not define themselves."""
    return {*code.co_freevars, *global_names(code)}


def _readable(split: Split, function: FunctionType) -> ast.FunctionDef:
    tree = _Readable(split, function).visit(deepcopy(split.tree))
    assert isinstance(tree, ast.FunctionDef)
    return tree


def _inner_functions(split: Split, tree: ast.FunctionDef) -> None:
    """Expanded operations stand first, with what they name."""
    inner: list[ast.stmt] = []
    for name, expansion in split.expansions.items():
        made = _readable(expansion, expansion.frame.function)
        made.name = name.removeprefix(".")
        _inner_functions(expansion, made)
        names = _Names(expansion.frame.function)
        made.body[:0] = names.definitions(_looked_up(expansion, names.function))
        inner.append(made)
    tree.body[:0] = inner


class _Readable(ast.NodeTransformer):
    """Names that a program could have, in place of those that only code can have, and constants in
    the place of what objects outside hold.
    """

    def __init__(self, split: Split, function: FunctionType):
        self.around, self.function = _around(split.code), function

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        root: ast.expr = node
        while isinstance(root, ast.Attribute):
            root = root.value
        if isinstance(root, ast.Name) and root.id in self.around and isinstance(node.ctx, ast.Load):
            value = value_of(node, self.function)
            if value is not MISSING and _is_constant(value):
                return ast.copy_location(_constant(value), node)
        self.generic_visit(node)
        return node

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
    return {node.id for node in walk(tree) if isinstance(node, ast.Name)}


class _Names:
    """What names around a function stand for, as statements that give them."""

    def __init__(self, function: FunctionType):
        self.function = function
        self.seen: set[str] = set()

    def definitions(self, names: set[str]) -> list[ast.stmt]:
        found = [each for name in sorted(names) for each in self._definition(name)]
        once = {ast.unparse(ast.fix_missing_locations(each)): each for each in found}.values()
        imports = [each for each in once if isinstance(each, (ast.Import, ast.ImportFrom))]
        return [*imports, *(each for each in once if each not in imports)]

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
            yield from _Names(value).definitions(_named(tree) & _around(own_code(value)) - {name})
            yield tree
        else:
            yield from _given_as(name, value, self.function)


def _given_as(name: str, value: Any, function: FunctionType) -> Iterator[ast.stmt]:
    """A statement that gives a name its value."""
    if isinstance(value, ModuleType):
        alias = None if value.__name__ == name else name
        yield ast.Import([ast.alias(value.__name__, alias)])
    elif _is_constant(value):
        yield ast.Assign([ast.Name(name, ast.Store())], _constant(value))
    elif isinstance(value, Operation):  # its calls are expanded
        yield ast.Assign([ast.Name(name, ast.Store())], ast.Constant(None))
    elif any(value is getattr(language, known) for known in language.__all__):
        known = next(each for each in language.__all__ if value is getattr(language, each))
        yield ast.ImportFrom("ttl", [ast.alias(known, None if known == name else name)], 0)
    elif name in function.__globals__:
        yield ast.ImportFrom(_module_of(function), [ast.alias(name)], 0)


def _module_of(function: FunctionType) -> str:
    """A program that is run is found by the name of its file."""
    name: str = function.__globals__.get("__name__", "__main__")
    return Path(own_code(function).co_filename).stem if name == "__main__" else name


def _constant(value: Any) -> ast.expr:
    return ast.parse(repr(value), mode="eval").body


def _is_constant(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return all(map(_is_constant, value))
    return type(value) in CONSTANTS


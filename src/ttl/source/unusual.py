"""Kernels with Python that may not be part of their language, or whose source is not found.

The simulator runs Python, so it would run them; before that it asks the compiler about them, which
knows. All others it runs without a compiler.

rule SYNTAX  statements that no kernel has, attributes that are set or Python's own, keys that only
             the run knows, items that only the run counts, texts of values, functions that name
             themselves or have decorators
rule CALLED  a call of what is neither the language's, nor the user's, nor arithmetic
rule SOURCE  a function without a definition that the compiler could read
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from functools import lru_cache, partial
from inspect import getattr_static
from types import CodeType, FunctionType, MethodType
from typing import Any

from ttl.diagnostics.frames import is_pyttlang_file, is_user_file
from ttl.semantics.function_source import function_tree
from ttl.semantics.syntax import walk

from .functions import MISSING, own_code, reachable_functions, value_of
from .scopes import own_names

SYNTAX = (
    ast.AsyncFor, ast.AsyncFunctionDef, ast.AsyncWith, ast.Await, ast.ClassDef, ast.Try,
    ast.JoinedStr, ast.Match, ast.TryStar, ast.Yield, ast.YieldFrom,
)  # fmt: skip
IMPORTS = (ast.Import, ast.ImportFrom)  # what is called of them is not known here
OF_VALUES = frozenset((*dir(int), *dir(float), "count", "index"))
PYTHONS = (
    abs, all, any, bool, breakpoint, chr, dict, divmod, enumerate, float, frozenset, getattr,
    hasattr, hex, int, isinstance, issubclass, len, list, map, max, min, ord, partial, print,
    range, reversed, round, set, slice, sorted, sum, tuple, zip,
)  # fmt: skip
MODULES = ("ttl", "math", "_operator", "itertools", "pdb")


def is_unusual(kernels: Iterable[Callable[[], None]]) -> bool:
    """May the compiler refuse a kernel, or what it calls, as no part of the language?"""
    return any(
        _is_lambda(kernel) or any(map(_has_signs, reachable_functions(kernel)))
        for kernel in kernels
    )


def _is_lambda(kernel: Callable[[], None]) -> bool:
    return isinstance(kernel, FunctionType) and own_code(kernel).co_name == "<lambda>"


def _has_signs(function: FunctionType) -> bool:
    called = _called(own_code(function))
    return called is None or not all(_is_usual(_value(node, function)) for node in called)


@lru_cache(maxsize=1024)
def _called(code: CodeType) -> tuple[ast.expr, ...] | None:
    """What a function calls; None if it has signs of its own."""
    tree = function_tree(code)
    if tree is None:  # rule SOURCE
        return None
    nodes = [*walk(tree)]
    if any(map(_is_unusual_syntax, nodes)) or _has_items_of_run(nodes, own_names(tree)):
        return None
    return tuple(node.func for node in nodes if isinstance(node, ast.Call))


def _is_unusual_syntax(node: ast.AST) -> bool:  # rule SYNTAX
    if isinstance(node, ast.FunctionDef):
        inside = [*walk(node)]
        is_recursive = any(isinstance(n, ast.Name) and n.id == node.name for n in inside)
        return is_recursive or any(
            isinstance(n, ast.FunctionDef) and n.decorator_list for n in inside if n is not node
        )
    if isinstance(node, ast.Attribute):
        is_changed = not isinstance(node.ctx, ast.Load)
        return is_changed or node.attr in OF_VALUES or node.attr.startswith("__")
    if isinstance(node, ast.Dict):
        return not all(isinstance(key, ast.Constant) for key in node.keys)
    return isinstance(node, (*SYNTAX, *IMPORTS, ast.DictComp, ast.Set, ast.SetComp))


def _has_items_of_run(nodes: list[ast.AST], own: frozenset[str]) -> bool:
    """All items of a range at once that a variable of the function bounds."""
    iterated = [n.iter for n in nodes if isinstance(n, ast.comprehension)]
    iterated += [n.value for n in nodes if isinstance(n, ast.Starred)]
    return any(
        isinstance(part, ast.Name) and part.id in own
        for each in iterated
        if isinstance(each, ast.Call)
        for part in walk(each)
    )


def _value(node: ast.expr, function: FunctionType) -> Any:
    def attribute(owner: Any, name: str) -> Any:
        found = getattr_static(owner, name, MISSING)
        return found.__func__ if isinstance(found, (staticmethod, classmethod)) else found

    return value_of(node, function, attribute)


def _is_usual(value: Any) -> bool:  # rule CALLED
    if value is MISSING or not callable(value) or any(value is each for each in PYTHONS):
        return True
    if isinstance(value, partial):
        return _is_usual(value.func)
    if isinstance(value, type) and issubclass(value, BaseException):
        return True
    function = value.__func__ if isinstance(value, MethodType) else value
    if isinstance(function, FunctionType):
        file = own_code(function).co_filename
        is_ttnns = str(function.__module__).startswith("ttl.ttnn")
        return is_user_file(file) or (is_pyttlang_file(file) and not is_ttnns)
    module = getattr(value, "__module__", None) or type(value).__module__
    return str(module).partition(".")[0] in MODULES

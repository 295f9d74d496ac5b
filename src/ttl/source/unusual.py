"""Kernels with Python that may not be part of their language, or whose source is not found.

The simulator runs Python, so it would run them; before that it asks the compiler about them, which
knows. All others it runs without a compiler.

rule SYNTAX  statements that no kernel has, names of Python's own, keys that only the run knows, a
             function that names itself
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

STATEMENTS = (
    ast.AsyncFor, ast.AsyncFunctionDef, ast.AsyncWith, ast.Await, ast.ClassDef, ast.Try,
    ast.TryStar, ast.Yield, ast.YieldFrom,
)  # fmt: skip
IMPORTS = (ast.Import, ast.ImportFrom)  # what is called of them is not known here
OF_NUMBERS = frozenset((*dir(int), *dir(float)))
PYTHONS = (
    abs, all, any, bool, breakpoint, callable, chr, dict, divmod, enumerate, float, format,
    frozenset, getattr, hasattr, hash, hex, int, isinstance, issubclass, len, list, map, max, min,
    ord, partial, pow, print, range, repr, reversed, round, set, setattr, slice, sorted,
    str, sum, tuple, type, zip,
)  # fmt: skip
MODULES = ("ttl", "ttnn", "math", "_operator", "itertools", "pdb")


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
    if any(map(_is_unusual_syntax, nodes)):
        return None
    return tuple(node.func for node in nodes if isinstance(node, ast.Call))


def _is_unusual_syntax(node: ast.AST) -> bool:  # rule SYNTAX
    if isinstance(node, ast.FunctionDef):
        return any(isinstance(each, ast.Name) and each.id == node.name for each in walk(node))
    if isinstance(node, ast.Attribute):
        return node.attr in OF_NUMBERS
    if isinstance(node, ast.Dict):
        return not all(isinstance(key, ast.Constant) for key in node.keys)
    return isinstance(node, (*STATEMENTS, *IMPORTS, ast.DictComp, ast.Set, ast.SetComp))


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
        return is_user_file(file) or is_pyttlang_file(file)
    module = getattr(value, "__module__", None) or type(value).__module__
    return str(module).partition(".")[0] in MODULES

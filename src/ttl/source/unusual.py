"""Kernels with Python that may not be part of their language, or without source.

The simulator would just let Python run them, so it asks the compiler about them first. It runs
all others without a compiler.

rule SYNTAX  statements that no kernel has, setting attributes or using Python's own, computed keys,
             items that only the run can count or choose, f-strings, `is` without None, methods
             of neither the language nor containers, functions that name themselves or have
             decorators
rule CALLED  a call of a function that is neither the language's, the user's, nor arithmetic
rule SOURCE  a function without a definition that the compiler could read
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache, partial
from types import CodeType, FunctionType, MethodType
from typing import Any

from ttl import language
from ttl.diagnostics.frames import is_pyttlang_file, is_user_file

from . import tree
from .bindings import Binding, Variable
from .functions import MISSING, find_member, find_value, own_code, reachable_functions
from .trees import Path, path_of, tree_of_code
from .walking import walk

SYNTAX = (tree.Foreign, tree.Suspend, tree.Text, tree.Try, tree.Import)
OF_VALUES = frozenset((*dir(int), *dir(float), "count", "index"))
PYTHONS = (
    abs,
    all,
    any,
    bool,
    breakpoint,
    chr,
    dict,
    divmod,
    enumerate,
    float,
    frozenset,
    getattr,
    hasattr,
    hex,
    int,
    isinstance,
    issubclass,
    len,
    list,
    map,
    max,
    min,
    ord,
    partial,
    print,
    range,
    reversed,
    round,
    set,
    slice,
    sorted,
    sum,
    tuple,
    zip,
)
METHODS = frozenset(
    name for each in (str, tuple, list, dict, set, *vars(language).values()) for name in dir(each)
)
MODULES = ("ttl", "math", "_operator", "itertools", "pdb")


def is_unusual(kernels: Iterable[Callable[[], None]]) -> bool:
    """May the compiler refuse a kernel, or a function it calls, as not in the language?"""
    return any(
        (isinstance(kernel, FunctionType) and own_code(kernel).co_name == "<lambda>")
        or any(map(_has_signs, reachable_functions(kernel)))
        for kernel in kernels
    )


def _has_signs(function: FunctionType) -> bool:
    called = _find_called(own_code(function))
    return called is None or not all(_is_usual(_value(path, function)) for path in called)


@lru_cache(maxsize=1024)
def _find_called(code: CodeType) -> tuple[Path, ...] | None:
    """Return the outer names that a function calls; None if its own syntax is unusual."""
    function = tree_of_code(code, code.co_filename)
    if function is None or function.is_async:  # rule SOURCE
        return None
    nodes = [*walk(function)]
    if any(map(_is_unusual_syntax, nodes[1:])) or _names_itself(function):
        return None
    paths = (path_of(node.function) for node in nodes if isinstance(node, tree.Call))
    return tuple(path for path in paths if path is not None)


def _is_unusual_syntax(node: tree.Node) -> bool:  # rule SYNTAX
    if isinstance(node, tree.Assign) and isinstance(node.value, tree.Function):
        (target,) = node.targets
        assert isinstance(target, tree.Target)
        return (
            node.value.is_async
            or bool(node.value.decorators)
            or _names_itself(node.value, target.binding)
        )
    if isinstance(node, (tree.Assign, tree.Delete)):
        return any(isinstance(each, tree.Attribute) for each in node.targets)
    if isinstance(node, tree.Attribute):
        return node.name in OF_VALUES or node.name.startswith("__")
    if isinstance(node, tree.Table):
        return not all(isinstance(key, tree.Constant) for key in node.keys)
    if isinstance(node, tree.Generator) and node.tests:
        return True
    if isinstance(node, tree.Compare) and {"is", "is not"} & {*node.signs}:  # of numbers, say
        parts = (node.first, *node.others)
        return not any(isinstance(each, tree.Constant) and each.value is None for each in parts)
    if isinstance(node, tree.Call) and isinstance(node.function, tree.Attribute):
        return path_of(node.function) is None and node.function.name not in METHODS
    if isinstance(node, (tree.Sequence, tree.Comprehension)):
        return node.kind in ("set", "dict")
    return isinstance(node, SYNTAX) or _has_items_of_run(node)


def _names_itself(function: tree.Function, binding: Binding | None = None) -> bool:
    def is_it(node: tree.Node) -> bool:
        if not isinstance(node, tree.Name):
            return False
        is_same = node.binding is binding or binding is None
        return is_same and node.binding.name == function.name

    return not function.is_lambda and any(map(is_it, walk(*function.body)))


def _has_items_of_run(node: tree.Node) -> bool:
    """Does it take all items of a range that a variable of the function bounds?"""
    over = node.over if isinstance(node, tree.Generator) else None
    over = node.value if isinstance(node, tree.Starred) else over
    return isinstance(over, tree.Call) and any(
        isinstance(part, tree.Name) and isinstance(part.binding, Variable) for part in walk(over)
    )


def _value(path: Path, function: FunctionType) -> object:
    value = find_value(path[0], function)
    for name in path[1:]:
        value = MISSING if value is MISSING else find_member(value, name)
    return value


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

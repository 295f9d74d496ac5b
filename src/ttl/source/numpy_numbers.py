"""Functions that may meet numbers of numpy, and their definitions with such numbers converted.

The compiler evaluates kernels itself: each expression of a number of numpy gives Python's number.
On the simulator Python runs them, so the definition of a function that may meet such numbers gets
a call around each name, attribute, item and result of a call. Python also runs what a unified body
computes before its kernels: the statements get the same calls.

rule SEEN   numbers and arrays of numpy among what the names around a kernel and its helpers stand
            for, and in containers and fields there; numpy itself; objects that compute attributes
rule CALLED a function of the user's that such a statement calls is a converted copy: other threads
            may run the function itself
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from enum import Enum
from functools import cached_property, lru_cache, partial
from types import CodeType, FunctionType, MethodType, ModuleType, SimpleNamespace
from typing import Any, TypeVar

import numpy as np

from ttl.diagnostics.frames import is_user_file
from ttl.semantics.function_source import FunctionTree, function_tree
from ttl.semantics.numpy_numbers import own_sum, python_number

from .functions import environment, own_code, reachable_functions
from .recompile import at, compiled, imported, with_names

NUMBER, SUM, CALLED = ".number", ".sum", ".called"
COMPUTED = (property, cached_property)
PLAIN = (bool, int, float, complex, str, bytes, type(None), range, slice)
NUMPY = (np.generic, np.ndarray, np.ufunc)
MOST_ITEMS, DEEPEST = 256, 8
Tree = TypeVar("Tree", bound=FunctionTree)


def may_meet_numpy(functions: Iterable[Callable[[], None]]) -> bool:  # rule SEEN
    """Of kernels: they themselves, or what they call."""
    return any(
        has_numpy(value)
        for kernel in functions
        for function in reachable_functions(kernel)
        for value in _values_around(function)
    )


def _values_around(function: FunctionType) -> Iterator[Any]:
    yield from (value for _, value in environment(function))
    yield from function.__defaults__ or ()
    yield from (function.__kwdefaults__ or {}).values()


def has_numpy(value: Any, depth: int = 0) -> bool:
    """Is it something of numpy's, or has it such in it?"""
    kind = type(value)
    if kind in PLAIN:
        return False
    if isinstance(value, NUMPY) or (isinstance(value, type) and issubclass(value, np.generic)):
        return True
    if isinstance(value, ModuleType):
        return value.__name__.partition(".")[0] == "numpy"
    if isinstance(value, (tuple, list, set, frozenset, dict)):
        items = [*value, *value.values()] if isinstance(value, dict) else value
        return _is_any(items, depth)
    if isinstance(value, type):
        return _is_users(value) and _is_any([*_class_values(value)], depth)
    return not isinstance(value, FunctionType) and _object_has_numpy(value, depth)


def _is_any(items: Any, depth: int) -> bool:
    if len(items) > MOST_ITEMS or depth > DEEPEST:  # who knows
        return True
    return any(has_numpy(item, depth + 1) for item in items)


def _object_has_numpy(value: Any, depth: int) -> bool:
    """In the fields of an object of a class of the user's, or computed by it."""
    if isinstance(value, partial):
        return _is_any([value.args, value.keywords], depth)
    if isinstance(value, MethodType):
        return has_numpy(value.__self__, depth + 1)
    if isinstance(value, Enum):
        return has_numpy(value.value, depth + 1)
    kind = type(value)
    if not _is_users(kind):
        return False
    members = [each for base in kind.__mro__ for each in vars(base).values()]
    computes = hasattr(kind, "__getattr__") or any(isinstance(each, COMPUTED) for each in members)
    return computes or _is_any([*_fields(value), *_class_values(kind)], depth)


def _class_values(kind: type) -> Iterator[Any]:
    """What the attributes of a class are, of an enum the values of its members."""
    for base in kind.__mro__:
        for each in vars(base).values() if base.__module__ != "builtins" else ():
            if isinstance(each, Enum):
                yield each.value
            elif isinstance(each, (*NUMPY, tuple, list, dict)):
                yield each


def _is_users(kind: type) -> bool:
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    return kind is SimpleNamespace or file is None or is_user_file(file)


def _fields(value: Any) -> Iterator[Any]:
    yield from getattr(value, "__dict__", {}).values()
    for base in type(value).__mro__:
        slots = vars(base).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            yield getattr(value, name, None)


# The definition -----------------------------------------------------------------------------------


def with_python_numbers(tree: Tree, converts_calls: bool = False) -> Tree:
    """A copy of a definition in which no expression has a number of numpy, and perhaps none in the
    functions that it calls.
    """
    changed = deepcopy(tree)
    converter = _BodyConverter() if converts_calls else _Converter()
    used = USED.items() if converts_calls else IN_KERNELS.items()
    if isinstance(changed, ast.Lambda):
        asked = [
            ast.NamedExpr(ast.Name(name, ast.Store()), imported(function))
            for name, function in used
        ]
        values = ast.Tuple([*asked, converter.visit(changed.body)], ast.Load())
        changed.body = at(ast.Subscript(values, ast.Constant(-1), ast.Load()), changed.body)
        return changed
    body = [converter.visit(statement) for statement in changed.body]
    first = 1 if ast.get_docstring(changed, clean=False) is not None else 0
    named = [
        at(ast.Assign([ast.Name(name, ast.Store())], imported(function)), body[first])
        for name, function in used
    ]
    changed.body = [*body[:first], *named, *body[first:]]
    return changed


class _Converter(ast.NodeTransformer):
    """Puts calls around what may give a number of numpy."""

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return node if node.id.startswith(".") else self._converted(node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        return self._converted(node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        return self._converted(node)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        called = node.func
        self.generic_visit(node)
        if isinstance(called, (ast.Name, ast.Attribute)):
            node.func = called  # whose owner was converted in place
        if isinstance(called, ast.Name) and called.id == sum.__name__:
            node.func = at(ast.Call(ast.Name(SUM, ast.Load()), [called], []), called)
        return self._converted(node)

    def visit_arguments(self, node: ast.arguments) -> ast.arguments:
        node.defaults = [self.visit(each) for each in node.defaults]
        node.kw_defaults = [each and self.visit(each) for each in node.kw_defaults]
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        if node.value is not None:
            node.value = self.visit(node.value)
        return node

    def _converted(self, node: ast.Name | ast.Attribute | ast.Subscript | ast.Call) -> ast.expr:
        if not isinstance(getattr(node, "ctx", None) or ast.Load(), ast.Load):
            return node
        return at(ast.Call(ast.Name(NUMBER, ast.Load()), [node], []), node)


# What a unified body computes before its kernels --------------------------------------------------


def statements_with_python_numbers(statements: Iterable[ast.stmt]) -> list[ast.stmt]:
    """Copies of statements whose functions have the names USED around them."""
    return [_StatementConverter().visit(deepcopy(each)) for each in statements]


class _BodyConverter(_Converter):
    """Puts a call also around the function that is called."""

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name):  # a name of ours, which no function of the user's has
            return node
        node.func = at(ast.Call(ast.Name(CALLED, ast.Load()), [node.func], []), node.func)
        return self._converted(node)


class _StatementConverter(_BodyConverter):
    """Leaves functions as they are, which are converted where they are called."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.stmt:
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        return node


def own_function(function: Any) -> Any:  # rule CALLED
    """What is called in the place of a function."""
    if isinstance(function, MethodType):
        return MethodType(own_function(function.__func__), function.__self__)
    if isinstance(function, partial):
        return partial(own_function(function.func), *function.args, **function.keywords)
    if not isinstance(function, FunctionType) or not is_user_file(own_code(function).co_filename):
        return own_sum(function)
    code = _converted_code(own_code(function))
    if code is None:
        return function
    made = with_names(function, code, {})
    made.__defaults__, made.__kwdefaults__ = function.__defaults__, function.__kwdefaults__
    return made


@lru_cache(maxsize=1024)
def _converted_code(code: CodeType) -> CodeType | None:
    tree = function_tree(code)
    if tree is None:
        return None
    changed = with_python_numbers(tree, converts_calls=True)
    return compiled(changed, code.co_freevars, code.co_filename, code.co_flags)


IN_KERNELS: dict[str, Callable[..., Any]] = {NUMBER: python_number, SUM: own_sum}
USED = {**IN_KERNELS, CALLED: own_function}

"""Is an operation written as kernels, or as one body that becomes kernels?

One kernel function makes it a multi-kernel operation, all of it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache
from types import FunctionType, ModuleType
from typing import Any

from ttl import language
from ttl.language.operation import Operation

from ..functions import MISSING, named_value
from ..scopes import own_nodes
from .problems import mixed_forms
from .units import Frame

KERNELS = (language.compute, language.datamovement)
ACTIONS = (language.copy, language.raw_element_read, language.raw_element_write)
# Of buffers, blocks and nets, in kernels only.
METHODS = ("reserve", "wait", "store", "if_src", "if_dst")


def is_unified(frame: Frame) -> bool:
    """UsageError if it has a kernel, and statements of kernels beside it."""
    kernel = next(_kernels(frame), None)
    actions = [*_actions(frame)]
    if kernel is None or not actions:
        return kernel is None and bool(actions)
    own = [each for each in actions if not isinstance(_value(each.func, frame.function), Operation)]
    if own:
        raise mixed_forms(frame, *kernel, own[0])
    return False  # the call of an operation among kernels is refused when it is made


@lru_cache(maxsize=1024)
def may_be_unified(tree: ast.FunctionDef) -> bool:
    """Does its own body call anything that only kernels may, or perhaps another operation?"""
    return any(isinstance(node, ast.Call) for node in own_nodes(tree))


def _kernels(frame: Frame) -> Iterator[tuple[ast.FunctionDef, ast.AST]]:
    for node in frame.tree.body:
        for inside in ast.walk(node):
            if isinstance(inside, ast.FunctionDef):
                for decorator in inside.decorator_list:
                    made = decorator.func if isinstance(decorator, ast.Call) else decorator
                    if _value(made, frame.function) in KERNELS:
                        yield inside, decorator


def _actions(frame: Frame) -> Iterator[ast.Call]:
    calls = (node for node in own_nodes(frame.tree) if isinstance(node, ast.Call))
    for node in sorted(calls, key=lambda each: (each.lineno, each.col_offset)):
        value = _value(node.func, frame.function)
        is_method = isinstance(node.func, ast.Attribute) and value is MISSING
        if is_method and node.func.attr in METHODS:  # type: ignore[union-attr]
            yield node
        elif isinstance(value, Operation) or any(value is action for action in ACTIONS):
            yield node


def _value(node: ast.expr, function: FunctionType) -> Any:
    """What a name around an operation, or a name in a module, or an item of these stands for."""
    if isinstance(node, ast.Name):
        return named_value(node.id, function)
    if isinstance(node, ast.Attribute):
        owner = _value(node.value, function)
        if isinstance(owner, ModuleType):
            return vars(owner).get(node.attr, MISSING)
        return vars(owner).get(node.attr, MISSING) if hasattr(owner, "__dict__") else MISSING
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        owner = _value(node.value, function)
        try:
            return owner[node.slice.value] if type(owner) in (list, tuple, dict) else MISSING
        except LookupError:
            return MISSING
    return MISSING

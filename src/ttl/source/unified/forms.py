"""Is an operation written as kernels, or as one body that becomes kernels?

One kernel function makes it a multi-kernel operation, all of it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache
from types import FunctionType
from typing import TYPE_CHECKING, Any

from ttl import language
from ttl.diagnostics import UsageError, codes
from ttl.diagnostics.frames import is_user_file
from ttl.language.operation import Operation, definition_span
from ttl.semantics.function_source import (
    FunctionTree,
    definition_of,
    function_tree,
    help_without_source,
    nodes_of,
)

from .. import functions
from ..functions import MISSING, own_code
from ..scopes import own_nodes

if TYPE_CHECKING:
    from .units import Frame

KERNELS = (language.compute, language.datamovement)
ACTIONS = (language.copy, language.raw_element_read, language.raw_element_write)
# Of buffers, blocks and nets, in kernels only.
METHODS = ("reserve", "wait", "publish", "store", "if_src", "if_dst")


def is_multi_kernel(function: Any) -> bool:
    """Is all that kernels do in its kernels? False also where its source is not found."""
    tree = definition_of(own_code(function)) if isinstance(function, FunctionType) else None
    if tree is None or next(_kernels(tree, function), None) is None:
        return False
    return next(_actions(tree, function), None) is None


def is_unified(frame: Frame) -> bool:
    """UsageError if it has a kernel, and statements of kernels beside it."""
    kernel = next(_kernels(frame.tree, frame.function), None)
    if kernel is None:
        return _acts(frame.tree, frame.function, {frame.tree})
    actions = [*_actions(frame.tree, frame.function)]
    if not actions:
        return False
    function = frame.function
    own = [each for each in actions if not isinstance(value_of(each.func, function), Operation)]
    if own:
        from .problems import mixed_forms  # what most runs never need

        raise mixed_forms(frame, *kernel, own[0])
    return False  # the call of an operation among kernels is refused when it is made


def has_kernels(frame: Frame) -> bool:
    return next(_kernels(frame.tree, frame.function), None) is not None


def refuse_without_source(function: FunctionType) -> None:
    """UsageError for an operation whose own code calls what kernels call."""
    code = own_code(function)
    if not {"reserve", "wait"}.isdisjoint(code.co_names):
        raise UsageError(
            codes.NO_SOURCE.broken(
                f"the statements of `{function.__name__}` get their threads from its source, which "
                "is not found",
                help_without_source(code),
            ).at(definition_span(function))
        )


@lru_cache(maxsize=1024)
def _decorated(tree: ast.FunctionDef) -> tuple[ast.FunctionDef, ...]:
    """The functions in it that may be kernels."""
    nodes = (node for node in nodes_of(tree) if isinstance(node, ast.FunctionDef))
    return tuple(node for node in nodes if node is not tree and node.decorator_list)


@lru_cache(maxsize=1024)
def _calls(tree: FunctionTree) -> tuple[ast.Call, ...]:
    """Those of its own body, in the order of the text."""
    calls = [node for node in own_nodes(tree) if isinstance(node, ast.Call)]
    return tuple(sorted(calls, key=lambda each: (each.lineno, each.col_offset)))


def _kernels(
    tree: ast.FunctionDef, function: FunctionType
) -> Iterator[tuple[ast.FunctionDef, ast.AST]]:
    for inner in _decorated(tree):
        for decorator in inner.decorator_list:
            made = decorator.func if isinstance(decorator, ast.Call) else decorator
            if value_of(made, function) in KERNELS:
                yield inner, decorator


def _acts(tree: FunctionTree, function: FunctionType, seen: set[FunctionTree]) -> bool:
    """Does it do what kernels do, itself or in functions of the user's that it calls?"""
    if next(_actions(tree, function), None) is not None:
        return True
    nested = {node.name: node for node in nodes_of(tree) if isinstance(node, ast.FunctionDef)}
    for call in _calls(tree):
        name = call.func.id if isinstance(call.func, ast.Name) else ""
        inner: FunctionTree | None = nested.get(name)
        value = function if inner is not None else value_of(call.func, function)
        if not isinstance(value, FunctionType) or not is_user_file(own_code(value).co_filename):
            continue
        inner = inner or function_tree(own_code(value))
        if inner is not None and inner not in seen and _acts(inner, value, seen | {inner}):
            return True
    return False


def _actions(tree: FunctionTree, function: FunctionType) -> Iterator[ast.Call]:
    for node in _calls(tree):
        value = value_of(node.func, function)
        if isinstance(node.func, ast.Attribute) and value is MISSING:
            if node.func.attr in METHODS:
                yield node
        elif isinstance(value, Operation) or any(value is action for action in ACTIONS):
            yield node


def value_of(node: ast.expr, function: FunctionType) -> Any:
    """What a name around an operation, or what a module or an object has by itself, stands for."""
    return functions.value_of(
        node, function, lambda owner, name: getattr(owner, "__dict__", {}).get(name, MISSING)
    )

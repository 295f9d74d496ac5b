"""From a kernel function to its syntax tree, with exact places in the file."""

from __future__ import annotations

import ast
from collections.abc import Callable

from ttl.diagnostics import RuleBroken, codes
from ttl.semantics import function_source


def kernel_tree(kernel: Callable[..., object]) -> ast.FunctionDef:
    """The definition of a kernel; RuleBroken if its source is not available."""
    found = function_source.function_tree(kernel.__code__)
    if isinstance(found, ast.FunctionDef):
        return found
    if isinstance(found, ast.Lambda):
        helps = ("write it as a function, with `def`",)
        raise RuleBroken(codes.NO_SOURCE, "a kernel that is a lambda is not compiled", helps=helps)
    raise _no_source(kernel)


def function_tree(function: Callable[..., object]) -> ast.FunctionDef | ast.Lambda:
    """The definition of a function that a kernel calls."""
    found = function_source.function_tree(function.__code__)
    if isinstance(found, (ast.FunctionDef, ast.Lambda)):
        return found
    raise _no_source(function)


def _no_source(function: Callable[..., object]) -> RuleBroken:
    return RuleBroken(
        codes.NO_SOURCE,
        f"the source of `{function.__code__.co_name}` is not available",
        helps=("put the operation in a file or a notebook cell",),
    )

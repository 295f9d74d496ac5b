"""From a kernel function to its syntax tree, with exact places in the file."""

from __future__ import annotations

import ast
from collections.abc import Callable

from ttl.diagnostics import RuleBroken, Span, codes
from ttl.diagnostics.span import character_column
from ttl.semantics import function_source


def kernel_tree(kernel: Callable[..., object]) -> ast.FunctionDef:
    """The definition of a kernel; RuleBroken if its source is not available."""
    if (found := function_source.definition_of(kernel.__code__)) is not None:
        return found
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


def node_span(file: str, node: ast.AST) -> Span:
    """The place of a syntax node."""
    return Span(
        file,
        node.lineno,  # type: ignore[attr-defined]
        character_column(file, node.lineno, node.col_offset),  # type: ignore[attr-defined]
        node.end_lineno,  # type: ignore[attr-defined]
        character_column(file, node.end_lineno, node.end_col_offset),  # type: ignore[attr-defined]
    )

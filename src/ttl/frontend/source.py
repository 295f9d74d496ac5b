"""From a kernel function to its syntax tree, with exact places in the file."""

from __future__ import annotations

import ast
from collections.abc import Callable

from ttl.diagnostics import RuleBroken, Span, codes
from ttl.diagnostics.span import character_column
from ttl.semantics.function_source import definition_of


def function_tree(function: Callable[..., object]) -> ast.FunctionDef:
    """The definition of `function`; RuleBroken if its source is not available."""
    code = function.__code__
    if (found := definition_of(code)) is not None:
        return found
    raise RuleBroken(
        codes.NO_SOURCE,
        f"the source of `{code.co_name}` is not available",
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

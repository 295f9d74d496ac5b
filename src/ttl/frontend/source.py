"""From a kernel function to its syntax tree, with exact places in the file."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Callable
from functools import lru_cache

from ttl.diagnostics import CompileError, RuleBroken, Span, codes
from ttl.diagnostics.span import character_column


def function_tree(function: Callable[..., object]) -> ast.FunctionDef:
    """The definition of `function`, found by its first line in the tree of its whole file.

    Parsing the file and not the function keeps lines and columns what the user sees.
    """
    code = function.__code__
    for node in _function_definitions(code.co_filename):
        first_line = min([node.lineno, *(d.lineno for d in node.decorator_list)])
        if node.name == code.co_name and first_line == code.co_firstlineno:
            return node
    broken = RuleBroken(
        codes.NO_SOURCE,
        f"the source of `{code.co_name}` is not available",
        helps=("put the operation in a file or a notebook cell",),
    )
    raise CompileError(broken.at(None))


def _function_definitions(file: str) -> tuple[ast.FunctionDef, ...]:
    return _parsed_definitions("".join(linecache.getlines(file)))


@lru_cache(maxsize=32)
def _parsed_definitions(source: str) -> tuple[ast.FunctionDef, ...]:
    tree = ast.parse(source)
    return tuple(node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def node_span(file: str, node: ast.AST) -> Span:
    """The place of a syntax node."""
    return Span(
        file,
        node.lineno,  # type: ignore[attr-defined]
        character_column(file, node.lineno, node.col_offset),  # type: ignore[attr-defined]
        node.end_lineno,  # type: ignore[attr-defined]
        character_column(file, node.end_lineno, node.end_col_offset),  # type: ignore[attr-defined]
    )

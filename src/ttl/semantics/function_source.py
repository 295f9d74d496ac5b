"""From a Python function to its definition in the syntax tree of its file."""

from __future__ import annotations

import ast
import linecache
from functools import lru_cache
from types import CodeType


def definition_of(code: CodeType) -> ast.FunctionDef | None:
    """The definition of a function by its first line; None if its source is not available.

    The whole file is parsed and not the function: lines and columns are what the user sees.
    """
    for node in _definitions(_source(code)):
        first_line = min([node.lineno, *(d.lineno for d in node.decorator_list)])
        if node.name == code.co_name and first_line == code.co_firstlineno:
            return node
    return None


def thread_definition(code: CodeType) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """The same of a function that may be `async`."""
    for node in _functions(_source(code)):
        if isinstance(node, ast.Lambda) or node.name != code.co_name:
            continue
        if min([node.lineno, *(d.lineno for d in node.decorator_list)]) == code.co_firstlineno:
            return node
    return None


def lambda_of(code: CodeType) -> ast.Lambda | None:
    """The lambda that a function was made by: several may stand in a line, so by its body."""
    places = set(code.co_positions())
    for node in _lambdas(_source(code)):
        body = node.body
        if (body.lineno, body.end_lineno, body.col_offset, body.end_col_offset) in places:
            return node
    return None


def _source(code: CodeType) -> str:
    """As the file is now: a module may have been edited and loaded again."""
    linecache.checkcache(code.co_filename)
    return "".join(linecache.getlines(code.co_filename))


def _definitions(source: str) -> tuple[ast.FunctionDef, ...]:
    return tuple(node for node in _functions(source) if isinstance(node, ast.FunctionDef))


def _lambdas(source: str) -> tuple[ast.Lambda, ...]:
    return tuple(node for node in _functions(source) if isinstance(node, ast.Lambda))


Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@lru_cache(maxsize=32)
def _functions(source: str) -> tuple[Function, ...]:
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):  # the file has changed since it was run
        return ()
    return tuple(n for n in ast.walk(tree) if isinstance(n, Function))

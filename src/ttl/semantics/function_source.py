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
    for node in _definitions("".join(linecache.getlines(code.co_filename))):
        first_line = min([node.lineno, *(d.lineno for d in node.decorator_list)])
        if node.name == code.co_name and first_line == code.co_firstlineno:
            return node
    return None


@lru_cache(maxsize=32)
def _definitions(source: str) -> tuple[ast.FunctionDef, ...]:
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):  # the file has changed since it was run
        return ()
    return tuple(node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))

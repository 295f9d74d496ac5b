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


# The source of each function when it was first asked for, and the function, which stays with it.
_SOURCES: dict[int, tuple[CodeType, str]] = {}


def _source(code: CodeType) -> str:
    """A file may be edited while its functions run; loaded again it has others."""
    if id(code) not in _SOURCES:
        source = "".join(linecache.getlines(code.co_filename))
        if code not in _codes(source):
            linecache.checkcache(code.co_filename)
            source = "".join(linecache.getlines(code.co_filename))
        _SOURCES[id(code)] = code, source
    return _SOURCES[id(code)][1]


@lru_cache(maxsize=32)
def _codes(source: str) -> frozenset[CodeType]:
    """What the functions of a file are compiled to."""
    try:
        left = [compile(source, "", "exec", dont_inherit=True)]
    except (SyntaxError, ValueError):
        return frozenset()
    found = set()
    while left:
        inside = [each for each in left.pop().co_consts if isinstance(each, CodeType)]
        found.update(inside)
        left += inside
    return frozenset(found)


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

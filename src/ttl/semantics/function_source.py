"""Finds a Python function's definition in the text that it was loaded from.

rule KEPT    decorating an operation keeps the texts of its files: a file may be edited while its
             functions run, and a notebook cell may be run again
rule LOADED  a definition is taken from a text only if that text compiles to the function's own code
rule CELL    a notebook compiles the statements of a cell one by one; Python then does not know that
             a name imported in the same text is a module, and compiles its calls differently
rule MADE    a function that pyttlang made from the user's keeps the definition it was made from
rule ASSERTS pytest rewrites `assert`: all lines of such a function but the asserts must match
"""

from __future__ import annotations

import ast
import linecache
import os
import tokenize
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from types import CodeType, FunctionType, ModuleType
from typing import NamedTuple

from ttl.diagnostics import Span
from ttl.diagnostics.frames import add_library, is_user_file
from ttl.loading.packages import is_ours

from .syntax import child_nodes, walk
from .typed_source import name_typed

Definition = ast.FunctionDef | ast.AsyncFunctionDef
FunctionTree = Definition | ast.Lambda

FUTURE_FLAGS = 0x1FF0000  # of co_flags: `from __future__ import ...` of the user's module
MOST_TEXTS = 16  # of one file, after so many edits
MOST_FILES = 1024
# The texts of each file, newest last; files in the order in which they were first seen.
_TEXTS: dict[str, tuple[str, ...]] = {}
MOST_MADE = 4096
# The functions that were made from others (rule MADE): no text compiles to them.
_MADE: dict[tuple[CodeType, str], FunctionTree] = {}


def function_tree(code: CodeType) -> FunctionTree | None:
    """Return the definition of a function, or None if its source is not available.

    Lines and columns are those in the user's file.
    """
    made = _MADE.get((code, code.co_filename))
    if made is not None:
        return made
    try:
        return _find_tree(code, code.co_filename)
    except LookupError:
        return None


def help_without_source(code: CodeType) -> str:
    """Return the help for a function whose definition is not found."""
    if os.path.isfile(code.co_filename):
        return f"{os.path.basename(code.co_filename)} was changed after it was loaded: run again"
    return "put the operation in a file or a notebook cell"


def keep_definitions(code: CodeType, tree: Definition) -> None:  # rule MADE
    """Keep the changed definition that a function was compiled from, and its nested ones."""
    if (code, code.co_filename) in _MADE:
        return
    while len(_MADE) > MOST_MADE:
        _MADE.pop(next(iter(_MADE)))
    trees = [node for node in walk(tree) if isinstance(node, FunctionTree)]
    for each, found in _by_code([code, *nested_codes(code)], trees).items():
        _MADE[each, code.co_filename] = found


def keep_source(function: FunctionType) -> None:  # rule KEPT
    """Keep the texts of a function and of the user's functions and modules that it names."""
    name_typed(function, _is_text_of)
    files = {function.__code__.co_filename: function.__globals__}
    for name in sorted(global_names(function.__code__)):
        value = function.__globals__.get(name)
        if isinstance(value, FunctionType):
            name_typed(value, _is_text_of)
            files[value.__code__.co_filename] = value.__globals__
        elif isinstance(value, ModuleType):
            files[vars(value).get("__file__") or ""] = vars(value)
    for file, names in files.items():
        if not is_user_file(file) and _names_language(names):
            add_library(file)
        if is_user_file(file):
            _keep_text(file)


def _is_text_of(text: str, code: CodeType) -> bool:  # rule LOADED
    return code in _functions(text, code.co_flags & FUTURE_FLAGS)


def _names_language(names: dict[str, object]) -> bool:
    """Return whether a module imports ttl or a name from it."""
    owners = (
        getattr(each, "__module__", None) or getattr(each, "__name__", None)
        for each in names.values()
    )
    return any(isinstance(owner, str) and is_ours(owner) for owner in owners)


@lru_cache(maxsize=1024)
def global_names(code: CodeType) -> frozenset[str]:
    """Return the global and attribute names in a function and the functions nested in it."""
    inside = [each for each in code.co_consts if isinstance(each, CodeType)]
    return frozenset(code.co_names).union(*map(global_names, inside))


def _keep_text(file: str) -> None:
    before = linecache.getlines(file)
    linecache.checkcache(file)
    for lines in (before, linecache.getlines(file), _lines_on_disk(file)):
        text, known = "".join(lines), _TEXTS.get(file, ())
        if text and text not in known:
            _TEXTS[file] = (*known, text)[-MOST_TEXTS:]
    if len(_TEXTS) > MOST_FILES:
        _TEXTS.pop(next(iter(_TEXTS)), None)


def _lines_on_disk(file: str) -> list[str]:
    """Return the lines on disk if linecache has others, from an editor or another folder."""
    entry = linecache.cache.get(file, ())
    if len(entry) < 4 or (entry[1] is not None and entry[3] == file):
        return []
    try:
        with tokenize.open(file) as lines:
            return lines.readlines()
    except (OSError, SyntaxError, UnicodeDecodeError):
        return []


@lru_cache(maxsize=4096)
def _find_tree(code: CodeType, file: str) -> FunctionTree:
    """Return the definition, or raise LookupError, which lru_cache does not keep.

    `file` is a key because equal codes may be in different files. Codes exclude decorators.
    """
    functions: list[dict[CodeType, FunctionTree]] = []
    flags = code.co_flags & FUTURE_FLAGS  # notebook cells inherit those of earlier cells
    for text in _texts(file):
        part = _part_around(text, code.co_firstlineno)
        if code in (near := _functions(part, flags)):
            return near[code]
        functions.append(_functions(text, flags))
        if code not in functions[-1] and not os.path.isfile(file):  # rule CELL
            functions.append(_functions(text, flags, one_by_one=True))
        if code in functions[-1]:
            return functions[-1][code]
    for each in functions:
        for compiled, tree in each.items():
            if _is_rewritten(code, compiled, tree):
                return tree
    raise LookupError(code.co_name)


def texts_of(file: str) -> tuple[str, ...]:
    """Return the texts that functions of this file may come from."""
    _keep_text(file)
    return _TEXTS.get(file, ())


def _texts(file: str) -> Iterator[str]:
    """Yield the kept texts, newest first, then the current ones."""
    yield from _TEXTS.get(file, ())[::-1]
    _keep_text(file)
    yield from _TEXTS.get(file, ())[::-1]


def _part_around(text: str, line: int) -> str:
    """Return the top-level statement around a line, and the imports, at their lines.

    Parsing only these is faster than parsing the file. A wrong cut is harmless: it fits no code.
    """
    part, first = [], 1
    for statement in _statements(text):
        count = statement.count("\n")
        is_kept = first <= line < first + count or statement.startswith(("import ", "from "))
        part.append(statement if is_kept else "\n" * count)
        first += count
    return "".join(part)


@lru_cache(maxsize=64)
def _statements(text: str) -> tuple[str, ...]:
    """Split a text at lines without indentation; decorators belong to the statement after them."""
    found, is_decorator = [""], False
    for line in text.splitlines(keepends=True):
        begins = line[0].isidentifier() or line[0] == "@"
        if begins and not is_decorator:
            found.append("")
        if begins:
            is_decorator = line[0] == "@"
        found[-1] += line
    return tuple(found)


@lru_cache(maxsize=64)
def _functions(text: str, flags: int, one_by_one: bool = False) -> dict[CodeType, FunctionTree]:
    """Return the functions of a text by their compiled code."""
    try:
        module = ast.parse(text)
        units = [ast.Module([each], []) for each in module.body] if one_by_one else [module]
        compiled = [_compile_unit(unit, text, flags) for unit in units]
        codes = [code for each in compiled for code in nested_codes(each)]
    except (SyntaxError, ValueError):  # the user is still editing the file
        return {}
    return _by_code(codes, [node for node in walk(module) if isinstance(node, FunctionTree)])


def _compile_unit(unit: ast.Module, text: str, flags: int) -> CodeType:
    code: CodeType
    try:
        code = compile(unit, "", "exec", flags, dont_inherit=True)
    except RecursionError:  # compiling a text allows deeper nesting than compiling a tree
        code = compile(text, "", "exec", flags, dont_inherit=True)
    return code


def _by_code(
    codes: Iterable[CodeType], trees: Sequence[FunctionTree]
) -> dict[CodeType, FunctionTree]:
    named = {(n.name, _first_line(n)): n for n in trees if not isinstance(n, ast.Lambda)}
    lambdas = [node for node in trees if isinstance(node, ast.Lambda)]
    found: dict[CodeType, FunctionTree] = {}
    for code in codes:
        if code.co_name == "<lambda>":  # a line may have several
            around = [node for node in lambdas if _is_body_of(node, code)]
            if around:
                found[code] = around[-1]  # the innermost
        elif (code.co_name, code.co_firstlineno) in named:
            found[code] = named[code.co_name, code.co_firstlineno]
    return found


def returned_span(code: CodeType) -> Span:
    """Return the span of the first `return` of a value but None, or the function's start."""
    tree = function_tree(code)
    rest: list[ast.AST] = [] if tree is None else [*_body(tree)]
    while rest:
        node = rest.pop(0)
        if isinstance(node, ast.Return) and not _is_none(node.value):
            return Span.of_node(code.co_filename, node)
        if not isinstance(node, (ast.expr, FunctionTree, ast.ClassDef)):
            rest[:0] = child_nodes(node)
    return Span.of_instruction(code, 0)


class WrittenCall(NamedTuple):
    name: str  # of the function or method
    keywords: tuple[str, ...]


def written_call(code: CodeType, instruction: int) -> WrittenCall | None:
    """Return the call that an instruction makes, found by where the call ends in the source."""
    _, end_line, _, end_column = list(code.co_positions())[instruction // 2]
    tree = function_tree(code)
    for node in walk(tree) if tree is not None else ():
        end = getattr(node, "end_lineno", None), getattr(node, "end_col_offset", None)
        if isinstance(node, ast.Call) and end == (end_line, end_column):
            name: str = getattr(node.func, "attr", "") or getattr(node.func, "id", "")
            return WrittenCall(name, tuple(each.arg for each in node.keywords if each.arg))
    return None


def _body(tree: FunctionTree) -> list[ast.stmt]:
    if isinstance(tree, ast.Lambda):
        return [ast.copy_location(ast.Return(tree.body), tree.body)]
    return tree.body


def _is_none(node: ast.expr | None) -> bool:
    return node is None or (isinstance(node, ast.Constant) and node.value is None)


def nested_codes(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from nested_codes(constant)


def _first_line(node: Definition) -> int:
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


def _is_body_of(node: ast.Lambda, code: CodeType) -> bool:
    if node.lineno != code.co_firstlineno:
        return False
    start = node.body.lineno, node.body.col_offset
    end = node.body.end_lineno or 0, node.body.end_col_offset or 0
    places = [place for place in code.co_positions() if place[2] != place[3]]
    return all(
        start <= (line or 0, column or 0) and (end_line or 0, end_column or 0) <= end
        for line, end_line, column, end_column in places
    )


# Functions with asserts ---------------------------------------------------------------------------


def _is_rewritten(code: CodeType, compiled: CodeType, tree: FunctionTree) -> bool:  # rule ASSERTS
    if (code.co_name, code.co_firstlineno) != (compiled.co_name, compiled.co_firstlineno):
        return False
    asserts = [node for node in walk(tree) if isinstance(node, ast.Assert)]
    lines = {n for each in asserts for n in range(each.lineno, (each.end_lineno or 0) + 1)}
    return bool(lines) and _steps(code, lines) == _steps(compiled, lines)


def _steps(code: CodeType, but_lines: set[int]) -> list[object]:
    """Return the source positions outside of these lines, in the function and its nested ones."""
    codes = [code, *nested_codes(code)]
    places = [[p for p in each.co_positions() if p[0] not in but_lines] for each in codes]
    return [list(dict.fromkeys(each)) for each in places]

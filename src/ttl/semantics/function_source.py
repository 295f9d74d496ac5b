"""From a Python function to its definition, in the text that it was loaded from.

rule KEPT    the texts of the files that an operation is made of are kept when it is decorated: a
             file may be edited while its functions run, and a notebook cell may be run again
rule LOADED  a definition is taken from a text only if that text compiles to the function's own code
rule CELL    a notebook compiles the statements of a cell one by one; to Python a name that the same
             text imports is then not known to be a module, and the code of a call is another one
rule MADE    a function that pyttlang made of the user's has the definition that it was made from
rule ASSERTS pytest rewrites `assert`: of a function that has one, all other lines must be the same
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
MOST_TEXTS = 16  # of one file: each has been edited since
MOST_FILES = 1024
# The texts of each file, the newest last; the files in the order in which they were first seen.
_TEXTS: dict[str, tuple[str, ...]] = {}
MOST_MADE = 4096
# The functions that were made of others: no text compiles to them.
_MADE: dict[tuple[CodeType, str], FunctionTree] = {}


def function_tree(code: CodeType) -> FunctionTree | None:
    """The definition of a function; None if the source it was loaded from is not available.

    It is parsed at its place in the file: lines and columns are what the user sees.
    """
    made = _MADE.get((code, code.co_filename))
    if made is not None:
        return made
    try:
        return _found(code, code.co_filename)
    except LookupError:
        return None


def help_without_source(code: CodeType) -> str:
    """What to do where the definition of a function is not found."""
    if os.path.isfile(code.co_filename):
        return f"{os.path.basename(code.co_filename)} was changed after it was loaded: run again"
    return "put the operation in a file or a notebook cell"


def keep_definitions(code: CodeType, tree: Definition) -> None:  # rule MADE
    """Of a function that was compiled from its changed definition, and of those nested in it."""
    if (code, code.co_filename) in _MADE:
        return
    while len(_MADE) > MOST_MADE:
        _MADE.pop(next(iter(_MADE)))
    trees = [node for node in walk(tree) if isinstance(node, FunctionTree)]
    for each, found in _by_code([code, *nested_codes(code)], trees).items():
        _MADE[each, code.co_filename] = found


def keep_source(function: FunctionType) -> None:  # rule KEPT
    """The texts of a function, and of the functions and modules of the user's that it names."""
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
    """Does a module import ttl, or something of it?"""
    owners = (getattr(each, "__module__", None) or getattr(each, "__name__", None)
              for each in names.values())  # fmt: skip
    return any(isinstance(owner, str) and is_ours(owner) for owner in owners)


@lru_cache(maxsize=1024)
def global_names(code: CodeType) -> frozenset[str]:
    """The names that a function, or one nested in it, looks up around it, and of attributes."""
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
    """Where linecache has another text: of an editor, or of this name in another folder."""
    entry = linecache.cache.get(file, ())
    if len(entry) < 4 or (entry[1] is not None and entry[3] == file):
        return []
    try:
        with tokenize.open(file) as lines:
            return lines.readlines()
    except (OSError, SyntaxError, UnicodeDecodeError):
        return []


@lru_cache(maxsize=4096)
def _found(code: CodeType, file: str) -> FunctionTree:
    """LookupError, which is not kept, if no text fits.

    Codes are equal also where they stand in different files, and decorators are not in them.
    """
    functions: list[dict[CodeType, FunctionTree]] = []
    flags = code.co_flags & FUTURE_FLAGS  # of a cell of a notebook also those of earlier cells
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
    """Those of which functions of this file may be."""
    _keep_text(file)
    return _TEXTS.get(file, ())


def _texts(file: str) -> Iterator[str]:
    """The texts that are kept, the newest first; then those of now."""
    yield from _TEXTS.get(file, ())[::-1]
    _keep_text(file)
    yield from _TEXTS.get(file, ())[::-1]


def _part_around(text: str, line: int) -> str:
    """The statement at the left margin that a line is in, and the imports, at their lines.

    A file is long, and a kernel a small part of it. A part that was cut wrongly fits no code.
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
    """As it seems by the margin, each with its decorators and the lines that follow it."""
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
    """The functions of a text, by what they are compiled to."""
    try:
        module = ast.parse(text)
        units = [ast.Module([each], []) for each in module.body] if one_by_one else [module]
        compiled = [_compiled(unit, text, flags) for unit in units]
        codes = [code for each in compiled for code in nested_codes(each)]
    except (SyntaxError, ValueError):  # edited, and not to its end
        return {}
    return _by_code(codes, [node for node in walk(module) if isinstance(node, FunctionTree)])


def _compiled(unit: ast.Module, text: str, flags: int) -> CodeType:
    code: CodeType
    try:
        code = compile(unit, "", "exec", flags, dont_inherit=True)
    except RecursionError:  # a text may be deeper than a tree
        code = compile(text, "", "exec", flags, dont_inherit=True)
    return code


def _by_code(
    codes: Iterable[CodeType], trees: Sequence[FunctionTree]
) -> dict[CodeType, FunctionTree]:
    named = {(n.name, _first_line(n)): n for n in trees if not isinstance(n, ast.Lambda)}
    lambdas = [node for node in trees if isinstance(node, ast.Lambda)]
    found: dict[CodeType, FunctionTree] = {}
    for code in codes:
        if code.co_name == "<lambda>":  # several may stand in a line
            around = [node for node in lambdas if _is_body_of(node, code)]
            if around:
                found[code] = around[-1]  # the innermost
        elif (code.co_name, code.co_firstlineno) in named:
            found[code] = named[code.co_name, code.co_firstlineno]
    return found


def returned_span(code: CodeType) -> Span:
    """Where a function first returns something that is not None; its start if nobody knows."""
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
    name: str  # of the function, or of the method
    keywords: tuple[str, ...]


def written_call(code: CodeType, instruction: int) -> WrittenCall | None:
    """The call that an instruction makes: no other ends where it ends."""
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
    """The places that a function comes to outside of these lines, and those of functions in it."""
    codes = [code, *nested_codes(code)]
    places = [[p for p in each.co_positions() if p[0] not in but_lines] for each in codes]
    return [list(dict.fromkeys(each)) for each in places]

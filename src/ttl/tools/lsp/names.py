"""What is known of a program's names by reading it: no statement is executed."""

from __future__ import annotations

import ast
import builtins
import symtable
from collections.abc import Iterator

import ttl
from ttl.diagnostics import Diagnostic, Label, Span, TTLError, codes
from ttl.diagnostics.names import undefined_name

SPACES = {"ttl": ttl, "ttl.math": ttl.math, "ttl.block": ttl.block}


def wrong_names(text: str, file: str) -> list[Diagnostic]:
    """Names that `ttl` and its namespaces do not have, and those that nobody defines in kernels."""
    tree = ast.parse(text, file)
    return [*_missing(tree, file), *_undefined(tree, text, file)]


def _missing(tree: ast.Module, file: str) -> Iterator[Diagnostic]:
    aliases = _aliases(tree)
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute) or isinstance(node.ctx, ast.Store):
            continue
        space = SPACES.get(_path(node.value, aliases))
        if space is not None and node.attr not in vars(space):
            try:
                getattr(space, node.attr)
            except TTLError as error:
                broken = error.diagnostics[0]
                yield Diagnostic(
                    codes.UNKNOWN_NAME, broken.message, Label(Span.of_node(file, node)),
                    notes=broken.notes, helps=broken.helps,
                )  # fmt: skip


def _aliases(tree: ast.Module) -> dict[str, str]:
    """The names under which a program imports ttl."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name == "ttl" or (alias.name in SPACES and alias.asname):
                    found[alias.asname or "ttl"] = alias.name
    return found


def _path(node: ast.expr, aliases: dict[str, str]) -> str:
    if isinstance(node, ast.Name):
        return aliases.get(node.id, "")
    if isinstance(node, ast.Attribute):
        around = _path(node.value, aliases)
        return f"{around}.{node.attr}" if around else ""
    return ""


def _undefined(tree: ast.Module, text: str, file: str) -> Iterator[Diagnostic]:
    """Names in functions; not in a module that imports names nobody lists."""
    stars = [n for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and n.names[0].name == "*"]
    if stars:
        return
    table = symtable.symtable(text, file, "exec")
    known = {symbol.get_name() for symbol in table.get_symbols() if symbol.is_assigned()}
    known |= {symbol.get_name() for symbol in table.get_symbols() if symbol.is_imported()}
    known |= {*dir(builtins), "__file__", "__name__", "__doc__", "__spec__"}
    missing = {
        (symbol.get_name(), inside.get_lineno()): around
        for inside, around in _functions(table, ())
        for symbol in inside.get_symbols()
        if symbol.is_global() and symbol.is_referenced() and symbol.get_name() not in known
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            yield from _uses(node, missing, file, tuple(known - {*dir(builtins)}))


def _functions(
    table: symtable.SymbolTable, around: tuple[str, ...]
) -> Iterator[tuple[symtable.SymbolTable, tuple[str, ...]]]:
    for child in table.get_children():
        own = (*around, *(symbol.get_name() for symbol in child.get_symbols()))
        if child.get_type() == "function":
            yield child, own
        yield from _functions(child, own)


def _uses(
    function: ast.FunctionDef,
    missing: dict[tuple[str, int], tuple[str, ...]],
    file: str,
    known: tuple[str, ...],
) -> Iterator[Diagnostic]:
    lines = {function.lineno, *(each.lineno for each in function.decorator_list)}
    for name, line in sorted(missing):
        if line not in lines:
            continue
        around = missing[name, line]
        for node in ast.walk(function):
            if isinstance(node, ast.Name) and node.id == name:
                broken = undefined_name(name, None, (*(set(around) - {name}), *known))
                yield broken.at(Span.of_node(file, node))
                break

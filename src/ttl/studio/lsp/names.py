"""Checks a program's names by reading it: executes no statement."""

from __future__ import annotations

import builtins
from collections.abc import Iterator

import ttl
from ttl.diagnostics import Diagnostic, Label, Span, TTLError, codes
from ttl.diagnostics.names import undefined_name
from ttl.source import tree
from ttl.source.bindings import Around, Binding, Scope
from ttl.source.walking import children, stored, walk

SPACES = {"ttl": ttl, "ttl.math": ttl.math, "ttl.block": ttl.block}
KNOWN = {*dir(builtins), "__file__", "__name__", "__doc__", "__spec__"}


def find_wrong_names(module: tree.Function, file: str) -> list[Diagnostic]:
    """Report names that `ttl` and its namespaces lack, and undefined names in kernels."""
    nodes = [*walk(module)]
    return [*_find_missing(nodes, file), *_find_undefined(nodes, file)]


def _find_missing(nodes: list[tree.Node], file: str) -> Iterator[Diagnostic]:
    aliases = _find_aliases(nodes)
    written = {each for node in nodes for each in stored(node)}
    for node in nodes:
        if not isinstance(node, tree.Attribute) or node in written:
            continue
        space = SPACES.get(_path(node.owner, aliases))
        if space is not None and node.name not in vars(space):
            try:
                getattr(space, node.name)
            except TTLError as error:
                broken = error.diagnostics[0]
                yield Diagnostic(
                    codes.UNKNOWN_NAME,
                    broken.message,
                    Label(Span.of_node(file, node)),
                    notes=broken.notes,
                    helps=broken.helps,
                )


def _find_aliases(nodes: list[tree.Node]) -> dict[Binding, str]:
    """Find the variables with which a program imports ttl."""
    found: dict[Binding, str] = {}
    for node in nodes:
        for each in node.names if isinstance(node, tree.Import) else ():
            assert isinstance(node, tree.Import)
            is_whole = each.name is None and node.module in SPACES
            if is_whole and (node.module == "ttl" or each.has_alias):
                found[each.target.binding] = node.module
    return found


def _path(node: tree.Expression, aliases: dict[Binding, str]) -> str:
    if isinstance(node, tree.Name):
        return aliases.get(node.binding, "")
    if isinstance(node, tree.Attribute):
        around = _path(node.owner, aliases)
        return f"{around}.{node.name}" if around else ""
    return ""


def _find_undefined(nodes: list[tree.Node], file: str) -> Iterator[Diagnostic]:
    """Yield undefined names in functions, unless the module uses `import *`."""
    if any(isinstance(node, tree.Imported) and node.name == "*" for node in nodes):
        return
    functions = (each for each in nodes[1:] if isinstance(each, tree.Function))
    for function in functions:
        first: dict[str, tree.Name] = {}
        for node in () if function.is_lambda else _names(function):
            if isinstance(node.binding, Around) and node.binding.name not in KNOWN:
                first.setdefault(node.binding.name, node)
        for name in sorted(first):
            broken = undefined_name(name, None, tuple(_find_visible(function.scope)))
            yield broken.at(Span.of_node(file, first[name]))


def _names(function: tree.Function) -> Iterator[tree.Name]:
    """Yield the names that a function and its lambdas use."""
    waiting: list[tree.Node] = [*function.body]
    while waiting:
        node = waiting.pop(0)
        if isinstance(node, tree.Name):
            yield node
        if not isinstance(node, (tree.Function, tree.Foreign)) or getattr(node, "is_lambda", False):
            waiting[:0] = children(node)


def _find_visible(scope: Scope | None) -> Iterator[str]:
    while scope is not None:
        yield from scope.variables
        scope = scope.outer

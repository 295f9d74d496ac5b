"""Find the spellings of earlier versions in the definition of an operation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import FunctionType, ModuleType
from typing import NamedTuple

from ttl import language
from ttl.diagnostics import Diagnostic, Label, Span, codes
from ttl.language.buffer import DataflowBuffer
from ttl.language.old_names import (
    BUFFER_RELEASES,
    OLD_ARGUMENTS,
    OLD_NAMES,
    WITHOUT_PARENTHESES,
    Renamed,
)
from ttl.language.operation import Program

from . import tree
from .functions import own_code
from .trees import tree_of, value_around
from .walking import walk


class OldName(NamedTuple):
    now: Renamed
    span: Span


def old_names(program: Program) -> list[OldName]:
    """List the first use of each old name, in the order of the text."""
    functions = [program.operation.function, *(kernel.function for kernel in program.kernels)]
    buffers = {
        name
        for kernel in program.kernels
        for name, value in kernel.captures().items()
        if isinstance(value, DataflowBuffer)
    }
    found: dict[Renamed, OldName] = {}
    for function in functions:
        uses = _uses(function, buffers) if isinstance(function, FunctionType) else ()
        for use in sorted(uses, key=lambda use: use.span):
            found.setdefault(use.now, use)
    return list(found.values())


def old_names_note(operation: str, found: list[OldName]) -> Diagnostic | None:
    if not found:
        return None
    labels = [Label(each.span, _label(each.now)) for each in found]
    return Diagnostic(
        codes.OLD_NAMES,
        f"`{operation}` is written for an earlier version of the specification",
        labels[0],
        tuple(labels[1:]),
        helps=("it means the same; write what the marks say when you next change it",),
    )


def _label(now: Renamed) -> str:
    return f"since version {now.version}: {now.present}" if now.version else f"now {now.present}"


def _uses(function: FunctionType, buffers: Iterable[str]) -> Iterator[OldName]:
    file, found = own_code(function).co_filename, tree_of(function)
    for node in walk(found) if found is not None else ():
        for place, now in _of_node(node, function, buffers):
            yield OldName(now, Span.of_node(file, place))


def _of_node(
    node: tree.Node, function: FunctionType, buffers: Iterable[str]
) -> Iterator[tuple[tree.Node, Renamed]]:
    if isinstance(node, (tree.Name, tree.Attribute)):
        if (now := OLD_NAMES.get(_name(node))) and _is_public(node, now.present, function):
            yield node, Renamed(f"ttl.{now.present}", now.version)
    elif isinstance(node, tree.Function):
        for each in node.decorators:
            now = WITHOUT_PARENTHESES.get(_name(each))
            if now is not None and _is_public(each, _name(each), function):
                yield each, now
    elif isinstance(node, tree.Call):
        yield from _of_call(node, buffers)


def _of_call(node: tree.Call, buffers: Iterable[str]) -> Iterator[tuple[tree.Node, Renamed]]:
    called = _name(node.function)
    for keyword in node.keywords:
        argument, callees = OLD_ARGUMENTS.get(keyword.name or "", (None, ()))
        if argument is not None and called in callees:
            yield keyword, argument
    owner = node.function.owner if isinstance(node.function, tree.Attribute) else None
    if owner is not None and _name(owner) in buffers and called in BUFFER_RELEASES:
        yield node, BUFFER_RELEASES[called]


def _name(node: tree.Expression) -> str:
    """Return the last part of a path: `core` for `ttl.core`."""
    if isinstance(node, tree.Attribute):
        return node.name
    return node.binding.name if isinstance(node, tree.Name) else ""


def _is_public(node: tree.Expression, name: str, function: FunctionType) -> bool:
    """Does the expression refer to the language's object of this name?"""
    if isinstance(node, tree.Attribute):
        owner = value_around(node.owner, function)
        return isinstance(owner, ModuleType) and owner.__name__ == "ttl"
    return value_around(node, function) is getattr(language, name)

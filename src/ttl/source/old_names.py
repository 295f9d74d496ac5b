"""Which spellings of earlier versions an operation uses, read off its definition."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

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
from ttl.semantics.function_source import definition_of, nodes_of

from .functions import named_value, own_code


class OldName(NamedTuple):
    now: Renamed
    span: Span


def old_names(program: Program) -> list[OldName]:
    """The first use of each, in the order of the text."""
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
    code = own_code(function)
    tree = definition_of(code)
    for node in nodes_of(tree) if tree is not None else ():
        for place, now in _of_node(node, function, buffers):
            yield OldName(now, Span.of_node(code.co_filename, place))


def _of_node(
    node: ast.AST, function: FunctionType, buffers: Iterable[str]
) -> Iterator[tuple[ast.AST, Renamed]]:
    if isinstance(node, (ast.Name, ast.Attribute)):
        if (now := OLD_NAMES.get(_name(node))) and _is_public(node, now.present, function):
            yield node, Renamed(f"ttl.{now.present}", now.version)
    elif isinstance(node, ast.FunctionDef):
        for each in node.decorator_list:
            now = WITHOUT_PARENTHESES.get(_name(each))
            if now is not None and _is_public(each, _name(each), function):
                yield each, now
    elif isinstance(node, ast.Call):
        yield from _of_call(node, buffers)


def _of_call(node: ast.Call, buffers: Iterable[str]) -> Iterator[tuple[ast.AST, Renamed]]:
    called = _name(node.func)
    for keyword in node.keywords:
        argument, callees = OLD_ARGUMENTS.get(keyword.arg or "", (None, ()))
        if argument is not None and called in callees:
            yield keyword, argument
    is_of_buffer = isinstance(node.func, ast.Attribute) and _name(node.func.value) in buffers
    if is_of_buffer and (now := BUFFER_RELEASES.get(called)) is not None:
        yield node, now


def _name(node: ast.AST) -> str:
    """Its last part: of `ttl.core`, `core`."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _is_public(node: ast.expr, name: str, function: FunctionType) -> bool:
    """Does the expression stand for what the language calls so?"""
    if isinstance(node, ast.Attribute):
        owner: Any = named_value(_name(node.value), function)
        return isinstance(owner, ModuleType) and owner.__name__ == "ttl"
    return named_value(_name(node), function) is getattr(language, name)

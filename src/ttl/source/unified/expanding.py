"""Expand operations that a unified body calls as statements: read their bodies in place."""

from __future__ import annotations

from dataclasses import replace
from inspect import Parameter as Kinds
from types import FunctionType
from typing import TYPE_CHECKING

from ttl.diagnostics import UsageError
from ttl.language.operation import Operation

from .. import tree
from ..bindings import Variable
from ..functions import own_code
from ..trees import tree_of
from .calls import Given
from .forms import first_kernel, is_unified
from .problems import (
    MULTI_KERNEL,
    NO_STATEMENT,
    RECURSION,
    REFUSED_ARGUMENT,
    UNPACKED,
    WRONG_ARGUMENTS,
    unknown_call,
)
from .things import SCALAR, Kind, Thing
from .units import Inline, Unit
from .unrolling import unroll

if TYPE_CHECKING:
    from .reading import BodyReader

# Arguments that an operation may get.
STATIC = (Kind.TENSOR, Kind.BUFFER, Kind.NET, Kind.SEMAPHORE, Kind.PIPE, Kind.CONTAINER)
REFUSED = (Kind.BLOCK, Kind.VALUE, Kind.TRANSFER, Kind.SLICE, Kind.FUNCTION)
STARRED = (Kinds.VAR_POSITIONAL, Kinds.VAR_KEYWORD)


def new_frame(operation: Operation, caller: Unit | None = None) -> Inline | None:
    function = operation.function
    found = tree_of(function) if isinstance(function, FunctionType) else None
    if found is None or found.is_async or not isinstance(function, FunctionType):
        return None
    file = own_code(function).co_filename
    return Inline(operation, function, unroll(found, function), file, caller)


def expand(reader: BodyReader, operation: Operation, node: tree.Call, given: Given) -> Thing:
    unit = reader.unit
    _check_place(reader, operation, node)
    if unit.expansion is None:
        unit.expansion = new_frame(operation, unit)
        if unit.expansion is None:
            raise UsageError(unknown_call(reader.frame, node))
        reader.frame.expansions.append(unit.expansion)
    frame = unit.expansion
    _check_recursion(frame, node, reader)
    if not is_unified(frame) and first_kernel(frame.tree, frame.function) is not None:
        raise MULTI_KERNEL.error((reader.frame, node), operation=frame.name)
    _check_arguments(reader, frame, node)
    known = _given(reader, frame, node)
    reader.read_frame(frame, known)
    # Units of their own read the arguments that a part of a kernel gets.
    unit.reads, unit.depends, unit.sites = {}, set(), set()
    return SCALAR


def _given(reader: BodyReader, frame: Inline, node: tree.Call) -> dict[Variable, Thing]:
    """Bind arguments known before kernels run as constants; each call passes the others."""
    found = {}
    outer = reader.unit
    for name, value in frame.arguments_of(node).items():
        thing = reader.evaluate(value)
        if thing.kind in REFUSED:
            names = {"operation": frame.name, "parameter": name}
            raise REFUSED_ARGUMENT.error((reader.frame, value), **names)
        argument = reader.begin(value, name)  # a unit of its own, which parts of kernels request
        argument.argument = name
        reader.evaluate(value)
        reader.unit = outer
        variable = frame.parameters[name]
        if thing.kind in STATIC or isinstance(value, tree.Constant):
            argument.must_be_known = True
            found[variable] = replace(thing, sites=frozenset(), origins=frozenset())
            continue
        if argument not in frame.arguments:
            frame.arguments.append(argument)
        found[variable] = Thing(thing.kind, thing.value, origins=frozenset({argument}))
    return found


def _check_place(reader: BodyReader, operation: Operation, node: tree.Call) -> None:
    statement = reader.unit.node
    if reader.calls or not isinstance(statement, tree.Evaluate) or statement.value is not node:
        raise NO_STATEMENT.error((reader.frame, node), operation=operation.__name__)


def _check_recursion(frame: Inline, node: tree.Call, reader: BodyReader) -> None:
    own, *outer = (each.operation for each in frame.chain())
    if own in outer:
        cycle = [*reversed(outer[: outer.index(own) + 1]), own]
        names = " -> ".join(each.__name__ for each in cycle)
        raise RECURSION.error((reader.frame, node), operation=frame.name, cycle=names)


def _check_arguments(reader: BodyReader, frame: Inline, node: tree.Call) -> None:
    is_unpacked = any(isinstance(each, tree.Starred) for each in node.arguments)
    is_unpacked |= any(each.name is None for each in node.keywords)
    if is_unpacked or any(each.kind in STARRED for each in frame.tree.parameters):
        raise UNPACKED.error((reader.frame, node), operation=frame.name)
    names, given = frame.parameters, frame.arguments_of(node)
    missing = [name for name in names if name not in given]
    if missing or not given.keys() <= names.keys() or len(node.arguments) > len(names):
        wrong = f"without `{missing[0]}`" if missing else "with arguments that it does not have"
        raise WRONG_ARGUMENTS.error((reader.frame, node), operation=frame.name, wrong=wrong)

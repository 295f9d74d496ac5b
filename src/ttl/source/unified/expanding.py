"""Operations that a unified body calls as statements: their bodies are read in place."""

from __future__ import annotations

import ast
from types import FunctionType
from typing import TYPE_CHECKING

from ttl.language.operation import Operation
from ttl.semantics.function_source import definition_of

from ..functions import own_code
from ..scopes import own_names, parameters
from .calls import Given
from .forms import has_kernels, is_unified
from .problems import composition, unknown_call
from .scopes import Scope
from .splitting import arguments_of
from .things import Kind, Thing
from .units import Frame, Unit
from .unrolling import unrolled

if TYPE_CHECKING:
    from .reading import Reader

# What an operation may be given: tensors, buffers, nets, semaphores, and constants.
STATIC = (Kind.TENSOR, Kind.BUFFER, Kind.NET, Kind.SEMAPHORE, Kind.PIPE, Kind.CONTAINER)
REFUSED = (Kind.BLOCK, Kind.VALUE, Kind.TRANSFER, Kind.SLICE, Kind.FUNCTION)


def new_frame(operation: Operation, caller: Unit | None = None) -> Frame | None:
    function = operation.function
    tree = definition_of(own_code(function)) if isinstance(function, FunctionType) else None
    if tree is None or not isinstance(function, FunctionType):
        return None
    tree = unrolled(tree, function)
    return Frame(operation, function, tree, own_code(function).co_filename, caller)


def expand(reader: Reader, operation: Operation, node: ast.Call, given: Given) -> None:
    unit = reader.unit
    _check_place(reader, operation, node)
    if unit.expansion is None:
        unit.expansion = new_frame(operation, unit)
        if unit.expansion is None:
            raise unknown_call(reader.frame, node)
        reader.frame.expansions.append(unit.expansion)
    frame = unit.expansion
    _check_recursion(frame, node, reader)
    if not is_unified(frame) and has_kernels(frame):
        raise composition(
            reader.frame, node, f"`{operation.__name__}` is a multi-kernel operation",
            "call unified operations only: those whose kernels are not written by hand",
        )  # fmt: skip
    _check_arguments(reader, frame, node)
    scope = frame.scope or Scope(own_names(frame.tree), frame.function)
    frame.scope = scope
    scope.names = dict(_given(reader, frame, node))
    _read_inside(reader, frame, scope)
    # What a part of a kernel is given is read by units of its own.
    unit.reads, unit.depends, unit.sites = {}, set(), set()


def _read_inside(reader: Reader, frame: Frame, scope: Scope) -> None:
    outer = reader.frame, reader.scope, reader.control, reader.unit
    reader.frame, reader.scope, reader.control = frame, scope, frame.caller
    try:
        reader.body(frame.tree.body)
    finally:
        reader.frame, reader.scope, reader.control, reader.unit = outer


def _given(reader: Reader, frame: Frame, node: ast.Call) -> dict[str, Thing]:
    """What is known before kernels run is a constant; the rest is given at each call."""
    found = {}
    outer = reader.unit
    for name, value in arguments_of(frame, node).items():
        thing = reader.evaluate(value)
        if thing.kind in REFUSED:
            raise composition(
                reader.frame, value, f"`{frame.name}` cannot be given this for `{name}`",
                "operations take tensors, dataflow buffers, pipe nets, semaphores and numbers",
            )  # fmt: skip
        argument = _argument(reader, name, value)
        reader.unit = outer
        if thing.kind in STATIC or isinstance(value, ast.Constant):
            argument.must_be_known = True
            found[name] = Thing(thing.kind, thing.value, thing.key, items=thing.items,
                                item=thing.item)  # fmt: skip
            continue
        if argument not in frame.arguments:
            frame.arguments.append(argument)
        found[name] = Thing(thing.kind, thing.value, origins=frozenset({argument}))
    return found


def _argument(reader: Reader, name: str, value: ast.expr) -> Unit:
    """A unit of the calling frame, which the parts of kernels ask for."""
    argument = reader.begin(value, name)
    argument.argument = name
    reader.evaluate(value)
    return argument


def _check_place(reader: Reader, operation: Operation, node: ast.Call) -> None:
    statement = reader.unit.node
    if reader.functions or not isinstance(statement, ast.Expr) or statement.value is not node:
        raise composition(
            reader.frame, node, f"operation `{operation.__name__}` is not called as a statement",
            "call it as a statement of its own, in the body of the operation",
        )  # fmt: skip


def _check_recursion(frame: Frame, node: ast.Call, reader: Reader) -> None:
    chain = [each.operation for each in frame.chain()]
    if frame.operation in chain[1:]:
        end = chain[1:].index(frame.operation) + 2
        cycle = " -> ".join(each.__name__ for each in reversed(chain[:end]))
        raise composition(
            reader.frame, node, f"`{frame.name}` calls itself: {cycle}",
            "operations are expanded in place, so none may lead back to itself: write a loop",
        )  # fmt: skip


def _check_arguments(reader: Reader, frame: Frame, node: ast.Call) -> None:
    names = set(parameters(frame.tree.args))
    is_plain = frame.tree.args.vararg is None and frame.tree.args.kwarg is None
    unpacked = [a for a in node.args if isinstance(a, ast.Starred)]
    if unpacked or any(each.arg is None for each in node.keywords) or not is_plain:
        raise composition(
            reader.frame, node, f"the arguments of `{frame.name}` are not written one by one",
            "write each argument: an expansion takes no `*` and no `**`",
        )  # fmt: skip
    given = arguments_of(frame, node)
    missing = [name for name in parameters(frame.tree.args) if name not in given]
    if missing or not given.keys() <= names or len(node.args) > len(names):
        wrong = f"without `{missing[0]}`" if missing else "with arguments that it does not have"
        raise composition(
            reader.frame, node, f"`{frame.name}` is called {wrong}",
            "give every parameter once: an expansion has no defaults",
        )  # fmt: skip

"""Tell whether an operation has kernels, or one body that becomes kernels.

A single kernel function makes it a multi-kernel operation.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from types import FunctionType
from typing import TYPE_CHECKING, Any

from ttl import language
from ttl.diagnostics import Label, UsageError, codes
from ttl.diagnostics.frames import is_user_file
from ttl.language.operation import Operation, definition_span
from ttl.semantics.function_source import help_without_source

from .. import tree
from ..bindings import Around, Binding
from ..functions import CONTAINERS, MISSING, find_value, own_code
from ..trees import tree_of
from ..walking import own_nodes, walk

if TYPE_CHECKING:
    from .units import Inline

KERNELS = (language.compute, language.datamovement)
ACTIONS = (language.copy, language.raw_element_read, language.raw_element_write)
# Methods of buffers, blocks and nets that only kernels call.
METHODS = ("reserve", "wait", "publish", "store", "if_src", "if_dst")


def is_multi_kernel(function: object) -> bool:
    """Are all kernel statements in kernels? False also if its source is not found."""
    if not isinstance(function, FunctionType):
        return False
    found = tree_of(function)
    if found is None or first_kernel(found, function) is None:
        return False
    return next(_actions(found, function), None) is None


def is_unified(frame: Inline) -> bool:
    """Is it one body? UsageError if it has a kernel and kernel statements beside it."""
    function = frame.function
    kernel = first_kernel(frame.tree, function)
    if kernel is None:
        return _acts(frame.tree, function, {frame.tree})
    for action in _actions(frame.tree, function):
        if not isinstance(value_of(action.function, function), Operation):
            from .problems import STATEMENT_BESIDE  # most runs never need it

            label = f"`{kernel[0].name}` makes all of it a multi-kernel operation"
            names = {"operation": frame.name, "kernel": kernel[0].name}
            where = Label(frame.span(kernel[1]), label)
            raise STATEMENT_BESIDE.error((frame, action), where, **names)
    return False  # expanding refuses the call of an operation among kernels


def refuse_without_source(function: FunctionType) -> None:
    """Raise UsageError for an operation without source whose own code calls kernel methods."""
    code = own_code(function)
    if not {"reserve", "wait"}.isdisjoint(code.co_names):
        raise UsageError(
            codes.NO_SOURCE.broken(
                f"the statements of `{function.__name__}` get their threads from its source, which "
                "is not found",
                help_without_source(code),
            ).at(definition_span(function))
        )


@lru_cache(maxsize=1024)
def _nested(function: tree.Function) -> tuple[tree.Function, ...]:
    """List the definitions in it."""
    found = (node for node in walk(*function.body) if isinstance(node, tree.Function))
    return tuple(node for node in found if not node.is_lambda)


@lru_cache(maxsize=1024)
def _calls(function: tree.Function) -> tuple[tree.Call, ...]:
    """List the calls of its own body, in the order of the text."""
    calls = [node for node in own_nodes(function) if isinstance(node, tree.Call)]
    return tuple(sorted(calls, key=lambda each: each.place[:2]))


def first_kernel(
    outer: tree.Function, function: FunctionType
) -> tuple[tree.Function, tree.Expression] | None:
    """Find a kernel defined in a function, and the decorator that makes it one."""
    for inner in _nested(outer):
        for decorator in inner.decorators:
            made = decorator.function if isinstance(decorator, tree.Call) else decorator
            value = value_of(made, function)
            if any(value is kernel for kernel in KERNELS):
                return inner, decorator
    return None


def _acts(body: tree.Function, function: FunctionType, seen: set[tree.Function]) -> bool:
    """Does it act as a kernel, itself or in the user's functions that it calls?"""
    if next(_actions(body, function), None) is not None:
        return True
    nested: dict[Binding, tree.Function] = {
        body.scope.variable(each.name): each for each in _nested(body)
    }
    for call in _calls(body):
        called = call.function
        own = nested.get(called.binding) if isinstance(called, tree.Name) else None
        value = function if own is not None else value_of(called, function)
        if not isinstance(value, FunctionType) or not is_user_file(own_code(value).co_filename):
            continue
        inner = own or tree_of(value)
        if inner is not None and inner not in seen and _acts(inner, value, seen | {inner}):
            return True
    return False


def _actions(body: tree.Function, function: FunctionType) -> Iterator[tree.Call]:
    for call in _calls(body):
        value = value_of(call.function, function)
        if value is MISSING:
            if call.method in METHODS:
                yield call
        elif isinstance(value, Operation) or any(value is action for action in ACTIONS):
            yield call


def value_of(node: tree.Expression, function: FunctionType) -> Any:
    """Return the value of a name around an operation, of an attribute of a module or an object
    there, or of a constant item of a list there; MISSING for others."""
    if isinstance(node, tree.Name):
        is_around = isinstance(node.binding, Around)
        return find_value(node.binding.name, function) if is_around else MISSING
    if isinstance(node, tree.Attribute):
        owner = value_of(node.owner, function)
        return getattr(owner, "__dict__", {}).get(node.name, MISSING)
    if isinstance(node, tree.Item) and isinstance(node.index, tree.Constant):
        owner = value_of(node.owner, function)
        if type(owner) in CONTAINERS:
            with suppress(Exception):
                return owner[node.index.value]
    return MISSING

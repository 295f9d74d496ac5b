"""Functions that a kernel defines or calls: evaluated in place of the call."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ttl.diagnostics import codes
from ttl.language.calls import written_call
from ttl.semantics.function_source import FunctionTree
from ttl.source.functions import place_of
from ttl.source.scopes import own_names, shared_names

from .builder import KernelBuilder
from .environment import Environment, NodeFunctions
from .hir import Value
from .problems import Mistake, Unusable, WrongCall, not_in_kernels
from .source import function_tree
from .state import Frame

RETURNED = "<returned>"  # not a name a program could use


@dataclass(frozen=True, slots=True, eq=False)
class LocalFunction:
    """A function that is defined in the kernel, or in a function it calls."""

    tree: FunctionTree
    frame: Frame
    signature: inspect.Signature


@dataclass(frozen=True, slots=True)
class BoundMethod:
    """A method of a block, transfer or list of the kernel that is not called at once."""

    owner: Value
    method: Callable[..., Value]
    name: str = ""


def local_function(
    builder: KernelBuilder, tree: FunctionTree, evaluate: Callable[[ast.expr], Value]
) -> LocalFunction:
    return LocalFunction(tree, builder.frame, _signature(tree.args, evaluate))


def _signature(
    arguments: ast.arguments, evaluate: Callable[[ast.expr], Value]
) -> inspect.Signature:
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(positional) - len(arguments.defaults)) + list(arguments.defaults)
    keyword_only = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    kinds = inspect.Parameter
    found = []

    def add(argument: ast.arg | None, kind: Any, default: ast.expr | None = None) -> None:
        if argument is not None:
            value = kinds.empty if default is None else evaluate(default)
            found.append(inspect.Parameter(argument.arg, kind, default=value))

    for argument, default in zip(positional, defaults, strict=True):
        is_position = argument in arguments.posonlyargs
        kind = kinds.POSITIONAL_ONLY if is_position else kinds.POSITIONAL_OR_KEYWORD
        add(argument, kind, default)
    add(arguments.vararg, kinds.VAR_POSITIONAL)
    for argument, default in keyword_only:
        add(argument, kinds.KEYWORD_ONLY, default)
    add(arguments.kwarg, kinds.VAR_KEYWORD)
    return inspect.Signature(found)


def inline(
    builder: KernelBuilder, function: Value, arguments: list[Value], keywords: dict[str, Value]
) -> Value:
    """The call of a function of the program."""
    tree, signature, frame = _entered(builder, function)
    if _running(builder, tree) > MOST_CALLS:
        what = f"a function that calls itself more than {MOST_CALLS} times, or without end"
        raise not_in_kernels(what, "write a loop")
    try:
        bound = signature.bind(*arguments, **keywords)
    except TypeError as error:
        name = getattr(tree, "name", "<lambda>")
        message = f"{name}(): {error}"
        helps = (written_call(name, signature.parameters.values()),)
        raise WrongCall(codes.KERNEL_EXCEPTION, message, subject=function, helps=helps) from None
    bound.apply_defaults()
    frame.caller, frame.call_site, frame.tree = builder.frame, builder.span, tree
    for name, value in (bound.arguments | {RETURNED: None}).items():
        builder.state.values[frame.number, name] = value
    _evaluate(builder, frame, tree)
    result = builder.state.values[frame.number, RETURNED]
    if not isinstance(result, LocalFunction):  # one that is returned still has their variables
        builder.forget(frame)
    if isinstance(result, Unusable):
        raise result.refuse()
    return result


def _evaluate(builder: KernelBuilder, frame: Frame, tree: FunctionTree) -> None:
    mistakes = len(builder.state.mistakes)
    caller, builder.frame = builder.frame, frame
    try:
        builder.evaluate_function(tree)
    finally:
        builder.frame = caller
    if len(builder.state.mistakes) > mistakes:
        raise Mistake(None, None)


def _entered(
    builder: KernelBuilder, function: Value
) -> tuple[FunctionTree, inspect.Signature, Frame]:
    if isinstance(function, LocalFunction):
        tree: FunctionTree = function.tree
        frame = builder.new_frame(function.frame.file, own_names(tree), function.frame)
        frame.shared = shared_names(tree)
        return tree, function.signature, frame
    functions = function.objects if isinstance(function, NodeFunctions) else (function,)
    first: Any = functions[0]
    code = first.__code__
    if code.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        raise not_in_kernels("generators and coroutines")
    tree = builder.repaired.get(place_of(code)) or function_tree(first)
    own = frozenset({*code.co_varnames, *code.co_cellvars}) | own_names(tree)
    frame = builder.new_frame(code.co_filename, own, environment=Environment(functions))
    frame.shared = shared_names(tree)
    if isinstance(function, NodeFunctions):
        return tree, function.signature(builder.handles.argument), frame
    return tree, inspect.signature(first, follow_wrapped=False), frame


MOST_CALLS = 32


def _running(builder: KernelBuilder, tree: FunctionTree) -> int:
    """How many calls of a function are being evaluated."""
    count, frame = 0, builder.frame
    while frame.caller is not None:
        count, frame = count + (frame.tree is tree), frame.caller
    return count

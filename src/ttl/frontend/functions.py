"""Functions that a kernel defines or calls: evaluated in place of the call."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ttl.diagnostics import codes
from ttl.language.calls import written_call
from ttl.semantics.function_source import FunctionTree, function_tree, help_without_source
from ttl.source.functions import place_of
from ttl.source.scopes import default_nodes, own_names, shared_names

from .builder import KernelBuilder
from .environment import Environment, NodeFunctions
from .hir import Value
from .problems import Mistake, Unusable, WrongCall, not_in_kernels
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


def tree_of(function: Callable[..., object]) -> ast.FunctionDef | ast.Lambda:
    """The definition of a kernel, or of a function that it calls, with its places in the file."""
    code = function.__code__
    found = function_tree(code)
    if isinstance(found, (ast.FunctionDef, ast.Lambda)):
        return found
    raise codes.NO_SOURCE.broken(
        f"the source of `{code.co_name}` is not available", help_without_source(code)
    )


def local_function(builder: KernelBuilder, tree: FunctionTree) -> LocalFunction:
    arguments, kinds = tree.args, inspect.Parameter
    rows = [
        (kinds.POSITIONAL_ONLY, arguments.posonlyargs),
        (kinds.POSITIONAL_OR_KEYWORD, arguments.args),
        (kinds.VAR_POSITIONAL, [arguments.vararg] if arguments.vararg else []),
        (kinds.KEYWORD_ONLY, arguments.kwonlyargs),
        (kinds.VAR_KEYWORD, [arguments.kwarg] if arguments.kwarg else []),
    ]
    given = {name: builder.evaluate(default) for name, default in default_nodes(arguments).items()}
    parameters = [
        inspect.Parameter(each.arg, kind, default=given.get(each.arg, kinds.empty))
        for kind, several in rows
        for each in several
    ]
    return LocalFunction(tree, builder.frame, inspect.Signature(parameters))


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
    tree = builder.repaired.get(place_of(code)) or tree_of(first)
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

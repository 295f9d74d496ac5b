"""Functions that a kernel defines or calls: evaluated in place of the call."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType

from ttl.diagnostics import codes
from ttl.language.calls import written_call
from ttl.source import tree
from ttl.source.functions import own_code
from ttl.source.walking import is_generator

from .builder import KernelBuilder
from .environment import Environment
from .generators import Generator, evaluate_body
from .hir import Value
from .items import changing_method
from .node_values import NodeFunctions
from .problems import Unusable, WrongCall, not_in_kernels
from .state import Frame, LocalFunction


@dataclass(frozen=True, slots=True)
class BoundMethod:
    """A method of a block, transfer or list of the kernel that is not called immediately."""

    owner: Value
    method: Callable[..., Value]
    name: str = ""


def local_function(builder: KernelBuilder, node: tree.Function) -> LocalFunction:
    parameters = [
        inspect.Parameter(
            each.variable.name,
            inspect._ParameterKind(each.kind),
            default=builder.evaluate(each.default) if each.default else inspect.Parameter.empty,
        )
        for each in node.parameters
    ]
    return LocalFunction(node, builder.frame, inspect.Signature(parameters))


def inline(
    builder: KernelBuilder, function: Value, arguments: list[Value], keywords: dict[str, Value]
) -> Value:
    """Evaluate the call of a user's function in place."""
    node, signature, frame = _entered(builder, function)
    if _running(builder, node) > MOST_CALLS:
        what = f"a function that calls itself more than {MOST_CALLS} times, or without end"
        raise not_in_kernels(what, "write a loop")
    try:
        bound = signature.bind(*arguments, **keywords)
    except TypeError as error:
        message = f"{node.name}(): {error}"
        helps = (written_call(node.name, signature.parameters.values()),)
        raise WrongCall(codes.KERNEL_EXCEPTION, message, subject=function, helps=helps) from None
    bound.apply_defaults()
    frame.caller, frame.call_site = builder.frame, builder.span
    for name, value in bound.arguments.items():
        builder.state.values[frame.variable(node.scope.variables[name])] = value
    if is_generator(node):
        return _generator(builder, node, frame)
    result = evaluate_body(builder, frame, node)
    builder.forget(frame, result)
    if isinstance(result, Unusable):
        raise result.refuse()
    return result


def _generator(builder: KernelBuilder, node: tree.Function, frame: Frame) -> Generator:
    def items() -> list[Value]:
        found: list[Value] = builder.new([])
        append = changing_method(found, "append")
        assert append is not None
        made.run(BoundMethod(found, append))
        return found

    made = Generator(builder, node, frame, builder.loop, items)
    return made


def _entered(
    builder: KernelBuilder, function: Value
) -> tuple[tree.Function, inspect.Signature, Frame]:
    if isinstance(function, LocalFunction):
        node, outer = function.tree, function.frame
        return node, function.signature, builder.new_frame(outer.file, node.scope, outer)
    functions = function.objects if isinstance(function, NodeFunctions) else (function,)
    first = functions[0]
    assert isinstance(first, FunctionType)
    code = own_code(first)
    if code.co_flags & (inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        raise not_in_kernels("coroutines")
    node, around = builder.tree_of(first), Environment(functions)
    frame = builder.new_frame(code.co_filename, node.scope, environment=around)
    if isinstance(function, NodeFunctions):
        return node, function.signature(), frame
    return node, inspect.signature(first, follow_wrapped=False), frame


MOST_CALLS = 32


def _running(builder: KernelBuilder, node: tree.Function) -> int:
    """Count the calls of a function that are being evaluated."""
    return sum(frame.scope is node.scope for frame in builder.frame.callers if frame.caller)

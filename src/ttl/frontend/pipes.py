"""Pipe nets in a kernel: roles, and the functions given to if_src() and if_dst()."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from math import prod

from xdsl.dialects.builtin import StringAttr, i1

from ttl.diagnostics import RuleBroken, wrong_argument
from ttl.dialects import ttl
from ttl.language import PipeNet
from ttl.semantics.kernel_kinds import KernelKind

from .builder import KernelBuilder
from .carried import Carried, find_assigned
from .functions import BoundMethod
from .hir import INDEX, Body, Op, PipeValue, RunTime, Scalar, TransferValue, Value
from .loops import new_loop
from .nets import nodes_with_role
from .node_values import NodeFunctions
from .problems import Mistake, WrongCall, describe, flow_broken
from .state import Local, LocalFunction
from .uses import NOTHING


def role(kind: type[ttl.RoleOp], builder: KernelBuilder, net: PipeNet) -> Value:
    return builder.value(kind, (), i1, {"net": builder.nets.symbol(net)})


def for_each(
    kind: type[ttl.ForEachPipeOp], builder: KernelBuilder, net: PipeNet, function: Value
) -> None:
    call = f"if_{kind.ROLE}"
    builder.require(KernelKind.DATAMOVEMENT, f"PipeNet.{call}()")
    if not callable(function) and not isinstance(function, CALLABLE):
        raise wrong_argument(
            f"PipeNet.{call}() takes a function, not {describe(function)}",
            f"write `def f(pipe): ...` and {call}(f)",
        )
    _once_for_all(builder, kind, net, function)


def _once_for_all(
    builder: KernelBuilder, kind: type[ttl.ForEachPipeOp], net: PipeNet, function: Value
) -> None:
    """Evaluate the function's body once for all pipes, carrying the variables it changes."""
    loop = new_loop(builder, (), frozenset())
    carried = Carried(builder, find_assigned(builder, NOTHING), loop)
    symbol = builder.nets.symbol(net)
    pipe = ttl.PipeType(symbol, StringAttr(kind.ROLE))
    body = Body.with_args([pipe, *carried.types])
    body.args[0].hint = "pipe"
    arguments = body.args[1:]
    carried.enter(arguments)
    with builder.inside(loop, body):
        try:
            _call(builder, function, body.args[0])
        except (Mistake, RuleBroken):
            builder.state.values = carried.before
            raise
        transfers = _leaving_transfers(builder, body, carried)
        kept = [carried.before[each] for each in transfers if each in carried.before]
        is_kept = any(not isinstance(value, TransferValue) for value in kept)
        if is_kept and 0 in counts_on_nodes(builder, net, kind.ROLE):
            builder.state.values = carried.before
            raise flow_broken("a transfer in the place of something else on some nodes")
        yielded, unusable = carried.leave(body, arguments)
        builder.emit(ttl.YieldOp, [*yielded, *transfers.values()])
    builder.state.released |= {body.args[0]}
    start = [*carried.start]
    for transfer in transfers.values():
        start.append(builder.value(ttl.NoTransferOp, (), transfer.type))
        body.add_arg(transfer.type)
    op = builder.add(Op(kind, start, [value.type for value in start], {"net": symbol}, [body]))
    changed = len(carried.start)
    carried.finish(op.results[:changed], unusable)
    builder.state.values |= dict(zip(transfers, op.results[changed:], strict=True))


def _call(builder: KernelBuilder, function: Value, pipe: RunTime) -> None:
    assert isinstance(pipe, PipeValue)
    around = builder.pipes
    builder.pipes = (*around, pipe)
    try:
        builder.call(function, [pipe], {})
    except WrongCall as wrong:
        if wrong.subject is not function:
            raise
        message = f"the function is called with one pipe: {wrong.message}"
        raise wrong_argument(message, "write `def f(pipe): ...`, and give f") from None
    finally:
        builder.pipes = around


def _leaving_transfers(
    builder: KernelBuilder, body: Body, carried: Carried
) -> dict[Local, RunTime]:
    """Return the transfers of outer variables that the body makes and later code waits for."""
    inside = {result for op in body.walk() for result in op.results}
    return {
        variable: value
        for variable, value in builder.state.values.items()
        if isinstance(value, TransferValue) and value in inside
        if variable in carried.before or variable.frame == builder.frame.number
        if variable not in carried.templates
    }


# Separate calls -----------------------------------------------------------------------------------


def counts_on_nodes(builder: KernelBuilder, net: PipeNet, role: str) -> list[int]:
    """List how many pipes with this role a node may have, as far as this path knows."""
    symbol = builder.nets.symbol(net)
    routes = builder.nets.routes(symbol)
    having = Counter(node for route in routes for node in nodes_with_role(route, role))
    known = builder.state.facts.get((symbol, role))
    counts = {*having.values()} if known is not False else set()
    if known is not True and (known is False or len(having) < prod(builder.grid)):
        counts.add(0)
    return sorted(counts)


def pipe_count(builder: KernelBuilder, net: PipeNet, role: str) -> Scalar:
    properties = {"net": builder.nets.symbol(net), "role": StringAttr(role)}
    return builder.scalar(ttl.PipeCountOp, (), INDEX, properties)


def call_with_pipe(
    builder: KernelBuilder, net: PipeNet, role: str, place: int, function: Value
) -> Callable[[], None]:
    """Make a step that calls a function with the node's pipe at a place."""

    def call() -> None:
        symbol = builder.nets.symbol(net)
        type = ttl.PipeType(symbol, StringAttr(role))
        place_value = builder.index(place)
        pipe = builder.value(ttl.LocalPipeOp, [place_value], type, {"net": symbol}, "pipe")
        _call(builder, function, pipe)
        builder.state.released |= {pipe}

    return call


# Callables that are not Python's; expressions have the rest.
CALLABLE = (LocalFunction, NodeFunctions, BoundMethod)

NET_METHODS: dict[str, Callable[..., Value]] = {
    "if_src": partial(for_each, ttl.IfSrcOp),
    "if_dst": partial(for_each, ttl.IfDstOp),
    "is_src": partial(role, ttl.IsSrcOp),
    "is_dst": partial(role, ttl.IsDstOp),
    "is_active": partial(role, ttl.IsActiveOp),
}

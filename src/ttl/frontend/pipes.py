"""Pipe nets in a kernel: roles, the functions given to if_src() and if_dst(), copies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from math import prod
from typing import Any

from xdsl.dialects.builtin import IndexType, StringAttr, SymbolRefAttr, i1
from xdsl.ir import Block, Operation, Region, SSAValue

from ttl.diagnostics import RuleBroken, codes
from ttl.dialects import ttl
from ttl.dialects.locations import location_of
from ttl.language import PipeNet
from ttl.language.pipes import Route
from ttl.semantics.kernel_kinds import KernelKind

from .builder import CannotCompile, KernelBuilder, Nets, Value, Variable, describe, not_yet
from .environment import NodeFunctions
from .functions import BoundMethod, LocalFunction
from .loops import Carried, assigned, inside, new_loop

# Declarations -------------------------------------------------------------------------------------


def declare_nets(nets: Nets) -> list[Operation]:
    return [_declare(name, net, nets.grid) for name, net in nets.by_name.items()]


def _declare(name: str, net: PipeNet, grid: tuple[int, ...]) -> Operation:
    declaration = ttl.DeclarePipeNetOp.of(name, [_nodes(route) for route in net.routes(grid)])
    if net.span is not None:
        declaration.location = location_of(net.span)
        declaration.write([(pipe.name, pipe.span) for pipe in net.pipes])
    return declaration


def _nodes(route: Route) -> ttl.PipeNodes:
    first, last = route.receivers[0], route.receivers[-1]
    pipe = ttl.PipeNodes((*route.source,), (*first,), (*last,))  # type: ignore[arg-type]
    assert list(route.receivers) == pipe.receivers, "a rectangle"
    return pipe


def _check_ranges(net: PipeNet, grid: tuple[int, ...]) -> None:
    """Fewer entries than the grid has: such a range may go over the end of a row."""
    for route in net.routes(grid):
        columns = {node[0] for node in route.receivers}
        rows = {node[1] for node in route.receivers}
        if len(columns) * len(rows) != len(route.receivers):
            raise not_yet(f"pipe {route.pipe.name}, whose receivers are no rectangle of nodes,")


# Roles --------------------------------------------------------------------------------------------


def role(kind: type[ttl.RoleOp]) -> Callable[..., Value]:
    def made(builder: KernelBuilder, net: PipeNet) -> Value:
        return builder.value(kind.create(properties=_named(builder, net), result_types=[i1]))

    return made


def _named(builder: KernelBuilder, net: PipeNet) -> dict[str, Any]:
    _check_ranges(net, builder.grid)
    return {"net": SymbolRefAttr(builder.nets.name(net))}


def for_each(kind: type[ttl.ForEachPipeOp], call: str) -> Callable[..., Value]:
    def made(builder: KernelBuilder, net: PipeNet, function: Value) -> Value:
        builder.require(KernelKind.DATAMOVEMENT, f"PipeNet.{call}()")
        if not callable(function) and not isinstance(function, CALLABLE):
            raise RuleBroken(
                codes.WRONG_ARGUMENT,
                f"PipeNet.{call}() takes a function, not {describe(function)}",
                helps=(f"write `def f(pipe): ...` and {call}(f)",),
            )
        _translate(builder, kind, _named(builder, net), function)

    return made


def _translate(
    builder: KernelBuilder,
    kind: type[ttl.ForEachPipeOp],
    properties: dict[str, Any],
    function: Value,
) -> None:
    """The function's body stands once, for all pipes; what it changes is carried on."""
    loop = new_loop(builder, (), set(), ())
    carried = Carried(builder, assigned(builder, []), loop)
    pipe = ttl.PipeType(properties["net"], StringAttr(kind.ROLE))
    block = Block(arg_types=[pipe, *carried.types])
    block.args[0].name_hint = "pipe"
    arguments = list(block.args[1:])
    carried.enter(arguments)
    with inside(builder, loop, block):
        try:
            builder.call_value(function, [block.args[0]], {})
        except (CannotCompile, RuleBroken):
            builder.values = carried.before
            raise
        transfers = _leaving_transfers(builder, block, carried)
        yielded, unusable = carried.leave(arguments)
        builder.emit(ttl.YieldOp.create(operands=[*yielded, *transfers.values()]))
    builder.released |= {block.args[0]}
    start = [*carried.start]
    for transfer in transfers.values():
        start.append(builder.value(ttl.NoTransferOp.create(result_types=[transfer.type])))
        block.insert_arg(transfer.type, len(block.args))
    op = builder.emit(
        kind.create(
            operands=start,
            properties=properties,
            regions=[Region(block)],
            result_types=[value.type for value in start],
        )
    )
    changed = len(carried.start)
    carried.finish(list(op.results[:changed]), unusable)
    builder.values |= dict(zip(transfers, op.results[changed:], strict=True))


# One call after the other -------------------------------------------------------------------------


def counts_on_nodes(builder: KernelBuilder, net: PipeNet, role: str) -> list[int]:
    """How many pipes in which it has the role a node may have, as far as this path knows."""
    routes = net.routes(builder.grid)
    having = Counter(
        node
        for route in routes
        for node in ((route.source,) if role == "src" else route.receivers)
    )
    known = builder.facts.get((SymbolRefAttr(builder.nets.name(net)), role))
    counts = {*having.values()} if known is not False else set()
    if known is not True and (known is False or len(having) < prod(builder.grid)):
        counts.add(0)
    return sorted(counts)


def pipe_count(builder: KernelBuilder, net: PipeNet, role: str) -> SSAValue:
    properties = {**_named(builder, net), "role": StringAttr(role)}
    count = ttl.PipeCountOp.create(properties=properties, result_types=[IndexType()])
    return builder.value(count)


def call_with_pipe(role: str, place: int) -> Callable[..., Value]:
    """Calls a function with the pipe at a place among the node's."""

    def made(builder: KernelBuilder, net: PipeNet, function: Value) -> None:
        properties = _named(builder, net)
        local = ttl.LocalPipeOp.create(
            operands=[builder.index(place)],
            properties=properties,
            result_types=[ttl.PipeType(properties["net"], StringAttr(role))],
        )
        pipe = builder.value(local, "pipe")
        builder.call_value(function, [pipe], {})
        builder.released |= {pipe}

    return made


def _leaving_transfers(
    builder: KernelBuilder, block: Block, carried: Carried
) -> dict[Variable, SSAValue]:
    """The transfers that outer variables have now: made in the body, waited for behind it."""
    found: dict[Variable, SSAValue] = {}
    for variable, value in builder.values.items():
        is_transfer = isinstance(value, SSAValue) and isinstance(value.type, ttl.TransferType)
        is_outer = variable in carried.before or variable[0] == builder.frame.number
        if is_transfer and is_outer and variable not in carried.templates and block in (
            _blocks_around(value)
        ):
            found[variable] = value
    return found


def _blocks_around(value: SSAValue) -> Iterable[Block]:
    owner = value.owner
    block = owner if isinstance(owner, Block) else owner.parent_block()
    while block is not None:
        yield block
        parent = block.parent_op()
        block = parent.parent_block() if parent is not None else None


# What can be called and is no Python callable; the rest is in expressions.
CALLABLE = (LocalFunction, NodeFunctions, BoundMethod)

NET_METHODS: dict[str, Callable[..., Value]] = {
    "if_src": for_each(ttl.IfSrcOp, "if_src"),
    "if_dst": for_each(ttl.IfDstOp, "if_dst"),
    "is_src": role(ttl.IsSrcOp),
    "is_dst": role(ttl.IsDstOp),
    "is_active": role(ttl.IsActiveOp),
}

"""Copies through pipes, and the other end of a pipe in a function of if_src() or if_dst()."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import DenseArrayBase, StringAttr, i64

from ttl.diagnostics import wrong_argument
from ttl.dialects import ttl
from ttl.language import PipeNet
from ttl.language.grid import nodes_of
from ttl.language.pipes import Pipe, receiver_sends, source_receives, used_after_callback

from .builder import KernelBuilder
from .hir import INDEX, HeldBlock, PipeValue, Scalar, Value, is_run_time
from .nets import nodes_with_role
from .node_values import NodeObjects, RuntimeArgument
from .problems import describe, not_yet
from .scalars import check, compare


def other_end(builder: KernelBuilder, pipe: PipeValue, name: str) -> Value:
    """Return `pipe.dst` in if_src(), as written in the program."""
    routes = builder.nets.routes(pipe.pipe_type.net)
    return _merged(builder, pipe, [getattr(route.pipe, name) for route in routes])


def _merged(builder: KernelBuilder, pipe: PipeValue, ends: list[Any]) -> Value:
    """Merge the ends of all pipes; differing ones become a number that depends on the pipe."""
    first = ends[0]
    if all(type(end) is type(first) and end == first for end in ends):
        return first
    if all(isinstance(end, tuple) and len(end) == len(first) for end in ends):
        return tuple(_merged(builder, pipe, list(items)) for items in zip(*ends, strict=True))
    if all(isinstance(end, slice) for end in ends):
        parts = ([getattr(end, part) for end in ends] for part in ("start", "stop"))
        return slice(*(_merged(builder, pipe, part) for part in parts))
    if not all(isinstance(end, int) for end in ends):
        raise not_yet("the ends of pipes of one net that are written in different ways")
    properties = {"values": DenseArrayBase.from_list(i64, ends)}
    value = builder.scalar(ttl.PipeValueOp, [pipe], INDEX, properties)
    value.is_natural = True
    return value


def copy_pipe(builder: KernelBuilder, source: Value, destination: Value) -> Value:
    """Copy into or out of a pipe."""
    is_receive = isinstance(source, PipeValue)
    pipe, block = (source, destination) if is_receive else (destination, source)
    kind = "receive" if is_receive else "send"
    assert isinstance(pipe, PipeValue)
    _check_role(pipe, kind)
    if pipe in builder.state.released:
        raise used_after_callback("the pipe", f"if_{pipe.pipe_type.role.data}")
    if not isinstance(block, HeldBlock):
        raise wrong_argument(
            f"ttl.copy() connects a pipe with {describe(block)}",
            "a pipe connects blocks of dataflow buffers",
        )
    return builder.copied([pipe, block] if is_receive else [block, pipe], kind)


def written_pipe(builder: KernelBuilder, end: Value, role: str) -> Value:
    """Return the node's pipe if the program writes a `ttl.Pipe` itself.

    One that equals a pipe of another net means the pipe of the function around the copy.
    """
    if not isinstance(end, (Pipe, NodeObjects)):
        return end
    ends = (end,) if isinstance(end, Pipe) else end.objects
    homes = [each.home for each in ends if isinstance(each, Pipe) and each.home is not None]
    for value in reversed(builder.pipes):
        net = value.pipe_type.net
        pipes = [route.pipe for route in builder.nets.routes(net)]
        if value.pipe_type.role.data == role and any(each in pipes for each in ends):
            if homes and all(builder.nets.is_named(home, net) for home, _ in homes):
                break
            return _given(builder, end, value, pipes)
    if len(homes) < len(ends) or len({builder.nets.name(net) for net, _ in homes}) > 1:
        return end
    return _of_node(builder, end.name, homes, role)


def _given(
    builder: KernelBuilder, end: Pipe | NodeObjects, value: PipeValue, pipes: list[Pipe]
) -> PipeValue:
    """Return the pipe of the function around the copy; check that it is the written one."""
    given = _merged(builder, value, [pipes.index(pipe) for pipe in pipes])
    wanted = _number(builder, end, pipes)
    is_right: Value = given == wanted
    if is_run_time((given, wanted)):  # other pipes call the function too
        is_right = compare(builder, "==", given, wanted)
    role = value.pipe_type.role.data
    check(builder, is_right, f"used pipe {end.name} where if_{role}() gives another one")
    return value


def _of_node(
    builder: KernelBuilder, name: str, homes: list[tuple[PipeNet, int]], role: str
) -> Value:
    """Return the pipe at its place among the node's pipes; other nodes have no such place."""
    symbol = builder.nets.symbol(homes[0][0])
    having: dict[object, list[int]] = {node: [] for node in nodes_of(builder.nets.grid)}
    for number, route in enumerate(builder.nets.routes(symbol)):
        for node in nodes_with_role(route, role):
            having[tuple(node)].append(number)
    wanted = [number for _, number in homes] * (len(having) // len(homes))
    nowhere = max(map(len, having.values()))
    places = [
        numbers.index(number) if number in numbers else nowhere
        for number, numbers in zip(wanted, having.values(), strict=True)
    ]
    properties = {"net": symbol, "written": StringAttr(name)}
    type = ttl.PipeType(symbol, StringAttr(role))
    place = _place(builder, places, [len(numbers) for numbers in having.values()])
    return builder.value(ttl.LocalPipeOp, [place], type, properties, "pipe")


def _place(builder: KernelBuilder, places: list[int], counts: list[int]) -> Scalar:
    """Return a constant place if all other nodes have no pipe there."""
    first = min(places)
    if all(place == first or count <= first for place, count in zip(places, counts, strict=True)):
        return builder.index(first)
    return builder.handles.argument(RuntimeArgument("pipe_place", tuple(places)), INDEX)


def _number(builder: KernelBuilder, end: Pipe | NodeObjects, pipes: list[Pipe]) -> Value:
    """Return the place among the pipes of a net; it may differ by node."""
    if isinstance(end, Pipe):
        return pipes.index(end)
    places = [pipes.index(each) if each in pipes else len(pipes) for each in end.objects]
    return builder.handles.argument(RuntimeArgument(f"{end.name}_pipe", tuple(places)), INDEX)


def _check_role(pipe: PipeValue, kind: str) -> None:
    if (pipe.pipe_type.role.data, kind) in (("src", "send"), ("dst", "receive")):
        return
    raise receiver_sends("the pipe") if kind == "send" else source_receives("the pipe")

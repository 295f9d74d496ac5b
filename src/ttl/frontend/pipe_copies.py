"""A pipe in the function given to if_src() or if_dst(): its other end, and copies."""

from __future__ import annotations

import ast
from typing import Any

from xdsl.dialects.builtin import DenseArrayBase, i64

from ttl.diagnostics import RuleBroken, codes
from ttl.dialects import ttl
from ttl.language.pipes import Pipe, receiver_sends, source_receives, used_after_callback

from .builder import KernelBuilder
from .environment import NodeObjects, RuntimeArgument
from .hir import INDEX, HeldBlock, PipeValue, Value, is_run_time
from .problems import describe, not_yet, wrong_argument
from .scalars import check, compare


def pipe_attribute(builder: KernelBuilder, pipe: PipeValue, name: str) -> Value:
    """The other end, as the program wrote it."""
    role = pipe.pipe_type.role.data
    other = "dst" if role == "src" else "src"
    if name != other:
        raise RuleBroken(
            codes.UNKNOWN_NAME,
            f"a pipe in if_{role}() has no attribute `{name}`",
            helps=(f"it has `{other}`, the other end",),
        )
    routes = builder.nets.routes(pipe.pipe_type.net)
    ends = [getattr(route.pipe, other) for route in routes]
    return _merged(builder, pipe, ends)


def _merged(builder: KernelBuilder, pipe: PipeValue, ends: list[Any]) -> Value:
    """One value for all pipes: where they differ, a number that depends on the pipe."""
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
    """A send or a receive."""
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
            helps=("a pipe connects blocks of dataflow buffers",),
        )
    return builder.copied([pipe, block] if is_receive else [block, pipe], kind)


def given_pipe(builder: KernelBuilder, end: Value, role: str) -> Value:
    """The pipe that a function around has, where the program writes the `ttl.Pipe` itself."""
    if not isinstance(end, (Pipe, NodeObjects)):
        return end
    ends = (end,) if isinstance(end, Pipe) else end.objects
    for value in reversed(builder.pipes):
        pipes = [route.pipe for route in builder.nets.routes(value.pipe_type.net)]
        if value.pipe_type.role.data == role and any(each in pipes for each in ends):
            given = _merged(builder, value, [pipes.index(pipe) for pipe in pipes])
            wanted = _number(builder, end, pipes)
            is_right: Value = given == wanted
            if is_run_time((given, wanted)):  # the function is called for others too
                is_right = compare(builder, ast.Eq(), given, wanted)
            check(builder, is_right, f"used pipe {end.name} where if_{role}() gives another one")
            return value
    return end


def _number(builder: KernelBuilder, end: Pipe | NodeObjects, pipes: list[Pipe]) -> Value:
    """The place among the pipes of a net; it may be another one on each node."""
    if isinstance(end, Pipe):
        return pipes.index(end)
    places = [pipes.index(each) if each in pipes else len(pipes) for each in end.objects]
    return builder.handles.argument(RuntimeArgument(f"{end.name}_pipe", tuple(places)), INDEX)


def _check_role(pipe: PipeValue, kind: str) -> None:
    if (pipe.pipe_type.role.data, kind) in (("src", "send"), ("dst", "receive")):
        return
    raise receiver_sends("the pipe") if kind == "send" else source_receives("the pipe")


"""A pipe in the function given to if_src() or if_dst(): its other end, and copies."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import DenseArrayBase, IndexType, StringAttr, i64
from xdsl.ir import SSAValue

from ttl.diagnostics import RuleBroken, codes
from ttl.dialects import ttl
from ttl.language.pipes import receiver_sends, source_receives, used_after_callback

from .builder import KernelBuilder, Value, describe, not_yet


def pipe_attribute(builder: KernelBuilder, pipe: SSAValue, name: str) -> Value:
    """The other end, as the program wrote it."""
    assert isinstance(pipe.type, ttl.PipeType)
    role = pipe.type.role.data
    other = "dst" if role == "src" else "src"
    if name != other:
        raise RuleBroken(
            codes.UNKNOWN_NAME,
            f"a pipe in if_{role}() has no attribute `{name}`",
            helps=(f"it has `{other}`, the other end",),
        )
    net = builder.nets.by_name[pipe.type.net.root_reference.data]
    routes = net.routes(builder.grid)
    ends = [route.dst if other == "dst" else route.pipe.src for route in routes]
    return _merged(builder, pipe, ends)


def _merged(builder: KernelBuilder, pipe: SSAValue, ends: list[Any]) -> Value:
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
    value = builder.value(
        ttl.PipeValueOp.create(
            operands=[pipe],
            properties={"values": DenseArrayBase.from_list(i64, ends)},
            result_types=[IndexType()],
        )
    )
    builder.naturals.add(value)
    return value


def is_pipe(value: Value) -> bool:
    return isinstance(value, SSAValue) and isinstance(value.type, ttl.PipeType)


def copy_pipe(builder: KernelBuilder, source: Value, destination: Value) -> Value:
    """A send or a receive."""
    pipe, block, kind = (source, destination, "receive") if is_pipe(source) else (
        destination, source, "send")  # fmt: skip
    _check_role(pipe, kind)
    if pipe in builder.released:
        raise used_after_callback("the pipe", f"if_{pipe.type.role.data}")
    if not isinstance(block, SSAValue) or not isinstance(block.owner, ttl.AcquireOp):
        raise RuleBroken(
            codes.WRONG_ARGUMENT,
            f"ttl.copy() connects a pipe with {describe(block)}",
            helps=("a pipe connects blocks of dataflow buffers",),
        )
    return builder.value(
        ttl.CopyOp.create(
            operands=[source, destination],
            result_types=[ttl.TransferType(StringAttr(kind))],
        )
    )


def _check_role(pipe: SSAValue, kind: str) -> None:
    assert isinstance(pipe.type, ttl.PipeType)
    if (pipe.type.role.data, kind) in (("src", "send"), ("dst", "receive")):
        return
    raise receiver_sends("the pipe") if kind == "send" else source_receives("the pipe")


"""Dataflow buffers as kernels name them, and their two ends."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute, Operation, SSAValue

from ttl.dialects import ttl

End = tuple[SSAValue, bool]  # a buffer, and whether it is the end that reserves and pushes


def end_of(op: ttl.AcquireOp | ttl.ReleaseOp | ttl.CanAcquireOp) -> End:
    """The end that an operation acts on."""
    if isinstance(op, (ttl.HandOverOp, ttl.CanAcquireOp)):
        return op.buffer, op.is_wait is None
    return op.buffer, isinstance(op, (ttl.ReserveOp, ttl.PushOp))


def released_by(op: ttl.ReleaseOp, held: Sequence[SSAValue]) -> SSAValue | None:
    """Which of the blocks that its end holds a release is meant for; if nothing says so, the
    oldest, which stands first.
    """
    number = op.attributes.get("number")
    meant = [b for b in held if number is not None and _number(b) == number]
    return next(iter(meant or held), None)


def _number(block: SSAValue) -> Attribute | None:
    return block.owner.attributes.get("number") if isinstance(block.owner, Operation) else None


def buffer_name(buffer: SSAValue) -> str:
    """The name under which the module declares it."""
    assert isinstance(buffer.owner, ttl.BindBufferOp)
    name: str = buffer.owner.buffer.root_reference.data
    return name


def buffer_name_of(block: SSAValue) -> str:
    return buffer_name(ttl.buffer_of(block))

"""ttl-post-before-send: move posts that follow a send in front of it.

A compiled send waits for its receivers' posts at once, although the program may continue until it
waits for the send. So this pass moves a send without an immediate wait after the posts that follow
it, up to the first operation that may wait: two nodes that both send, then post, then wait for both
do not wait for each other.
"""

from __future__ import annotations

from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation

from ttl.dialects import ttl
from ttl.dialects.building import walk


def apply(op: ModuleOp) -> None:
    if not any(True for _ in ttl.nets_of(op)):
        return
    blocks = [block for each in walk(op) for region in each.regions for block in region.blocks]
    for block in blocks:
        _sink_sends(block)


def _sink_sends(block: Block) -> None:
    for op in reversed(list(block.ops)):
        if _has_open_send(op):
            _sink(op)


def _has_open_send(op: Operation) -> bool:
    """Does it send, and leave the wait to a later operation?"""
    if not isinstance(op, (ttl.CopyOp, ttl.IfSrcOp)):
        return False
    inside = list(walk(op))
    sends = [o.transfer for o in inside if isinstance(o, ttl.CopyOp) and o.pipe is o.destination]
    waits = {o.transfer for o in inside if isinstance(o, ttl.WaitTransferOp)}
    return bool(sends) and waits.isdisjoint(sends)


def _sink(send: Operation) -> None:
    target, following = None, send.next_op
    while following is not None and _may_go_first(following, send):
        if _posts(following):
            target = following
        following = following.next_op
    if target is not None:
        block = send.parent
        assert block is not None
        send.detach()
        block.insert_op_after(send, target)


def _posts(op: Operation) -> bool:
    return any(isinstance(o, ttl.CopyOp) and o.pipe is o.source for o in walk(op))


def _may_go_first(op: Operation, send: Operation) -> bool:
    """Does it wait for nothing, and need nothing from the send?"""
    return all(
        _waits_for_nothing(each) and not any(o.owner is send for o in each.operands)
        for each in walk(op)
    )


def _waits_for_nothing(op: Operation) -> bool:
    if isinstance(op, ttl.CopyOp):
        return op.pipe is op.source
    return op.name.startswith("arith.") or isinstance(op, _NEVER_WAIT)


_NEVER_WAIT = (
    scf.IfOp,
    scf.YieldOp,
    ttl.IfDstOp,
    ttl.YieldOp,
    ttl.RoleOp,
    ttl.PipeValueOp,
    ttl.PipeCountOp,
    ttl.LocalPipeOp,
    ttl.NodeIndexOp,
    ttl.NoTransferOp,
    ttl.GroupOp,
    ttl.GroupAddOp,
)

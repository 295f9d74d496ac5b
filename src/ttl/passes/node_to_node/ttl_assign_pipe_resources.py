"""ttl-assign-pipe-resources: semaphores and pipes get the words they signal with.

The program's semaphores have the first ids; pipe_resources says who gets the others.
rule DEPTH  the posts of a pipe that may be under way together: one, if each is waited for before
            the next is made, else as many as the buffers have blocks that are posted.
"""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, SymbolRefAttr, i64
from xdsl.ir import Operation

from ttl.dialects import ttl
from ttl.dialects.building import walk

from ..module_pass import kernels, target_of
from .pipe_resources import SCRATCH_BYTES, STAGING_BYTES, Allocation

SEMAPHORE_COUNT = "ttl.semaphore_count"


def apply(op: ModuleOp) -> None:
    semaphores, nets = list(ttl.semaphores_of(op)), list(ttl.nets_of(op))
    if not semaphores and not nets:
        return
    for index, semaphore in enumerate(semaphores):
        semaphore.properties["index"] = IntegerAttr(index, i64)
    allocation = Allocation(len(semaphores), target_of(op).semaphores)
    depths = _depths(op)
    users = _users(op)
    for net in nets:
        name = net.sym_name.data
        shared = [role for role in ("src", "dst") if len(users.get((name, role), ())) > 1]
        allocation.add(net, depths.get(name, 1), shared)
    allocation.finish()
    op.attributes[SEMAPHORE_COUNT] = IntegerAttr(allocation.semaphore_count, i64)
    if nets:
        op.attributes[SCRATCH_BYTES] = IntegerAttr(allocation.scratch_bytes, i64)
    elif any(isinstance(each, ttl.SemaphoreSetMulticastOp) for each in walk(op)):
        # A multicast of a semaphore's value needs a word that holds it.
        op.attributes[SCRATCH_BYTES] = IntegerAttr(STAGING_BYTES, i64)


def _depths(module: ModuleOp) -> dict[str, int]:
    """rule DEPTH"""
    buffers: dict[str, dict[SymbolRefAttr, int]] = {}
    single: dict[str, bool] = {}
    copies = (op for op in walk(module) if isinstance(op, ttl.CopyOp) and op.pipe is not None)
    for post in (op for op in copies if op.pipe is op.source):
        assert post.pipe is not None and isinstance(post.pipe.type, ttl.PipeType)
        net = post.pipe.type.net.root_reference.data
        bind = ttl.buffer_of(post.destination).owner
        assert isinstance(bind, ttl.BindBufferOp)
        blocks = buffers.setdefault(net, {})
        blocks[bind.buffer] = bind.result.type.block_count.value.data
        single[net] = single.get(net, True) and _is_waited_before_next(post)
    return {net: 1 if single[net] else sum(blocks.values()) for net, blocks in buffers.items()}


def _users(module: ModuleOp) -> dict[tuple[str, str], set[str]]:
    """The kernels that post, or send, through a net."""
    found: dict[tuple[str, str], set[str]] = {}
    for kernel in kernels(module):
        for op in walk(kernel):
            if isinstance(op, ttl.CopyOp) and op.pipe is not None:
                assert isinstance(op.pipe.type, ttl.PipeType)
                end = op.pipe.type.net.root_reference.data, op.pipe.type.role.data
                found.setdefault(end, set()).add(kernel.sym_name.data)
    return found


def _is_waited_before_next(post: ttl.CopyOp) -> bool:
    """Is it waited for in its own block, before anything that could post again?"""
    following: Operation | None = post.next_op
    while following is not None:
        if isinstance(following, ttl.WaitTransferOp) and following.transfer is post.transfer:
            return True
        if following.regions or (isinstance(following, ttl.CopyOp) and following.pipe is not None):
            return False
        following = following.next_op
    return False

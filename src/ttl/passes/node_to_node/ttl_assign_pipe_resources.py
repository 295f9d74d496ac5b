"""ttl-assign-pipe-resources: give semaphores and pipes the words they signal with.

The program's semaphores have the first ids; pipe_resources assigns the others.

rule DEPTH  the posts of a pipe that may be under way together: one, if each is waited for before
            the next, otherwise as many as the posted buffers have blocks.
rule EQUAL  a net that sends from and receives into the block of one `reserve`, once each time: all
            nodes have used equally many blocks of that buffer, and the block is at the same place
            on all of them. Receivers need not send its address.
"""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr, SymbolRefAttr, i64
from xdsl.ir import Operation, SSAValue

from ttl.dialects import ttl
from ttl.dialects.building import walk

from ..loopback import nets_to_themselves
from ..module_pass import kernels, target_of
from .pipe_resources import SCRATCH_BYTES, STAGING_BYTES, WordAllocation

SEMAPHORE_COUNT = "ttl.semaphore_count"


def apply(op: ModuleOp) -> None:
    semaphores, nets = list(ttl.semaphores_of(op)), list(ttl.nets_of(op))
    if not semaphores and not nets:
        return
    for index, semaphore in enumerate(semaphores):
        semaphore.properties["index"] = IntegerAttr(index, i64)
    allocation = WordAllocation(len(semaphores), target_of(op).semaphores)
    depths = _depths(op)
    users = _users(op)
    own = nets_to_themselves(op)
    for net in nets:
        name = net.sym_name.data
        shared = [role for role in ("src", "dst") if len(users.get((name, role), ())) > 1]
        is_in_place = _is_in_place(op, net, name in own)
        allocation.add(net, depths.get(name, 1), shared, is_in_place, name in own)
    allocation.finish()
    op.attributes[SEMAPHORE_COUNT] = IntegerAttr(allocation.semaphore_count, i64)
    if nets:
        op.attributes[SCRATCH_BYTES] = IntegerAttr(allocation.scratch_bytes, i64)
    elif any(isinstance(each, ttl.SemaphoreSetMulticastOp) for each in walk(op)):
        # A multicast of a semaphore's value needs a word that holds it.
        op.attributes[SCRATCH_BYTES] = IntegerAttr(STAGING_BYTES, i64)


def _depths(module: ModuleOp) -> dict[str, int]:
    """Return the posts under way for each net (rule DEPTH)."""
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


def _is_in_place(module: ModuleOp, net: ttl.DeclarePipeNetOp, is_own: bool) -> bool:
    """Is the net's block at the same place on all nodes? (rule EQUAL)"""
    has_one = all(net.most_on_a_node(role) == 1 for role in ("src", "dst"))
    is_loopback = any(pipe.is_loopback for pipe in net.nodes)
    if not has_one or (is_loopback and not is_own):
        return False
    all_copies = (op for op in walk(module) if isinstance(op, ttl.CopyOp))
    copies = [op for op in all_copies if _net_of(op) == net.sym_name]
    posts = [op.destination.owner for op in copies if op.pipe is op.source]
    sends = [op.source.owner for op in copies if op.pipe is op.destination]
    if len(posts) != 1 or posts != sends:
        return False
    reserve = posts[0]
    roles = [copy.parent_op() for copy in copies]
    return (
        isinstance(reserve, ttl.AcquireOp)
        and isinstance(reserve, ttl.ReserveOp)
        and all(isinstance(role, (ttl.IfSrcOp, ttl.IfDstOp)) for role in roles)
        and all(role.parent is reserve.parent for role in roles if role is not None)
        and _is_one_at_a_time(module, reserve)
    )


def _net_of(copy: ttl.CopyOp) -> StringAttr | None:
    if copy.pipe is None:
        return None
    assert isinstance(copy.pipe.type, ttl.PipeType)
    return copy.pipe.type.net.root_reference


def _is_one_at_a_time(module: ModuleOp, reserve: ttl.AcquireOp) -> bool:
    """Is it the buffer's only reserve, with a push before it comes again?"""
    buffer = _symbol_of(reserve.buffer)
    ends = [
        op
        for op in walk(module)
        if isinstance(op, (ttl.ReserveOp, ttl.PushOp)) and _symbol_of(op.buffer) == buffer
    ]
    return len(ends) == 2 and all(op.parent is reserve.parent for op in ends)


def _symbol_of(buffer: SSAValue) -> SymbolRefAttr:
    assert isinstance(buffer.owner, ttl.BindBufferOp)
    return buffer.owner.buffer


def _users(module: ModuleOp) -> dict[tuple[str, str], set[str]]:
    """Return the kernels that post, or send, through each net."""
    found: dict[tuple[str, str], set[str]] = {}
    for kernel in kernels(module):
        for op in walk(kernel):
            if isinstance(op, ttl.CopyOp) and op.pipe is not None:
                assert isinstance(op.pipe.type, ttl.PipeType)
                end = op.pipe.type.net.root_reference.data, op.pipe.type.role.data
                found.setdefault(end, set()).add(kernel.sym_name.data)
    return found


def _is_waited_before_next(post: ttl.CopyOp) -> bool:
    """Is it waited for in its own block, before any other operation could post?"""
    following: Operation | None = post.next_op
    while following is not None:
        if isinstance(following, ttl.WaitTransferOp) and following.transfer is post.transfer:
            return True
        if following.regions or (isinstance(following, ttl.CopyOp) and following.pipe is not None):
            return False
        following = following.next_op
    return False

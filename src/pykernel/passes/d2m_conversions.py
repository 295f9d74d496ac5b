"""Convert operations of the d2m dialect to the language's.

rule RELEASE `d2m.wait` and `d2m.reserve` release their block at the end of their body, or at
             `d2m.release`
rule SHARD   the output's buffer is the core's part of the output: it is reserved once and held to
             the end
rule TAKE    if another thread takes the output, the writer pushes it where it says that it is
             ready, and the taker writes each block back before its release, unless it is
             streamed: then the thread chooses where each block goes
rule SUM     a matrix product is made in the block that it is stored to, on top of its contents
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import scf
from xdsl.dialects.builtin import StringAttr, SymbolRefAttr, UnitAttr
from xdsl.dialects.linalg.ops import GenericOp as LinalgOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from pykernel.dialects import d2m
from pykernel.passes.marks import OVER_BLOCKS
from ttl.dialects import ttl
from ttl.dialects.building import around
from ttl.passes.arithmetic import add, minus
from ttl.passes.module_pass import (
    UNREAD,
    Maker,
    branch_end,
    erase,
    not_yet,
    nothing,
    terminator,
    users_of,
)

from .d2m_kernels import KernelDraft, KernelOperand, copy, node_index, tensor_slice
from .tile_loops import raise_loops


def convert_ops(kernel: KernelDraft) -> None:
    """Convert all operations of the d2m dialect in a kernel."""
    raise_loops(kernel.body)
    _require_known(kernel)
    converted = [op for op in kernel.body.walk() if type(op) in CONVERSIONS]
    for op in converted:
        CONVERSIONS[type(op)](kernel, op, Maker.before(op))
    for op in reversed(converted):
        erase(op)
    for scope in [op for op in kernel.body.ops if isinstance(op, scf.ExecuteRegionOp)]:
        _dissolve(scope)
    if kernel.held is not None and not kernel.program.is_taken:
        assert isinstance(kernel.held.owner, Operation)
        make = Maker.before(branch_end(kernel.held.owner), kernel.function)
        output = kernel.program.operands[-1]
        push = make.add(ttl.PushOp.create(operands=[kernel.buffer(output)]))
        push.location = kernel.body.args[output.position].location


def _require_known(kernel: KernelDraft) -> None:
    """Refuse operations that other frontends put into threads and ours do not make."""
    for op in kernel.body.walk():
        if isinstance(op, LinalgOp):
            raise not_yet("`linalg.generic` in a kernel", op, "run linalg-to-loops first")
        if op.name.startswith("d2m.") and type(op) not in CONVERSIONS:
            raise not_yet(f"`{op.name}` in a thread", op, "use blocks and linalg.generic")


def _dissolve(scope: scf.ExecuteRegionOp) -> None:
    """Inline a thread that shares its processor, once its blocks are released."""
    block = scope.region.block
    erase(terminator(block))
    Rewriter.inline_block(block, InsertPoint.before(scope))
    erase(scope)


def acquire(kernel: KernelDraft, op: d2m.AcquireOp, make: Maker) -> None:
    operand = kernel.by_argument[op.cb]
    is_wait = isinstance(op, d2m.WaitOp)
    if operand is not kernel.program.operands[-1]:
        value, _ = _until_the_end(kernel, op, make, is_wait)
    elif kernel.program.is_taken:
        value = _take(kernel, op, make, is_wait)
    else:
        value = _hold(kernel, op, operand, is_wait)
    op.block.replace_all_uses_with(value)


def _until_the_end(
    kernel: KernelDraft, op: d2m.AcquireOp, make: Maker, is_wait: bool
) -> tuple[SSAValue, Operation]:
    """Acquire a block until the end of its body (rule RELEASE)."""
    operand = kernel.by_argument[op.cb]
    value = kernel.acquire(make, ttl.WaitOp if is_wait else ttl.ReserveOp, operand)
    release = (ttl.PopOp if is_wait else ttl.PushOp).create(operands=[kernel.buffer(operand)])
    release.attributes[UNREAD] = UnitAttr()
    place = next(iter(users_of(op.block, d2m.ReleaseOp)), branch_end(op))
    return value, Maker.before(place, op).add(release)


def _hold(
    kernel: KernelDraft, op: d2m.AcquireOp, operand: KernelOperand, is_wait: bool
) -> SSAValue:
    """Acquire the output's block, held to the end (rule SHARD)."""
    if kernel.held is None:
        assert not is_wait, "a thread that takes the output"
        make = Maker.before(_first(kernel, op), op)
        kernel.held = kernel.acquire(make, ttl.ReserveOp, operand)
    return kernel.held


def _first(kernel: KernelDraft, op: Operation) -> Operation:
    """Return the first operation of the kernel, or of the loop over its output blocks."""
    loop = next((each for each in (op, *around(op)) if OVER_BLOCKS in each.attributes), None)
    first = None if loop is None else loop.regions[0].block.first_op
    return first or kernel.first


def _take(kernel: KernelDraft, op: d2m.AcquireOp, make: Maker, is_wait: bool) -> SSAValue:
    """Acquire the output's block when another thread takes it (rule TAKE)."""
    body = None if kernel.push is None else kernel.push.parent_block()
    if kernel.push is None or body is None or not _is_before(op, kernel.push):
        value, release = _until_the_end(kernel, op, make, is_wait)
        if is_wait:
            kernel.taken.append((value, release))
        else:
            kernel.held, kernel.push = value, release
        return value
    assert kernel.held is not None
    if is_wait and body is not op.parent_block():
        raise not_yet(
            "pop() of the output in a loop or branch that does not reserve it",
            op,
            "reserve() and pop() the output in the same body",
        )
    if is_wait:
        kernel.push.detach()
        make.add_as_it_is(kernel.push)
        kernel.push = None
    return kernel.held


def _is_before(op: Operation, end: Operation) -> bool:
    """Is `op` in the body that `end` ends?"""
    before: Operation | None = end.prev_op
    inside = {id(each) for each in (op, *around(op))}
    while before is not None and id(before) not in inside:
        before = before.prev_op
    return before is not None


def store(kernel: KernelDraft, op: d2m.StoreOp, make: Maker) -> None:
    new = ttl.StoreOp.create(operands=[op.value, op.block], attributes={UNREAD: UnitAttr()})
    if isinstance(op.value.owner, ttl.BLOCK_MATH["matmul"]):  # rule SUM
        new.properties["accumulate"] = UnitAttr()
    make.add(new)


def full(kernel: KernelDraft, op: d2m.FullOp, make: Maker) -> None:
    new = make.new(ttl.FillOp, (), op.result.type, op.result.name_hint, value=op.value)
    op.result.replace_all_uses_with(new)


def to_tensor(kernel: KernelDraft, op: d2m.ToTensorOp, make: Maker) -> None:
    op.value.replace_all_uses_with(op.block)


def core_index(kernel: KernelDraft, op: d2m.IndexOp, make: Maker) -> None:
    value = node_index(make, 1 - op.dim.value.data, op.result.name_hint)
    op.result.replace_all_uses_with(value)


def dma(kernel: KernelDraft, op: d2m.TransferOp, make: Maker) -> None:
    if op.is_multicast:
        place = _corners(list(op.core), list(op.mcast), make)
        type = ttl.TransferType(StringAttr("write"))
        value = make.new(ttl.MulticastOp, [op.src, op.dst, *place], type)
    else:
        ends = [
            _dma_end(kernel, end, list(index), make)
            for end, index in ((op.src, op.src_index), (op.dst, op.dst_index))
        ]
        is_write = d2m.is_remote(op.dst.type)
        value = copy(make, ends, "write" if is_write else "read")
    op.tx.replace_all_uses_with(value)


def _dma_end(kernel: KernelDraft, end: SSAValue, index: list[SSAValue], make: Maker) -> SSAValue:
    if not index:
        return end
    operand = kernel.program.operands[kernel.remote[end]]
    return tensor_slice(make, end, index, operand)


def _corners(core: list[SSAValue], mcast: list[SSAValue], make: Maker) -> list[SSAValue]:
    """Convert y, x and rows, columns to x, y of the first and the last node."""
    (y, x), one = core, make.index(1)
    last_y, last_x = (
        add(make, start, minus(make, size, one)) for start, size in zip(core, mcast, strict=True)
    )
    return [x, y, last_x, last_y]


def dma_wait(kernel: KernelDraft, op: d2m.DmaWaitOp, make: Maker) -> None:
    if isinstance(op.tx.owner, d2m.NullTxOp):
        return
    if not isinstance(op.tx.type, ttl.TransferType):
        raise not_yet("a transfer that a branch or a loop carries", op, "wait for it at once")
    make.add(ttl.WaitTransferOp.create(operands=[op.tx]))


def semaphore_set(kernel: KernelDraft, op: d2m.SemaphoreSetOp, make: Maker) -> None:
    named = {"semaphore": SymbolRefAttr(kernel.semaphore_names[op.semaphore])}
    make.add(ttl.SemaphoreSetOp.create(operands=[op.value], properties=named))
    if op.core:
        place = _corners(list(op.core), list(op.mcast), make)
        make.add(ttl.SemaphoreSetMulticastOp.create(operands=[op.value, *place], properties=named))


def semaphore_inc(kernel: KernelDraft, op: d2m.SemaphoreIncOp, make: Maker) -> None:
    named = {"semaphore": SymbolRefAttr(kernel.semaphore_names[op.semaphore])}
    y, x = op.core
    make.add(ttl.SemaphoreIncRemoteOp.create(operands=[op.value, x, y], properties=named))


def semaphore_wait(kernel: KernelDraft, op: d2m.SemaphoreWaitOp, make: Maker) -> None:
    named = {"semaphore": SymbolRefAttr(kernel.semaphore_names[op.semaphore])}
    make.add(ttl.SemaphoreWaitOp.create(operands=[op.value], properties=named))
    if op.reset is not None:
        make.add(ttl.SemaphoreSetOp.create(operands=[op.reset], properties=named))


CONVERSIONS: dict[type[Operation], Callable[..., None]] = {
    d2m.WaitOp: acquire,
    d2m.ReserveOp: acquire,
    d2m.StoreOp: store,
    d2m.ToTensorOp: to_tensor,
    d2m.FullOp: full,
    d2m.EmptyOp: nothing,
    d2m.NullTxOp: nothing,
    d2m.ReleaseOp: nothing,
    d2m.CoreIndexOp: core_index,
    d2m.DmaReadOp: dma,
    d2m.DmaWriteOp: dma,
    d2m.DmaWaitOp: dma_wait,
    d2m.SemaphoreSetOp: semaphore_set,
    d2m.SemaphoreIncOp: semaphore_inc,
    d2m.SemaphoreWaitOp: semaphore_wait,
}

"""The life of every block, stepped through the kernel's operations in order.

Runs when releases and waits are explicit, behind ttl-insert-cb-sync. Kernels have loops and no
branches, so the operations of a body happen in the order in which they stand; a loop body is
walked once, which finds what goes wrong in its first iteration. The transitions are those of
semantics/block_protocol. A release is one of the oldest block that its buffer's end holds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from ttl.diagnostics import CompileError, Diagnostic, Label, RuleBroken, codes
from ttl.dialects import ttl
from ttl.dialects.locations import span_of
from ttl.semantics.block_protocol import Event, Life, State

from ..module_pass import kernels, not_yet


def verify_block_states(module: ModuleOp) -> None:
    """Raise CompileError with the first mistake of each kernel."""
    mistakes = [found for kernel in kernels(module) if (found := _check(kernel)) is not None]
    if mistakes:
        raise CompileError(*mistakes)


def _check(kernel: func.FuncOp) -> Diagnostic | None:
    walk = _Walk()
    for op in kernel.walk():
        try:
            walk.step(op)
        except RuleBroken as broken:
            return broken.at(span_of(op.location))
        except CompileError as error:
            return error.diagnostics[0]
    return walk.still_held()


@dataclass(slots=True)
class _Held:
    """A block and where it is in its life."""

    acquire: ttl.AcquireOp
    life: Life

    def __str__(self) -> str:
        return f"the block of `{self.acquire.buffer.name_hint}`"

    def step(self, event: Event) -> None:
        try:
            self.life.step(event, self)
        except RuleBroken as broken:
            broken.secondary += self.acquired_here()
            raise

    def acquired_here(self) -> tuple[Label, ...]:
        span = span_of(self.acquire.location)
        return (Label(span, "acquired here"),) if span is not None else ()


@dataclass(slots=True)
class _Walk:
    blocks: dict[SSAValue, _Held] = field(default_factory=dict)
    # What each end of a buffer holds, oldest first: reserved and waited blocks apart.
    queues: dict[tuple[SSAValue, type[Operation]], list[_Held]] = field(default_factory=dict)
    waited: set[SSAValue] = field(default_factory=set)

    def step(self, op: Operation) -> None:
        handler = _HANDLERS.get(type(op))
        if handler is not None:
            handler(self, op)
        elif isinstance(op, ttl.BlockMathOp):
            for value in op.inputs:
                self.read(value, op)

    def read(self, value: SSAValue, op: Operation) -> None:
        held = self.blocks.get(value)
        if held is None:
            return
        held.step(Event.READ)
        if isinstance(held.acquire, ttl.ReserveOp):
            raise not_yet("reading a reserved block", op, "keep the value in a name and use that")

    def acquire(self, op: ttl.AcquireOp) -> None:
        state = State.MUST_WRITE if isinstance(op, ttl.ReserveOp) else State.MUST_READ
        held = self.blocks[op.block] = _Held(op, Life(state))
        self.queues.setdefault((op.buffer, type(op)), []).append(held)

    def release(self, op: ttl.ReleaseOp) -> None:
        is_push = isinstance(op, ttl.PushOp)
        queue = self.queues.get((op.buffer, ttl.ReserveOp if is_push else ttl.WaitOp), [])
        if not queue:
            raise RuleBroken(
                codes.BLOCK_STATE,
                f"`{op.buffer.name_hint}` has no block that could be "
                f"{'pushed' if is_push else 'popped'} here",
                helps=("release each block once, by push() after reserve(), pop() after wait()",),
            )
        queue.pop(0).step(Event.PUSH if is_push else Event.POP)

    def store(self, op: ttl.StoreOp) -> None:
        self.read(op.value, op)
        held = self.blocks[op.view]
        held.step(Event.STORE)
        if isinstance(held.acquire, ttl.WaitOp):
            raise not_yet("storing into a waited block", op, "store into a reserved block")

    def copy(self, op: ttl.CopyOp) -> None:
        if op.source in self.blocks:
            self.blocks[op.source].step(Event.COPY_FROM)
        if op.destination in self.blocks:
            self.blocks[op.destination].step(Event.COPY_INTO)

    def wait_transfer(self, op: ttl.WaitTransferOp) -> None:
        if op.transfer in self.waited:
            raise RuleBroken(
                codes.TRANSFER_REUSED,
                "this transfer was waited for already",
                helps=("wait once for each ttl.copy()",),
            )
        self.waited.add(op.transfer)
        copy = op.transfer.owner
        assert isinstance(copy, ttl.CopyOp)
        if copy.source in self.blocks:
            self.blocks[copy.source].step(Event.COPY_FROM_DONE)
        if copy.destination in self.blocks:
            self.blocks[copy.destination].step(Event.COPY_INTO_DONE)

    def still_held(self) -> Diagnostic | None:
        held = next((block for queue in self.queues.values() for block in queue), None)
        if held is None:
            return None
        call = "push" if isinstance(held.acquire, ttl.ReserveOp) else "pop"
        broken = RuleBroken(
            codes.BLOCK_NOT_RELEASED,
            f"{held} is not released",
            helps=(f"call {call}() on it, or acquire it in a `with`",),
        )
        return broken.at(span_of(held.acquire.location), "acquired here and never released")


_HANDLERS: dict[type[Operation], Callable[..., None]] = {
    ttl.ReserveOp: _Walk.acquire,
    ttl.WaitOp: _Walk.acquire,
    ttl.PushOp: _Walk.release,
    ttl.PopOp: _Walk.release,
    ttl.StoreOp: _Walk.store,
    ttl.CopyOp: _Walk.copy,
    ttl.WaitTransferOp: _Walk.wait_transfer,
}

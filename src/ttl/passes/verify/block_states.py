"""The life of every block, stepped through the kernel's operations in order.

Runs when releases and waits are explicit, behind ttl-insert-cb-sync. Branches are walked both
ways, except that conditions which were decided before are decided the same; a mistake is one that
happens on every path that gets there. A loop body is walked once, which finds what goes wrong in
its first iteration. The transitions are those of semantics/block_protocol. A release is one of the
oldest block that its buffer's end holds.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

from xdsl.dialects import func, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from ttl.diagnostics import CompileError, Diagnostic, Label, RuleBroken, codes
from ttl.dialects import ttl
from ttl.dialects.conditions import Facts, decided, with_fact
from ttl.dialects.locations import span_of
from ttl.semantics.block_protocol import Event, Life, State
from ttl.semantics.printing import check_printed_block

from ..module_pass import REPLACES, cannot_compile, kernels


def verify_block_states(module: ModuleOp) -> None:
    """Raise CompileError with the first mistake of each kernel."""
    mistakes = [found for kernel in kernels(module) if (found := _check(kernel)) is not None]
    if mistakes:
        raise CompileError(*mistakes)


MOST_PATHS = 64


class _TooManyPaths(Exception):
    """The kernel is not checked to its end: the run will find what is wrong there."""


def _check(kernel: func.FuncOp) -> Diagnostic | None:
    try:
        walks = _block(kernel.body.block, [_Walk()])
    except CompileError as error:
        return error.diagnostics[0]
    except _TooManyPaths:
        return None
    found = [walk.left_over(kernel.sym_name.data) for walk in walks]
    return found[0] if all(found) else None


def _block(block: Block, walks: list[_Walk]) -> list[_Walk]:
    for op in block.ops:
        if isinstance(op, scf.IfOp):
            walks = _branch(op, walks)
        elif isinstance(op, ttl.ForEachPipeOp):
            walks = _for_each_pipe(op, walks)
        elif op.regions:
            walks = _step(op, walks)
            for region in op.regions:
                walks = _block(region.block, walks)
        else:
            walks = _step(op, walks)
    return walks


def _branch(op: scf.IfOp, walks: list[_Walk]) -> list[_Walk]:
    found = []
    for is_then, region in ((True, op.true_region), (False, op.false_region)):
        entering = [
            walk.copy(with_fact(walk.facts, op.cond, is_then))
            for walk in walks
            if decided(walk.facts, op.cond) in (None, is_then)
        ]
        if entering:
            found += _block(region.block, entering) if region.blocks else entering
    return _distinct(found)


def _distinct(found: list[_Walk]) -> list[_Walk]:
    distinct = {walk.signature(): walk for walk in reversed(found)}
    if len(distinct) > MOST_PATHS:
        raise _TooManyPaths
    return list(reversed(distinct.values()))


def _for_each_pipe(op: ttl.ForEachPipeOp, walks: list[_Walk]) -> list[_Walk]:
    """A node has the role or has not; a walk keeps to what it decided before."""
    key = op.net, op.ROLE
    found = [walk for walk in walks if walk.facts.get(key) is not True]
    without = [walk.copy({**walk.facts, key: False}) for walk in found]
    entering = [
        walk.copy({**walk.facts, key: True})
        for walk in walks
        if walk.facts.get(key) is not False
    ]
    return _distinct(_block(op.body.block, entering) + without)


def _step(op: Operation, walks: list[_Walk]) -> list[_Walk]:
    """The walks that can go on; CompileError if none can."""
    going_on, refused = [], None
    for walk in walks:
        try:
            walk.step(op)
            going_on.append(walk)
        except RuleBroken as broken:
            refused = refused or cannot_compile(broken, op)
        except CompileError as error:
            refused = refused or error
    if refused is not None and not going_on:
        raise refused
    return going_on


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

    def copy(self) -> _Held:
        life = Life(self.life.state)
        life.transfers_reading = self.life.transfers_reading
        return _Held(self.acquire, life)

    def acquired_here(self) -> tuple[Label, ...]:
        span = span_of(self.acquire.location)
        return (Label(span, "acquired here"),) if span is not None else ()


Queue = list[_Held]


@dataclass(slots=True)
class _Walk:
    blocks: dict[SSAValue, _Held] = field(default_factory=dict)
    # What each end of a buffer holds, oldest first: reserved and waited blocks apart.
    queues: dict[tuple[SSAValue, type[Operation]], Queue] = field(default_factory=dict)
    under_way: dict[SSAValue, ttl.CopyOp | ttl.MulticastOp] = field(default_factory=dict)
    waited: set[SSAValue] = field(default_factory=set)
    groups: dict[SSAValue, list[SSAValue] | None] = field(default_factory=dict)  # None: waited for
    handed: dict[tuple[SSAValue, type[Operation]], Queue] = field(default_factory=dict)
    handed_transfers: list[SSAValue] = field(default_factory=list)
    first_names: dict[SSAValue, SSAValue] = field(default_factory=dict)  # of handed transfers
    facts: Facts = field(default_factory=dict)

    def copy(self, facts: Facts) -> _Walk:
        lives = {id(held): held.copy() for held in self.blocks.values()}
        return _Walk(
            {value: lives[id(held)] for value, held in self.blocks.items()},
            {end: [lives[id(held)] for held in queue] for end, queue in self.queues.items()},
            dict(self.under_way),
            set(self.waited),
            {group: None if t is None else list(t) for group, t in self.groups.items()},
            {end: [lives[id(held)] for held in queue] for end, queue in self.handed.items()},
            list(self.handed_transfers),
            dict(self.first_names),
            facts,
        )

    def signature(self) -> Hashable:
        return (
            tuple((value, held.life.state, held.life.transfers_reading)
                  for value, held in self.blocks.items()),
            tuple((end, tuple(held.acquire for held in queue))
                  for end, queue in self.queues.items()),
            tuple(self.under_way),
            frozenset(self.waited),
            tuple((group, t is None or tuple(t)) for group, t in self.groups.items()),
            tuple((end, tuple(held.acquire for held in queue))
                  for end, queue in self.handed.items()),
            tuple(self.handed_transfers),
            tuple(self.facts.items()),
        )  # fmt: skip

    def step(self, op: Operation) -> None:
        handler = _HANDLERS.get(type(op))
        if handler is not None:
            handler(self, op)
        elif isinstance(op, READERS):
            for value in op.operands:
                self.read(value, op)

    def read(self, value: SSAValue, op: Operation) -> None:
        held = self.blocks.get(value)
        if held is None:
            return
        held.step(Event.READ)

    def show(self, op: ttl.PrintOp) -> None:
        """Printing changes nothing; there must be something to print."""
        for value in op.values:
            held = self.blocks.get(value)
            if held is not None:
                check_printed_block(held, held.life.state)

    def acquire(self, op: ttl.AcquireOp) -> None:
        if ttl.is_resumed(op):
            held = self.handed[op.buffer, type(op)].pop(0)
            held.acquire = op
        else:
            state = State.MUST_WRITE if isinstance(op, ttl.ReserveOp) else State.MUST_READ
            held = _Held(op, Life(state))
        self.blocks[op.block] = held
        queue = self.queues.setdefault((op.buffer, type(op)), [])
        queue.append(held)

    def release(self, op: ttl.ReleaseOp) -> None:
        is_push = isinstance(op, ttl.PushOp)
        queue = self.queues.get((op.buffer, ttl.ReserveOp if is_push else ttl.WaitOp), [])
        number = op.attributes.get("number")
        for held in self.blocks.values():  # one that was released already says so
            is_it = number is not None and held.acquire.attributes.get("number") == number
            if is_it and held.life.state is State.RELEASED:
                held.step(Event.PUSH if is_push else Event.POP)
        if not queue:
            raise RuleBroken(
                codes.BLOCK_STATE,
                f"`{op.buffer.name_hint}` has no block that could be "
                f"{'pushed' if is_push else 'popped'} here",
                helps=("release each block once, by push() after reserve(), pop() after wait()",),
            )
        if number is not None and queue[0].acquire.attributes.get("number") != number:
            raise _release_order(queue[0])
        oldest = queue.pop(0)
        if oldest.life.state is State.MUST_WRITE and _is_multicast_to(op.buffer):
            oldest.life.state = State.MUST_READ  # another node has written it, as far as is known
        oldest.step(Event.PUSH if is_push else Event.POP)

    def hand_over(self, op: ttl.HandOverOp) -> None:
        end = op.buffer, ttl.ReserveOp if op.is_wait is None else ttl.WaitOp
        queue, number = self.queues.get(end, []), op.attributes["number"]
        if not queue or queue[0].acquire.attributes.get("number") != number:
            raise RuleBroken(
                codes.NOT_COMPILED_YET,
                "the compiler does not translate a loop that hands on a block which is not the "
                "oldest that the kernel holds yet",
                helps=("give the loop bounds known when compiling",),
            )
        self.handed.setdefault(end, []).append(queue.pop(0))

    def hand_over_transfer(self, op: ttl.HandOverTransferOp) -> None:
        self._refuse_reuse(op.transfer)
        self.handed_transfers.append(self._first_name(op.transfer))

    def resume_transfer(self, op: ttl.ResumeTransferOp) -> None:
        self.first_names[op.transfer] = self.handed_transfers.pop(0)

    def _first_name(self, transfer: SSAValue) -> SSAValue:
        return self.first_names.get(transfer, transfer)

    def store(self, op: ttl.StoreOp) -> None:
        self.read(op.value, op)
        held = self.blocks[op.view]
        if REPLACES in op.attributes and held.life.state is State.MUST_READ:
            held.life.state = State.READ_WRITE
        held.step(Event.STORE if op.accumulate is None else Event.ACCUMULATE)

    def start_multicast(self, op: ttl.MulticastOp) -> None:
        self.blocks[op.source].step(Event.COPY_FROM)
        if op.is_loopback:
            self.blocks[op.destination].step(Event.COPY_INTO)
        self.under_way[op.transfer] = op
        self.waited.discard(op.transfer)

    def start_copy(self, op: ttl.CopyOp) -> None:
        if op.source in self.blocks:
            self.blocks[op.source].step(Event.COPY_FROM)
        if op.destination in self.blocks:
            self.blocks[op.destination].step(Event.COPY_INTO)
        self.under_way[op.transfer] = op
        self.waited.discard(op.transfer)

    def wait_transfer(self, op: ttl.WaitTransferOp) -> None:
        self._refuse_reuse(op.transfer)
        self._finish(op.transfer)

    def _refuse_reuse(self, transfer: SSAValue) -> None:
        transfer = self._first_name(transfer)
        how = None
        if transfer in self.waited:
            how, help_text = "was waited for already", "wait once for each ttl.copy()"
        elif any(transfer in (added or ()) for added in self.groups.values()):
            how, help_text = "was added to a group", "call wait_all() on the group, once"
        if how is not None:
            raise RuleBroken(
                codes.TRANSFER_REUSED, f"this transfer {how}", helps=(help_text,)
            )

    def _finish(self, transfer: SSAValue) -> None:
        transfer = self._first_name(transfer)
        self.waited.add(transfer)
        if isinstance(transfer.owner, ttl.MulticastOp):
            self._finish_multicast(transfer.owner)
            return
        for copy in ttl.copies_of(transfer):
            if self.under_way.pop(copy.transfer, None) is None and copy.transfer is not transfer:
                continue  # the branch with the copy was not taken
            if copy.source in self.blocks:
                self.blocks[copy.source].step(Event.COPY_FROM_DONE)
            if copy.destination in self.blocks:
                self.blocks[copy.destination].step(Event.COPY_INTO_DONE)

    def _finish_multicast(self, op: ttl.MulticastOp) -> None:
        self.under_way.pop(op.transfer, None)
        self.blocks[op.source].step(Event.COPY_FROM_DONE)
        if op.is_loopback:
            self.blocks[op.destination].step(Event.COPY_INTO_DONE)

    def make_group(self, op: ttl.GroupOp) -> None:
        self.groups[op.result] = []

    def add_to_group(self, op: ttl.GroupAddOp) -> None:
        added = self._group(op.group, "add()")
        self._refuse_reuse(op.transfer)
        added.append(self._first_name(op.transfer))

    def wait_group(self, op: ttl.GroupWaitOp) -> None:
        added = self._group(op.group, "wait_all()")
        self.groups[op.group] = None
        for transfer in added:
            self._finish(transfer)

    def _group(self, group: SSAValue, call: str) -> list[SSAValue]:
        added = self.groups[group]
        if added is None:
            raise RuleBroken(
                codes.TRANSFER_REUSED,
                f"{call} on a group of transfers that was waited for already",
                helps=("make a new ttl.GroupTransfer()",),
            )
        return added

    def left_over(self, kernel: str) -> Diagnostic | None:
        """What the kernel should have finished before its end."""
        return self._not_waited(kernel) or self.still_held()

    def _not_waited(self, kernel: str) -> Diagnostic | None:
        if not self.under_way:
            return None
        copy = next(iter(self.under_way.values()))
        broken = RuleBroken(
            codes.TRANSFER_NOT_WAITED,
            f"`{kernel}` ended while a transfer was under way",
            helps=("call wait() on what ttl.copy() returns",),
        )
        return broken.at(span_of(copy.location), "this transfer is never waited for")

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


def _is_multicast_to(buffer: SSAValue) -> bool:
    """Do multicasts write blocks of this buffer on other nodes?"""
    reserves = [use.operation for use in buffer.uses if isinstance(use.operation, ttl.ReserveOp)]
    users = [(op.block, use.operation) for op in reserves for use in op.block.uses]
    return any(isinstance(op, ttl.MulticastOp) and op.destination is block for block, op in users)


def _release_order(oldest: _Held) -> RuleBroken:
    return RuleBroken(
        codes.RELEASE_ORDER,
        f"a block of `{oldest.acquire.buffer.name_hint}` is released while an older one is held",
        helps=("release the blocks of a dataflow buffer in the order they were acquired",),
        secondary=oldest.acquired_here(),
    )


# What loops and branches hand on is what a block holds.
READERS = (ttl.BlockMathOp, scf.ForOp, scf.WhileOp, scf.YieldOp, scf.ConditionOp)

_HANDLERS: dict[type[Operation], Callable[..., None]] = {
    ttl.ReserveOp: _Walk.acquire,
    ttl.WaitOp: _Walk.acquire,
    ttl.PushOp: _Walk.release,
    ttl.PopOp: _Walk.release,
    ttl.HandOverOp: _Walk.hand_over,
    ttl.HandOverTransferOp: _Walk.hand_over_transfer,
    ttl.ResumeTransferOp: _Walk.resume_transfer,
    ttl.StoreOp: _Walk.store,
    ttl.PrintOp: _Walk.show,
    ttl.CopyOp: _Walk.start_copy,
    ttl.MulticastOp: _Walk.start_multicast,
    ttl.WaitTransferOp: _Walk.wait_transfer,
    ttl.GroupOp: _Walk.make_group,
    ttl.GroupAddOp: _Walk.add_to_group,
    ttl.GroupWaitOp: _Walk.wait_group,
}

"""The blocks and transfers of a kernel on one path, and the effect of each operation.

The transitions are in semantics/block_protocol. A release is for the oldest block that its buffer's
end holds.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

from xdsl.dialects import scf
from xdsl.ir import Attribute, Operation, SSAValue

from ttl.diagnostics import Diagnostic, Label, RuleBroken, codes
from ttl.diagnostics.buffer_ends import published_twice
from ttl.dialects import ttl
from ttl.dialects.conditions import Facts
from ttl.dialects.locations import span_of
from ttl.semantics.block_protocol import (
    ACQUIRED_HERE,
    REPLACEABLE,
    TOLERATED,
    Event,
    Life,
    State,
    nothing_held,
    popped_for_older,
    transfer_reused,
    wrong_release,
)
from ttl.semantics.printing import printed_unset

from ..module_pass import UNREAD, users_of


@dataclass(slots=True)
class _Held:
    """A block and its state."""

    acquire: ttl.AcquireOp
    life: Life
    copy_op: Operation | None = None  # the last one started with it
    is_past: bool = False  # from an earlier iteration
    is_owed: bool = False  # popped with a younger block, own pop still due

    @property
    def number(self) -> Attribute | None:
        return self.acquire.attributes.get("number")

    def __str__(self) -> str:
        return f"the block of `{self.acquire.buffer.name_hint}`"

    def step(self, event: Event, place: Operation | None = None) -> Diagnostic | None:
        """Return a diagnostic, there or at the acquire, for a step that the chip tolerates."""
        following = TOLERATED.get((self.life.state, event))
        try:
            self.life.step(event, self)
        except RuleBroken as broken:
            if following is None:
                raise broken.with_labels(*self.history()) from None
            self.life.state = following
            if place is not None:
                return broken.with_labels(*self.history()).at(span_of(place.location))
            return broken.at(span_of(self.acquire.location), ACQUIRED_HERE)
        return None

    def forget(self, op: Operation) -> None:
        """Accept that earlier contents were not read."""
        in_tensor = isinstance(op, ttl.PopOp) and ttl.is_tensor_backed(op.buffer)
        if (UNREAD in op.attributes or in_tensor) and self.life.state is State.MUST_READ:
            self.life.state = State.READ_WRITE

    def copy(self) -> _Held:
        life = Life(self.life.state)
        life.transfers_reading = self.life.transfers_reading
        return _Held(self.acquire, life, self.copy_op, self.is_past, self.is_owed)

    def acquire_label(self) -> tuple[Label, ...]:
        return _label(self.acquire, ACQUIRED_HERE)

    def history(self) -> tuple[Label, ...]:
        in_flight = self.life.state in (State.READ_BY_TRANSFERS, State.WRITTEN_BY_TRANSFER)
        copy = self.copy_op if in_flight else None
        started = () if copy is None else _label(copy, "the transfer started here")
        return (*self.acquire_label(), *started)


def _label(op: Operation, text: str) -> tuple[Label, ...]:
    span = span_of(op.location)
    return (Label(span, text),) if span is not None else ()


Queues = dict[ttl.End, list[_Held]]  # blocks held at each end of a buffer, oldest first


@dataclass(slots=True)
class BlockWalk:
    """The state of one path."""

    blocks: dict[SSAValue, _Held] = field(default_factory=dict)
    queues: Queues = field(default_factory=dict)
    under_way: dict[SSAValue, ttl.CopyOp | ttl.MulticastOp] = field(default_factory=dict)
    waited: set[SSAValue] = field(default_factory=set)
    groups: dict[SSAValue, list[SSAValue] | None] = field(default_factory=dict)  # None: waited for
    restarted: set[SSAValue] = field(default_factory=set)  # in a group since the last iteration
    handed_over: Queues = field(default_factory=dict)
    handed_transfers: list[SSAValue] = field(default_factory=list)
    first_names: dict[SSAValue, SSAValue] = field(default_factory=dict)  # of handed transfers
    facts: Facts = field(default_factory=dict)
    published: dict[SSAValue, int] = field(default_factory=dict)  # count by buffer
    tolerated: Diagnostic | None = None  # in the last step

    def take_tolerated(self) -> Diagnostic | None:
        found, self.tolerated = self.tolerated, None
        return found

    def known(self) -> tuple[SSAValue, ...]:
        return (*self.blocks, *self.waited, *self.under_way)

    def summary(self, known: tuple[SSAValue, ...]) -> Hashable:
        """Return states of blocks and transfers, and how many blocks each end holds."""
        states = [
            self.blocks[value].life.state if value in self.blocks else value in self.waited
            for value in known
        ]
        held = frozenset((end, len(queue)) for end, queue in self.queues.items() if queue)
        return tuple(states), held, len(self.under_way), tuple(self.published.items())

    def copy(self, facts: Facts) -> BlockWalk:
        lives: dict[int, _Held] = {}

        def copy_once(held: _Held) -> _Held:
            return lives.get(id(held)) or lives.setdefault(id(held), held.copy())

        def copy_queues(queues: Queues) -> Queues:
            return {end: [copy_once(held) for held in queue] for end, queue in queues.items()}

        return BlockWalk(
            {value: copy_once(held) for value, held in self.blocks.items()},
            copy_queues(self.queues),
            dict(self.under_way),
            set(self.waited),
            {group: None if t is None else list(t) for group, t in self.groups.items()},
            set(self.restarted),
            copy_queues(self.handed_over),
            list(self.handed_transfers),
            dict(self.first_names),
            facts,
            dict(self.published),
        )

    def signature(self) -> Hashable:
        return (
            tuple(
                (value, held.life.state, held.life.transfers_reading)
                for value, held in self.blocks.items()
            ),
            _acquires(self.queues),
            tuple(self.under_way),
            frozenset(self.waited),
            tuple((group, t is None or tuple(t)) for group, t in self.groups.items()),
            frozenset(self.restarted),
            _acquires(self.handed_over),
            tuple(self.handed_transfers),
            tuple(self.facts.items()),
            tuple(self.published.items()),
        )

    def step(self, op: Operation) -> None:
        handler = HANDLERS.get(type(op))
        if handler is not None:
            handler(self, op)
        elif isinstance(op, READERS):
            for value in op.operands:
                self.read(value)

    def read(self, value: SSAValue) -> None:
        if value in self.blocks:
            self.blocks[value].step(Event.READ)

    def show(self, op: ttl.PrintOp) -> None:
        """Note a block without data; printing changes nothing."""
        for value in op.values:
            held = self.blocks.get(value)
            if held is not None and (unset := printed_unset(held, held.life.state)) is not None:
                self.tolerated = unset.at(span_of(op.location))

    def is_unset(self, op: ttl.PrintOp) -> bool:
        held = [self.blocks[value] for value in op.values if value in self.blocks]
        return any(printed_unset(each, each.life.state) is not None for each in held)

    def acquire(self, op: ttl.AcquireOp) -> None:
        if ttl.is_resumed(op):
            held = self.handed_over[ttl.end_of(op)].pop(0)
            held.acquire = op
        else:
            state = State.MUST_WRITE if isinstance(op, ttl.ReserveOp) else State.MUST_READ
            held = _Held(op, Life(state))
        for other in self.blocks.values():
            other.is_past = other.is_past or (other.acquire is op and other is not held)
        self.blocks[op.block] = held
        self.queues.setdefault(ttl.end_of(op), []).append(held)

    def release(self, op: ttl.ReleaseOp) -> None:
        is_push = isinstance(op, ttl.PushOp)
        event = Event.PUSH if is_push else Event.POP
        queue, number = self.queues.get(ttl.end_of(op), []), op.attributes.get("number")
        for held in self.blocks.values():  # report one that was released already
            if number is None or held.number != number or held.is_past:
                continue
            if held.life.state is State.RELEASED and not held.is_owed:
                held.step(event)
            if isinstance(held.acquire, ttl.ReserveOp) is not is_push:
                raise wrong_release(held, is_push, held.acquire_label())
        if not queue:
            raise nothing_held(op.buffer.name_hint or "", is_push)
        oldest = queue.pop(0 if number is None else self._younger(queue, op))
        if oldest.is_owed:
            oldest.is_owed = False
            return
        if oldest.life.state is State.MUST_WRITE and _is_multicast_to(op.buffer):
            oldest.life.state = State.MUST_READ  # presumably another node has written it
        if ttl.PUBLISHED in op.attributes:
            self._publish(op)
            oldest.life.state = State.MUST_READ
        oldest.forget(op)
        try:
            self.tolerated = oldest.step(event) or self.tolerated
        except RuleBroken as broken:
            raise broken.with_helps(*_guard(oldest)) from None

    def _publish(self, op: ttl.ReleaseOp) -> None:
        type, count = op.buffer.type, self.published.get(op.buffer, 0)
        assert isinstance(type, ttl.DataflowBufferType)
        if count == type.block_count.value.data:
            raise published_twice(op.buffer.name_hint or "")
        self.published[op.buffer] = count + 1

    def _younger(self, queue: list[_Held], op: ttl.ReleaseOp) -> int:
        """Return the position of the meant block; the chip pops older ones, which are lost."""
        numbers = [held.number for held in queue]
        number = op.attributes["number"]
        position = numbers.index(number) if number in numbers else -1
        older = [held for held in queue[:position] if not held.is_owed]
        is_pop = isinstance(op, ttl.PopOp)
        if position < 0 or (older and not is_pop):
            raise _release_order(queue[0])
        for held in older:
            if held.life.state not in REPLACEABLE:
                raise _release_order(held)
            held.life.state, held.is_owed = State.RELEASED, True
            name = op.buffer.name_hint or ""
            broken = popped_for_older(name, held.acquire_label())
            self.tolerated = broken.at(span_of(op.location))
        return position

    def hand_over(self, op: ttl.HandOverOp) -> None:
        queue = self.queues.get(ttl.end_of(op), [])
        if not queue or queue[0].number != op.attributes["number"]:
            raise codes.NOT_COMPILED_YET.broken(
                "the compiler does not translate a loop that carries a block which is not the "
                "oldest that the kernel holds yet",
                "release the blocks in the order in which they were acquired",
            )
        self.handed_over.setdefault(ttl.end_of(op), []).append(queue.pop(0))

    def hand_over_transfer(self, op: ttl.HandOverTransferOp) -> None:
        self._refuse_reuse(op.transfer)
        self.handed_transfers.append(self._first_name(op.transfer))

    def resume_transfer(self, op: ttl.ResumeTransferOp) -> None:
        self.first_names[op.transfer] = self.handed_transfers.pop(0)

    def _first_name(self, transfer: SSAValue) -> SSAValue:
        return self.first_names.get(transfer, transfer)

    def store(self, op: ttl.StoreOp) -> None:
        self.read(op.value)
        held = self.blocks[op.view]
        held.forget(op)
        self.tolerated = held.step(Event.STORE if op.accumulate is None else Event.ACCUMULATE, op)

    def read_element(self, op: ttl.ReadElementOp) -> None:
        self.blocks[op.block].step(Event.READ_ELEMENT)

    def write_element(self, op: ttl.WriteElementOp) -> None:
        self.blocks[op.block].step(Event.WRITE_ELEMENT)

    def start_multicast(self, op: ttl.MulticastOp) -> None:
        self.blocks[op.source].step(Event.COPY_FROM)
        if op.is_loopback:
            self.blocks[op.destination].step(Event.COPY_INTO)
        self._start(op)

    def start_copy(self, op: ttl.CopyOp) -> None:
        for block, event in ((op.source, Event.COPY_FROM), (op.destination, Event.COPY_INTO)):
            if (held := self.blocks.get(block)) is not None:
                held.step(event)
                held.copy_op = op
        if self._is_in_a_group(op.transfer):
            self.restarted.add(op.transfer)
        self._start(op)

    def _start(self, op: ttl.CopyOp | ttl.MulticastOp) -> None:
        self.under_way[op.transfer] = op
        # It also has the name it gets after the branch or callback that starts it.
        again = {each for each in self.waited if op in ttl.copies_of(each)}
        self.waited -= {op.transfer, *again}

    def _is_in_a_group(self, transfer: SSAValue) -> bool:
        return any(transfer in (added or ()) for added in self.groups.values())

    def wait_transfer(self, op: ttl.WaitTransferOp) -> None:
        if self._is_waited_again(op.transfer):
            broken = transfer_reused(was_waited_for=True, is_harmless=True)
            self.tolerated = broken.at(span_of(op.location))
            return
        self._refuse_reuse(op.transfer)
        self.restarted.discard(self._first_name(op.transfer))
        self._finish(op.transfer)

    def _is_waited_again(self, transfer: SSAValue) -> bool:
        """Is there nothing left to wait for? A pipe may have another message."""
        transfer = self._first_name(transfer)
        return transfer in self.waited and all(
            copy.pipe is None for copy in ttl.copies_of(transfer)
        )

    def _refuse_reuse(self, transfer: SSAValue) -> None:
        transfer = self._first_name(transfer)
        was_waited_for = transfer in self.waited
        is_in_a_group = transfer not in self.restarted and self._is_in_a_group(transfer)
        if was_waited_for or is_in_a_group:
            raise transfer_reused(was_waited_for, is_harmless=False)

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
        self.restarted.discard(added[-1])

    def wait_group(self, op: ttl.GroupWaitOp) -> None:
        added = self._group(op.group, "wait_all()")
        self.groups[op.group] = None
        for transfer in added:
            self._finish(transfer)

    def _group(self, group: SSAValue, call: str) -> list[SSAValue]:
        added = self.groups[group]
        if added is None:
            raise codes.TRANSFER_REUSED.broken(
                f"{call} on a group of transfers that was waited for already",
                "make a new ttl.GroupTransfer()",
            )
        return added

    def find_leftover(self, kernel: str) -> Diagnostic | None:
        """Return what the kernel did not finish before its end."""
        return self._not_waited(kernel) or self._still_held()

    def _not_waited(self, kernel: str) -> Diagnostic | None:
        if not self.under_way:
            return None
        copy = next(iter(self.under_way.values()))
        broken = codes.TRANSFER_NOT_WAITED.broken(
            f"`{kernel}` ended while a transfer was under way",
            "call wait() on what ttl.copy() returns",
        )
        return broken.at(span_of(copy.location), "this transfer is never waited for")

    def _still_held(self) -> Diagnostic | None:
        held = next((block for queue in self.queues.values() for block in queue), None)
        if held is None:
            return None
        call = "push" if isinstance(held.acquire, ttl.ReserveOp) else "pop"
        broken = codes.BLOCK_NOT_RELEASED.broken(
            f"{held} is not released", f"call {call}() on it, or acquire it in a `with`"
        )
        return broken.at(span_of(held.acquire.location), "acquired here and never released")


def _acquires(queues: Queues) -> Hashable:
    return tuple((end, tuple(held.acquire for held in queue)) for end, queue in queues.items())


def _is_multicast_to(buffer: SSAValue) -> bool:
    """Do multicasts write blocks of this buffer on other nodes?"""
    blocks = [op.block for op in users_of(buffer, ttl.ReserveOp)]
    return any(op.destination is b for b in blocks for op in users_of(b, ttl.MulticastOp))


def _guard(block: _Held) -> tuple[str, ...]:
    """Suggest a guard for an unwritten block that a pipe should fill."""
    if block.life.state is not State.MUST_WRITE:
        return ()
    for op in users_of(block.acquire.block, ttl.CopyOp):
        if isinstance(op.source.type, ttl.PipeType):
            net = op.source.type.net.root_reference.data
            return (f"if only receivers of `{net}` get it, write `if {net}.is_dst():` around it",)
    return ()


def _release_order(oldest: _Held) -> RuleBroken:
    return codes.RELEASE_ORDER.broken(
        f"a block of `{oldest.acquire.buffer.name_hint}` is released while an older one is held",
        "release the blocks of a dataflow buffer in the order they were acquired",
        secondary=oldest.acquire_label(),
    )


# Loops and branches carry contents of blocks.
READERS = (ttl.BlockMathOp, scf.ForOp, scf.WhileOp, scf.YieldOp, scf.ConditionOp)

HANDLERS: dict[type[Operation], Callable[..., None]] = {
    ttl.ReserveOp: BlockWalk.acquire,
    ttl.WaitOp: BlockWalk.acquire,
    ttl.PushOp: BlockWalk.release,
    ttl.PopOp: BlockWalk.release,
    ttl.HandOverOp: BlockWalk.hand_over,
    ttl.HandOverTransferOp: BlockWalk.hand_over_transfer,
    ttl.ResumeTransferOp: BlockWalk.resume_transfer,
    ttl.StoreOp: BlockWalk.store,
    ttl.ReadElementOp: BlockWalk.read_element,
    ttl.WriteElementOp: BlockWalk.write_element,
    ttl.PrintOp: BlockWalk.show,
    ttl.CopyOp: BlockWalk.start_copy,
    ttl.MulticastOp: BlockWalk.start_multicast,
    ttl.WaitTransferOp: BlockWalk.wait_transfer,
    ttl.GroupOp: BlockWalk.make_group,
    ttl.GroupAddOp: BlockWalk.add_to_group,
    ttl.GroupWaitOp: BlockWalk.wait_group,
}

"""What a kernel does that other kernels notice, as the walk records it.

An event is a tuple: its kind, what it acts on, the operation it came from, then what else the kind
needs. Buffers, pipes, semaphores and nodes are numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from xdsl.ir import Operation

from ttl.diagnostics import RuleBroken, Span
from ttl.dialects import ttl
from ttl.dialects.locations import span_of
from ttl.semantics.nodes import NodePlace, nodes_at

from ..buffer_ends import buffer_name
from .skeleton import Builder, MakeStatement
from .statements import (
    Body,
    CannotEvaluate,
    Emit,
    Items,
    Repeat,
    Slice,
    Statement,
    Walk,
    assign,
    run_body,
)
from .symbolic import UNKNOWN

Event = tuple[Any, ...]
Node = tuple[int, ...]
SEMAPHORE_VALUES = 1 << 32


class Kind(IntEnum):
    RESERVE = 0  # buffer
    PUSH = 1
    WAIT = 2
    POP = 3
    POST = 4  # pipe, op, slot of the transfer
    SEND = 5
    FINISH = 6  # slot
    NEW_GROUP = 7  # group
    ADD = 8  # group, op, slot
    FINISH_GROUP = 9  # group
    SEMAPHORE_WAIT = 10  # semaphore, op, value, at least?
    SEMAPHORE_SET = 11  # semaphore, op, value, nodes
    SEMAPHORE_INC = 12


BUFFER_KINDS = {
    ttl.ReserveOp: Kind.RESERVE,
    ttl.PushOp: Kind.PUSH,
    ttl.WaitOp: Kind.WAIT,
    ttl.PopOp: Kind.POP,
}


@dataclass(frozen=True, slots=True)
class Pipe:
    """A pipe of a net, by its place in the declaration."""

    net: str
    number: int  # in its net
    source: Node
    receivers: tuple[Node, ...]
    name: str
    span: Span | None


class Names:
    """The numbers of what the module declares."""

    def __init__(self, grid: tuple[int, int], buffers: list[str], semaphores: list[str]):
        self.grid = grid
        self.nodes: list[Node] = [(x, y) for y in range(grid[1]) for x in range(grid[0])]
        self.node_numbers = {node: number for number, node in enumerate(self.nodes)}
        self.buffers = {name: number for number, name in enumerate(buffers)}
        self.semaphores = {name: number for number, name in enumerate(semaphores)}
        self.pipes: list[Pipe] = []
        self.nets: dict[str, range] = {}  # the numbers of its pipes
        self._roles: dict[tuple[str, str, Node], list[int]] = {}

    def add_net(self, net: ttl.DeclarePipeNetOp) -> None:
        name, first = net.sym_name.data, len(self.pipes)
        written = net.written
        for number, pipe in enumerate(net.nodes):
            text, span = written[number] if written else (pipe_name(pipe), span_of(net.location))
            for role in ("src", "dst"):
                for node in pipe.nodes_of(role):
                    self._roles.setdefault((name, role, node), []).append(first + number)
            self.pipes.append(Pipe(name, number, pipe.source, tuple(pipe.receivers), text, span))
        self.nets[name] = range(first, len(self.pipes))

    def with_role(self, net: str, role: str, node: Node) -> list[int]:
        """The pipes of a net in which the node has the role."""
        return self._roles.get((net, role, node), [])


def pipe_name(pipe: ttl.PipeNodes) -> str:
    """As one would write it: (0, 0) -> (1:4, 0)."""
    if pipe.first == pipe.last:
        return f"{pipe.source} -> {pipe.first}"
    if not pipe.is_rectangle:
        return f"{pipe.source} -> {pipe.receivers[0]} to {pipe.receivers[-1]}"
    ends = [
        str(low) if low == high else f"{low}:{high + 1}"
        for low, high in zip(pipe.first, pipe.last, strict=True)
    ]
    return f"{pipe.source} -> ({', '.join(ends)})"


# Statements ---------------------------------------------------------------------------------------


@dataclass(slots=True)
class ForEachPipe(Statement):
    op: ttl.ForEachPipeOp
    names: Names
    pipe: int
    starts: tuple[int, ...]
    carried: tuple[int, ...]
    yields: tuple[int, ...]
    results: tuple[int, ...]
    body: Body

    def run(self, walk: Walk) -> None:
        values = walk.values
        current = [values[register] for register in self.starts]
        net = self.op.net.root_reference.data
        for number in self.names.with_role(net, self.op.ROLE, walk.node):
            walk.budget.spend(len(self.body))
            walk.goes(True)
            values[self.pipe] = number
            assign(values, self.carried, current)
            run_body(self.body, walk)
            current = [values[register] for register in self.yields]
        walk.goes(False)
        assign(values, self.results, current)


@dataclass(slots=True)
class PipeValue(Statement):
    """A number that differs between the pipes of a net."""

    names: Names
    pipe: int
    numbers: tuple[int, ...]
    result: int

    def run(self, walk: Walk) -> None:
        pipe = self.names.pipes[walk.values[self.pipe]]
        walk.values[self.result] = self.numbers[pipe.number]


@dataclass(slots=True)
class PipeCount(Statement):
    op: ttl.PipeCountOp
    names: Names
    result: int

    def run(self, walk: Walk) -> None:
        net, role = self.op.net.root_reference.data, self.op.role.data
        walk.values[self.result] = len(self.names.with_role(net, role, walk.node))


@dataclass(slots=True)
class LocalPipe(Statement):
    op: ttl.LocalPipeOp
    names: Names
    place: int
    result: int

    def run(self, walk: Walk) -> None:
        assert isinstance(self.op.result.type, ttl.PipeType)
        net, role = self.op.net.root_reference.data, self.op.result.type.role.data
        place = walk.values[self.place]
        walk.values[self.result] = self.names.with_role(net, role, walk.node)[place]


@dataclass(slots=True)
class HasRole(Statement):
    op: ttl.RoleOp
    names: Names
    result: int

    def run(self, walk: Walk) -> None:
        net = self.op.net.root_reference.data
        walk.values[self.result] = any(
            self.names.with_role(net, role, walk.node) for role in self.op.ROLES
        )


def known(walk: Walk, register: int, op: Operation) -> Any:
    """What the operation needs to know."""
    value = walk.values[register]
    if value is UNKNOWN:
        raise CannotEvaluate(op)
    return value


@dataclass(slots=True)
class StartPipe(Statement):
    """A send or a post. The transfer is known by a slot, a new one each time if any is carried."""

    op: ttl.CopyOp
    kind: Kind
    pipe: int
    result: int
    fresh: list[int] | None

    def run(self, walk: Walk) -> None:
        pipe = known(walk, self.pipe, self.op)
        slot: Any = self.result
        if self.fresh is not None:
            self.fresh[0] += 1
            slot = (self.result, self.fresh[0])
        walk.values[self.result] = slot
        walk.items.append((self.kind, pipe, self.op, slot))


@dataclass(slots=True)
class Constant(Statement):
    value: Any
    result: int

    def run(self, walk: Walk) -> None:
        walk.values[self.result] = self.value


@dataclass(slots=True)
class Finish(Statement):
    op: ttl.WaitTransferOp
    transfer: int

    def run(self, walk: Walk) -> None:
        slot = known(walk, self.transfer, self.op)
        if slot is not None:
            walk.items.append((Kind.FINISH, slot, self.op))


@dataclass(slots=True)
class Group(Statement):
    """What is done with a group of transfers."""

    kind: Kind
    op: Operation
    group: int
    transfer: int | None = None

    def run(self, walk: Walk) -> None:
        if self.transfer is None:
            walk.items.append((self.kind, self.group, self.op))
            return
        slot = known(walk, self.transfer, self.op)
        if slot is not None:
            walk.items.append((self.kind, self.group, self.op, slot))


@dataclass(slots=True)
class UseSemaphore(Statement):
    op: ttl.SemaphoreOp
    names: Names
    semaphore: int
    value: int
    place: tuple[int, ...]

    def run(self, walk: Walk) -> None:
        op = self.op
        value = known(walk, self.value, op) % SEMAPHORE_VALUES
        place = [known(walk, register, op) for register in self.place]
        if isinstance(op, ttl.SemaphoreWaitOp):
            at_least = op.at_least is not None
            walk.items.append((Kind.SEMAPHORE_WAIT, self.semaphore, op, value, at_least))
            return
        is_inc = isinstance(op, ttl.SemaphoreIncRemoteOp)
        kind = Kind.SEMAPHORE_INC if is_inc else Kind.SEMAPHORE_SET
        try:
            nodes = self._nodes(walk.number, place)
        except RuleBroken as broken:
            walk.faults.append((op, broken))
        else:
            walk.items.append((kind, self.semaphore, op, value, nodes))

    def _nodes(self, own: int, place: list[int]) -> tuple[int, ...]:
        if not place:
            return (own,)
        corners: NodePlace = (*place,)
        if len(place) == 4:
            corners = (slice(place[0], place[2] + 1), slice(place[1], place[3] + 1))
        return tuple([self.names.node_numbers[node] for node in nodes_at(corners, self.names.grid)])


# Making them --------------------------------------------------------------------------------------


def effects_of(names: Names, has_pipes: bool) -> dict[type[Operation], MakeStatement]:
    """How the operations that synchronize become statements."""

    def on_buffer(builder: Builder, op: Any) -> Statement:
        if ttl.is_resumed(op):  # another name for a block that the kernel holds
            return Constant(None, builder.register(op.block))
        return Emit((BUFFER_KINDS[type(op)], names.buffers[buffer_name(op.buffer)], op))

    def tensor_slice(builder: Builder, op: ttl.TensorSliceOp) -> Statement:
        return Slice(op, builder.all_registers(op.starts))

    found: dict[type[Operation], MakeStatement] = dict.fromkeys(BUFFER_KINDS, on_buffer)
    found[ttl.TensorSliceOp] = tensor_slice
    if has_pipes:
        found |= _pipe_effects(names) | _transfer_effects()
    return found | _semaphores(names)


def _pipe_effects(names: Names) -> dict[type[Operation], MakeStatement]:
    def each_pipe(builder: Builder, op: ttl.ForEachPipeOp) -> Statement:
        block = op.body.block
        pipe, *carried = block.args
        assert block.last_op is not None
        return ForEachPipe(
            op, names, builder.register(pipe), builder.all_registers(op.start),
            builder.all_registers(carried), builder.all_registers(block.last_op.operands),
            builder.all_registers(op.results), builder.body(block),
        )  # fmt: skip

    def pipe_value(builder: Builder, op: ttl.PipeValueOp) -> Statement:
        numbers = tuple([int(number) for number in op.values.get_values()])
        return PipeValue(names, builder.register(op.pipe), numbers, builder.register(op.result))

    def pipe_count(builder: Builder, op: ttl.PipeCountOp) -> Statement:
        return PipeCount(op, names, builder.register(op.result))

    def local_pipe(builder: Builder, op: ttl.LocalPipeOp) -> Statement:
        place, result = builder.register(op.place), builder.register(op.result)
        return LocalPipe(op, names, place, result)

    def role(builder: Builder, op: ttl.RoleOp) -> Statement:
        return HasRole(op, names, builder.register(op.result))

    return {
        **dict.fromkeys((ttl.IfSrcOp, ttl.IfDstOp), each_pipe),
        ttl.PipeValueOp: pipe_value,
        ttl.PipeCountOp: pipe_count,
        ttl.LocalPipeOp: local_pipe,
        **dict.fromkeys((ttl.IsSrcOp, ttl.IsDstOp, ttl.IsActiveOp), role),
    }


def _transfer_effects() -> dict[type[Operation], MakeStatement]:
    fresh = [0]

    def copy(builder: Builder, op: ttl.CopyOp) -> Statement:
        result = builder.register(op.transfer)
        if op.pipe is None:
            return Constant(None, result)
        kind = Kind.POST if op.pipe is op.source else Kind.SEND
        carries = fresh if builder.carries_transfers else None
        return StartPipe(op, kind, builder.register(op.pipe), result, carries)

    def no_transfer(builder: Builder, op: ttl.NoTransferOp | ttl.ResumeTransferOp) -> Statement:
        return Constant(None, builder.register(op.transfer))

    def finish(builder: Builder, op: ttl.WaitTransferOp) -> Statement:
        return Finish(op, builder.register(op.transfer))

    def new_group(builder: Builder, op: ttl.GroupOp) -> Statement:
        return Group(Kind.NEW_GROUP, op, builder.register(op.result))

    def add(builder: Builder, op: ttl.GroupAddOp) -> Statement:
        group, transfer = builder.register(op.group), builder.register(op.transfer)
        return Group(Kind.ADD, op, group, transfer)

    def finish_group(builder: Builder, op: ttl.GroupWaitOp) -> Statement:
        return Group(Kind.FINISH_GROUP, op, builder.register(op.group))

    return {
        ttl.CopyOp: copy,
        ttl.NoTransferOp: no_transfer,
        ttl.ResumeTransferOp: no_transfer,  # of a tensor: those of pipes are not carried
        ttl.WaitTransferOp: finish,
        ttl.GroupOp: new_group,
        ttl.GroupAddOp: add,
        ttl.GroupWaitOp: finish_group,
    }


def _semaphores(names: Names) -> dict[type[Operation], MakeStatement]:
    def use(builder: Builder, op: ttl.SemaphoreOp) -> Statement:
        number = names.semaphores[op.semaphore.root_reference.data]
        place = builder.all_registers(op.place)
        return UseSemaphore(op, names, number, builder.register(op.value), place)

    return dict.fromkeys(
        (
            ttl.SemaphoreWaitOp,
            ttl.SemaphoreSetOp,
            ttl.SemaphoreSetRemoteOp,
            ttl.SemaphoreIncRemoteOp,
            ttl.SemaphoreSetMulticastOp,
        ),
        use,
    )


# Reading ------------------------------------------------------------------------------------------


def counted(items: Items, times: int = 1) -> Iterator[tuple[Event, int]]:
    """Every event with how often it happens, in the order in which they happen first."""
    for item in items:
        if isinstance(item, Repeat):
            yield from counted(item.items, times * item.times)
        else:
            yield item, times


def events_of(items: Items, kind: Kind, what: int | None = None) -> Iterator[Event]:
    """Those of a kind, or those that act on one buffer, pipe or semaphore, once each."""
    for event, _ in counted(items):
        if event[0] is kind and what in (None, event[1]):
            yield event

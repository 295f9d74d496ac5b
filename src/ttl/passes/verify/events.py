"""Events: actions of a kernel that other kernels notice, as the walk records them.

An event is a tuple: its kind, the object it acts on, the operation it came from, then the kind's
other values. Buffers, pipes, semaphores and nodes are numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from itertools import count
from typing import Any, NamedTuple

from xdsl.ir import Operation

from ttl.diagnostics import RuleBroken, Span
from ttl.dialects import ttl
from ttl.dialects.locations import span_of
from ttl.semantics.nodes import NodePlace, nodes_at, without_role

from ..module_pass import terminator
from .skeleton import Builder, MakeStatement
from .statements import (
    CannotEvaluate,
    Items,
    Repeat,
    Statement,
    Walk,
    require_known,
    run_body,
    set_register,
)

Event = tuple[Any, ...]
Node = tuple[int, ...]
SEMAPHORE_VALUES = 1 << 32


class WalkEventKind(IntEnum):
    HAND_OVER = -3  # buffer: the oldest reserved block gets another name
    RESUME = -2  # buffer: the block's new name
    TOUCHED = -1  # like TOUCH: the transfer's end
    TOUCH = 0  # argument and op; if kernels may both read and write it
    RESERVE = 1  # buffer
    PUSH = 2
    WAIT = 3
    POP = 4
    POST = 5  # pipe, op, slot of the transfer
    SEND = 6
    FINISH = 7  # slot
    NEW_GROUP = 8  # group
    ADD = 9  # group, op, slot
    FINISH_GROUP = 10  # group
    SEMAPHORE_WAIT = 11  # semaphore, op, value, at least?
    SEMAPHORE_SET = 12  # semaphore, op, value, nodes
    SEMAPHORE_INC = 13


BUFFER_KINDS = {
    ttl.ReserveOp: WalkEventKind.RESERVE,
    ttl.PushOp: WalkEventKind.PUSH,
    ttl.WaitOp: WalkEventKind.WAIT,
    ttl.PopOp: WalkEventKind.POP,
}


@dataclass(frozen=True, slots=True)
class NumberedPipe:
    """A pipe of a net, with its position in the declaration."""

    net: str
    number: int  # in its net
    source: Node
    receivers: tuple[Node, ...]
    name: str
    span: Span | None
    is_own: bool = False  # its source may receive its data into the block it sends


class Names:
    """Numbers for the names that the module declares."""

    def __init__(self, grid: tuple[int, int], buffers: list[str], semaphores: list[str]):
        self.grid = grid
        self.nodes: list[Node] = [(x, y) for y in range(grid[1]) for x in range(grid[0])]
        self.node_numbers = {node: number for number, node in enumerate(self.nodes)}
        self.buffers = {name: number for number, name in enumerate(buffers)}
        self.semaphores = {name: number for number, name in enumerate(semaphores)}
        self.pipes: list[NumberedPipe] = []
        self.nets: dict[str, range] = {}  # numbers of the net's pipes
        self.net_spans: dict[str, Span | None] = {}
        self.touching: dict[Operation, int] = {}  # copies, and the arguments they touch
        self._roles: dict[tuple[str, str, Node], list[int]] = {}

    def add_net(self, net: ttl.DeclarePipeNetOp, to_itself: bool = False) -> None:
        name, first = net.sym_name.data, len(self.pipes)
        written = net.written
        for number, pipe in enumerate(net.nodes):
            text, span = written[number] if written else (pipe_name(pipe), span_of(net.location))
            for role in ("src", "dst"):
                for node in pipe.nodes_of(role):
                    self._roles.setdefault((name, role, node), []).append(first + number)
            is_own = to_itself and pipe.is_loopback
            receivers = tuple(pipe.receivers)
            self.pipes.append(
                NumberedPipe(name, number, pipe.source, receivers, text, span, is_own)
            )
        self.nets[name] = range(first, len(self.pipes))
        self.net_spans[name] = span_of(net.location)

    def pipes_with_role(self, net: str, role: str, node: Node) -> list[int]:
        """Return the pipes of a net in which the node has the role."""
        return self._roles.get((net, role, node), [])


def pipe_name(pipe: ttl.PipeNodes) -> str:
    """Return the pipe as programs write it: (0, 0) -> (1:4, 0)."""
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

Effects = dict[type[Operation], MakeStatement]


def effects_of(names: Names, has_pipes: bool) -> Effects:
    """Return how to turn synchronizing operations into statements."""

    def use_buffer(builder: Builder, op: Any) -> Statement | None:
        if ttl.is_resumed(op):  # another name for a held block
            if isinstance(op, ttl.ReserveOp) and has_pipes:
                return rename_block(builder, op)
            return _set_none(builder.register(op.block))
        return _record((BUFFER_KINDS[type(op)], names.buffers[ttl.buffer_name(op.buffer)], op))

    def rename_block(builder: Builder, op: Any) -> Statement | None:
        kind = WalkEventKind.RESUME if isinstance(op, ttl.ReserveOp) else WalkEventKind.HAND_OVER
        is_wait = kind is WalkEventKind.HAND_OVER and op.is_wait is not None
        return None if is_wait else _record((kind, names.buffers[ttl.buffer_name(op.buffer)], op))

    def tensor_slice(builder: Builder, op: ttl.TensorSliceOp) -> Statement:
        starts = builder.all_registers(op.starts)

        def cut(walk: Walk) -> None:
            values = walk.values
            walk.slices.append((op, tuple([values[start] for start in starts])))

        return cut

    found: Effects = dict.fromkeys(BUFFER_KINDS, use_buffer)
    found[ttl.TensorSliceOp] = tensor_slice
    if has_pipes:  # only pipes depend on the block's identity
        found[ttl.HandOverOp] = rename_block
        found |= _pipe_effects(names)
    if has_pipes or names.touching:
        found |= _transfer_effects(names)
    return found | _semaphore_effects(names)


def _record(event: Event) -> Statement:
    """Record an event that is the same on all nodes."""
    return lambda walk: walk.items.append(event)


def _set_none(register: int) -> Statement:
    """Set a transfer or a block to None: there is nothing to wait for."""
    return set_register(register, lambda walk: None)


class Touching(NamedTuple):
    """A transfer that touches a tensor; used in place of a slot."""

    tensor: int
    copy: Operation


def _touch(register: int, tensor: int, op: Operation) -> Statement:
    def run(walk: Walk) -> None:
        walk.values[register] = Touching(tensor, op)
        walk.items.append((WalkEventKind.TOUCH, tensor, op))

    return run


def _pipe_effects(names: Names) -> Effects:
    def each_pipe(builder: Builder, op: ttl.ForEachPipeOp) -> Statement:
        block, net = op.body.block, op.net.root_reference.data
        pipe, *arguments = block.args
        carried = builder.carried_registers(
            op.start, arguments, terminator(block).operands, op.results
        )
        number, body = builder.register(pipe), builder.body(block)

        def run(walk: Walk) -> None:
            numbers = names.pipes_with_role(net, op.ROLE, walk.node)
            for _ in carried.iterate(walk, number, numbers):
                walk.budget.spend(len(body))
                run_body(body, walk)

        return run

    def pipe_value(builder: Builder, op: ttl.PipeValueOp) -> Statement:
        pipe = builder.register(op.pipe)
        numbers = tuple([int(number) for number in op.values.get_values()])
        return set_register(
            builder.register(op.result), lambda walk: numbers[names.pipes[walk.values[pipe]].number]
        )

    def pipe_count(builder: Builder, op: ttl.PipeCountOp) -> Statement:
        net, role, result = op.net.root_reference.data, op.role.data, builder.register(op.result)
        return set_register(result, lambda walk: len(names.pipes_with_role(net, role, walk.node)))

    def local_pipe(builder: Builder, op: ttl.LocalPipeOp) -> Statement:
        assert isinstance(op.result.type, ttl.PipeType)
        net, role = op.net.root_reference.data, op.result.type.role.data
        place = builder.register(op.place)

        def find(walk: Walk) -> int:
            numbers, at = (
                names.pipes_with_role(net, role, walk.node),
                require_known(walk, place, op),
            )
            if op.written is not None and at >= len(numbers):
                walk.faults.append((op, without_role(op.written.data, role)))
                raise CannotEvaluate(op)
            return numbers[int(at)]

        return set_register(builder.register(op.result), find)

    def has_role(builder: Builder, op: ttl.RoleOp) -> Statement:
        net = op.net.root_reference.data
        return set_register(
            builder.register(op.result),
            lambda walk: any(names.pipes_with_role(net, role, walk.node) for role in op.ROLES),
        )

    return {
        **dict.fromkeys((ttl.IfSrcOp, ttl.IfDstOp), each_pipe),
        ttl.PipeValueOp: pipe_value,
        ttl.PipeCountOp: pipe_count,
        ttl.LocalPipeOp: local_pipe,
        **dict.fromkeys((ttl.IsSrcOp, ttl.IsDstOp, ttl.IsActiveOp), has_role),
    }


def _transfer_effects(names: Names) -> Effects:
    """Give a transfer through a pipe a slot, a new one each time if any is carried; others get None
    or Touching."""
    slots = count(1)

    def start(builder: Builder, op: ttl.CopyOp) -> Statement:
        result = builder.register(op.transfer)
        if op.pipe is None:
            tensor = names.touching.get(op)
            return _set_none(result) if tensor is None else _touch(result, tensor, op)
        kind = WalkEventKind.POST if op.pipe is op.source else WalkEventKind.SEND
        pipe, is_fresh = builder.register(op.pipe), builder.carries_transfers

        def run(walk: Walk) -> None:
            number = require_known(walk, pipe, op)
            slot = walk.values[result] = (result, next(slots)) if is_fresh else result
            walk.items.append((kind, number, op, slot))

        return run

    def finish(builder: Builder, op: ttl.WaitTransferOp) -> Statement:
        transfer = builder.register(op.transfer)

        def run(walk: Walk) -> None:
            slot = require_known(walk, transfer, op)
            if isinstance(slot, Touching):
                walk.items.append((WalkEventKind.TOUCHED, *slot))
            elif slot is not None:
                walk.items.append((WalkEventKind.FINISH, slot, op))

        return run

    def add(builder: Builder, op: ttl.GroupAddOp) -> Statement:
        group, transfer = builder.register(op.group), builder.register(op.transfer)

        def run(walk: Walk) -> None:
            slot = require_known(walk, transfer, op)
            if slot is not None and not isinstance(slot, Touching):
                walk.items.append((WalkEventKind.ADD, group, op, slot))

        return run

    return {
        ttl.CopyOp: start,
        ttl.NoTransferOp: lambda builder, op: _set_none(builder.register(op.transfer)),
        # A tensor's transfer: those of pipes are not carried.
        ttl.ResumeTransferOp: lambda builder, op: _set_none(builder.register(op.transfer)),
        ttl.WaitTransferOp: finish,
        ttl.GroupOp: lambda builder, op: _record(
            (WalkEventKind.NEW_GROUP, builder.register(op.result), op)
        ),
        ttl.GroupAddOp: add,
        ttl.GroupWaitOp: lambda builder, op: _record(
            (WalkEventKind.FINISH_GROUP, builder.register(op.group), op)
        ),
    }


SEMAPHORE_KINDS = {
    ttl.SemaphoreWaitOp: WalkEventKind.SEMAPHORE_WAIT,
    ttl.SemaphoreSetOp: WalkEventKind.SEMAPHORE_SET,
    ttl.SemaphoreSetRemoteOp: WalkEventKind.SEMAPHORE_SET,
    ttl.SemaphoreIncRemoteOp: WalkEventKind.SEMAPHORE_INC,
    ttl.SemaphoreSetMulticastOp: WalkEventKind.SEMAPHORE_SET,
}


def _semaphore_effects(names: Names) -> Effects:
    def use(builder: Builder, op: ttl.SemaphoreOp) -> Statement:
        kind, number = SEMAPHORE_KINDS[type(op)], names.semaphores[op.semaphore.root_reference.data]
        value_register, place = builder.register(op.value), builder.all_registers(op.place)

        def run(walk: Walk) -> None:
            value = require_known(walk, value_register, op) % SEMAPHORE_VALUES
            corners = [require_known(walk, register, op) for register in place]
            if isinstance(op, ttl.SemaphoreWaitOp):
                walk.items.append((kind, number, op, value, op.at_least is not None))
                return
            try:
                nodes = _nodes(names, walk.number, corners)
            except RuleBroken as broken:
                walk.faults.append((op, broken))
            else:
                walk.items.append((kind, number, op, value, nodes))

        return run

    return dict.fromkeys(SEMAPHORE_KINDS, use)


def _nodes(names: Names, own: int, place: list[int]) -> tuple[int, ...]:
    """Return the nodes whose semaphore changes: this one, another, or all in a rectangle."""
    if not place:
        return (own,)
    corners: NodePlace = (*place,)
    if len(place) == 4:
        corners = (slice(place[0], place[2] + 1), slice(place[1], place[3] + 1))
    return tuple([names.node_numbers[node] for node in nodes_at(corners, names.grid)])


# Reading ------------------------------------------------------------------------------------------


def count_events(items: Items, times: int = 1) -> Iterator[tuple[Event, int]]:
    """Return every event with its count, in the order of first occurrence."""
    for item in items:
        if isinstance(item, Repeat):
            yield from count_events(item.items, times * item.times)
        else:
            yield item, times


def events_of(items: Items, kind: WalkEventKind, what: int | None = None) -> Iterator[Event]:
    """Return the events of a kind, or on one buffer, pipe or semaphore, once each."""
    for event, _ in count_events(items):
        if event[0] is kind and what in (None, event[1]):
            yield event

"""Pipes during one launch: a rendezvous of a send with the posts of all its receivers.

rule POST   copy(pipe, block) posts the receiver's block
rule SEND   copy(block, pipe) sends once every receiver of that transfer has posted
rule ORDER  the n-th send of a pipe meets the n-th post of each of its receivers
rule LATE   data moves when the send's wait or that receiver's wait returns, whichever is first

Nothing is kept in the pipe, and nothing survives the launch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from ttl.diagnostics import RuleBroken, codes
from ttl.language.described import described
from ttl.language.pipes import DstPipeIdentity, Pipe, PipeNet, Route, SrcPipeIdentity
from ttl.semantics.block_protocol import Event
from ttl.semantics.tensors import type_mismatch
from ttl.semantics.types import Shape
from ttl.trace import EventKind

from .block import SimBlock
from .place import Place, labels
from .transfers import SimTransfer

if TYPE_CHECKING:
    from .kernel import KernelRun


class PipeRun:
    """A pipe during one launch."""

    __slots__ = ("meetings", "name", "posted", "route", "sent")

    def __init__(self, route: Route):
        self.route = route
        self.name = f"pipe {route.pipe.name}"
        self.sent = 0
        self.posted = dict.fromkeys(route.receivers, 0)
        self.meetings: dict[int, Meeting] = {}  # those that are not complete

    def meeting(self, number: int) -> Meeting:  # rule ORDER
        known = self.meetings.get(number)
        if known is None:
            known = self.meetings[number] = Meeting(self, number)
        return known


class Meeting:
    """One transfer through a pipe: a send and a post of each receiver."""

    __slots__ = ("missing", "number", "pipe", "posts", "send", "sleepers")

    def __init__(self, pipe: PipeRun, number: int):
        self.pipe = pipe
        self.number = number
        self.missing = len(pipe.route.receivers) + 1
        self.send: PipeSend | None = None
        self.posts: list[PipeReceive] = []  # whose data has not moved
        self.sleepers: list[KernelRun] = []

    def arrive(self, kernel: KernelRun) -> None:
        self.missing -= 1
        if not self.missing:
            del self.pipe.meetings[self.number]
            if self.sleepers:
                kernel.simulation.ready.extend(self.sleepers)
                self.sleepers = []

    @property
    def missing_receivers(self) -> list[Shape]:
        posted = {post.kernel.coordinate for post in self.posts}
        return [node for node in self.pipe.route.receivers if node not in posted]

    def first(self) -> PipeTransfer | None:
        return self.send or (self.posts[0] if self.posts else None)


class PipeTransfer(SimTransfer):
    """A block on its way into a pipe or out of one."""

    __slots__ = ("meeting",)

    def __init__(self, kernel: KernelRun, block: SimBlock, meeting: Meeting, place: Place):
        super().__init__(kernel, block, place)
        self.meeting = meeting

    @property
    def subject(self) -> str:
        return self.meeting.pipe.name

    def can_wait(self) -> bool:
        if self.meeting.missing:
            self.kernel.poll(self)
        return not self.is_done and not self.meeting.missing

    def sleep_until_all_are_there(self) -> None:  # rule SEND
        kernel, meeting = self.kernel, self.meeting
        while meeting.missing:
            meeting.sleepers.append(kernel)
            kernel.sleep(self, meeting.pipe.name, 0)


class PipeSend(PipeTransfer):
    __slots__ = ()

    start_kind, end_kind = EventKind.PIPE_SEND, EventKind.PIPE_SEND_END

    def complete(self) -> None:
        meeting, block = self.meeting, self.block
        self.sleep_until_all_are_there()
        for post in meeting.posts:  # rule LATE: the source may be changed from now on
            post.take(block)
        meeting.posts = []
        meeting.send = None
        block.end_reading()


class PipeReceive(PipeTransfer):
    __slots__ = ("has_data",)

    start_kind, end_kind = EventKind.PIPE_RECEIVE, EventKind.PIPE_RECEIVE_END

    def __init__(self, kernel: KernelRun, block: SimBlock, meeting: Meeting, place: Place):
        super().__init__(kernel, block, meeting, place)
        self.has_data = False

    def complete(self) -> None:
        meeting = self.meeting
        self.sleep_until_all_are_there()
        if not self.has_data:
            assert meeting.send is not None
            self.take(meeting.send.block)
            meeting.posts.remove(self)
        self.block.step(Event.COPY_INTO_DONE)

    def take(self, source: SimBlock) -> None:
        self.block.take(source)
        self.has_data = True


class SourceRole(SrcPipeIdentity):
    """A pipe in if_src() of one kernel on one node."""

    __slots__ = ("kernel", "open_calls", "run")

    def __init__(self, run: PipeRun, kernel: KernelRun):
        super().__init__(run.route)
        self.run = run
        self.kernel = kernel
        self.open_calls = 0  # of functions given to if_src() that have this pipe


class ReceiverRole(DstPipeIdentity):
    """A pipe in if_dst() of one kernel on one node."""

    __slots__ = ("kernel", "open_calls", "run")

    def __init__(self, run: PipeRun, kernel: KernelRun):
        super().__init__(run.route)
        self.run = run
        self.kernel = kernel
        self.open_calls = 0


Role = SourceRole | ReceiverRole
Roles = tuple[list[SourceRole], list[ReceiverRole]]


class NetRun:
    """A net during one launch: which pipes start and end at a node."""

    __slots__ = ("at_receivers", "at_sources")

    def __init__(self, net: PipeNet, grid: Shape):
        self.at_sources: dict[Shape, list[PipeRun]] = {}
        self.at_receivers: dict[Shape, list[PipeRun]] = {}
        for route in net.routes(grid):
            run = PipeRun(route)
            self.at_sources.setdefault(route.source, []).append(run)
            for node in route.receivers:
                self.at_receivers.setdefault(node, []).append(run)

    def roles(self, kernel: KernelRun) -> Roles:
        node = kernel.coordinate
        return (
            [SourceRole(run, kernel) for run in self.at_sources.get(node, ())],
            [ReceiverRole(run, kernel) for run in self.at_receivers.get(node, ())],
        )


class NetRuns:
    """The nets of one launch, each made when a kernel first uses it."""

    __slots__ = ("_declared", "_grid", "_runs")

    def __init__(self, declared: tuple[PipeNet, ...], grid: Shape):
        self._declared = declared
        self._grid = grid
        self._runs: dict[int | PipeNet, NetRun] = {}

    def find(self, net: PipeNet) -> NetRun:
        key: int | PipeNet = net
        index = net.index
        # A body that is run for every node makes its nets for every node: those are one net.
        if index is not None and index < len(self._declared):
            key = index if self._declared[index].pipes == net.pipes else net
        run = self._runs.get(key)
        if run is None:
            run = self._runs[key] = NetRun(net, self._grid)
        return run


def call_for_each(roles: Iterable[Role], function: Callable[[Any], object], call: str) -> None:
    """What if_src() and if_dst() do."""
    for role in roles:
        role.open_calls += 1
        try:
            function(role)
        except TypeError as error:
            if error.__traceback__ is None or error.__traceback__.tb_next is not None:
                raise
            raise _wrong_function(call, function, error) from None  # the call itself failed
        finally:
            role.open_calls -= 1


def start_send(kernel: KernelRun, block: SimBlock, role: SourceRole, place: Place) -> PipeSend:
    _check_role(role, kernel, "if_src")
    if block.kernel is not kernel:
        raise block.used_by(kernel)
    run = role.run
    meeting = run.meeting(run.sent)
    send = PipeSend(kernel, block, meeting, place)
    _check_types(meeting, send)
    block.start_reading()
    run.sent += 1
    meeting.send = send
    meeting.arrive(kernel)
    return send


def start_receive(
    kernel: KernelRun, role: ReceiverRole, block: SimBlock, place: Place
) -> PipeReceive:
    _check_role(role, kernel, "if_dst")
    if block.kernel is not kernel:
        raise block.used_by(kernel)
    run, node = role.run, kernel.coordinate
    meeting = run.meeting(run.posted[node])
    receive = PipeReceive(kernel, block, meeting, place)
    _check_types(meeting, receive)
    block.step(Event.COPY_INTO)
    run.posted[node] += 1
    meeting.posts.append(receive)  # rule POST
    meeting.arrive(kernel)
    return receive


def _check_role(role: Role, kernel: KernelRun, call: str) -> None:
    if role.kernel is kernel and role.open_calls:
        return
    other = role.kernel is not kernel
    owner = f"kernel `{role.kernel.name}` on node {role.kernel.coordinate}"
    raise RuleBroken(
        codes.PIPE_ROLE,
        f"{role.run.name} is used "
        + (f"by another kernel than {owner}" if other else f"after its {call}() has ended"),
        helps=(f"use the pipe only in the function given to {call}(), while it runs",),
    )


def _check_types(meeting: Meeting, later: PipeTransfer) -> None:
    first = meeting.first()
    if first is None or first.block.type is later.block.type:  # types are made once
        return
    send, receive = (first, later) if isinstance(first, PipeSend) else (later, first)
    sends = isinstance(first, PipeSend)
    verb = "sends" if sends else "receives"
    raise type_mismatch(
        send.block.type,
        receive.block.type,
        f"{meeting.pipe.name} connects",
        labels([(first.place, f"node {first.kernel.coordinate} {verb} {first.block} here")]),
    )


def wrong_role(source: Any, destination: Any) -> RuleBroken | None:
    """What is wrong with a copy that has a pipe at one end, if it has one."""
    if isinstance(destination, ReceiverRole):
        message = f"this node receives from {destination.run.name}; it cannot send there"
        return RuleBroken(
            codes.PIPE_ROLE, message, helps=("in if_dst() write ttl.copy(pipe, block)",)
        )
    if isinstance(source, SourceRole):
        message = f"this node sends through {source.run.name}; it cannot receive from it"
        return RuleBroken(
            codes.PIPE_ROLE, message, helps=("in if_src() write ttl.copy(block, pipe)",)
        )
    for end, call in ((source, "if_dst"), (destination, "if_src")):
        if isinstance(end, (Pipe, PipeNet)):
            return RuleBroken(
                codes.PIPE_ROLE,
                f"ttl.copy() takes the pipe that {call}() gives, not a {type(end).__name__}",
                helps=(f"call {call}() of the pipe net with a function that makes the copy",),
            )
    return None


def _wrong_function(call: str, function: object, error: TypeError) -> RuleBroken:
    return RuleBroken(
        codes.WRONG_ARGUMENT,
        f"PipeNet.{call}() calls {described(function)} with one pipe: {error}"
        if callable(function)
        else f"PipeNet.{call}() takes a function, not {described(function)}",
        helps=(f"write `def f(pipe): ...` and {call}(f)",),
    )

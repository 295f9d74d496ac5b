"""Pipes during one launch: a rendezvous of a send with the posts of all its receivers.

rule POST   copy(pipe, block) posts the receiver's block
rule SEND   copy(block, pipe) sends once every receiver of that transfer has posted
rule ORDER  the n-th send of a pipe meets the n-th post of each of its receivers
rule LATE   data moves when the send's wait or that receiver's wait returns, whichever is first

Nothing is kept in the pipe, and nothing survives the launch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ttl.diagnostics import RuleBroken, codes
from ttl.language.pipes import Route, used_after_callback
from ttl.semantics.block_protocol import Event
from ttl.semantics.tensors import type_mismatch
from ttl.semantics.types import Shape
from ttl.trace import EventKind

from .block import SimBlock
from .place import Place, labels
from .transfers import SimTransfer

if TYPE_CHECKING:
    from .kernel import KernelRun
    from .nets import ReceiverRole, Role, SourceRole
    from .races import Races


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
                kernel.simulation.ready.extendleft(reversed(self.sleepers))
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
        # As SimTransfer does: programs make very many of them, and a call costs.
        self.kernel = kernel
        self.block = block
        self.place = place
        self.is_done = False
        self.group = None
        self.meeting = meeting

    @property
    def subject(self) -> str:
        return self.meeting.pipe.name

    def tell(self, races: Races, is_end: bool) -> None:
        races.at_pipe(self, is_end)

    def can_wait(self) -> bool:
        if self.meeting.missing:
            self.kernel.poll(self)
        return not self.is_done and not self.meeting.missing

    def sleep_until_all_are_there(self) -> None:  # rule SEND
        kernel, meeting = self.kernel, self.meeting
        while meeting.missing:
            meeting.sleepers.append(kernel)
            if kernel.recorder is not None:
                kernel.sleep(self, meeting.pipe.name, 0)
            else:  # the same, for the most common case
                kernel.waiting_for = self
                kernel.simulation.switch_to_next()
                kernel.waiting_for = None


class PipeSend(PipeTransfer):
    __slots__ = ()

    start_kind = EventKind.PIPE_SEND
    end_kind = EventKind.PIPE_SEND_END

    def complete(self) -> None:
        meeting, block = self.meeting, self.block
        self.sleep_until_all_are_there()
        for post in meeting.posts:  # rule LATE: the source may be changed from now on
            post.block.take(block)
        meeting.posts = []
        meeting.send = None
        block.end_reading()


class PipeReceive(PipeTransfer):
    __slots__ = ()

    start_kind = EventKind.PIPE_RECEIVE
    end_kind = EventKind.PIPE_RECEIVE_END

    def complete(self) -> None:
        meeting = self.meeting
        if meeting.missing:
            self.sleep_until_all_are_there()
        if meeting.send is not None:  # else the data came when it was waited for
            self.block.take(meeting.send.block)
            meeting.posts.remove(self)
        self.block.step(Event.COPY_INTO_DONE)


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
    if role.kernel is kernel:
        raise used_after_callback(role.run.name, call)
    owner = f"kernel `{role.kernel.name}` on node {role.kernel.coordinate}"
    raise RuleBroken(
        codes.PIPE_ROLE,
        f"{role.run.name} is used by another kernel than {owner}",
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

"""Pipes during one launch: a rendezvous of a send with the posts of all its receivers.

rule POST   copy(pipe, block) posts the receiver's block
rule SEND   copy(block, pipe) sends once every receiver of that transfer has posted
rule ORDER  the n-th send of a pipe meets the n-th post of each of its receivers
rule LATE   data moves when the send's wait or that receiver's wait returns, whichever is first
rule OWN    if no kernel can continue, a send that misses only its own node's post also counts as
            that post. The same kernel must receive later, into the very block it sent, which has
            the data. Anything else is a deadlock

A pipe stores nothing, and nothing survives the launch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ttl.diagnostics import RuleBroken, codes
from ttl.language.pipes import PipeNet, Route, used_after_callback
from ttl.semantics.block_protocol import COPY_FROM, COPY_FROM_DONE, COPY_INTO, COPY_INTO_DONE
from ttl.semantics.current_engine import running_engine
from ttl.semantics.tensors import type_mismatch
from ttl.semantics.types import BlockType, Shape
from ttl.trace import EventKind

from .block import SimBlock
from .place import Place, labels
from .recording import record_copy
from .transfers import SimTransfer

if TYPE_CHECKING:
    from .kernel import KernelRun
    from .nets import ReceiverRole, SourceRole
    from .races import Races


class PipeRun:
    """A pipe during one launch. `counts` are transfers so far: the source's, then receivers'."""

    __slots__ = ("counts", "meetings", "name", "net", "owed", "own_index", "route")

    def __init__(self, route: Route, net: PipeNet):
        self.net = net
        self.route = route
        is_loopback = route.source in route.receivers
        self.own_index = 1 + route.receivers.index(route.source) if is_loopback else 0
        self.owed: list[PipeSend] = []  # rule OWN: sends whose own receive is still due
        self.name = f"pipe {route.pipe.name}"
        self.counts = [0] * (1 + len(route.receivers))
        self.meetings: dict[int, Meeting] = {}  # incomplete ones


class PipeEnd:
    """A pipe on one of its nodes, for one kernel; `index` is the position of its count."""

    __slots__ = ("index", "kernel", "run")

    def __init__(self, run: PipeRun, kernel: KernelRun, index: int):
        self.run = run
        self.kernel = kernel
        self.index = index

    def wrong_use(self, kernel: KernelRun, call: str) -> RuleBroken:
        if self.kernel is kernel:
            return used_after_callback(self.run.name, call)
        owner = f"kernel `{self.kernel.name}` on node {self.kernel.coordinate}"
        return RuleBroken(
            codes.PIPE_ROLE,
            f"{self.run.name} is used by another kernel than {owner}",
            helps=(f"use the pipe only in the function given to {call}(), while it runs",),
        )


class Meeting:
    """A transfer through a pipe: a send and a post by each receiver, all of one type."""

    __slots__ = ("block_type", "missing", "number", "pipe", "posts", "send", "sleepers")

    def __init__(self, pipe: PipeRun, number: int, block_type: BlockType):
        self.pipe = pipe
        self.number = number
        self.block_type = block_type
        self.missing = len(pipe.counts)
        self.send: PipeSend | None = None
        self.posts: list[PipeReceive] = []  # posts whose data has not moved
        self.sleepers: list[KernelRun] = []

    def wake_sleepers(self, kernel: KernelRun) -> None:
        del self.pipe.meetings[self.number]
        if self.sleepers:
            kernel.ready.extendleft(reversed(self.sleepers))
            self.sleepers = []

    @property
    def missing_receivers(self) -> list[Shape]:
        posted = {post.kernel.coordinate for post in self.posts}
        return [node for node in self.pipe.route.receivers if node not in posted]

    def wrong_type(self, block: SimBlock) -> RuleBroken:
        """Report that the block's type differs from the type of the first block."""
        first = self.send or self.posts[0]
        verb = "receives" if self.send is None else "sends"
        sent, received = (block, first.block) if self.send is None else (first.block, block)
        return type_mismatch(
            sent.type,
            received.type,
            f"{self.pipe.name} connects",
            labels([(first.place, f"node {first.kernel.coordinate} {verb} {first.block} here")]),
        )


class PipeTransfer(SimTransfer):
    """A block on its way into a pipe or out of one."""

    __slots__ = ("meeting",)

    may_wait_again = False

    def __init__(self, kernel: KernelRun, block: SimBlock, meeting: Meeting, place: Place):
        # Inlined SimTransfer.__init__(): programs make very many.
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
        races.at_pipe(self.kernel, self.meeting, is_end)

    def can_wait(self) -> bool:
        if self.meeting.missing:
            self.kernel.poll(self)
        return not self.is_done and not self.meeting.missing

    def sleep_until_met(self) -> None:  # rule SEND
        kernel, meeting = self.kernel, self.meeting
        while meeting.missing:
            meeting.sleepers.append(kernel)
            if kernel.recorder is not None:
                kernel.sleep(self, meeting.pipe.name, 0)
            else:  # inlined sleep(), for the most common case
                kernel.waiting_for = self
                kernel.simulation.switch_to_next()
                kernel.waiting_for = None


class PipeSend(PipeTransfer):
    __slots__ = ()

    start_kind = EventKind.PIPE_SEND
    end_kind = EventKind.PIPE_SEND_END

    def complete(self) -> None:
        meeting, block = self.meeting, self.block
        self.sleep_until_met()
        for post in meeting.posts:  # rule LATE: the source may change from now on
            post.block.take(block)
        meeting.posts = []
        meeting.send = None
        block.step(COPY_FROM_DONE)

    @property
    def misses_itself_only(self) -> bool:
        meeting, run = self.meeting, self.meeting.pipe
        own = run.own_index
        return own > 0 and meeting.missing == 1 and run.counts[own] == meeting.number

    def post_for_itself(self) -> None:  # rule OWN
        meeting, run = self.meeting, self.meeting.pipe
        run.counts[run.own_index] += 1
        run.owed.append(self)
        meeting.missing = 0
        meeting.wake_sleepers(self.kernel)


class PipeReceive(PipeTransfer):
    __slots__ = ()

    start_kind = EventKind.PIPE_RECEIVE
    end_kind = EventKind.PIPE_RECEIVE_END

    def finish(self) -> None:
        """Complete the receive in one call, as programs make very many."""
        kernel, meeting, block = self.kernel, self.meeting, self.block
        if running_engine(None) is not kernel:
            self.check_owner()
        self.is_done = True
        self.group = None
        if meeting.missing:
            self.sleep_until_met()
        send = meeting.send
        if send is not None:  # else the data came when the send was waited for
            block.take(send.block)
            meeting.posts.remove(self)
        block.step(COPY_INTO_DONE)
        block.transfer = None  # it was the only transfer
        del kernel.transfers[self]
        if kernel.recorder is not None:
            record_copy(kernel, self.end_kind, self)


def start_send(kernel: KernelRun, block: SimBlock, role: SourceRole, place: Place) -> PipeSend:
    end: PipeEnd = role.end
    if end.kernel is not kernel or not role.open_calls:
        raise end.wrong_use(kernel, "if_src")
    if block.kernel is not kernel:
        raise block.wrong_user(kernel)
    run = end.run
    number = run.counts[end.index]
    meeting = run.meetings.get(number)  # rule ORDER
    if meeting is not None and meeting.block_type is not block.type:  # each type exists once
        raise meeting.wrong_type(block)
    if run.owed and any(each.block is block for each in run.owed):  # its data would differ
        raise kernel.simulation.loopbacks.fault_of(run.owed[0])
    block.step(COPY_FROM)
    if meeting is None:
        meeting = run.meetings[number] = Meeting(run, number, block.type)
    send = PipeSend(kernel, block, meeting, place)
    run.counts[end.index] = number + 1
    meeting.send = send
    meeting.missing -= 1
    if not meeting.missing:
        meeting.wake_sleepers(kernel)
    return send


def start_receive(
    kernel: KernelRun, role: ReceiverRole, block: SimBlock, place: Place
) -> PipeReceive:
    end: PipeEnd = role.end
    if end.kernel is not kernel or not role.open_calls:
        raise end.wrong_use(kernel, "if_dst")
    if block.kernel is not kernel:
        raise block.wrong_user(kernel)
    run = end.run
    if run.owed and end.index == run.own_index:
        return _receive_own(kernel, run, block, place)
    number = run.counts[end.index]
    meeting = run.meetings.get(number)  # rule ORDER
    if meeting is not None and meeting.block_type is not block.type:
        raise meeting.wrong_type(block)
    block.step(COPY_INTO)
    if meeting is None:
        meeting = run.meetings[number] = Meeting(run, number, block.type)
    receive = PipeReceive(kernel, block, meeting, place)
    run.counts[end.index] = number + 1
    meeting.posts.append(receive)  # rule POST
    meeting.missing -= 1
    if not meeting.missing:
        meeting.wake_sleepers(kernel)
    return receive


def _receive_own(kernel: KernelRun, run: PipeRun, block: SimBlock, place: Place) -> PipeReceive:
    """Receive into the sent block, which already has the data (rule OWN)."""
    send = run.owed.pop(0)
    if send.kernel is not kernel or send.block is not block:
        raise kernel.simulation.loopbacks.fault_of(send)
    block.step(COPY_INTO)
    kernel.simulation.loopbacks.nets.add(run.net)
    return PipeReceive(kernel, block, send.meeting, place)

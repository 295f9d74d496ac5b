"""Posts of sources that receive what they send into the block that they send.

A kernel keeps for each pipe by how many its posts exceed its sends. A send that finds none posts
its own block; a post that finds one more send than posts has been made by that send.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.ir import SSAValue

from ..arithmetic import add
from ..kernel.kernel_calls import call
from ..module_pass import Maker, and_op, compare_op
from .node_calls import branch, load, store

if TYPE_CHECKING:
    from .pipe_calls import LocalPipe, NetCalls, Turn

NEVER = (1 << 31) - 1  # no count gets that far


class OwnPosts:
    """Of a net in one kernel."""

    def __init__(self, net: NetCalls):
        self.net = net
        self._arrays: dict[str, SSAValue] = {}

    def post_by_send(self, make: Maker, turn: Turn, address: SSAValue) -> None:
        pipes = self.net.pipes
        is_missing = self._is(make, "sle", self.change_balance(make, turn.pipe, -1), 0)
        if not all(pipe.is_loopback for pipe in pipes):
            to_itself = turn.pipe.look_up([pipe.is_loopback for pipe in pipes], "to_itself")
            is_missing = make.value(and_op(is_missing, self._is(make, "ne", to_itself, 0)))
        store(make, self._array("sent_block"), turn.pipe.number, address)
        branch(make, is_missing, lambda then: self.net.tell_source(then, turn, address))

    def post_if_due(self, make: Maker, turn: Turn, address: SSAValue) -> None:
        """Into another block than the last one that was sent nothing would come: the check before
        the run refuses it, and where that cannot see it, the kernel waits for ever."""
        before = self.change_balance(make, turn.pipe, 1)

        def check(otherwise: Maker) -> None:
            sent = load(otherwise, self._array("sent_block"), turn.pipe.number, "sent_block")
            is_last = self._is(otherwise, "eq", before, -1)
            is_other = otherwise.value(compare_op(address, sent, "ne"))
            branch(otherwise, otherwise.value(and_op(is_last, is_other)), wait)

        def wait(then: Maker) -> None:
            ready = self.net.nodes.word(then, self.net.ready(then, turn))
            call(then, "noc_semaphore_wait_min", ready, then.index(NEVER))

        is_due = self._is(make, "sge", before, 0)
        branch(make, is_due, lambda then: self.net.tell_source(then, turn, address), check)

    def change_balance(self, make: Maker, pipe: LocalPipe, change: int) -> SSAValue:
        """What it was before."""
        balance = self._array("posts_less_sends")
        before = load(make, balance, pipe.number, "before")
        store(make, balance, pipe.number, add(make, before, make.index(change)))
        return before

    def _array(self, name: str) -> SSAValue:
        """A number for each pipe of the net, at the start of the kernel."""
        if name not in self._arrays:
            net = self.net
            self._arrays[name] = net.array(net.start, f"{net.name}_{name}", len(net.pipes))
        return self._arrays[name]

    def _is(self, make: Maker, sign: str, value: SSAValue, other: int) -> SSAValue:
        return make.value(compare_op(value, make.index(other), sign))

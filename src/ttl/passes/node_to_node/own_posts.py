"""Posts of sources that receive their own data into the block they send.

For each pipe, a kernel counts by how many its posts exceed its sends. A send without a post posts
its own block; if a post finds one more send than posts, that send has made it.
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

NEVER = (1 << 31) - 1  # beyond any count


class OwnPosts:
    """Own posts of a net in one kernel."""

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
        """Post unless the last send did. Nothing would arrive in a block other than the last one
        sent: the static check refuses that if it sees it; otherwise the kernel waits forever."""
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
        """Change the balance of posts over sends; return the old one."""
        balance = self._array("posts_less_sends")
        before = load(make, balance, pipe.number, "before")
        store(make, balance, pipe.number, add(make, before, make.index(change)))
        return before

    def _array(self, name: str) -> SSAValue:
        """Return an array with a number for each pipe of the net, from the kernel's start."""
        if name not in self._arrays:
            net = self.net
            self._arrays[name] = net.array(net.start, f"{net.name}_{name}", len(net.pipes))
        return self._arrays[name]

    def _is(self, make: Maker, sign: str, value: SSAValue, other: int) -> SSAValue:
        return make.value(compare_op(value, make.index(other), sign))

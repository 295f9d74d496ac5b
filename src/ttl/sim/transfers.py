"""Shared behavior of all copies under way."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from ttl.diagnostics import RuleBroken, codes
from ttl.language.transfer import Transfer
from ttl.semantics.block_protocol import transfer_reused
from ttl.semantics.current_engine import running_engine
from ttl.trace import EventKind
from ttl.trace.events import Part

from .block import SimBlock
from .place import DIRECT_CALLER, Place, labels, place_at
from .recording import record_copy

if TYPE_CHECKING:
    from .kernel import KernelRun
    from .races import Races


class SimTransfer(Transfer):
    """A copy under way until its wait(). `block` is the block it fills or empties."""

    __slots__ = ("block", "group", "is_done", "kernel", "place")

    start_kind: ClassVar[EventKind] = EventKind.COPY_START
    end_kind: ClassVar[EventKind] = EventKind.COPY_END
    may_wait_again: ClassVar[bool] = True  # a second wait on a pipe has its own message

    def __init__(self, kernel: KernelRun, block: SimBlock, place: Place):
        self.kernel = kernel
        self.block = block
        self.place = place
        self.is_done = False
        self.group: object = None  # the group that waits for it, if any

    @property
    def subject(self) -> str:
        """The other end's name in a trace."""
        raise NotImplementedError

    def complete(self) -> None:
        """Sleep until the data may move, move it and step the blocks."""
        raise NotImplementedError

    @property
    def tensor_part(self) -> Part | None:
        """The part of the tensor that it accesses, if any."""
        return None

    def tell(self, races: Races, is_end: bool) -> None:
        """Report it to the clocks; copies between a node's blocks order and access nothing."""

    def can_wait(self) -> bool:
        return not self.is_done  # a copy on its node is never late

    def wait(self) -> None:
        if self.is_done or self.group is not None:
            self._wait_again(place_at(DIRECT_CALLER))
            return
        if self.kernel.recorder is not None:
            self.kernel.waiting_place = place_at(DIRECT_CALLER)
        self.finish()

    def _wait_again(self, place: Place) -> None:
        self.check_owner()
        is_harmless = self.is_done and self.may_wait_again
        broken = self._reuse_error(is_harmless)
        if not is_harmless:
            raise broken
        self.kernel.simulation.tolerate(self.kernel, broken, place)

    def join(self, group: object) -> None:
        if self.is_done or self.group is not None:
            raise self._reuse_error()
        self.group = group

    def finish(self) -> None:
        self.check_owner()
        self.is_done = True
        self.group = None
        self.complete()
        if self.block.transfers_reading == 0:  # leave no cycle to the garbage collector
            self.block.transfer = None
        kernel = self.kernel
        del kernel.transfers[self]
        if kernel.recorder is not None:
            record_copy(kernel, self.end_kind, self)

    def check_owner(self) -> None:
        """Check that the kernel that started the transfer is the one that waits for it."""
        owner = self.kernel
        if running_engine(None) is not owner:
            raise RuleBroken(
                codes.TRANSFER_REUSED,
                f"this transfer was started by kernel `{owner.name}` on node {owner.coordinate}",
                helps=("wait for a transfer in the kernel that started it",),
                secondary=labels([(self.place, "the transfer started here")]),
            )

    def _reuse_error(self, is_harmless: bool = False) -> RuleBroken:
        started = labels([(self.place, "the transfer started here")])
        return transfer_reused(self.is_done, is_harmless, started)

"""Multicasts: a block of one node is written into the same slot of its buffer on other nodes.

Only the program's semaphores order receivers and sender, so complete() checks that each receiver
has reserved that very slot.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ttl.diagnostics import RuleBroken, codes
from ttl.diagnostics.multicasts import receiver_not_ready
from ttl.language.described import described
from ttl.semantics.block_protocol import COPY_FROM, COPY_FROM_DONE, COPY_INTO, COPY_INTO_DONE
from ttl.semantics.tensors import type_mismatch
from ttl.semantics.types import Shape

from .block import SimBlock
from .place import Place, labels
from .recording import record_copy
from .transfers import SimTransfer

if TYPE_CHECKING:
    from .kernel import KernelRun


class MulticastTransfer(SimTransfer):
    """A multicast of `block` into the slot of `destination` on each node."""

    __slots__ = ("destination", "nodes")

    def __init__(
        self,
        kernel: KernelRun,
        source: SimBlock,
        destination: SimBlock,
        nodes: tuple[Shape, ...],
        place: Place,
    ):
        super().__init__(kernel, source, place)
        self.destination = destination
        self.nodes = nodes

    @property
    def subject(self) -> str:
        return self.destination.end.buffer.declared.name

    @property
    def is_loopback(self) -> bool:
        return self.destination is not self.block and self.kernel.coordinate in self.nodes

    def complete(self) -> None:
        source, destination = self.block, self.destination
        receivers = [self._receiver(node) for node in self.nodes if node != self.kernel.coordinate]
        source.step(COPY_FROM_DONE)
        for block in receivers:
            block.note_written()
            block.take(source)
        if self.is_loopback:
            destination.step(COPY_INTO_DONE)
            destination.take(source)

    def _receiver(self, node: Shape) -> SimBlock:
        index = self.destination.end.buffer.declared.index
        end = self.kernel.simulation.nodes[node][index].producer
        slot = self.destination.sequence % end.count
        held = [n for n in range(end.released, end.acquired) if n % end.count == slot]
        block = end.blocks[slot] if held else None
        if block is None:
            raise receiver_not_ready(self.subject, self.kernel.coordinate, node)
        return block


def start_multicast(
    kernel: KernelRun, source: object, destination: object, nodes: tuple[Shape, ...], place: Place
) -> MulticastTransfer:
    """Check the ends and step the blocks; the data moves later."""
    sent, target = _require_block(kernel, source), _require_block(kernel, destination)
    _check(sent, target)
    transfer = MulticastTransfer(kernel, sent, target, nodes, place)
    if target is sent and nodes == (kernel.coordinate,):
        raise RuleBroken(
            codes.WRONG_ARGUMENT,
            "a multicast that reaches no other core",
            helps=("a block is not sent to itself: name the cores beside the sender",),
        )
    sent.step(COPY_FROM)
    if transfer.is_loopback:
        target.step(COPY_INTO)
    sent.transfer = transfer
    kernel.transfers[transfer] = None
    kernel.copies += 1
    if kernel.recorder is not None:
        record_copy(kernel, transfer.start_kind, transfer)
    return transfer


def _require_block(kernel: KernelRun, end: object) -> SimBlock:
    if not isinstance(end, SimBlock):
        raise RuleBroken(
            codes.WRONG_ARGUMENT,
            f"a multicast connects blocks of circular buffers, not {described(end)}",
        )
    if end.kernel is not kernel:
        raise end.wrong_user(kernel)
    return end


def _check(sent: SimBlock, target: SimBlock) -> None:
    if sent.type != target.type:
        raise type_mismatch(sent.type, target.type, "a copy connects")
    if not target.end.is_producer:
        raise RuleBroken(
            codes.WRONG_ARGUMENT,
            "a multicast into a block that was acquired by pop()",
            helps=("receivers reserve() the block that is written",),
            secondary=labels([(target.place, "acquired here")]),
        )

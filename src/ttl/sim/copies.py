"""Copies between tensors and blocks. The data moves at wait(), as late as the language allows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ttl.diagnostics import RuleBroken, codes
from ttl.language.copies import Transfer
from ttl.semantics.block_protocol import Event
from ttl.semantics.tensors import TensorSlice, check_copy_shapes
from ttl.trace import EventKind

from .block import SimBlock
from .place import Place, labels

if TYPE_CHECKING:
    from .kernel import KernelRun

COPY_INTO, COPY_INTO_DONE = Event.COPY_INTO, Event.COPY_INTO_DONE
COPY_FROM, COPY_FROM_DONE = Event.COPY_FROM, Event.COPY_FROM_DONE


class SimTransfer(Transfer):
    """A copy between a tensor slice and a block, under way until its wait()."""

    __slots__ = ("block", "into_block", "is_done", "kernel", "part", "place")

    def __init__(
        self, kernel: KernelRun, part: TensorSlice, block: SimBlock, into_block: bool, place: Place
    ):
        self.kernel = kernel
        self.part = part
        self.block = block
        self.into_block = into_block
        self.place = place
        self.is_done = False

    def wait(self) -> None:
        if self.is_done:
            raise self._reused()
        self.is_done = True
        part, block = self.part, self.block
        if self.into_block:
            block.life.step(COPY_INTO_DONE, block)
            part.tensor.storage.read(part.extents, block.array)
        else:
            block.life.step(COPY_FROM_DONE, block)
            part.tensor.storage.write(part.extents, block.array)
        if block.transfer is self:
            block.transfer = None  # no cycle is left to the garbage collector
        kernel = self.kernel
        del kernel.transfers[self]
        if kernel.recorder is not None:
            kernel.record_copy(EventKind.COPY_END, self)

    def _reused(self) -> RuleBroken:
        return RuleBroken(
            codes.TRANSFER_REUSED,
            "this transfer was waited for already",
            helps=("wait once for each ttl.copy()",),
            secondary=labels([(self.place, "the transfer started here")]),
        )


def start_copy(kernel: KernelRun, source: Any, destination: Any, place: Place) -> SimTransfer:
    """Check both ends and step the block; nothing moves yet."""
    if type(source) is TensorSlice and type(destination) is SimBlock:
        transfer = SimTransfer(kernel, source, destination, True, place)
    elif type(source) is SimBlock and type(destination) is TensorSlice:
        transfer = SimTransfer(kernel, destination, source, False, place)
    else:
        raise _wrong_ends(source, destination)
    part, block = transfer.part, transfer.block
    type_ = block.type
    if part.shape != type_.shape:
        check_copy_shapes(part, type_.shape or ())
    if part.tensor.dtype is not type_.dtype:
        raise _wrong_dtype(transfer)
    block.life.step(COPY_INTO if transfer.into_block else COPY_FROM, block)
    block.transfer = transfer
    return transfer


def _wrong_ends(source: Any, destination: Any) -> RuleBroken:
    whole_tensor = hasattr(source, "storage") or hasattr(destination, "storage")
    return RuleBroken(
        codes.WRONG_ARGUMENT,
        "ttl.copy() connects a tensor slice and a block, not "
        f"{type(source).__name__} and {type(destination).__name__}",
        helps=("slice the tensor, for example tensor[0:2, 0:2]",) if whole_tensor else (),
    )


def _wrong_dtype(transfer: SimTransfer) -> RuleBroken:
    return RuleBroken(
        codes.DTYPE_MISMATCH,
        f"a copy connects a tensor of {transfer.part.tensor.dtype} with a block of "
        f"{transfer.block.dtype}",
        helps=("make the dataflow buffer like the tensor it is copied from or to",),
    )

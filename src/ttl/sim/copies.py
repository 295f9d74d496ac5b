"""Copies of tensors, blocks and pipes. Data moves at wait(), as late as the language allows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ttl.diagnostics import RuleBroken, codes
from ttl.semantics.block_protocol import Event
from ttl.semantics.tensors import TensorSlice, check_copy_layouts, check_copy_shapes

from .block import SimBlock
from .pipes import (
    ReceiverRole,
    SourceRole,
    start_receive,
    start_send,
    type_mismatch,
    wrong_role,
)
from .place import Place
from .transfers import SimTransfer

if TYPE_CHECKING:
    from .kernel import KernelRun

COPY_INTO, COPY_INTO_DONE = Event.COPY_INTO, Event.COPY_INTO_DONE
COPY_FROM, COPY_FROM_DONE = Event.COPY_FROM, Event.COPY_FROM_DONE


class TensorTransfer(SimTransfer):
    """A copy between a tensor slice and a block."""

    __slots__ = ("into_block", "part")

    def __init__(
        self, kernel: KernelRun, part: TensorSlice, block: SimBlock, into_block: bool, place: Place
    ):
        super().__init__(kernel, block, place)
        self.part = part
        self.into_block = into_block

    @property
    def subject(self) -> str:
        return self.kernel.simulation.tensor_names.get(id(self.part.tensor), "")

    def complete(self) -> None:
        part, block = self.part, self.block
        if self.into_block:
            block.life.step(COPY_INTO_DONE, block)
            part.tensor.storage.read(part.extents, block.array)
            if block.kernel.simulation.padding is not None:
                block.kernel.simulation.padding.loaded(part, block)
        else:
            block.life.step(COPY_FROM_DONE, block)
            part.tensor.storage.write(part.extents, block.array)


class BlockTransfer(SimTransfer):
    """A copy between two blocks of a node; `block` is the one that is written."""

    __slots__ = ("source",)

    def __init__(self, kernel: KernelRun, source: SimBlock, block: SimBlock, place: Place):
        super().__init__(kernel, block, place)
        self.source = source

    @property
    def subject(self) -> str:
        return self.source.end.buffer.declared.name

    def complete(self) -> None:
        source, block = self.source, self.block
        source.life.step(COPY_FROM_DONE, source)
        block.life.step(COPY_INTO_DONE, block)
        block.array[...] = source.array
        if block.kernel.simulation.padding is not None:
            block.kernel.simulation.padding.copied(source, block)
        if source.transfer is self:
            source.transfer = None


def start_copy(kernel: KernelRun, source: Any, destination: Any, place: Place) -> SimTransfer:
    """Check both ends and step the blocks; nothing moves yet."""
    from_kind, to_kind = type(source), type(destination)
    transfer: SimTransfer
    if from_kind is TensorSlice and to_kind is SimBlock:
        transfer = _start_tensor_copy(TensorTransfer(kernel, source, destination, True, place))
    elif from_kind is SimBlock and to_kind is TensorSlice:
        transfer = _start_tensor_copy(TensorTransfer(kernel, destination, source, False, place))
    elif from_kind is SimBlock and to_kind is SourceRole:
        transfer = start_send(kernel, source, destination, place)
    elif from_kind is ReceiverRole and to_kind is SimBlock:
        transfer = start_receive(kernel, source, destination, place)
    elif from_kind is SimBlock and to_kind is SimBlock:
        transfer = _start_block_copy(BlockTransfer(kernel, source, destination, place))
        source.transfer = transfer
    else:
        raise wrong_role(source, destination) or _wrong_ends(source, destination)
    transfer.block.transfer = transfer
    return transfer


def _start_block_copy(transfer: BlockTransfer) -> BlockTransfer:
    source, block = transfer.source, transfer.block
    if source.kernel.coordinate != block.kernel.coordinate:
        raise RuleBroken(
            codes.WRONG_ARGUMENT,
            f"a copy connects blocks of nodes {source.kernel.coordinate} and "
            f"{block.kernel.coordinate}",
            helps=("send a block to another node through a pipe",),
        )
    if source.type != block.type:
        raise type_mismatch(source.type, block.type, "a copy connects")
    source.life.step(COPY_FROM, source)
    block.life.step(COPY_INTO, block)
    return transfer


def _start_tensor_copy(transfer: TensorTransfer) -> TensorTransfer:
    part, block = transfer.part, transfer.block
    type_ = block.type
    if part.tensor.layout is not type_.layout:
        check_copy_layouts(part, type_.layout)
    if part.shape != type_.shape:
        check_copy_shapes(part, type_.shape or ())
    if part.tensor.dtype is not type_.dtype:
        raise _wrong_dtype(transfer)
    block.life.step(COPY_INTO if transfer.into_block else COPY_FROM, block)
    return transfer


def _wrong_ends(source: Any, destination: Any) -> RuleBroken:
    whole_tensor = hasattr(source, "storage") or hasattr(destination, "storage")
    return RuleBroken(
        codes.WRONG_ARGUMENT,
        "ttl.copy() connects a block with a tensor slice, a pipe or a block, not "
        f"{_kind(source)} with {_kind(destination)}",
        helps=("slice the tensor, for example tensor[0:2, 0:2]",) if whole_tensor else (),
    )


def _kind(end: object) -> str:
    names = {SimBlock: "a block", SourceRole: "a pipe", ReceiverRole: "a pipe"}
    known = {"TensorSlice": "a tensor slice", "Tensor": "a whole tensor"}
    name = type(end).__name__
    return names.get(type(end)) or known.get(name) or f"{name} {end!r}"


def _wrong_dtype(transfer: TensorTransfer) -> RuleBroken:
    return RuleBroken(
        codes.DTYPE_MISMATCH,
        f"a copy connects a tensor of {transfer.part.tensor.dtype} with a block of "
        f"{transfer.block.dtype}",
        helps=("make the dataflow buffer like the tensor it is copied from or to",),
    )

"""Copies of tensors, blocks and pipes. Data moves at wait(), as late as the language allows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ttl.diagnostics import RuleBroken, codes
from ttl.language.described import described, help_with
from ttl.semantics import block_math
from ttl.semantics.block_protocol import COPY_FROM, COPY_FROM_DONE, COPY_INTO, COPY_INTO_DONE
from ttl.semantics.tensors import (
    TensorSlice,
    check_copy_layouts,
    check_copy_shapes,
    copy_dtypes_differ,
    type_mismatch,
)
from ttl.trace.events import EventKind, Part

from .block import SimBlock
from .buffer import NodeBuffer
from .marks import Marks
from .nets import wrong_role
from .place import Place
from .recording import record_copy
from .transfers import SimTransfer

if TYPE_CHECKING:
    from .kernel import KernelRun
    from .races import Races

COPY_END: Final = EventKind.COPY_END
loaded: Final = block_math.loaded
saved: Final = block_math.saved


class TensorTransfer(SimTransfer):
    """A copy between a tensor slice and a block.

    Programs make millions: one call here does what SimTransfer does in several.
    """

    __slots__ = ("is_alike", "part")

    is_write: bool  # to the tensor

    def __init__(self, kernel: KernelRun, part: TensorSlice, block: SimBlock, place: Place):
        self.kernel = kernel
        self.block = block
        self.place = place
        self.is_done = False
        self.group = None
        self.part = part
        buffer = block.end.buffer
        # Are type and shape of slice and block equal, and the shapes written in the same way?
        self.is_alike = part.tensor is buffer.like and part.shape == buffer.block_shape
        if not self.is_alike:
            self._compare(part, buffer)

    def _compare(self, part: TensorSlice, buffer: NodeBuffer) -> None:
        """Check a tensor that is new to the buffer, or a shape that is written in another way."""
        tensor, type_ = part.tensor, buffer.block_type
        self.is_alike = part.shape == type_.shape and tensor.layout is type_.layout
        if not self.is_alike:
            check_copy_layouts(part, type_.layout)
            check_copy_shapes(part, type_.shape or ())
        if tensor.dtype is not type_.dtype:
            raise copy_dtypes_differ(tensor.dtype, type_.dtype)
        if tensor.layout is type_.layout:
            buffer.like = tensor

    @property
    def subject(self) -> str:
        buffer = self.block.end.buffer
        if self.part.tensor is not buffer.named:
            buffer.named = self.part.tensor
            names = self.kernel.simulation.tensor_names
            buffer.tensor_name = names.get(id(self.part.tensor), "")
        return buffer.tensor_name

    def tell(self, races: Races, is_end: bool) -> None:
        races.at_tensor(self, is_end)

    @property
    def tensor_part(self) -> Part:
        return self.part.starts, self.part.shape

    def move_early(self) -> None:
        """Move the data now (with a seed); finish() then completes a copy that nobody else sees."""
        part = self.part
        if self.is_write:
            words, overwrites = self.block.words, self.kernel.overwrites
            if overwrites is None or not overwrites.write_shared(part, words, self.kernel):
                part.tensor.storage.write(part, words)
        self.part = TensorSlice(part.tensor, part.items, part.starts, part.shape)
        self.part.view = part.region.copy()


class Load(TensorTransfer):
    """A copy of a tensor slice into a block."""

    __slots__ = ()

    is_write = False

    def finish(self) -> None:
        self.check_owner()
        self.is_done = True
        part, block, kernel = self.part, self.block, self.kernel
        block.step(COPY_INTO_DONE)
        block.values = block.transfer = None  # it was the only transfer
        block.is_bare = False
        if self.is_alike:
            if part.words is None or not loaded(block.slot_words, part.words, part.starts):
                block.slot_words[...] = part.region
        else:
            part.tensor.storage.read(part, block.slot_words)
        del kernel.transfers[self]
        if kernel.is_observed:
            self._observe(kernel)

    def _observe(self, kernel: KernelRun) -> None:
        if kernel.simulation.padding is not None:
            kernel.simulation.padding.note_load(self.part, self.block)
        if kernel.simulation.marks_reads:
            self._mark(kernel)
        if kernel.recorder is not None:
            record_copy(kernel, COPY_END, self)

    def _mark(self, kernel: KernelRun) -> None:
        overwrites = kernel.overwrites
        if overwrites is not None and overwrites.reads_back(self.part, kernel):
            kernel.read_back = kernel.read_back or Marks()
            kernel.read_back.mark(self.part, self.place)
        else:
            kernel.read = kernel.read or Marks()
            kernel.read.mark(self.part, self.place)


class Save(TensorTransfer):
    """A copy of a block to a tensor slice."""

    __slots__ = ()

    is_write = True

    def finish(self) -> None:
        self.check_owner()
        self.is_done = True
        part, block, kernel = self.part, self.block, self.kernel
        block.step(COPY_FROM_DONE)
        if not block.transfers_reading:
            block.transfer = None
        overwrites = kernel.overwrites
        if overwrites is not None and overwrites.write_shared(part, block.words, kernel):
            pass
        elif self.is_alike and not part.has_padding:
            if part.words is None or not saved(block.words, part.words, part.starts):
                part.region[...] = block.words
        else:
            part.tensor.storage.write(part, block.words)
        if kernel.written is None:
            kernel.written = Marks()
        kernel.written.mark(part, self.place)
        del kernel.transfers[self]
        if kernel.recorder is not None:
            record_copy(kernel, COPY_END, self)


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
        source.step(COPY_FROM_DONE)
        block.step(COPY_INTO_DONE)
        block.take(source)
        if source.transfer is self:
            source.transfer = None


def start_between_blocks(
    kernel: KernelRun, source: object, destination: object, place: Place
) -> BlockTransfer:
    if isinstance(source, SimBlock) and isinstance(destination, SimBlock):
        transfer = _start_block_copy(BlockTransfer(kernel, source, destination, place))
        source.transfer = transfer
        return transfer
    raise wrong_role(source, destination) or _wrong_ends(source, destination)


def _start_block_copy(transfer: BlockTransfer) -> BlockTransfer:
    source, block = transfer.source, transfer.block
    if source.kernel.coordinate != block.kernel.coordinate:
        raise RuleBroken(
            codes.WRONG_ARGUMENT,
            f"a copy connects blocks of nodes {source.kernel.coordinate} and "
            f"{block.kernel.coordinate}",
            helps=("send a block to another node through a pipe",),
        )
    for each in (source, block):
        if each.kernel is not transfer.kernel:
            raise each.wrong_user(transfer.kernel)
    if source.type != block.type:
        raise type_mismatch(source.type, block.type, "a copy connects")
    source.step(COPY_FROM)
    block.step(COPY_INTO)
    return transfer


def _wrong_ends(source: object, destination: object) -> RuleBroken:
    whole_tensor = hasattr(source, "storage") or hasattr(destination, "storage")
    is_slice = isinstance(source, TensorSlice)
    known = help_with(destination if is_slice else source) or help_with(destination)
    if whole_tensor:
        known = "slice the tensor, for example tensor[0:2, 0:2]"
    return RuleBroken(
        codes.WRONG_ARGUMENT,
        "ttl.copy() connects a block with a tensor slice, a pipe or a block, not "
        f"{described(source)} with {described(destination)}",
        helps=(known,) if known is not None else (),
    )

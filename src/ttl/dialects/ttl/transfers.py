"""Data movement in the ttl dialect: slices of tensors, copies, transfers and waits."""

from __future__ import annotations

from xdsl.dialects.builtin import IndexType, StringAttr, SymbolRefAttr, TensorType
from xdsl.ir import ParametrizedAttribute, SSAValue, TypeAttribute
from xdsl.irdl import (
    irdl_attr_definition,
    operand_def,
    param_def,
    prop_def,
    result_def,
    var_operand_def,
)
from xdsl.utils.exceptions import VerifyException

from ttl.semantics.types import tile_count

from ..building import QuickOperation
from ..ttcore import block_type
from .buffers import AcquireOp, ReserveOp
from .pipe_nets import ForEachPipeOp, PipeType

__all__ = [
    "CopyOp",
    "GroupAddOp",
    "GroupOp",
    "GroupType",
    "GroupWaitOp",
    "HandOverTransferOp",
    "MulticastOp",
    "NoTransferOp",
    "ResumeTransferOp",
    "TensorSliceOp",
    "TransferOfOp",
    "TransferPartsOp",
    "TransferType",
    "WaitTransferOp",
    "copies_of",
]


@irdl_attr_definition
class TransferType(ParametrizedAttribute, TypeAttribute):
    """A transfer under way: `read` from a tensor or `write` to one, `send` or `receive`."""

    name = "ttl.transfer_handle"
    kind: StringAttr = param_def()


@irdl_attr_definition
class GroupType(ParametrizedAttribute, TypeAttribute):
    """Transfers that the program waits for together."""

    name = "ttl.transfer_group"


class TensorSliceOp(QuickOperation):
    """The tiles of a tensor from `starts` on; the result type gives the extent."""

    name = "ttl.tensor_slice"
    tensor = operand_def(TensorType)
    starts = var_operand_def(IndexType)
    result = result_def(TensorType)

    def verify_(self) -> None:
        whole, part = block_type(self.tensor.type), block_type(self.result.type)
        assert whole.shape is not None and part.shape is not None
        if not len(whole.shape) == len(part.shape) == len(self.starts):
            raise VerifyException(f"{self.name} has one start and one size for each dimension")
        fits = all(size <= most for size, most in zip(part.shape, whole.shape, strict=True))
        if not fits or whole.dtype != part.dtype:
            raise VerifyException(f"a slice {part} of a tensor {whole}")


class CopyOp(QuickOperation):
    """A copy between a block and a slice of a tensor, another block, or a pipe."""

    name = "ttl.copy"
    source = operand_def()
    destination = operand_def()
    transfer = result_def(TransferType)

    @property
    def pipe(self) -> SSAValue | None:
        """Return the pipe that the block is sent through, or received from."""
        ends = (self.source, self.destination)
        return next((end for end in ends if isinstance(end.type, PipeType)), None)

    def verify_(self) -> None:
        if self.pipe is not None:
            self._verify_pipe()
            return
        if not all(isinstance(end.type, TensorType) for end in self.operands):
            raise VerifyException("a copy connects blocks, slices of tensors and pipes")
        source, destination = block_type(self.source.type), block_type(self.destination.type)
        assert source.shape is not None and destination.shape is not None
        if tile_count(source.shape) != tile_count(destination.shape):
            raise VerifyException(f"a copy from {source} to {destination}")
        if source.dtype != destination.dtype:
            raise VerifyException(f"a copy from {source.dtype} to {destination.dtype}")

    def _verify_pipe(self) -> None:
        kind, role, block = "send", "src", self.source
        if self.pipe is self.source:
            kind, role, block = "receive", "dst", self.destination
        if not isinstance(block.owner, AcquireOp):
            raise VerifyException("a pipe connects blocks of dataflow buffers")
        assert self.pipe is not None and isinstance(self.pipe.type, PipeType)
        assert isinstance(self.transfer.type, TransferType)
        if self.pipe.type.role.data != role or self.transfer.type.kind.data != kind:
            raise VerifyException(f"a {kind} goes by a pipe of which the node is {role}")


class MulticastOp(QuickOperation):
    """Copy a block to the place of `destination` on all nodes of a rectangle: x, y, x, y.

    The own node is left out if source and destination are one block. Receivers signal with
    semaphores that they have reserved theirs.
    """

    name = "ttl.multicast"
    source = operand_def(TensorType)
    destination = operand_def(TensorType)
    place = var_operand_def(IndexType)
    transfer = result_def(TransferType)

    @property
    def is_loopback(self) -> bool:
        return self.source is not self.destination

    def verify_(self) -> None:
        if len(self.place) != 4:
            raise VerifyException(f"{self.name} has four coordinates")
        if self.source.type != self.destination.type:
            raise VerifyException(f"{self.name} connects blocks of one type")
        if not isinstance(self.destination.owner, ReserveOp):
            raise VerifyException(f"{self.name} goes to reserved blocks")


class NoTransferOp(QuickOperation):
    """The initial content of a variable for a transfer; there is nothing to wait for."""

    name = "ttl.no_transfer"
    transfer = result_def(TransferType)


class TransferPartsOp(QuickOperation):
    """A receive as numbers: the place of its pipe among the node's, and the number of its post."""

    name = "ttl.transfer_parts"
    transfer = operand_def(TransferType)
    place = result_def(IndexType)
    number = result_def(IndexType)


class TransferOfOp(QuickOperation):
    """The receive of a net that has these parts; number 0 is none."""

    name = "ttl.transfer_of"
    net = prop_def(SymbolRefAttr)
    place = operand_def(IndexType)
    number = operand_def(IndexType)
    transfer = result_def(TransferType)


class WaitTransferOp(QuickOperation):
    name = "ttl.wait"
    transfer = operand_def(TransferType)


class ResumeTransferOp(QuickOperation):
    """Another name for the next transfer handed over."""

    name = "ttl.resume_transfer"
    transfer = result_def(TransferType)


class HandOverTransferOp(QuickOperation):
    """Let another name replace the transfer from here on: see ResumeTransferOp."""

    name = "ttl.hand_over_transfer"
    transfer = operand_def(TransferType)


class GroupOp(QuickOperation):
    name = "ttl.group"
    result = result_def(GroupType)


class GroupAddOp(QuickOperation):
    """Let the group wait for the transfer from here on; no other operation may."""

    name = "ttl.group_add"
    group = operand_def(GroupType)
    transfer = operand_def(TransferType)


class GroupWaitOp(QuickOperation):
    name = "ttl.group_wait"
    group = operand_def(GroupType)


def copies_of(transfer: SSAValue) -> list[CopyOp]:
    """Return the copies a transfer may come from: a variable may have left a role's body."""
    op = transfer.owner
    if isinstance(op, CopyOp):
        return [op]
    if not isinstance(op, ForEachPipeOp):
        return []
    position = op.ends.index(transfer)
    end = op.body.block.last_op
    assert end is not None
    return [*copies_of(op.start[position]), *copies_of(end.operands[position])]

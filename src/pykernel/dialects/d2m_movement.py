"""Transfers and semaphores of d2m threads, between cores and memory."""

from __future__ import annotations

from abc import ABC
from typing import Any

from xdsl.dialects.builtin import IndexType
from xdsl.irdl import (
    AttrSizedOperandSegments,
    operand_def,
    opt_operand_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ttl.dialects.building import DefinedOperation
from ttl.dialects.definitions import define_operation, shape_of

from .d2m_types import MemTxType, SemaphoreType, is_remote


class TransferOp(DefinedOperation, ABC):
    """A transfer; indices select part of a device tensor, `core` and `mcast` other cores."""

    src = operand_def()
    src_index = var_operand_def(IndexType)
    dst = operand_def()
    dst_index = var_operand_def(IndexType)
    core = var_operand_def(IndexType)
    mcast = var_operand_def(IndexType)
    tx = result_def(MemTxType)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = (
        "$src (`[` $src_index^ `]`)? `,` $dst (`[` $dst_index^ `]`)? "
        "(`core` `[` $core^ `]`)? (`mcast` `[` $mcast^ `]`)? "
        "attr-dict `:` type($src) `,` type($dst) `->` type($tx)"
    )

    @property
    def is_multicast(self) -> bool:
        return bool(self.mcast)

    @property
    def is_loopback(self) -> bool:
        return self.is_multicast and self.src is not self.dst

    @property
    def parts(self) -> list[Any]:
        return [[self.src], self.src_index, [self.dst], self.dst_index, self.core, self.mcast]

    def verify_(self) -> None:
        remote = [is_remote(self.src.type), is_remote(self.dst.type)]
        if all(remote):
            raise VerifyException(f"{self.name}: one end is a block of the core")
        if len(self.core) != len(self.mcast):
            raise VerifyException(f"{self.name}: core and mcast come together")
        if self.is_multicast and any(remote):
            raise VerifyException(f"{self.name}: a multicast goes from a block to blocks")
        if [bool(self.src_index), bool(self.dst_index)] != remote:
            raise VerifyException(f"{self.name}: a tensor of the device has indices")
        shapes = [shape_of(self.src), shape_of(self.dst)]
        left = [s[len(s) // 2 :] if far else s for s, far in zip(shapes, remote, strict=True)]
        if left[0] != left[1]:
            what = "that the indices leave" if any(remote) else "of the ends"
            raise VerifyException(f"{self.name}: the shapes {what} differ")


DmaOp = define_operation("d2m.dma", TransferOp)
# Reads from a tensor, from the tile at the indices on, into a block.
DmaReadOp = define_operation("d2m.dma_read", TransferOp)
DmaWriteOp = define_operation("d2m.dma_write", TransferOp)


class DmaWaitOp(DefinedOperation):
    name = "d2m.dma_wait"
    tx = operand_def(MemTxType)
    assembly_format = "$tx attr-dict"


# A transfer of nothing; a wait for it ends at once.
NullTxOp = define_operation(
    "d2m.null_tx",
    tx=result_def(MemTxType),
    assembly_format="attr-dict `:` type($tx)",
    traits=traits_def(Pure()),
)


class SemaphoreChangeOp(DefinedOperation, ABC):
    semaphore = operand_def(SemaphoreType)
    value = operand_def(IndexType)
    core = var_operand_def(IndexType)
    mcast = var_operand_def(IndexType)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = (
        "$semaphore `,` $value (`core` `[` $core^ `]`)? (`mcast` `[` $mcast^ `]`)? attr-dict"
    )


class SemaphoreSetOp(SemaphoreChangeOp):
    name = "d2m.semaphore_set"

    def verify_(self) -> None:
        if len(self.core) != len(self.mcast):
            raise VerifyException("d2m.semaphore_set: of the own core, or of several")


class SemaphoreIncOp(SemaphoreChangeOp):
    name = "d2m.semaphore_inc"

    def verify_(self) -> None:
        if self.mcast:
            raise VerifyException("d2m.semaphore_inc: there is no multicast of an increment")
        if not self.core:
            raise VerifyException("d2m.semaphore_inc: of another core")


class SemaphoreWaitOp(DefinedOperation):
    name = "d2m.semaphore_wait"
    semaphore = operand_def(SemaphoreType)
    value = operand_def(IndexType)
    reset = opt_operand_def(IndexType)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = "$semaphore `,` $value (`reset` $reset^)? attr-dict"

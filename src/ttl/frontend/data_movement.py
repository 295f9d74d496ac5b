"""Tensor slices, copies and groups of transfers in a data movement kernel."""

from __future__ import annotations

from operator import index
from typing import Any

from xdsl.dialects.builtin import IndexType, StringAttr
from xdsl.ir import SSAValue

from ttl.diagnostics import RuleBroken, codes
from ttl.dialects import ttl
from ttl.dialects.ttcore import block_type, tensor_of
from ttl.language.pipes import not_from_a_net
from ttl.semantics.dtypes import dtype_of
from ttl.semantics.kernel_kinds import KernelKind
from ttl.semantics.layout import TILE_LAYOUT, Layout, layout_of
from ttl.semantics.tensors import (
    TensorSlice,
    check_copy_layouts,
    check_copy_shapes,
    copy_dtypes_differ,
    out_of_range,
    shape_in_units,
    type_mismatch,
)
from ttl.semantics.types import BlockType

from .builder import KernelBuilder, Value, describe, flow_broken
from .linear import known_difference
from .pipe_copies import copy_pipe, is_pipe


def tensor_slice(builder: KernelBuilder, tensor: Any, given: Value) -> SSAValue:
    builder.require(KernelKind.DATAMOVEMENT, "a tensor slice")
    items = given if isinstance(given, tuple) else (given,)
    sizes = shape_in_units(tensor)
    if len(items) != len(sizes):
        raise RuleBroken(
            codes.SLICE_OUT_OF_RANGE,
            f"{len(items)} indices for a tensor of {len(sizes)} dimensions",
            helps=("give one index or slice for each dimension",),
        )
    layout = layout_of(tensor)
    dimensions = zip(items, sizes, range(len(sizes)), strict=True)
    pairs = [_start_and_extent(*each, layout) for each in dimensions]
    starts, extents = zip(*pairs, strict=True)
    part = builder.value(
        ttl.TensorSliceOp.create(
            operands=[builder.tensor(tensor), *(builder.index(start) for start in starts)],
            result_types=[tensor_of(extents, dtype_of(tensor), layout)],
        )
    )
    builder.slices[part] = TensorSlice(tensor, items, (0,) * len(extents), extents)
    return part


def _start_and_extent(
    item: Value, size: int, dimension: int, layout: Layout
) -> tuple[Value, int]:
    if not isinstance(item, slice):
        start, extent = _bound(item, layout), 1
    elif item.step not in (None, 1):
        raise _slice_out_of_range("a slice of a tensor has no step", layout)
    else:
        start = 0 if item.start is None else _bound(item.start, layout)
        extent = constant_difference(
            size if item.stop is None else _bound(item.stop, layout), start
        )
    first = start if isinstance(start, int) else 0  # as far as it is known before the run
    if extent < 1 or first < 0 or first + extent > size:
        if not isinstance(start, int):
            message = f"a slice of {extent} {layout.unit} is not in 0:{size}"
            raise _slice_out_of_range(message, layout)
        text = f"{start}:{start + extent}" if isinstance(item, slice) else f"{start}"
        raise out_of_range(text, dimension, size, layout)
    return start, extent


def _bound(item: Value, layout: Layout) -> Value:
    """A run-time integer, or an int; numpy has such too."""
    if isinstance(item, SSAValue) and isinstance(item.type, IndexType):
        return item
    try:
        if isinstance(item, bool):
            raise TypeError
        return index(item)
    except TypeError:
        raise _slice_out_of_range(
            f"{describe(item)} is neither an index nor a slice of whole {layout.unit}", layout
        ) from None


def _slice_out_of_range(message: str, layout: Layout) -> RuleBroken:
    tiles = "tiles in the two innermost dimensions"
    counts = tiles if layout is TILE_LAYOUT else layout.unit
    return RuleBroken(
        codes.SLICE_OUT_OF_RANGE,
        message,
        helps=(f"slices count {counts}, start before stop",),
    )


def constant_difference(stop: Value, start: Value) -> int:
    """`stop - start` where it is a constant, as in `row * 2 : row * 2 + 2`."""
    found = known_difference(stop, start)
    if found is None:
        raise flow_broken("slices whose extent is not a constant, as in `start : start + 2`")
    return found


def copy(builder: KernelBuilder, src: Value, dst: Value) -> Value:
    builder.require(KernelKind.DATAMOVEMENT, "ttl.copy()")
    if is_pipe(src) or is_pipe(dst):
        return copy_pipe(builder, src, dst)
    ends = (_copy_end(src), _copy_end(dst))
    if ends not in COPIES:
        raise _cannot_copy(src, dst)
    if ends == ("block", "block"):
        source, destination = block_type(src.type), block_type(dst.type)
        if source != destination:
            raise type_mismatch(source, destination, "a copy connects")
    else:
        part, block = (src, dst) if ends[0] == "slice" else (dst, src)
        _check_copy(builder.slices[part], block_type(block.type))
    return builder.value(
        ttl.CopyOp.create(
            operands=[src, dst],
            result_types=[ttl.TransferType(StringAttr(COPIES[ends]))],
        )
    )


def _cannot_copy(source: Value, destination: Value) -> RuleBroken:
    if (broken := not_from_a_net(source, destination)) is not None:
        return broken
    whole_tensor = any(hasattr(end, "layout") for end in (source, destination))
    help_text = "copy between a tensor slice and a block, or between two blocks"
    if whole_tensor:
        help_text = "slice the tensor, for example tensor[0:2, 0:2]"
    return RuleBroken(
        codes.WRONG_ARGUMENT,
        "ttl.copy() connects a block with a tensor slice, a pipe or a block, not "
        f"{describe(source)} with {describe(destination)}",
        helps=(help_text,),
    )


# Which barrier completes a copy: between blocks of a node the destination reads.
COPIES = {("slice", "block"): "read", ("block", "slice"): "write", ("block", "block"): "read"}


def _copy_end(value: Value) -> str:
    owner = value.owner if isinstance(value, SSAValue) else None
    if isinstance(owner, ttl.TensorSliceOp):
        return "slice"
    return "block" if isinstance(owner, ttl.AcquireOp) else "other"


def _check_copy(part: TensorSlice, block: BlockType) -> None:
    assert block.shape is not None
    check_copy_layouts(part, block.layout)
    check_copy_shapes(part, block.shape)
    if dtype_of(part.tensor) != block.dtype:
        raise copy_dtypes_differ(dtype_of(part.tensor), block.dtype)


def wait_transfer(builder: KernelBuilder, transfer: SSAValue) -> Value:
    builder.emit(ttl.WaitTransferOp.create(operands=[transfer]))
    builder.released |= {transfer}


def group(builder: KernelBuilder) -> Value:
    builder.require(KernelKind.DATAMOVEMENT, "ttl.GroupTransfer()")
    return builder.value(ttl.GroupOp.create(result_types=[ttl.GroupType()]))


def add_to_group(builder: KernelBuilder, group: SSAValue, transfer: Value) -> None:
    if not isinstance(transfer, SSAValue) or not isinstance(transfer.type, ttl.TransferType):
        raise RuleBroken(
            codes.WRONG_ARGUMENT,
            f"GroupTransfer.add() takes what ttl.copy() returns, not {describe(transfer)}",
        )
    builder.emit(ttl.GroupAddOp.create(operands=[group, transfer]))
    builder.released |= {transfer}


def wait_group(builder: KernelBuilder, group: SSAValue) -> None:
    builder.emit(ttl.GroupWaitOp.create(operands=[group]))

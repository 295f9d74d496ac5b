"""Tensor slices, copies and groups of transfers in a data movement kernel."""

from __future__ import annotations

from operator import index

from ttl.diagnostics import RuleBroken, wrong_argument
from ttl.dialects import ttl
from ttl.dialects.ttcore import block_type, tensor_of
from ttl.language.pipes import not_from_a_net
from ttl.semantics import tensors
from ttl.semantics.dtypes import dtype_of
from ttl.semantics.kernel_kinds import KernelKind
from ttl.semantics.layout import Layout, layout_of
from ttl.semantics.tensor_like import TensorLike
from ttl.semantics.tensors import TensorSlice
from ttl.semantics.types import BlockType

from .builder import KernelBuilder
from .hir import GroupValue, HeldBlock, PipeValue, Scalar, SliceValue, TransferValue, Value
from .linear import known_difference
from .pipe_copies import copy_pipe, written_pipe
from .problems import describe, flow_broken


def tensor_slice(builder: KernelBuilder, tensor: TensorLike, given: Value) -> SliceValue:
    builder.require(KernelKind.DATAMOVEMENT, "a tensor slice")
    items = given if isinstance(given, tuple) else (given,)
    sizes = tensors.shape_in_units(tensor)
    if len(items) != len(sizes):
        raise tensors.wrong_index_count(len(items), tensor)
    layout = layout_of(tensor)
    dimensions = zip(items, sizes, range(len(sizes)), strict=True)
    pairs = [_start_and_extent(*each, tensor) for each in dimensions]
    starts, extents = zip(*pairs, strict=True)
    operands = [builder.handles.tensor(tensor), *(builder.index(start) for start in starts)]
    type = tensor_of(extents, dtype_of(tensor), layout)
    value = builder.value(ttl.TensorSliceOp, operands, type)
    assert isinstance(value, SliceValue)
    value.part = TensorSlice(tensor, items, (0,) * len(extents), extents)
    return value


def _start_and_extent(
    item: Value, size: int, dimension: int, tensor: TensorLike
) -> tuple[Value, int]:
    layout = layout_of(tensor)
    if not isinstance(item, slice):
        start, extent = _bound(item, layout), 1
    elif item.step not in (None, 1):
        raise tensors.wrong_slice("a slice of a tensor has no step", layout, subject=tensor)
    else:
        start = 0 if item.start is None else _bound(item.start, layout)
        extent = constant_difference(
            size if item.stop is None else _bound(item.stop, layout), start
        )
    first = start if isinstance(start, int) else 0  # as far as known before the run
    if extent < 1 or first < 0 or first + extent > size:
        if not isinstance(start, int):
            message = f"a slice of {extent} {layout.unit} of {tensors.A_TENSOR} is not in 0:{size}"
            raise tensors.wrong_slice(message, layout, subject=tensor)
        text = f"{start}:{start + extent}" if isinstance(item, slice) else f"{start}"
        raise tensors.out_of_range(text, dimension, size, layout, tensor)
    return start, extent


def _bound(item: Value, layout: Layout) -> Value:
    """Return a run-time integer, or an int, possibly converted from numpy."""
    if isinstance(item, Scalar) and item.kind is int:
        return item
    try:
        if isinstance(item, bool):
            raise TypeError
        return index(item)  # type: ignore[arg-type]
    except TypeError:
        raise tensors.wrong_slice(
            f"{describe(item)} is neither an index nor a slice of whole {layout.unit}", layout
        ) from None


def constant_difference(stop: Value, start: Value) -> int:
    """Return `stop - start` if it is a constant, as in `row * 2 : row * 2 + 2`."""
    found = known_difference(stop, start)
    if found is None:
        raise flow_broken(
            "slices whose extent is not a constant",
            help="write `start : start + n`, with the number n of the block's shape",
        )
    return found


def copy(builder: KernelBuilder, src: Value, dst: Value) -> Value:
    builder.require(KernelKind.DATAMOVEMENT, "ttl.copy()")
    src, dst = written_pipe(builder, src, "dst"), written_pipe(builder, dst, "src")
    if isinstance(src, PipeValue) or isinstance(dst, PipeValue):
        return copy_pipe(builder, src, dst)
    if isinstance(src, SliceValue) and isinstance(dst, HeldBlock):
        _check_copy(src.part, block_type(dst.type))
        return builder.copied([src, dst], "read")
    if isinstance(src, HeldBlock) and isinstance(dst, SliceValue):
        _check_copy(dst.part, block_type(src.type))
        return builder.copied([src, dst], "write")
    if not isinstance(src, HeldBlock) or not isinstance(dst, HeldBlock):
        raise _cannot_copy(src, dst)
    source, destination = block_type(src.type), block_type(dst.type)
    if source != destination:
        raise tensors.type_mismatch(source, destination, "a copy connects")
    return builder.copied([src, dst], "read")  # within a node, the destination block reads


def _cannot_copy(source: Value, destination: Value) -> RuleBroken:
    if (broken := not_from_a_net(source, destination)) is not None:
        return broken
    whole_tensor = any(hasattr(end, "layout") for end in (source, destination))
    help_text = "copy between a tensor slice and a block, or between two blocks"
    if whole_tensor:
        help_text = "slice the tensor, for example tensor[0:2, 0:2]"
    return wrong_argument(
        "ttl.copy() connects a block with a tensor slice, a pipe or a block, not "
        f"{describe(source)} with {describe(destination)}",
        help_text,
    )


def _check_copy(part: TensorSlice, block: BlockType) -> None:
    assert block.shape is not None
    tensors.check_copy_layouts(part, block.layout)
    tensors.check_copy_shapes(part, block.shape)
    if dtype_of(part.tensor) != block.dtype:
        raise tensors.copy_dtypes_differ(dtype_of(part.tensor), block.dtype)


def wait_transfer(builder: KernelBuilder, transfer: TransferValue) -> None:
    builder.emit(ttl.WaitTransferOp, [transfer])
    builder.state.released |= {transfer}


def group(builder: KernelBuilder) -> Value:
    builder.require(KernelKind.DATAMOVEMENT, "ttl.GroupTransfer()")
    return builder.value(ttl.GroupOp, (), ttl.GroupType())


def add_to_group(builder: KernelBuilder, group: GroupValue, transfer: Value) -> None:
    if not isinstance(transfer, TransferValue):
        given = describe(transfer)
        raise wrong_argument(f"GroupTransfer.add() takes what ttl.copy() returns, not {given}")
    builder.emit(ttl.GroupAddOp, [group, transfer])
    transfer.is_grouped = True
    builder.state.grouped += ((group, transfer),)
    builder.state.released |= {transfer}


def wait_group(builder: KernelBuilder, group: GroupValue) -> None:
    builder.emit(ttl.GroupWaitOp, [group])
    builder.state.released |= {group}

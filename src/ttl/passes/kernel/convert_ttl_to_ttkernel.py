"""convert-ttl-to-ttkernel: turn the user's operations into calls of the chip's kernel interface."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from xdsl.dialects import arith, func
from xdsl.dialects.builtin import (
    ArrayAttr,
    FunctionType,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    i1,
    i64,
)
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint

from ttl.dialects import ttkernel, ttl
from ttl.dialects.building import walk
from ttl.dialects.ttcore import block_type
from ttl.dialects.ttkernel import processor_of
from ttl.semantics.types import Shape

from ..arithmetic import add, minus
from ..module_pass import Maker, branch_end, erase, kernels, nothing, target_of, users_of
from ..node_to_node.node_calls import Corners, node_count
from ..node_to_node.pipe_conversions import (
    PIPE_CONVERSIONS,
    copy_pipe,
    wait_receive,
    wait_receives,
    wait_send,
)
from ..node_to_node.semaphore_calls import SEMAPHORE_CONVERSIONS
from .compute_calls import COMPUTE_CONVERSIONS
from .kernel_calls import (
    KernelConverter,
    block_address,
    block_bytes,
    call,
    first_page,
    noc_address_call,
    value_call,
)
from .print_calls import print_calls
from .raw_elements import read_element, write_element
from .row_copies import RowCopy, copy_rows, rows_of
from .ttl_flush_writes import FLUSH


def apply(op: ModuleOp) -> None:
    api = target_of(op).device_api
    for kernel in kernels(op):
        convert_kernel(KernelConverter(kernel, api))


def convert_kernel(converter: KernelConverter) -> None:
    converted = [op for op in walk(converter.kernel) if type(op) in CONVERSIONS]
    _make_accessors(converter)
    for op in converted:
        CONVERSIONS[type(op)](converter, op, Maker.before(op))
    for op in reversed(converted):
        erase(op)
    _drop_arguments(converter.kernel)
    _complete_transfers(converter.kernel)


def _complete_transfers(kernel: func.FuncOp) -> None:
    """Wait for all writes when a kernel ends: the next launch reads them."""
    if processor_of(kernel) == "compute":
        return
    make = Maker.before(branch_end(kernel.body.block.first_op))  # type: ignore[arg-type]
    names = {op.name for op in walk(kernel)}
    if names & {"ttkernel.noc_inline_dw_write", "ttkernel.noc_async_writes_flushed", *_MULTICASTS}:
        call(make, "noc_async_write_barrier")
    if "ttkernel.noc_semaphore_inc" in names:
        call(make, "noc_async_atomic_barrier")


_MULTICASTS = {f"ttkernel.noc_semaphore_set_multicast{form}" for form in ("", "_loopback_src")}


def _make_accessors(converter: KernelConverter) -> None:
    """Replace tensor arguments by accessors; addresses are common runtime arguments."""
    body = converter.kernel.body.block
    make = Maker(InsertPoint.at_start(body), converter.kernel)
    positions = converter.kernel.attributes["ttl.crta_indices"]
    assert isinstance(positions, ArrayAttr)
    for number, (argument, position) in enumerate(zip(body.args, positions, strict=True)):
        name = argument.name_hint or f"tensor_{number}"
        type, index = ttkernel.AccessorType(StringAttr(name)), IntegerAttr(number, i64)
        accessor = make.new(
            ttkernel.TensorAccessorOp, (), type, name, tensor=position, argument=index
        )
        converter.accessors[argument] = accessor


def _drop_arguments(kernel: func.FuncOp) -> None:
    body = kernel.body.block
    for argument in list(body.args):
        body.erase_arg(argument, safe_erase=False)
    kernel.properties["function_type"] = FunctionType.from_lists([], [])


# Buffers ------------------------------------------------------------------------------------------


def bind_buffer(converter: KernelConverter, op: ttl.BindBufferOp, make: Maker) -> None:
    name, data_format = op.buffer.root_reference, op.result.type.tile.dtype.data_format
    assert op.index is not None
    type, hint = ttkernel.CBType(name, StringAttr(data_format)), op.result.name_hint
    argument = make.new(ttkernel.CompileTimeArgOp, (), type, hint, index=op.index)
    converter.circular_buffers[op.result] = argument


def buffer_call(name: str) -> Callable[[KernelConverter, Operation, Maker], None]:
    def convert(converter: KernelConverter, op: Operation, make: Maker) -> None:
        if ttl.is_resumed(op):
            return
        buffer = op.operands[0]
        assert isinstance(buffer.type, ttl.DataflowBufferType)
        blocks = converter.held.count.get(op, 1)  # blocks already held count too
        tiles = make.index(buffer.type.block_tiles * blocks)
        call(make, name, converter.circular_buffers[buffer], tiles)

    return convert


POLLS = {True: "cb_pages_available_at_front", False: "cb_pages_reservable_at_back"}
COMPUTE_POLLS = {True: "ask_unpacker", False: "ask_packer"}


def can_acquire(converter: KernelConverter, op: ttl.CanAcquireOp, make: Maker) -> None:
    """Ask for one block more than the kernel holds; the answer is no if there are not so many."""
    blocks = converter.held.count[op]
    assert isinstance(op.buffer.type, ttl.DataflowBufferType)
    if blocks > op.buffer.type.block_count.value.data:
        answer = make.value(arith.ConstantOp(IntegerAttr(0, i1)))
    else:
        is_wait, is_compute = op.is_wait is not None, processor_of(converter.kernel) == "compute"
        calls = COMPUTE_POLLS if is_compute else POLLS
        tiles = make.index(op.buffer.type.block_tiles * blocks)
        buffer, hint = converter.circular_buffers[op.buffer], op.result.name_hint
        answer = value_call(make, calls[is_wait], buffer, tiles, type=i1, hint=hint)
    op.result.replace_all_uses_with(answer)


# Both kinds of kernels ----------------------------------------------------------------------------


def runtime_arg(converter: KernelConverter, op: ttl.RuntimeArgOp, make: Maker) -> None:
    type, hint = op.result.type, op.result.name_hint
    argument = make.new(ttkernel.RuntimeArgOp, (), type, hint, index=op.index)
    op.result.replace_all_uses_with(argument)


# Data movement ------------------------------------------------------------------------------------


def node_index(converter: KernelConverter, op: ttl.NodeIndexOp, make: Maker) -> None:
    name = f"get_absolute_logical_{'xy'[op.dimension.value.data]}"
    op.result.replace_all_uses_with(value_call(make, name, hint=op.result.name_hint))


def copy(converter: KernelConverter, op: ttl.CopyOp, make: Maker) -> None:
    """Copy a page for each tile; all transfers are under way until the barrier."""
    if op.pipe is not None:
        block = op.destination if op.pipe is op.source else op.source
        address = block_address(converter, op, block, make)
        copy_pipe(converter, op, address, block_bytes(block), make)
        return
    part = op.source if _kind(op.transfer) == "read" else op.destination
    slice_op = part.owner
    if not isinstance(slice_op, ttl.TensorSliceOp):
        _copy_block(converter, op, make)
        return
    block = op.destination if part is op.source else op.source
    address = block_address(converter, op, block, make)
    tensor_shape = block_type(slice_op.tensor.type).shape or ()
    if rows := rows_of(op, converter.kernel):
        stride = ttl.page_bytes_of(ttl.buffer_of(block))
        copy_rows(RowCopy(rows, converter.accessors[slice_op.tensor], address, stride), make)
        return
    first = first_page(make, list(slice_op.starts), tensor_shape)
    accessor = converter.accessors[slice_op.tensor]
    function = "noc_async_read_page" if part is op.source else "noc_async_write_page"
    _copy_tiles(make, function, accessor, first, address, part, tensor_shape)


def _copy_block(converter: KernelConverter, op: ttl.CopyOp, make: Maker) -> None:
    """Copy between blocks of a node; the destination reads."""
    source = block_address(converter, op, op.source, make)
    destination = block_address(converter, op, op.destination, make)
    address = noc_address_call(make, "get_noc_addr", source, hint=f"{source.name_hint}_on_noc")
    call(make, "noc_async_read", address, destination, make.index(block_bytes(op.source)))


def multicast(converter: KernelConverter, op: ttl.MulticastOp, make: Maker) -> None:
    """Multicast a block; buffer and pointer have the same address on every node."""
    nodes = converter.nodes()
    source = block_address(converter, op, op.source, make)
    destination = source
    if op.is_loopback:
        destination = block_address(converter, op, op.destination, make)
    corners: Corners = tuple(op.place)  # type: ignore[assignment]
    there = nodes.on_nodes(make, corners, destination, f"{destination.name_hint}_on_nodes")
    size, count = make.index(block_bytes(op.source)), node_count(make, corners)
    if op.is_loopback:  # correct whether or not the node is in the rectangle
        call(make, "noc_async_write_multicast_loopback_src", source, there, size, count)
        return
    others = minus(make, count, nodes.is_inside(make, corners))
    call(make, "noc_async_write_multicast", source, there, size, others)


def _kind(transfer: SSAValue) -> str:
    assert isinstance(transfer.type, ttl.TransferType)
    return transfer.type.kind.data


def _copy_tiles(
    make: Maker,
    function: str,
    accessor: SSAValue,
    first: SSAValue,
    address: SSAValue,
    part: SSAValue,
    tensor_shape: Shape,
) -> None:
    part_type = block_type(part.type)
    shape, dtype = part_type.shape, part_type.dtype
    assert shape is not None and dtype is not None
    strides = [prod(tensor_shape[d + 1 :]) for d in range(len(shape))]
    byte_sizes = [prod(shape[d + 1 :]) * dtype.tile_bytes for d in range(len(shape))]

    def dimension(inner: Maker, d: int, indices: list[SSAValue]) -> None:
        if d < len(shape):
            name = {1: "tile_row", 0: "tile_column"}.get(len(shape) - 1 - d, "tile_outer")
            inner.loop(shape[d], name, lambda m, i: dimension(m, d + 1, [*indices, i]))
            return
        page = inner.affine(list(zip(indices, strides, strict=True)))
        offset = inner.affine(list(zip(indices, byte_sizes, strict=True)))
        call(
            inner,
            function,
            add(inner, first, page, "page"),
            accessor,
            add(inner, address, offset, "address"),
        )

    dimension(make, 0, [])


def wait_transfer(converter: KernelConverter, op: ttl.WaitTransferOp, make: Maker) -> None:
    if _kind(op.transfer) in ("read", "write"):
        _barrier(op, [op.transfer], make)
    elif _kind(op.transfer) == "send":
        wait_send(converter, op.transfer, make)
    else:
        wait_receive(converter, op.transfer, make)


def wait_group(converter: KernelConverter, op: ttl.GroupWaitOp, make: Maker) -> None:
    transfers = [add.transfer for add in users_of(op.group, ttl.GroupAddOp)]
    for kind in ("read", "write"):
        _barrier(op, [transfer for transfer in transfers if _kind(transfer) == kind], make)
    wait_receives(converter, op, make)


def _barrier(op: Operation, transfers: list[SSAValue], make: Maker) -> None:
    """Add a barrier unless there is one since the last copy: it waits for all transfers."""
    if not transfers:
        return
    barrier = f"noc_async_{_kind(transfers[0])}_barrier"
    name = "noc_async_writes_flushed" if FLUSH in op.attributes else barrier
    copies = {transfer.owner for transfer in transfers}
    previous = op.prev_op
    while previous is not None and previous not in copies and not previous.regions:
        if previous.name in (f"ttkernel.{name}", f"ttkernel.{barrier}"):
            return
        previous = previous.prev_op
    call(make, name)


CONVERSIONS: dict[type[Operation], Callable[..., None]] = {
    ttl.BindBufferOp: bind_buffer,
    ttl.ReserveOp: buffer_call("cb_reserve_back"),
    ttl.WaitOp: buffer_call("cb_wait_front"),
    ttl.CanAcquireOp: can_acquire,
    ttl.PushOp: buffer_call("cb_push_back"),
    ttl.PopOp: buffer_call("cb_pop_front"),
    ttl.HandOverOp: nothing,
    ttl.HandOverTransferOp: nothing,
    ttl.ResumeTransferOp: nothing,
    **COMPUTE_CONVERSIONS,
    ttl.RuntimeArgOp: runtime_arg,
    ttl.PrintOp: print_calls,
    ttl.NodeIndexOp: node_index,
    ttl.TensorSliceOp: nothing,
    ttl.CopyOp: copy,
    ttl.MulticastOp: multicast,
    ttl.ReadElementOp: read_element,
    ttl.WriteElementOp: write_element,
    ttl.WaitTransferOp: wait_transfer,
    ttl.GroupWaitOp: wait_group,
    **PIPE_CONVERSIONS,
    **SEMAPHORE_CONVERSIONS,
}

"""convert-ttl-to-ttkernel: the user's operations become calls of the chip's kernel interface."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from xdsl.context import Context
from xdsl.dialects import arith, func
from xdsl.dialects.builtin import (
    ArrayAttr,
    FunctionType,
    IndexType,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    i64,
)
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from ttl.dialects import ttkernel, ttl
from ttl.dialects.ttcore import block_type
from ttl.semantics.ops import BLOCK_OPS, COPY, FILL, TileCall
from ttl.semantics.types import Shape

from .module_pass import Maker, erase, kernels, target_of


class ConvertTtlToTtkernel(ModulePass):
    name = "convert-ttl-to-ttkernel"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        api = target_of(op).device_api
        for kernel in kernels(op):
            _Converter(kernel, api).convert()


class _Converter:
    """Rewrites one kernel in place."""

    def __init__(self, kernel: func.FuncOp, api: str):
        self.kernel = kernel
        self.api = api
        self.circular_buffers: dict[SSAValue, SSAValue] = {}
        self.accessors: dict[SSAValue, SSAValue] = {}

    def convert(self) -> None:
        converted = [op for op in self.kernel.walk() if type(op) in CONVERSIONS]
        self.make_accessors()
        for op in converted:
            CONVERSIONS[type(op)](self, op, Maker.before(op))
        for op in reversed(converted):
            erase(op)
        self.drop_arguments()

    def make_accessors(self) -> None:
        """Tensors are arguments no more: their addresses are common runtime arguments."""
        body = self.kernel.body.block
        make = Maker(InsertPoint.at_start(body), self.kernel)
        positions = self.kernel.attributes["ttl.crta_indices"]
        assert isinstance(positions, ArrayAttr)
        for number, (argument, position) in enumerate(zip(body.args, positions, strict=True)):
            name = argument.name_hint or f"tensor_{number}"
            accessor = ttkernel.TensorAccessorOp.create(
                properties={"tensor": position, "argument": IntegerAttr(number, i64)},
                result_types=[ttkernel.AccessorType(StringAttr(name))],
            )
            self.accessors[argument] = make.value(accessor, name)

    def drop_arguments(self) -> None:
        body = self.kernel.body.block
        for argument in list(body.args):
            body.erase_arg(argument, safe_erase=False)
        self.kernel.properties["function_type"] = FunctionType.from_lists([], [])

    def buffer_of(self, block: SSAValue) -> SSAValue:
        return self.circular_buffers[ttl.buffer_of(block)]

    def form(self, action: str, from_buffers: bool) -> TileCall:
        """The tile column of the op table for this chip."""
        forms = BLOCK_OPS[action].tile[self.api]
        form = forms.from_buffers if from_buffers else forms.in_dst
        assert form is not None
        return form


def call(make: Maker, name: str, *arguments: SSAValue, returns: bool = False) -> Operation:
    """`name` is spelled as in C++, template arguments included."""
    template = ttkernel.template_of(name)
    op = ttkernel.CALLS[name.split("<")[0]].create(
        operands=arguments,
        properties={"template": template} if template else {},
        result_types=[IndexType()] if returns else [],
    )
    return make.add(op)


# Buffers ------------------------------------------------------------------------------------------


def bind_buffer(self: _Converter, op: ttl.BindBufferOp, make: Maker) -> None:
    name, data_format = op.buffer.root_reference, op.result.type.tile.dtype.data_format
    assert op.index is not None
    argument = ttkernel.CompileTimeArgOp.create(
        properties={"index": op.index},
        result_types=[ttkernel.CBType(name, StringAttr(data_format))],
    )
    self.circular_buffers[op.result] = make.value(argument, op.result.name_hint)


def buffer_call(name: str) -> Callable[[_Converter, Operation, Maker], None]:
    def convert(self: _Converter, op: Operation, make: Maker) -> None:
        buffer = op.operands[0]
        assert isinstance(buffer.type, ttl.DataflowBufferType)
        tiles = make.index(buffer.type.block_tiles)
        call(make, name, self.circular_buffers[buffer], tiles)

    return convert


# Compute ------------------------------------------------------------------------------------------


def section_step(self: _Converter, op: ttl.SectionOp, make: Maker) -> None:
    call(make, f"tile_regs_{op.step.data}")


def tile_call(self: _Converter, op: ttl.TileCallOp, make: Maker) -> None:
    buffers = [self.buffer_of(block) for block in op.buffers]
    tiles, registers = list(op.tiles), list(op.registers)
    action = op.action.data
    if action == "store":
        call(make, "pack_tile<true>", registers[0], buffers[0], tiles[0])
    elif action == "copy":
        call(make, COPY.call, buffers[0], tiles[0], registers[0])
    elif action == "fill":
        assert op.value is not None
        call(make, FILL.call, registers[0]).properties["value"] = op.value
    elif action == "matmul":
        sizes = [make.index(size) for size in _matmul_sizes(op)]
        form = self.form(action, from_buffers=True)
        call(make, form.call, *buffers, *tiles, registers[0], make.index(0), *sizes)
    elif buffers:
        form = self.form(action, from_buffers=True)
        call(make, form.call, *buffers, *tiles, registers[-1])
    else:
        form = self.form(action, from_buffers=False)
        used = registers if BLOCK_OPS[action].operands == 2 else registers[:1]
        call(make, form.call, *used)


def _matmul_sizes(op: ttl.TileCallOp) -> tuple[int, int, int]:
    """Columns and rows of the result and the row stride of the left operand, in tiles."""
    (rows, steps), (_, columns) = (block_type(block.type).shape or (0, 0) for block in op.buffers)
    return columns, rows, steps


# Data movement ------------------------------------------------------------------------------------


def node_index(self: _Converter, op: ttl.NodeIndexOp, make: Maker) -> None:
    axis = "xy"[op.dimension.value.data]
    coordinate = call(make, f"get_absolute_logical_{axis}", returns=True).results[0]
    coordinate.name_hint = op.result.name_hint
    op.result.replace_all_uses_with(coordinate)


def copy(self: _Converter, op: ttl.CopyOp, make: Maker) -> None:
    """A page for each tile: the transfers are all under way until the barrier."""
    is_read = _kind(op.transfer) == "read"
    part, block = (op.source, op.destination) if is_read else (op.destination, op.source)
    slice_op = part.owner
    assert isinstance(slice_op, ttl.TensorSliceOp)
    address = call(
        make,
        "get_read_ptr" if isinstance(block.owner, ttl.WaitOp) else "get_write_ptr",
        self.buffer_of(block),
        returns=True,
    ).results[0]
    address.name_hint = f"{ttl.buffer_of(block).name_hint}_address"
    tensor_shape = block_type(slice_op.tensor.type).shape or ()
    first = first_page(make, list(slice_op.starts), tensor_shape)
    accessor = self.accessors[slice_op.tensor]
    function = "noc_async_read_page" if is_read else "noc_async_write_page"
    _copy_tiles(make, function, accessor, first, address, part, tensor_shape)


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
        page = inner.value(arith.AddiOp(first, page), "page")
        at = inner.value(arith.AddiOp(address, offset), "address")
        call(inner, function, page, accessor, at)

    dimension(make, 0, [])


def first_page(make: Maker, starts: list[SSAValue], shape: Shape) -> SSAValue:
    """Tiles are numbered row by row over all dimensions."""
    page = starts[0]
    for start, size in zip(starts[1:], shape[1:], strict=True):
        row = make.value(arith.MuliOp(page, make.index(size)))
        page = make.value(arith.AddiOp(row, start), "first_page")
    return page


def wait_transfer(self: _Converter, op: ttl.WaitTransferOp, make: Maker) -> None:
    """A barrier waits for everything under way: of several in a row one is enough."""
    name = f"ttkernel.noc_async_{_kind(op.transfer)}_barrier"
    previous = op.prev_op
    while isinstance(previous, ttl.WaitTransferOp):
        previous = previous.prev_op
    if previous is None or previous.name != name:
        call(make, name.removeprefix("ttkernel."))


def drop(self: _Converter, op: Operation, make: Maker) -> None:
    pass


CONVERSIONS: dict[type[Operation], Callable[..., None]] = {
    ttl.BindBufferOp: bind_buffer,
    ttl.ReserveOp: buffer_call("cb_reserve_back"),
    ttl.WaitOp: buffer_call("cb_wait_front"),
    ttl.PushOp: buffer_call("cb_push_back"),
    ttl.PopOp: buffer_call("cb_pop_front"),
    ttl.SectionOp: section_step,
    ttl.TileCallOp: tile_call,
    ttl.NodeIndexOp: node_index,
    ttl.TensorSliceOp: drop,
    ttl.CopyOp: copy,
    ttl.WaitTransferOp: wait_transfer,
}

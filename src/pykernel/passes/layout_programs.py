"""Programs of the device that convert between rows and tiles.

A core has a rectangle of tiles. Each row of tiles passes two circular buffers, as 32 rows of
elements and as tiles: the reader fills one, the compute kernel converts to the other, the writer
empties it. The kernels are in the ttkernel dialect, as convert-ttl-to-ttkernel leaves them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.dialects import arith, func
from xdsl.dialects.builtin import BoolAttr, IntegerAttr, ModuleOp, StringAttr, i64
from xdsl.ir import Attribute, Operation, SSAValue

from ttl.dialects import ttkernel, ttl
from ttl.passes.kernel.kernel_calls import call, noc_address_call, value_call
from ttl.passes.module_pass import Maker, integers
from ttl.semantics.dtypes import DType, float32
from ttl.semantics.types import TILE_SIZE, Shape
from ttl.target import of_all_chips

from .d2m_kernels import kernel_attributes, new_kernel

ROWS, TILES = "rows", "tiles"
Body = Callable[[Maker], None]


@dataclass(frozen=True, slots=True)
class LayoutProgram:
    """A conversion between rows and tiles for a tensor of `grid` cores with `shard` tiles each."""

    to_tiles: bool
    grid: Shape
    shard: Shape
    dtype: DType

    @property
    def ends(self) -> tuple[str, str]:
        """Return the source and the destination: both name a tensor and a circular buffer."""
        return (ROWS, TILES) if self.to_tiles else (TILES, ROWS)

    @property
    def width(self) -> int:
        return self.shard[1]

    @property
    def width_bytes(self) -> int:
        """Return the bytes of one row of elements."""
        return self.width * TILE_SIZE * self.dtype.element_bytes


KERNELS = ("datamovement_kernel0", "compute_kernel0", "datamovement_kernel1")


def layout_module(program: LayoutProgram, name: str, outer: ModuleOp) -> ModuleOp:
    rows, columns = program.grid
    attributes: dict[str, Attribute] = {
        "ttl.launch_grid": integers((columns, rows)),
        "ttl.target_arch": outer.attributes["ttl.target_arch"],
    }
    parts = [
        *(_declare(program, end, index) for index, end in enumerate(program.ends)),
        _kernel(program, KERNELS[0], "reader", lambda make: _move(program, make, is_read=True)),
        _kernel(program, KERNELS[1], "compute", lambda make: _convert(program, make)),
        _kernel(program, KERNELS[2], "writer", lambda make: _move(program, make, is_read=False)),
    ]
    return ModuleOp(parts, attributes, StringAttr(name))


def _declare(program: LayoutProgram, end: str, index: int) -> Operation:
    type = ttl.DataflowBufferType.of((1, program.width), program.dtype, 2)
    declared = ttl.DeclareBufferOp.create(
        properties={
            "sym_name": StringAttr(f"{end}_cb"),
            "type": type,
            "index": IntegerAttr(index, i64),
        }
    )
    if program.dtype == float32 and index == 0:  # exact: avoids the sources' 19 bits
        declared.properties["unpack_to_dest_fp32"] = BoolAttr.from_bool(True)
    return declared


def _kernel(program: LayoutProgram, name: str, thread: str, body: Body) -> func.FuncOp:
    tensors = {"reader": [0], "writer": [1]}.get(thread, [])
    function = new_kernel(name, kernel_attributes(thread, tensors, program.ends))
    if thread == "compute":
        function.attributes |= {
            "fp32_dest_acc_en": BoolAttr.from_bool(program.dtype.element_bytes == 4),
            "dst_full_sync_en": BoolAttr.from_bool(False),
        }
    make = Maker.at_end(function.body.block, function)
    body(make)
    make.add(func.ReturnOp())
    return function


def _buffer(program: LayoutProgram, make: Maker, index: int) -> SSAValue:
    name = f"{program.ends[index]}_cb"
    type = ttkernel.CBType(StringAttr(name), StringAttr(program.dtype.data_format))
    return make.new(ttkernel.CompileTimeArgOp, (), type, name, index=IntegerAttr(index, i64))


# Data movement ------------------------------------------------------------------------------------


def _move(program: LayoutProgram, make: Maker, is_read: bool) -> None:
    """Move between the tensor and the circular buffer, a row of tiles at a time."""
    position = 0 if is_read else 1
    end = program.ends[position]
    properties = {"tensor": IntegerAttr(position, i64), "argument": IntegerAttr(0, i64)}
    type = ttkernel.AccessorType(StringAttr(end))
    accessor = make.new(ttkernel.TensorAccessorOp, (), type, None, **properties)
    buffer, pages = _buffer(program, make, position), make.index(program.width)
    y, x = (value_call(make, f"get_absolute_logical_{axis}", hint=axis) for axis in "yx")
    acquire, pointer, barrier, release = (
        ("cb_reserve_back", "get_write_ptr", "noc_async_read_barrier", "cb_push_back")
        if is_read
        else ("cb_wait_front", "get_read_ptr", "noc_async_write_barrier", "cb_pop_front")
    )
    move = _move_rows if end == ROWS else _move_tiles

    def row_of_tiles(inner: Maker, row: SSAValue) -> None:
        call(inner, acquire, buffer, pages)
        address = value_call(inner, pointer, buffer, hint=f"{end}_address")
        first = inner.affine([(y, program.shard[0]), (row, 1)], hint="tile_row")
        move(program, inner, accessor, first, x, address, is_read)
        call(inner, barrier)
        call(inner, release, buffer, pages)

    make.loop(program.shard[0], "row", row_of_tiles)


def _move_rows(
    program: LayoutProgram,
    make: Maker,
    accessor: SSAValue,
    tile_row: SSAValue,
    x: SSAValue,
    address: SSAValue,
    is_read: bool,
) -> None:
    """Move pages that are rows of the whole tensor; the core has `width_bytes` of each."""
    size = make.index(program.width_bytes)
    byte = make.value(arith.MuliOp(x, size), "byte")

    def row(inner: Maker, number: SSAValue) -> None:
        page = inner.affine([(tile_row, TILE_SIZE), (number, 1)], hint="page")
        place = accessor, page, byte
        there = noc_address_call(inner, ttkernel.PAGE_ADDRESS, *place, hint="row_on_noc")
        here = inner.affine([(address, 1), (number, program.width_bytes)], hint="row_address")
        if is_read:
            call(inner, "noc_async_read", there, here, size)
        else:
            call(inner, "noc_async_write", here, there, size)

    make.loop(TILE_SIZE, "number", row)


def _move_tiles(
    program: LayoutProgram,
    make: Maker,
    accessor: SSAValue,
    tile_row: SSAValue,
    x: SSAValue,
    address: SSAValue,
    is_read: bool,
) -> None:
    """Move pages that are tiles."""
    function = "noc_async_read_page" if is_read else "noc_async_write_page"
    columns = program.grid[1] * program.width
    first = make.affine([(tile_row, columns), (x, program.width)], hint="first_page")

    def tile(inner: Maker, column: SSAValue) -> None:
        page = inner.affine([(first, 1), (column, 1)], hint="page")
        here = inner.affine([(address, 1), (column, program.dtype.tile_bytes)], hint="address")
        call(inner, function, page, accessor, here)

    make.loop(program.width, "column", tile)


# Compute ------------------------------------------------------------------------------------------


def _convert(program: LayoutProgram, make: Maker) -> None:
    source, result = (_buffer(program, make, index) for index in range(2))
    call(make, "compute_kernel_hw_startup", source, source, result)
    convert = _tilize if program.to_tiles else _untilize
    convert(program, make, source, result)


def _tilize(program: LayoutProgram, make: Maker, rows: SSAValue, tiles: SSAValue) -> None:
    width = make.index(program.width)
    call(make, "tilize_init", rows, width, tiles)

    def row_of_tiles(inner: Maker, row: SSAValue) -> None:
        call(inner, "cb_wait_front", rows, width)
        call(inner, "cb_reserve_back", tiles, width)
        call(inner, "tilize_block", rows, width, tiles)
        call(inner, "cb_push_back", tiles, width)
        call(inner, "cb_pop_front", rows, width)

    make.loop(program.shard[0], "row", row_of_tiles)
    call(make, "tilize_uninit", rows, tiles)


def _untilize(program: LayoutProgram, make: Maker, tiles: SSAValue, rows: SSAValue) -> None:
    """Untilize with the packer, in blocks that fit into DST."""
    width, one = make.index(program.width), make.index(1)
    most = range(1, of_all_chips("dst_tiles_32_bit", min) + 1)
    size = max(count for count in most if program.width % count == 0)
    block, template = make.index(size), f"<{size}, {program.width}>"
    call(make, f"pack_untilize_init{template}", tiles, rows)

    def part(inner: Maker, number: SSAValue) -> None:
        call(inner, "cb_wait_front", tiles, block)
        call(inner, f"pack_untilize_block{template}", tiles, one, rows, number)
        call(inner, "cb_pop_front", tiles, block)

    def row_of_tiles(inner: Maker, row: SSAValue) -> None:
        call(inner, "cb_reserve_back", rows, width)
        inner.loop(program.width // size, "block", part)
        call(inner, "cb_push_back", rows, width)

    make.loop(program.shard[0], "row", row_of_tiles)
    call(make, "pack_untilize_uninit", rows)

"""convert-d2m-to-ttmetal: what the host does around the threads, as commands for the device.

The host writes tensors as rows; programs of the device make tiles of them, and rows of the result.
rule STREAM  a stream's storage is the memory of circular buffers: it gets no buffer of its own
rule STAGE   rows are in DRAM, after the allocations of d2m-allocate and after each other, until
             they are tiles or the host has them
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import func, memref
from xdsl.dialects.builtin import (
    ArrayAttr,
    IntegerAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    i64,
)
from xdsl.ir import Operation, SSAValue

from pykernel.dialects import d2m, ttmetal
from ttl.dialects.metal import GridAttr, MemorySpaceAttr
from ttl.dialects.ttcore import TileType
from ttl.passes.module_pass import Maker, erase, set_function_type, target_of, users_of
from ttl.semantics.types import TILE_SIZE, Shape

from .convert_d2m_to_ttl import HOST
from .d2m_allocate import aligned, size_bytes, space_of
from .layout_programs import KERNELS, LayoutProgram, layout_module


def apply(op: ModuleOp) -> None:
    for host in [each for each in op.ops if isinstance(each, ModuleOp)]:
        if host.sym_name == StringAttr(HOST):
            for function in [each for each in host.ops if isinstance(each, func.FuncOp)]:
                _Host(op, function).convert()


def _on_cores(shape: Shape, most: Shape) -> tuple[Shape, Shape]:
    """Divide a tensor among the cores: a reduction may need more parts than there are cores."""
    sizes, parts = shape[: len(shape) // 2], shape[len(shape) // 2 :]
    cores = tuple(
        max(n for n in range(1, limit + 1) if size % n == 0)
        for size, limit in zip(sizes, most, strict=True)
    )
    pairs = zip(sizes, parts, cores, strict=True)
    return cores, tuple(size * part // count for size, part, count in pairs)


class _Host:
    """A host function; `buffers` maps values to the device's memory."""

    def __init__(self, module: ModuleOp, function: func.FuncOp):
        self.module, self.function = module, function
        self.buffers: dict[SSAValue, SSAValue] = {}
        self.programs: dict[LayoutProgram, str] = {}
        allocations = [op for op in function.body.block.ops if isinstance(op, memref.AllocOp)]
        self.staged_to = max(map(_dram_end, allocations), default=0)

    def convert(self) -> None:
        body = self.function.body.block
        ops = list(body.ops)
        for op in ops:
            _CONVERSIONS[type(op)](self, op, Maker.before(op))
        for op in reversed(ops):
            erase(op)
        set_function_type(self.function)
        del self.function.attributes["d2m.moves"]

    def allocate(self, op: memref.AllocOp, make: Maker) -> None:
        streams = users_of(op.memref, d2m.StreamLayoutOp)
        if any(stream.output is op.memref for stream in streams):
            return  # rule STREAM
        assert isinstance(op.memref.type, MemRefType)
        self.buffers[op.memref] = _create(make, op.memref.type, _address(op))

    def deallocate(self, op: memref.DeallocOp, make: Maker) -> None:
        if op.memref in self.buffers:
            make.add(ttmetal.DeallocateBufferOp.create(operands=[self.buffers[op.memref]]))

    def tilize(self, op: d2m.LayoutOp, make: Maker) -> None:
        tiles = self.buffers[op.output]
        rows = self._stage(make, tiles)
        make.add(ttmetal.EnqueueWriteBufferOp.create(operands=[op.input, rows]))
        self._run_layout(make, rows, tiles, to_tiles=True)
        make.add(ttmetal.DeallocateBufferOp.create(operands=[rows]))
        self.buffers[op.result] = tiles

    def stream(self, op: d2m.LayoutOp, make: Maker) -> None:
        self.buffers[op.result] = self.buffers[op.input]

    def generic(self, op: d2m.GenericOp, make: Maker) -> None:
        buffers = [self.buffers[operand] for operand in op.operands]
        kernels = [SymbolRefAttr(thread.symbol.data) for thread in op.threads]
        make.add(_enqueue(buffers, kernels, op.grid))
        for end in op.ends:
            self.buffers[end] = buffers[-1]

    def untilize(self, op: d2m.LayoutOp, make: Maker) -> None:
        tiles = self.buffers[op.input]
        rows = self._stage(make, tiles)
        self._run_layout(make, tiles, rows, to_tiles=False)
        make.add(ttmetal.EnqueueReadBufferOp.create(operands=[rows, op.output]))
        make.add(ttmetal.DeallocateBufferOp.create(operands=[rows]))

    def finish(self, op: func.ReturnOp, make: Maker) -> None:
        make.add(ttmetal.FinishOp.create())
        make.add(func.ReturnOp())

    def _stage(self, make: Maker, tiles: SSAValue) -> SSAValue:
        """Allocate rows by rule STAGE."""
        rows, columns, element = _rows_of(tiles)
        space = MemorySpaceAttr(StringAttr("dram"))
        type = MemRefType(element.element, (rows, columns), memory_space=space)
        start = aligned(self.staged_to, target_of(self.module).dram_alignment_bytes)
        self.staged_to = start + rows * columns * element.dtype.element_bytes
        return _create(make, type, start)

    def _run_layout(self, make: Maker, source: SSAValue, result: SSAValue, to_tiles: bool) -> None:
        tiles = result if to_tiles else source
        assert isinstance(tiles.type, MemRefType)
        grid, shard = _on_cores(tuple(tiles.type.get_shape()), target_of(self.module).grid[::-1])
        program = LayoutProgram(to_tiles, grid, shard, tiles.type.element_type.dtype)
        name = self._program(program)
        kernels = [SymbolRefAttr(name, [kernel]) for kernel in KERNELS]
        make.add(_enqueue([source, result], kernels, GridAttr.of(grid)))

    def _program(self, program: LayoutProgram) -> str:
        if program not in self.programs:
            name = f"{'tilize' if program.to_tiles else 'untilize'}_{len(self.programs)}"
            self.programs[program] = name
            self.module.body.block.add_op(layout_module(program, name, self.module))
        return self.programs[program]


def _rows_of(tiles: SSAValue) -> tuple[int, int, TileType]:
    """Return the rows and columns of elements of a tiled tensor, and the tile type."""
    assert isinstance(tiles.type, MemRefType)
    shape, element = tuple(tiles.type.get_shape()), tiles.type.element_type
    assert isinstance(element, TileType)
    rows, columns = (
        shape[dim] * shape[dim + len(shape) // 2] * TILE_SIZE for dim in range(len(shape) // 2)
    )
    return rows, columns, element


def _create(make: Maker, type: MemRefType, address: int) -> SSAValue:
    return make.new(ttmetal.CreateBufferOp, (), type, address=IntegerAttr(address, i64))


def _enqueue(buffers: list[SSAValue], kernels: list[SymbolRefAttr], grid: GridAttr) -> Operation:
    return ttmetal.EnqueueProgramOp.create(
        operands=buffers, properties={"kernels": ArrayAttr(kernels), "grid": grid}
    )


def _address(op: memref.AllocOp) -> int:
    address = op.attributes["address"]
    assert isinstance(address, IntegerAttr)
    return address.value.data


def _dram_end(op: memref.AllocOp) -> int:
    """Return the end of an allocation in DRAM; 0 for L1."""
    assert isinstance(op.memref.type, MemRefType)
    space = space_of(op.memref.type)
    return _address(op) + size_bytes(op.memref.type, space) if space == "dram" else 0


_CONVERSIONS: dict[type[Operation], Callable[..., None]] = {
    memref.AllocOp: _Host.allocate,
    memref.DeallocOp: _Host.deallocate,
    d2m.TilizeOp: _Host.tilize,
    d2m.UntilizeOp: _Host.untilize,
    d2m.StreamLayoutOp: _Host.stream,
    d2m.GenericOp: _Host.generic,
    func.ReturnOp: _Host.finish,
}

"""d2m-insert-dst-register-access: the tiles of loops pass through the registers of the math unit.

rule LOOPS   linalg becomes loops first; without `use-tile-matmul`, a product of blocks in memory
             stays one operation on whole blocks
rule LOADED  the vector unit works on registers: its operands are loaded there first
rule BUFFER  the matrix unit reads tiles from memory, and adds to the accumulator's register
rule RESULT  a result stays in a register for its write or the next operation
rule FREE    a register is free again after the last operation that reads it
"""

from __future__ import annotations

from dataclasses import replace

from xdsl.dialects import memref
from xdsl.dialects.builtin import MemRefType, ModuleOp, StringAttr
from xdsl.dialects.linalg.ops import GenericOp as LinalgOp
from xdsl.ir import Attribute, Operation, SSAValue

from pykernel.dialects import d2m
from pykernel.dialects.linalg_math import ACCUMULATING
from ttl.diagnostics import RuleBroken, codes
from ttl.dialects.metal import MemorySpaceAttr
from ttl.dialects.ttcore import TileType
from ttl.passes.module_pass import Maker, cannot_compile, erase, target_of
from ttl.target import Target

from .linalg_to_loops import apply as make_loops
from .tile_loops import innermost, roots_in, tile_ops_of

WIDE = 4  # bytes of an element that fills two 16-bit registers


def apply(
    op: ModuleOp, *, use_tile_matmul: bool = True, max_dst_physical_size_tiles: int = 0
) -> None:
    """Insert register accesses; a size of 0 means the chip's."""
    target = target_of(op)
    if max_dst_physical_size_tiles:
        half = max_dst_physical_size_tiles // 2  # the other half is the packer's
        target = replace(target, dst_tiles_16_bit=half, dst_tiles_32_bit=half // 2)
    if not use_tile_matmul:
        for product in [each for each in op.walk() if _is_product_in_memory(each)]:
            _whole_block(product, target)
    make_loops(op)
    for root in roots_in(op):
        block = innermost(root)
        if not any(isinstance(each, d2m.AcquireDstOp) for each in block.ops):
            _Registers(list(tile_ops_of(root)), target).insert()


def _is_product_in_memory(op: Operation) -> bool:
    if not isinstance(op, LinalgOp) or not isinstance(op.outputs[0].type, MemRefType):
        return False
    first = op.body.block.first_op
    return isinstance(first, d2m.TileOp) and first.ENTRY.name == "matmul"


def _whole_block(op: Operation, target: Target) -> None:
    make = Maker.before(op)
    _acquire(make, op.operands[-1].type.element_type, target)  # type: ignore[attr-defined]
    make.add(d2m.TileMatmulBlockOp.create(operands=list(op.operands)))
    erase(op)


def _acquire(make: Maker, tile: Attribute, target: Target) -> SSAValue:
    assert isinstance(tile, TileType)
    count = target.dst_capacity(fp32=tile.dtype.element_bytes == WIDE, full_sync=False)
    type = MemRefType(tile, (count,), memory_space=MemorySpaceAttr(StringAttr("dst")))
    return make.new(d2m.AcquireDstOp, (), type, "dst")


class _Registers:
    def __init__(self, ops: list[d2m.TileOp], target: Target):
        self.ops, self.target = ops, target
        self.make = Maker.before(ops[0])
        self.memory = _acquire(self.make, ops[0].result.type, target)
        assert isinstance(self.memory.type, MemRefType)
        (count,) = self.memory.type.get_shape()
        self.numbers: list[SSAValue] = []  # of registers, on demand
        self.free = list(range(count))
        self.held: dict[SSAValue, int] = {}  # values in registers

    def insert(self) -> None:
        for position, op in enumerate(self.ops):
            self.make = Maker.before(op)
            for number, value in enumerate(op.inputs):
                if self._is_in_register(op, number):
                    self._put(value, op)
                    op.operands[number] = self._get(value)
            self._release(position)
            self.make = Maker.after(op)
            users = list(op.result.uses)
            self._put(op.result, op)
            if position == len(self.ops) - 1:
                value = self._get(op.result)
                for use in users:
                    use.operation.operands[use.index] = value

    def _is_in_register(self, op: d2m.TileOp, number: int) -> bool:
        """Does the operand need a register, by rules LOADED and BUFFER?"""
        if op.ENTRY.name in ACCUMULATING:
            return number == len(op.inputs) - 1
        forms = op.ENTRY.tile.get(self.target.device_api)
        return op.inputs[number] in self.held or (forms is not None and forms.in_dst is not None)

    def _put(self, value: SSAValue, op: Operation) -> None:
        if value in self.held:
            return
        if not self.free:
            raise cannot_compile(_too_many(self.memory), op)
        self.held[value] = self.free.pop(0)
        self.make.add(memref.StoreOp.get(value, self.memory, [self._number(self.held[value])]))

    def _get(self, value: SSAValue) -> SSAValue:
        number = self._number(self.held[value])
        return self.make.value(memref.LoadOp.get(self.memory, [number]))

    def _number(self, register: int) -> SSAValue:
        while len(self.numbers) <= register:
            acquire = self.memory.owner
            assert isinstance(acquire, Operation)
            self.numbers.append(Maker.before(acquire).index(len(self.numbers)))
        return self.numbers[register]

    def _release(self, position: int) -> None:
        """Free registers by rule FREE."""
        later = {value for op in self.ops[position + 1 :] for value in op.inputs}
        for value in [each for each in self.held if each not in later]:
            self.free.insert(0, self.held.pop(value))
            self.free.sort()


def _too_many(memory: SSAValue) -> RuleBroken:
    assert isinstance(memory.type, MemRefType)
    (count,) = memory.type.get_shape()
    message = f"more tiles are needed at the same time than the {count} registers hold"
    help_text = "divide the math into several linalg.generic"
    return codes.NOT_COMPILED_YET.broken(message, help_text)

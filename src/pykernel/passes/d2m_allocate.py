"""d2m-allocate: addresses in L1 and DRAM for what functions allocate, and the end of its life.

rule LIFE  memory lives from its allocation to the last operation that uses it or a view of it
rule FIT   the lowest place that overlaps no memory alive at the time
rule SHARE in L1 every core has its shard at the same address; in DRAM a tensor is in one piece

On a chip tt-metal chooses the addresses. This pass shows that there are some.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.dialects import func, memref
from xdsl.dialects.builtin import IntegerAttr, MemRefType, ModuleOp, i64
from xdsl.ir import Operation, SSAValue

from pykernel.dialects import d2m
from ttl.diagnostics import RuleBroken, codes
from ttl.dialects.building import around
from ttl.dialects.metal import MemorySpaceAttr, ShardAttr
from ttl.dialects.ttcore import TileType
from ttl.passes.module_pass import Maker, cannot_compile, target_of
from ttl.target import Target


@dataclass(frozen=True, slots=True)
class BufferLife:
    """An allocation, when it lives, and how much it needs."""

    op: memref.AllocOp
    space: str
    first: int
    last: int
    size_bytes: int

    def overlaps(self, other: BufferLife) -> bool:
        is_together = self.first <= other.last and other.first <= self.last
        return is_together and self.space == other.space


def apply(op: ModuleOp) -> None:
    target = target_of(op)
    for function in [o for o in op.ops if isinstance(o, func.FuncOp)]:
        _function(function, target)


def _function(function: func.FuncOp, target: Target) -> None:
    ops = list(function.body.block.ops)
    lives = [_life(op, ops) for op in ops if isinstance(op, memref.AllocOp)]
    placed: list[tuple[BufferLife, int]] = []
    for life in lives:
        address = _place(life, placed, target)
        placed.append((life, address))
        if address + life.size_bytes > _capacity(life.space, target):
            raise cannot_compile(_out_of_memory(life, placed, target), life.op)
        alignment = _alignment(life.space, target)
        life.op.properties["alignment"] = IntegerAttr(alignment, i64)
        life.op.attributes["address"] = IntegerAttr(address, i64)
    for life in lives:
        end = ops[life.last]
        make = Maker.after(end)
        make.add(memref.DeallocOp.get(life.op.memref))


def _life(op: memref.AllocOp, ops: list[Operation]) -> BufferLife:
    type = op.memref.type
    assert isinstance(type, MemRefType)
    space = space_of(type)
    last = max([ops.index(op), *(ops.index(user) for user in _users(op.memref, ops))])
    return BufferLife(op, space, ops.index(op), last, size_bytes(type, space))


def space_of(type: MemRefType) -> str:
    return type.memory_space.space.data if isinstance(type.memory_space, MemorySpaceAttr) else "l1"


def _users(value: SSAValue, ops: list[Operation]) -> list[Operation]:
    """List the operations of the function that use a value or its views, by rule LIFE."""
    found: list[Operation] = []
    for use in value.uses:
        outside = (use.operation, *around(use.operation))  # outside the threads
        user = next((each for each in outside if each in ops), None)
        if user is None or isinstance(user, func.ReturnOp):
            continue
        found.append(user)
        if isinstance(user, (d2m.LayoutOp, d2m.GenericOp)):
            for result in user.results:
                found += _users(result, ops)
    return found


def size_bytes(type: MemRefType, space: str) -> int:
    """Return the bytes at one address, by rule SHARE."""
    shape = tuple(type.get_shape())
    is_shard = isinstance(type.layout, ShardAttr)
    buffers = type.layout.buffers.data if isinstance(type.layout, ShardAttr) else 1
    sizes = shape[len(shape) // 2 :] if is_shard and space == "l1" else shape
    assert isinstance(type.element_type, TileType)
    return prod(sizes) * type.element_type.dtype.tile_bytes * buffers


def _place(life: BufferLife, placed: list[tuple[BufferLife, int]], target: Target) -> int:
    """Choose an address by rule FIT."""
    alignment = _alignment(life.space, target)
    beside = [(other, at) for other, at in placed if life.overlaps(other)]
    starts = sorted({0, *(align(at + other.size_bytes, alignment) for other, at in beside)})
    return next(
        start
        for start in starts
        if all(
            start + life.size_bytes <= at or at + other.size_bytes <= start for other, at in beside
        )
    )


def align(address: int, to: int) -> int:
    return -(-address // to) * to


def _alignment(space: str, target: Target) -> int:
    return target.l1_alignment_bytes if space == "l1" else target.dram_alignment_bytes


def _capacity(space: str, target: Target) -> int:
    return target.dataflow_buffer_budget_bytes if space == "l1" else target.dram_bank_bytes


def _out_of_memory(
    life: BufferLife, placed: list[tuple[BufferLife, int]], target: Target
) -> RuleBroken:
    rows = [
        f"{at:>8}  {other.size_bytes:>8} bytes  {other.op.memref.type}"
        for other, at in placed
        if other.overlaps(life)
    ]
    capacity = _capacity(life.space, target)
    return codes.L1_BUDGET.broken(
        f"{life.size_bytes} bytes do not fit into what is left of the {capacity} bytes of "
        f"{life.space.upper()} of a core of {target.name}",
        'use a larger grid, or memory_space="DRAM"',
        notes=("what lives together, by address:", *rows),
    )

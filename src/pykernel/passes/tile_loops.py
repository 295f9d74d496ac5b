"""Loops over tiles from linalg-to-loops, and their block math.

The language's passes take block math and share registers among several operations in a section. So
this looks through values in registers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from xdsl.dialects import memref, scf, tensor
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, Operation, SSAValue

from pykernel.dialects import d2m
from pykernel.dialects.linalg_math import ACCUMULATING
from ttl.dialects import ttl
from ttl.passes.module_pass import Maker, erase, not_yet

ROOT = "d2m.linalg_root"  # on the outermost loop over the tiles of a block


def roots_in(op: Operation) -> list[scf.ForOp]:
    return [each for each in op.walk() if isinstance(each, scf.ForOp) and ROOT in each.attributes]


def innermost(root: scf.ForOp) -> Block:
    """Return the block with the tile operations."""
    inside = [op for op in root.body.block.ops if isinstance(op, scf.ForOp)]
    return innermost(inside[0]) if inside else root.body.block


def tile_ops_of(root: scf.ForOp) -> Iterator[d2m.TileOp]:
    return (op for op in innermost(root).ops if isinstance(op, d2m.TileOp))


def is_dst(value: SSAValue) -> bool:
    return isinstance(value.owner, d2m.AcquireDstOp)


def raise_loops(body: Block) -> None:
    """Replace each nest of loops by the language's block math."""
    found = [op for op in body.walk() if isinstance(op, scf.ForOp) and ROOT in op.attributes]
    for root in found:
        _raise(root)


def _raise(root: scf.ForOp) -> None:
    make = Maker.before(root)
    made: dict[SSAValue, SSAValue] = {}
    block = innermost(root)
    end = _last_write(block)
    for tile in tile_ops_of(root):
        name = tile.ENTRY.name
        given = tile.inputs[:-1] if name in ACCUMULATING else tile.inputs
        inputs = [_block_of(each, made, block) for each in given]
        type = _result_type(end)
        made[tile.result] = make.new(
            ttl.BLOCK_MATH[name], inputs, type, None, **dict(tile.properties)
        )
    value = _block_of(end.operands[0], made, block)
    if isinstance(end, memref.StoreOp):
        make.add(d2m.StoreOp.create(operands=[value, end.memref]))
    for result in root.results:
        value.name_hint = result.name_hint
        result.replace_all_uses_with(value)
    erase(root)


def _result_type(end: Operation) -> TensorType:
    type: Any = end.operands[1].type
    return TensorType(type.element_type, type.get_shape())


def _last_write(block: Block) -> Operation:
    writes = [op for op in block.ops if isinstance(op, (tensor.InsertOp, memref.StoreOp))]
    return writes[-1]


def _block_of(tile: SSAValue, made: dict[SSAValue, SSAValue], block: Block) -> SSAValue:
    """Return the block that contains a tile."""
    if tile in made:
        return made[tile]
    owner = tile.owner
    if isinstance(owner, tensor.ExtractOp):
        return owner.tensor
    if isinstance(owner, memref.LoadOp) and is_dst(owner.memref):
        return _block_of(_stored(owner), made, block)
    if isinstance(owner, memref.LoadOp):
        return owner.memref
    assert isinstance(owner, Operation)
    raise not_yet(f"`{owner.name}` among tiles", owner, "use tile operations")


def _stored(load: memref.LoadOp) -> SSAValue:
    """Return the value stored in the register that is read."""
    before = load.prev_op
    while before is not None:
        is_store = isinstance(before, memref.StoreOp)
        if is_store and list(before.operands)[1:] == list(load.operands):
            return before.operands[0]
        before = before.prev_op
    raise not_yet("a register that nothing was put into", load, "store a tile there first")

"""linalg-to-loops: block math becomes loops over tiles, with the tile operations in them.

rule ROOT    the outermost loop is marked for convert-d2m-to-ttl, which finds the block math by it
rule VALUE   loops carry a block that is a value; they load and store one in memory
"""

from __future__ import annotations

from typing import Any

from xdsl.dialects import memref, tensor
from xdsl.dialects.builtin import MemRefType, ModuleOp, UnitAttr
from xdsl.dialects.linalg.ops import GenericOp as LinalgOp
from xdsl.dialects.linalg.ops import YieldOp
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineMap

from pykernel.dialects import d2m
from ttl.dialects.ttcore import TileType
from ttl.passes.module_pass import Maker, not_yet, replace_by

from .tile_loops import ROOT


def apply(op: ModuleOp) -> None:
    for each in list(op.walk()):
        if isinstance(each, LinalgOp) and any(isinstance(o, d2m.TileOp) for o in each.body.ops):
            _loops(each)


def _loops(op: LinalgOp) -> None:
    values = [*op.inputs, *op.outputs]
    maps = [each.data for each in op.indexing_maps]
    if len(op.outputs) != 1:
        raise not_yet("linalg with several outputs", op, "give each its own")
    sizes = _sizes(op, values, maps)
    carried = [] if isinstance(values[-1].type, MemRefType) else [values[-1]]

    def level(make: Maker, counters: list[SSAValue], *now: SSAValue) -> list[SSAValue]:
        if len(counters) == len(sizes):
            return _tile(op, make, counters, [*values[:-1], *(now or values[-1:])])
        name = f"d{len(counters)}"

        def body(inner: Maker, counter: SSAValue, *inside: SSAValue) -> list[SSAValue]:
            return level(inner, [*counters, counter], *inside)

        return make.for_each(0, sizes[len(counters)], name, body, *now)

    found = level(Maker.before(op), [], *carried)
    assert op.prev_op is not None
    op.prev_op.attributes[ROOT] = UnitAttr()  # rule ROOT
    replace_by(op, *found)


def _sizes(op: LinalgOp, values: list[SSAValue], maps: list[AffineMap]) -> list[int]:
    sizes = [0] * maps[-1].num_dims
    for value, map in zip(values, maps, strict=True):
        for size, result in zip(d2m.shape_of(value), map.results, strict=True):
            if isinstance(result, AffineDimExpr):
                sizes[result.position] = max(size, sizes[result.position])
            elif not isinstance(result, AffineConstantExpr):
                raise not_yet("linalg whose maps calculate", op, "use dimensions and constants")
    if not sizes or not all(sizes):
        raise not_yet("linalg with a dimension that no operand has", op, "give it one")
    return sizes


def _tile(
    op: LinalgOp, make: Maker, counters: list[SSAValue], values: list[SSAValue]
) -> list[SSAValue]:
    """Make one step: load the operands' tiles, compute, and write the output's tile."""
    block = op.body.clone().block
    maps = [each.data for each in op.indexing_maps]
    places = [_place(make, map, counters) for map in maps]
    for argument, value, place in zip(list(block.args), values, places, strict=True):
        if argument.uses:
            argument.replace_all_uses_with(_load(make, value, place))
    end = block.last_op
    assert isinstance(end, YieldOp)
    for each in list(block.ops):
        if each is not end:
            each.detach()
            make.add(each)
    tile, output = end.operands[0], values[-1]
    if isinstance(output.type, MemRefType):
        make.add(memref.StoreOp.get(tile, output, places[-1]))
        return []
    return [make.value(tensor.InsertOp(tile, output, places[-1]))]


def _place(make: Maker, map: AffineMap, counters: list[SSAValue]) -> list[SSAValue]:
    found = []
    for each in map.results:
        if isinstance(each, AffineDimExpr):
            found.append(counters[each.position])
        else:
            assert isinstance(each, AffineConstantExpr)
            found.append(make.index(each.value))
    return found


def _load(make: Maker, value: SSAValue, place: list[SSAValue]) -> SSAValue:
    type: Any = value.type
    assert isinstance(type.element_type, TileType)
    if isinstance(type, MemRefType):
        return make.value(memref.LoadOp.get(value, place))
    return make.value(tensor.ExtractOp(value, place, type.element_type))

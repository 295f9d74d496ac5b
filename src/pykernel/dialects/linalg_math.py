"""Convert block math to linalg: iteration over tiles around a tile operation, and back.

The op table tells which tiles belong together: a product sums over the inner dimension, a reduction
over its dimensions, a broadcast reads one tile again, all others go tile by tile.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr, ShapedType
from xdsl.dialects.linalg.attrs import IteratorType, IteratorTypeAttr
from xdsl.dialects.linalg.ops import GenericOp, YieldOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap
from xdsl.rewriter import Rewriter

from ttl.dialects import ttl
from ttl.dialects.definitions import element_of

from . import d2m

PARALLEL, REDUCTION = IteratorType.PARALLEL, IteratorType.REDUCTION
ACCUMULATING = ("matmul", "reduce_sum", "reduce_max")
Iteration = tuple[list[AffineMap], list[IteratorType]]


def block_math_to_linalg(block: Block) -> None:
    """Convert a thread's block math, fills and stores from the ttl to the d2m dialect."""
    for op in list(block.walk()):
        if isinstance(op, ttl.BlockMathOp):
            value = insert_linalg(op, op.ENTRY.name, list(op.inputs), op.result.type, op.properties)
        elif isinstance(op, ttl.FillOp):
            assert op.value is not None, "the frontend refuses fills of run-time values"
            new = d2m.FullOp.create(properties={"value": op.value}, result_types=[op.result.type])
            value = _before(op, new).results[0]
        elif isinstance(op, ttl.StoreOp):
            _before(op, d2m.StoreOp.create(operands=[op.value, op.view]))
            Rewriter.erase_op(op)
            continue
        else:
            continue
        op.results[0].replace_all_uses_with(value)
        Rewriter.erase_op(op)


def _before(op: Operation, new: Operation) -> Operation:
    new.location = op.location
    block = op.parent_block()
    assert block is not None
    block.insert_op_before(new, op)
    return new


def insert_linalg(
    place: Operation,
    name: str,
    inputs: list[SSAValue],
    result: Attribute,
    properties: Mapping[str, Attribute],
) -> SSAValue:
    """Insert the operation `name` of the op table before `place`."""
    empty = _before(place, d2m.EmptyOp.create(result_types=[result])).results[0]
    generic = linalg_generic(name, inputs, empty, properties)
    return _before(place, generic).results[0]


def linalg_generic(
    name: str, inputs: list[SSAValue], output: SSAValue, properties: Mapping[str, Attribute]
) -> GenericOp:
    maps, iterators = iteration(name, inputs, output.type)
    types = [element_of(value) for value in (*inputs, output)]
    body = Block(arg_types=types)
    used = body.args if name in ACCUMULATING else body.args[:-1]
    kept = {key: value for key, value in properties.items() if key == "parameters"}
    tile = d2m.TILES[name].create(operands=used, result_types=[types[-1]], properties=kept)
    body.add_ops([tile, YieldOp(tile.result)])
    return GenericOp(
        inputs,
        [output],
        Region(body),
        ArrayAttr([AffineMapAttr(each) for each in maps]),
        ArrayAttr([IteratorTypeAttr(each) for each in iterators]),
        [output.type],
    )


def iteration(name: str, inputs: list[SSAValue], result: Attribute) -> Iteration:
    """Return the maps between the tiles of operands and result, and the iterators."""
    assert isinstance(result, ShapedType)
    shape = tuple(result.get_shape())
    shapes = [d2m.shape_of(value) for value in inputs]
    if name == "matmul" and len(shape) == 2:
        d0, d1, d2 = (AffineExpr.dimension(i) for i in range(3))
        maps = [AffineMap(3, 0, each) for each in ((d0, d2), (d2, d1), (d0, d1))]
        return maps, [PARALLEL, PARALLEL, REDUCTION]
    if name == "transpose" and len(shape) == 2:
        d0, d1 = (AffineExpr.dimension(i) for i in range(2))
        return [AffineMap(2, 0, (d1, d0)), AffineMap(2, 0, (d0, d1))], [PARALLEL, PARALLEL]
    whole = shapes[0] if name in ACCUMULATING else shape
    maps = [_tiles(each, whole) for each in (*shapes, shape)]
    same = zip(shape, whole, strict=False)
    iterators = [PARALLEL if here == there else REDUCTION for here, there in same]
    iterators += [PARALLEL] * (len(whole) - len(iterators))
    return maps, iterators


def _tiles(shape: tuple[int, ...], whole: tuple[int, ...]) -> AffineMap:
    """Map tile by tile; a dimension with a single tile maps to it."""
    rank = len(whole)
    offset = rank - len(shape)
    results = tuple(
        AffineExpr.dimension(offset + dim)
        if offset + dim >= 0 and size == whole[offset + dim]
        else AffineExpr.constant(0)
        for dim, size in enumerate(shape)
    )
    return AffineMap(rank, 0, results)


def tile_op_of(generic: GenericOp) -> d2m.TileOp:
    tile = generic.body.block.first_op
    assert isinstance(tile, d2m.TileOp)
    return tile

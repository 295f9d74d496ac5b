"""d2m-generic-lower-dmas: transfers become reads and writes of tiles.

The core in the grid names a block of a tensor. This pass replaces that index by the block's first
tile, and checks known indices: an index is a sum of core coordinates, loop variables and constants
with factors, so its largest value over the grid is exact.
"""

from __future__ import annotations

from itertools import takewhile

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from pykernel.dialects import d2m
from ttl.diagnostics import codes
from ttl.dialects.building import around
from ttl.passes.arithmetic import times
from ttl.passes.module_pass import Maker, cannot_compile, constant_of, replace_by, steps_of
from ttl.semantics.types import Shape

Range = tuple[int, int]


def apply(op: ModuleOp) -> None:
    for generic in d2m.generics_of(op):
        for dma in [o for o in generic.walk() if isinstance(o, d2m.DmaOp)]:
            _lower(dma, generic.grid.shape)


def _lower(dma: d2m.TransferOp, grid: Shape) -> None:
    make = Maker.before(dma)
    kind = d2m.DmaReadOp if d2m.is_remote(dma.src.type) else d2m.DmaWriteOp
    parts = dma.parts
    for position, end in ((1, dma.src), (3, dma.dst)):
        if d2m.is_remote(end.type):
            parts[position] = _first_tile(dma, end, list(parts[position]), grid, make)
    operands = [parts[0][0], list(parts[1]), parts[2][0], *(list(part) for part in parts[3:])]
    new = kind.build(operands=operands, result_types=[dma.tx.type])
    replace_by(dma, make.value(new, dma.tx.name_hint))


def _first_tile(
    dma: d2m.TransferOp, end: SSAValue, indices: list[SSAValue], grid: Shape, make: Maker
) -> list[SSAValue]:
    shape = d2m.shape_of(end)
    rank = len(shape) // 2
    for dim, index in enumerate(indices):
        _check(dma, end, dim, index, shape[dim], grid)
    sizes = shape[rank:]
    pairs = zip(indices, sizes, strict=True)
    return [times(make, index, make.index(size)) for index, size in pairs]


def _check(
    dma: d2m.TransferOp, end: SSAValue, dim: int, index: SSAValue, size: int, grid: Shape
) -> None:
    known = None if _is_guarded(dma) else _range(index, grid)
    if known is None or (known[0] >= 0 and known[1] < size):
        return
    wrong = known[0] if known[0] < 0 else known[1]
    kind = "rows" if dim == 0 else "columns"
    broken = codes.SLICE_OUT_OF_RANGE.broken(
        f"index {wrong} of the stream of `{end.name_hint or 'a tensor'}`: dimension {dim} of its "
        f"grid has {size} {kind}, 0 to {size - 1}",
        "index a stream by grid coordinates, for example stream[cy, cx]",
        notes=(f"on the device it has the shape {list(d2m.shape_of(end))}: grid, then tiles",),
    )
    raise cannot_compile(broken, dma)


def _range(value: SSAValue, grid: Shape) -> Range | None:
    """Return the smallest and largest value on all cores; None if unknown."""
    if isinstance(value.owner, Block):
        return _loop_range(value)
    op = value.owner
    if (constant := constant_of(value)) is not None:
        return constant, constant
    if isinstance(op, d2m.CoreIndexOp):
        return 0, grid[op.dim.value.data] - 1
    if not isinstance(op, (arith.AddiOp, arith.SubiOp, arith.MuliOp)):
        return None
    left, right = _range(op.lhs, grid), _range(op.rhs, grid)
    if left is None or right is None:
        return None
    if isinstance(op, arith.AddiOp):
        return left[0] + right[0], left[1] + right[1]
    if isinstance(op, arith.SubiOp):
        return left[0] - right[1], left[1] - right[0]
    ends = [a * b for a in left for b in right]
    return min(ends), max(ends)


def _loop_range(value: SSAValue) -> Range | None:
    loop = value.owner.parent_op()
    if not isinstance(loop, scf.ForOp) or value is not loop.body.block.args[0]:
        return None
    steps = steps_of(loop)
    return (steps[0], steps[-1]) if steps else None


def _is_guarded(op: Operation) -> bool:
    """Is it in a branch, which some cores may skip?"""
    outside = takewhile(lambda outer: not isinstance(outer, d2m.GenericOp), around(op))
    return any(isinstance(outer, scf.IfOp) for outer in outside)

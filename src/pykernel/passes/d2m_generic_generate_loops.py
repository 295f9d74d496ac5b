"""d2m-generic-generate-loops: the iterators of the affine form become loops in the threads.

Loops over blocks of the output are marked, because a held block lasts for one iteration.
The generic is then in explicit form: `block_factors`, `indexing_maps` and `iterator_types` are
empty, and `d2m.iter_index` is the variable of a loop.
"""

from __future__ import annotations

from xdsl.dialects import scf
from xdsl.dialects.builtin import IndexType, ModuleOp, UnitAttr
from xdsl.ir import Block, Operation, Region, SSAValue

from pykernel.dialects import d2m
from pykernel.passes.marks import OVER_BLOCKS
from ttl.passes.module_pass import Maker, erase, replace_by


def apply(op: ModuleOp) -> None:
    for generic in list(d2m.generics_of(op)):
        if generic.is_affine:
            for body in generic.bodies:
                _loops(body.block, generic)
            generic.set_explicit()


def _loops(body: Block, generic: d2m.GenericOp) -> None:
    inside = list(body.ops)
    origin = inside[0] if inside else generic
    place, affine = body, generic.iteration
    counters: list[SSAValue | None] = [None] * len(affine.factors)  # None: one step
    for op in inside:
        op.detach()
    # Loop over blocks of the output outside, row by row, and over their steps inside.
    parallel = [iterator for iterator in affine.maps[-1] if iterator is not None]
    reduced = [iterator for iterator in range(len(counters)) if iterator not in parallel]
    for iterator in (*parallel, *reduced):
        if affine.factors[iterator] > 1:
            make = Maker.at_end(place, origin)
            place, counters[iterator] = _loop(make, affine.factors[iterator])
            if iterator in parallel:
                loop = place.parent_op()
                assert loop is not None
                loop.attributes[OVER_BLOCKS] = UnitAttr()
    _fill(place, inside, counters)


def _loop(make: Maker, count: int) -> tuple[Block, SSAValue]:
    block = Block(arg_types=[IndexType()])
    block.args[0].name_hint = "iter"
    first, last, step = (make.index(number) for number in (0, count, 1))
    make.add(scf.ForOp(first, last, step, [], Region(block)))
    return block, block.args[0]


def _fill(place: Block, inside: list[Operation], counters: list[SSAValue | None]) -> None:
    place.add_ops(inside)
    for op in [each for top in inside for each in top.walk()]:
        if isinstance(op, d2m.IterIndexOp):
            replace_by(op, counters[op.dim.value.data] or Maker.before(op).index(0))
        elif isinstance(op, d2m.YieldOp):
            erase(op)
    # End each open loop here, from the inside out.
    block: Block | None = place
    while block is not None and isinstance(block.parent_op(), scf.ForOp):
        block.add_op(scf.YieldOp())
        block = block.parent_block()

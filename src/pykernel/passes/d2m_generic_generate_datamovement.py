"""d2m-generic-generate-datamovement: in affine form a thread that reads what the maps name.

For each iteration it fills the buffer of every input with the block that the input's map selects:
one of the core's for a parallel iterator, the step's for a reduction.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ArrayAttr, ModuleOp
from xdsl.ir import Block, Region, SSAValue

from pykernel.dialects import d2m
from ttl.passes.arithmetic import add, times
from ttl.passes.module_pass import Maker, users_of


def apply(op: ModuleOp) -> None:
    for generic in list(d2m.generics_of(op)):
        if generic.is_affine and len(generic.bodies) == 1:
            _add_reader(generic)


def _add_reader(generic: d2m.GenericOp) -> None:
    compute = generic.bodies[0]
    block = Block(arg_types=[argument.type for argument in compute.block.args])
    block.name_hint = "datamovement0"
    for new, old in zip(block.args, compute.block.args, strict=True):
        new.name_hint, new.location = old.name_hint, old.location
    for position, tensor in enumerate(generic.inputs):
        # Errors about the block point to the compute thread's use of it.
        takers = users_of(compute.block.args[position], d2m.WaitOp)
        make = Maker.at_end(block, next(iter(takers), generic))
        index = [_part(make, generic.iteration, d) for d in generic.iteration.maps[position]]
        read_block(make, tensor, index, block.args[position])
    regions = [Region(block), generic.detach_region(compute)]
    for region in regions:
        generic.add_region(region)
    kinds = [d2m.ThreadAttr.of("datamovement"), *generic.threads]
    generic.properties["threads"] = ArrayAttr(kinds)


def _part(make: Maker, affine: d2m.Affine, iterator: int | None) -> SSAValue:
    if iterator is None:
        return make.index(0)
    factor = affine.factors[iterator]
    step = make.value(d2m.IterIndexOp.of(iterator)) if factor > 1 else None
    if affine.iterators[iterator] == "reduction":
        return step or make.index(0)
    core = make.value(d2m.CoreIndexOp.of(affine.maps[-1].index(iterator)))
    if step is None:
        return core
    return add(make, times(make, core, make.index(factor)), step)


def acquire(make: Maker, kind: type[d2m.AcquireOp], cb: SSAValue) -> SSAValue:
    """Acquire a block of a circular buffer."""
    assert isinstance(cb.type, d2m.CBType)
    return make.value(kind.create(operands=[cb], result_types=[cb.type.underlying]))


def read_block(make: Maker, tensor: SSAValue, index: list[SSAValue], cb: SSAValue) -> None:
    """Read a block of the tensor into a block of the circular buffer."""
    block = acquire(make, d2m.ReserveOp, cb)
    dma = d2m.DmaOp.build(
        operands=[tensor, index, block, [], [], []], result_types=[d2m.MemTxType()]
    )
    make.add(d2m.DmaWaitOp.create(operands=[make.value(dma)]))

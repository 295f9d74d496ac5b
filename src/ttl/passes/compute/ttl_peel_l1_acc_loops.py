"""ttl-peel-l1-acc-loops: move the last step of a sum of products after its loop, if the sum does
not fit in registers.

The step adds, in registers, to the sum that the packer has made, and packs the result where it
belongs: no additional pass over the block copies it.
"""

from __future__ import annotations

from itertools import takewhile
from math import prod

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.ir import Operation, SSAValue

from ttl.dialects import ttl
from ttl.dialects.building import walk
from ttl.dialects.ttcore import block_type

from ..module_pass import INDEX, Maker, kernels, numbers_in, steps_of, target_of, terminator
from .carried_values import adds_a_product, find_sum, starts_with_nothing
from .compiler_buffers import CompilerBuffers, shape_of
from .placement import most_registers
from .rebuilt_regions import L1_ACC


def apply(op: ModuleOp) -> None:
    for kernel in kernels(op, "compute"):
        buffers, registers = CompilerBuffers(op, kernel), most_registers(kernel, target_of(op))
        for loop in [each for each in walk(kernel) if isinstance(each, scf.ForOp)]:
            sums = numbers_in(loop.attributes.get(L1_ACC))
            if len(sums) == 1 and _is_worthwhile(loop, sums[0], buffers, registers):
                _peel(loop)


def _is_worthwhile(
    loop: scf.ForOp, position: int, buffers: CompilerBuffers, registers: int
) -> bool:
    result = loop.results[position]
    if prod(shape_of(result)) <= registers or len(steps_of(loop) or ()) < 2:
        return False
    additions = find_sum(loop, position)
    assert additions is not None
    if not starts_with_nothing(loop, position, additions) or not adds_a_product(additions):
        return False  # any other sum costs as much in registers
    return not _is_summed_in_place(loop, result, buffers)


def _is_summed_in_place(loop: scf.ForOp, result: SSAValue, buffers: CompilerBuffers) -> bool:
    """Can the packer sum up in the block that the result is stored to?"""
    store = result.get_user_of_unique_use()
    if not isinstance(store, ttl.StoreOp) or store.accumulate is not None:
        return False
    reserve = store.view.owner
    is_early = (
        isinstance(reserve, Operation)
        and reserve.parent is loop.parent
        and (reserve.is_before_in_block(loop))
    )
    return is_early and block_type(store.view.type).dtype == buffers.dtype


def _peel(loop: scf.ForOp) -> None:
    steps = steps_of(loop)
    assert steps is not None
    make = Maker.before(loop)
    loop.operands[1] = make.value(arith.ConstantOp(IntegerAttr(steps[-1], INDEX)))
    after = Maker.after(loop)
    last = after.value(arith.ConstantOp(IntegerAttr(steps[-1], INDEX)))
    body, end = loop.body.block, terminator(loop.body.block)
    values: dict[SSAValue, SSAValue] = {body.args[0]: last}
    uses = [(use.operation, use.index) for result in loop.results for use in result.uses]
    values.update(zip(body.args[1:], loop.results, strict=True))
    made = [op.clone(values) for op in body.ops if op is not end]
    for op in made:
        after.add_as_it_is(op)
    for user, index in uses:
        position = loop.results.index(user.operands[index])
        carried = end.operands[position]
        user.operands[index] = values.get(carried, carried)
    _pop_after_math(made)


def _pop_after_math(ops: list[Operation]) -> None:
    """Move pops after the math that follows directly: it can read the last step's blocks."""
    following = ops[-1].next_op
    while isinstance(following, (ttl.BlockMathOp, ttl.FillOp, ttl.StoreOp)):
        following = following.next_op
    assert following is not None
    pops = list(takewhile(lambda op: isinstance(op, ttl.PopOp), reversed(ops)))
    for op in reversed(pops):
        op.detach()
        Maker.before(following).add_as_it_is(op)

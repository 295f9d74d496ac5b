"""Rebuild loops and branches with more or fewer carried values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from xdsl.dialects import scf
from xdsl.ir import Operation, Region, SSAValue

from ..module_pass import Maker, erase, integers, numbers_in, terminator

L1_ACC = "l1_acc"  # on a loop: positions of the values that are only added to
RegionOp = scf.ForOp | scf.WhileOp | scf.IfOp


def starts_of(op: RegionOp) -> Sequence[SSAValue]:
    """Return the start values of a loop; a branch has none."""
    if isinstance(op, scf.IfOp):
        return ()
    return op.iter_args if isinstance(op, scf.ForOp) else op.arguments


def rebuild(op: RegionOp, starts: Sequence[SSAValue], results: Iterable[SSAValue]) -> RegionOp:
    """Create the operation in front of the old one; its regions move, result types stay."""
    regions = []
    for region in list(op.regions):
        regions.append(Region())
        region.move_blocks(regions[-1])
    types = [result.type for result in results]
    new: RegionOp
    if isinstance(op, scf.ForOp):
        new = scf.ForOp(op.lb, op.ub, op.step, list(starts), *regions)
    elif isinstance(op, scf.WhileOp):
        new = scf.WhileOp(list(starts), types, *regions)
    else:
        then, otherwise = regions
        new = scf.IfOp(op.cond, types, then, otherwise)
    Maker.before(op).add(new)
    return new


def values_carried(end: Operation) -> Sequence[SSAValue]:
    """Return the values a terminator carries; a condition comes before them."""
    return end.operands[1:] if isinstance(end, scf.ConditionOp) else end.operands


def carry(end: Operation, values: Iterable[SSAValue]) -> None:
    """Replace the terminator by one with other values."""
    is_condition = isinstance(end, scf.ConditionOp)
    new = scf.ConditionOp(end.operands[0], *values) if is_condition else scf.YieldOp(*values)
    Maker.before(end).add(new)
    erase(end)


def drop_carried(op: RegionOp, dropped: Sequence[int]) -> RegionOp:
    """Remove the values at some positions; return a new operation if there are any."""
    if not dropped:
        return op
    count = len(op.results)
    kept = [position for position in range(count) if position not in dropped]
    for block in (block for region in op.regions for block in region.blocks):
        end = terminator(block)
        carry(end, [values_carried(end)[position] for position in kept])
        if block.args:
            arguments = block.args[-count:]
            for position in dropped:
                block.erase_arg(arguments[position], safe_erase=False)
    starts = starts_of(op)
    results = [op.results[position] for position in kept]
    new = rebuild(op, [starts[position] for position in kept] if starts else (), results)
    for before, after in zip(results, new.results, strict=True):
        before.replace_all_uses_with(after)
    if L1_ACC in op.attributes:
        sums = numbers_in(op.attributes[L1_ACC])
        new.attributes[L1_ACC] = integers([kept.index(each) for each in sums if each in kept])
    erase(op)
    return new

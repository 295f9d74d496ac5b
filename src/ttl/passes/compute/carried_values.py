"""Block values that loops and branches carry."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import func, scf
from xdsl.dialects.builtin import FloatAttr, UnitAttr, f32
from xdsl.ir import Operation, SSAValue

from ttl.dialects import ttl
from ttl.semantics.types import Shape

from ..module_pass import Maker, erase, replace_by, steps_of, terminator
from .arranged_tiles import is_masked, is_matmul, is_view, operands_in_buffers, reads_by_matrix_unit
from .compiler_buffers import shape_of
from .rebuilt_regions import drop_carried
from .section_builder import is_block, is_rounding

Places = Callable[[SSAValue, bool], SSAValue | None]


def drop_unchanged(op: Operation) -> Operation:
    """Replace values that a loop or branch carries unchanged by their start.

    Return the loop or branch without such values: a new operation if there were some.
    """
    if isinstance(op, scf.ForOp):
        return _loop_without_unchanged(op)
    return _branch_without_unchanged(op) if isinstance(op, scf.IfOp) else op


def _loop_without_unchanged(loop: scf.ForOp) -> Operation:
    end = terminator(loop.body.block)
    dropped = []
    for position, start in enumerate(loop.iter_args):
        argument = loop.body.block.args[1 + position]
        if is_block(start) and end.operands[position] in (argument, start):
            argument.replace_all_uses_with(start)
            loop.results[position].replace_all_uses_with(start)
            dropped.append(position)
    return drop_carried(loop, dropped)


def _branch_without_unchanged(op: scf.IfOp) -> Operation:
    ends = [terminator(region.block) for region in op.regions if region.blocks]
    dropped = []
    for position, result in enumerate(op.results):
        yielded = {end.operands[position] for end in ends}
        if not is_block(result):
            continue
        if len(yielded) == 1:
            (value,) = yielded
            if not op.is_ancestor(value.owner):
                result.replace_all_uses_with(value)
        if not list(result.uses):
            dropped.append(position)
    return drop_carried(op, dropped)


def fits_one_section(loop: scf.ForOp, places: Places) -> Shape | None:
    """Return the shape of everything the loop computes, if a section can span it: it stores
    nothing, products find their operands in buffers, and no value it computes is needed outside."""
    shapes = {shape_of(start) for start in loop.iter_args if is_block(start)}
    if any(not is_block(result) and list(result.uses) for result in loop.results):
        return None
    for op in loop.walk():
        if isinstance(op, (ttl.StoreOp, ttl.PushOp, ttl.ReserveOp, scf.IfOp, scf.WhileOp)):
            return None
        if isinstance(op, (ttl.BlockMathOp, ttl.FillOp)):
            shapes.add(shape_of(op.result))
        if is_rounding(op):
            return None
        if is_view(op) or is_masked(op):
            return None
        if isinstance(op, ttl.BlockMathOp):
            way = reads_by_matrix_unit(op)
            if any(places(operand, way) is None for operand in operands_in_buffers(op)):
                return None
    if len(shapes) != 1:
        return None
    (shape,) = shapes
    is_batch = any(size != 1 for size in shape[:-2])
    is_by_place = any(
        isinstance(op, ttl.BlockMathOp) and operands_in_buffers(op) for op in loop.walk()
    )
    return None if is_batch and is_by_place else shape


# Sums ---------------------------------------------------------------------------------------------


# The additions that change a carried value, each with the value's operand index.
Additions = dict[ttl.BlockMathOp, int]


def find_sum(loop: scf.ForOp, position: int) -> Additions | None:
    """Find the additions to a carried value; None if there are none or it has other uses."""
    additions: Additions = {}
    argument = loop.body.block.args[1 + position]
    end = terminator(loop.body.block)
    is_sum = _is_sum(argument, end.operands[position], end, additions)
    return additions if is_sum and additions else None


def _is_sum(start: SSAValue, value: SSAValue, user: Operation, found: Additions) -> bool:
    """Is `value`, used by `user` alone, equal to `start` with other values added?"""
    if not _is_used_by(value, user):
        return False
    if value is start:
        return True
    op = value.owner
    if isinstance(op, ttl.BlockMathOp) and op.ENTRY.name == "add":
        for number, operand in enumerate(op.inputs):
            added: Additions = {}
            if _is_sum(start, operand, op, added):
                found |= added
                found[op] = number
                return True
        return False
    if isinstance(op, scf.ForOp):
        position = op.results.index(value)
        inner, end = op.body.block, terminator(op.body.block)
        return _is_sum(start, op.iter_args[position], op, found) and _is_sum(
            inner.args[1 + position], end.operands[position], end, found
        )
    if isinstance(op, scf.IfOp):
        position = op.results.index(value)
        ends = [terminator(region.block) for region in op.regions]
        return all(_is_sum(start, e.operands[position], e, found) for e in ends)
    return False


def _is_used_by(value: SSAValue, user: Operation) -> bool:
    """Does only `user` use the value, or once in each of several branches of one scf.if?"""
    uses = [use.operation for use in value.uses]
    if len(uses) == 1:
        return uses[0] is user
    branches = {use.parent for use in uses}
    owners = {use.parent_op() for use in uses}
    is_in_branches = len(owners) == 1 and isinstance(next(iter(owners)), scf.IfOp)
    return user in uses and is_in_branches and len(branches) == len(uses)


def sum_by_packer(loop: scf.ForOp, position: int, view: SSAValue) -> bool:
    """Turn each addition into a store that adds to the block (rule SUM).

    Return whether the first one overwrites the block. Otherwise the start must be in it before.
    """
    additions = find_sum(loop, position)
    assert additions is not None
    is_first = starts_with_nothing(loop, position, additions) and adds_a_product(additions)
    flags = {"accumulate": UnitAttr(), **({"after_first": UnitAttr()} if is_first else {})}
    for addition, number in additions.items():
        summands = list(addition.inputs)
        carried = summands.pop(number)
        store = ttl.StoreOp.create(operands=[*summands, view], properties=flags)
        Maker.before(addition).add(store)
        replace_by(addition, carried)
        for inner in reversed(list(loop.walk())):
            if inner is not loop and isinstance(inner, (scf.ForOp, scf.IfOp)):
                drop_unchanged(inner)
    return is_first


def starts_with_nothing(loop: scf.ForOp, position: int, additions: Additions) -> bool:
    """Does each iteration, of at least one, add once to a start of zeros?"""
    start = loop.iter_args[position].owner
    is_zero = isinstance(start, ttl.FillOp) and start.value == FloatAttr(0.0, f32)
    is_once = len(additions) == 1 and all(each.parent is loop.body.block for each in additions)
    return is_zero and is_once and bool(steps_of(loop))


def adds_a_product(additions: Additions) -> bool:
    """Does each step add a sum of the matrix unit? It is never -0.0, so as the first of a sum it
    equals zero plus itself."""
    return all(is_matmul(op.inputs[1 - carried].owner) for op, carried in additions.items())


# Cleaning up --------------------------------------------------------------------------------------


def drop_block_math(kernel: func.FuncOp) -> None:
    """Remove block math, now in sections, and the block values of loops and branches."""
    for op in reversed(list(kernel.walk())):
        if isinstance(op, (ttl.BlockMathOp, ttl.FillOp)):
            erase(op)
    for op in list(kernel.walk()):
        if isinstance(op, (scf.ForOp, scf.WhileOp, scf.IfOp)):
            drop_carried(op, [p for p, result in enumerate(op.results) if is_block(result)])

"""Values that a kernel's variables have and nobody reads are not calculated.

While a loop is translated it is not known which of its variables matter after it: all that it
changes become results. Here those go that nothing uses.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import scf
from xdsl.ir import Block, BlockArgument, Operation, Region, SSAValue

from ttl.dialects import ttl


def remove_unused(body: Block) -> None:
    changed = True
    while changed:
        changed = False
        for op in list(body.walk(reverse=True)):
            handler = HANDLERS.get(type(op))
            if op.parent is None:  # erased with something else
                continue
            if handler is not None:
                changed |= handler(op)
            elif _is_calculation(op) and not any(result.uses for result in op.results):
                op.detach()
                op.erase()
                changed = True


def _is_calculation(op: Operation) -> bool:
    return op.name.startswith("arith.") or isinstance(op, _CALCULATIONS)


_CALCULATIONS = (
    ttl.NodeIndexOp,
    ttl.TensorSliceOp,
    ttl.PipeValueOp,
    ttl.RoleOp,
    ttl.NoTransferOp,
)


def _drop_branch_results(op: scf.IfOp) -> bool:
    kept = [n for n, result in enumerate(op.results) if result.uses]
    if len(kept) == len(op.results):
        return False
    for region in op.regions:
        _keep_operands(region.block.last_op, kept)
    types = [op.results[n].type for n in kept]
    then, otherwise = (_moved(region) for region in op.regions)
    _replace(op, scf.IfOp(op.cond, types, then, otherwise), kept)
    return True


def _drop_loop_results(op: scf.ForOp) -> bool:
    body = op.body.block
    end = body.last_op
    assert end is not None
    kept = [
        n
        for n, result in enumerate(op.results)
        if result.uses or _is_read(body.args[n + 1], end, n)
    ]
    if len(kept) == len(op.results):
        return False
    dropped = [n for n in range(len(op.results)) if n not in kept]
    _keep_operands(end, kept)
    for n in reversed(dropped):
        _erase_argument(body, n + 1)
    starts = [op.iter_args[n] for n in kept]
    _replace(op, scf.ForOp(op.lb, op.ub, op.step, starts, _moved(op.body)), kept)
    return True


def _drop_pipe_results(op: ttl.ForEachPipeOp) -> bool:
    body = op.body.block
    end = body.last_op
    assert end is not None
    kept = [
        n for n, result in enumerate(op.ends) if result.uses or _is_read(body.args[n + 1], end, n)
    ]
    if len(kept) == len(op.ends):
        return False
    dropped = [n for n in range(len(op.ends)) if n not in kept]
    _keep_operands(end, kept)
    for n in reversed(dropped):
        _erase_argument(body, n + 1)
    new = type(op).create(
        operands=[op.start[n] for n in kept],
        properties=dict(op.properties),
        regions=[_moved(op.body)],
        result_types=[op.ends[n].type for n in kept],
    )
    _replace(op, new, kept)
    return True


def _drop_while_results(op: scf.WhileOp) -> bool:
    test, body = op.before_region.block, op.after_region.block
    condition, end = test.last_op, body.last_op
    assert condition is not None and end is not None
    kept = [
        n
        for n, result in enumerate(op.results)
        if result.uses or _is_read(body.args[n], end, n) or _is_read(test.args[n], condition, n + 1)
    ]
    if len(kept) == len(op.results):
        return False
    _keep_operands(end, kept)
    _keep_operands(condition, [0, *(n + 1 for n in kept)])
    for n in reversed(range(len(op.results))):
        if n not in kept:
            _erase_argument(test, n)
            _erase_argument(body, n)
    starts = [op.arguments[n] for n in kept]
    types = [op.results[n].type for n in kept]
    regions = [_moved(region) for region in op.regions]
    _replace(op, scf.WhileOp(starts, types, *regions), kept)
    return True


def _is_read(argument: BlockArgument, end: Operation, position: int) -> bool:
    """Is it used for more than its own next value?"""
    waiting: list[SSAValue] = [argument]
    while waiting:
        for use in waiting.pop().uses:
            if (use.operation, use.index) == (end, position):
                continue
            user = use.operation
            if not user.name.startswith("arith.") or user.parent is not end.parent:
                return True
            waiting += user.results
    return False


def _erase_argument(block: Block, number: int) -> None:
    """An argument of a block, and what is calculated from it."""
    argument = block.args[number]
    calculations = [use.operation for use in argument.uses]
    for op in calculations:
        calculations += [use.operation for result in op.results for use in result.uses]
    for op in reversed(list(dict.fromkeys(calculations))):
        if op.parent is not None:
            op.detach()
            op.erase(safe_erase=False)
    block.erase_arg(argument)


def _keep_operands(end: Operation | None, kept: list[int]) -> None:
    assert end is not None
    end.operands = [end.operands[n] for n in kept]


def _moved(region: Region) -> Region:
    moved = Region()
    region.move_blocks(moved)
    return moved


def _replace(op: Operation, new: Operation, kept: list[int]) -> None:
    block = op.parent
    assert block is not None
    new.location = op.location
    block.insert_op_before(new, op)
    for n, result in zip(kept, new.results, strict=True):
        result.name_hint = op.results[n].name_hint
        op.results[n].replace_all_uses_with(result)
    op.detach()
    op.erase()


HANDLERS: dict[type[Operation], Callable[..., bool]] = {
    scf.IfOp: _drop_branch_results,
    scf.ForOp: _drop_loop_results,
    scf.WhileOp: _drop_while_results,
    ttl.IfSrcOp: _drop_pipe_results,
    ttl.IfDstOp: _drop_pipe_results,
}

"""Values that a kernel's variables have and nobody reads are not calculated.

While a loop is translated it is not known which of its variables matter after it: all that it
changes become results. Here those go that nothing needs:
rule NEED  what an operation with an effect uses is needed, and what a needed value is calculated
           from. A needed result, or a needed argument of a loop's body, needs what the body hands
           on for it and what it starts from.
"""

from __future__ import annotations

from xdsl.dialects import scf
from xdsl.ir import Block, Operation, Region, SSAValue

from ttl.dialects import ttl

# Of loops and branches: how many operands are not starts, and how many arguments of their regions
# are not what they hand on.
SHAPES: dict[type[Operation], tuple[int, int]] = {
    scf.IfOp: (1, 0),
    scf.ForOp: (3, 1),
    scf.WhileOp: (0, 0),
    ttl.IfSrcOp: (0, 1),
    ttl.IfDstOp: (0, 1),
}
FLOW = tuple(SHAPES)


def remove_unused(body: Block) -> None:
    needed = _Needed(body)
    flow: list[Operation] = [op for op in body.walk(reverse=True) if isinstance(op, FLOW)]
    kept = {op: needed.positions(op) for op in flow}
    for op in flow:
        _drop_handed_on(op, kept[op])
    rebuilt = []
    for op in list(body.walk(reverse=True)):  # what uses a value comes before it
        if op not in kept:
            _remove(op, needed)
        elif len(kept[op]) < len(op.results):
            rebuilt.append((_rebuilt(op, kept[op]), kept[op]))
    for op, positions in rebuilt:
        _drop_arguments(op, positions)


class _Needed:
    """rule NEED"""

    def __init__(self, body: Block):
        self.values: set[SSAValue] = set()
        self.waiting: list[SSAValue] = []
        for op in body.walk():
            if isinstance(op, FLOW):
                self.add(*_bounds(op))
            elif isinstance(op, scf.ConditionOp):
                self.add(op.operands[0])
            elif not isinstance(op, (scf.YieldOp, ttl.YieldOp)) and not _is_calculation(op):
                self.add(*op.operands)
        while self.waiting:
            self._follow(self.waiting.pop())

    def add(self, *values: SSAValue) -> None:
        self.waiting += [value for value in values if value not in self.values]
        self.values |= set(values)

    def _follow(self, value: SSAValue) -> None:
        owner = value.owner
        if isinstance(owner, Operation):
            if isinstance(owner, FLOW):
                self._position(owner, owner.results.index(value))
            elif _is_calculation(owner):
                self.add(*owner.operands)
            return
        loop = owner.parent_op()
        if isinstance(loop, FLOW):
            first = SHAPES[type(loop)][1]
            position = owner.args.index(value) - first
            if position >= 0:
                self._position(loop, position)

    def _position(self, op: Operation, position: int) -> None:
        self.add(op.results[position], *(end[position] for end in _handed_on(op)))
        if starts := _starts(op):
            self.add(starts[position])
            first = SHAPES[type(op)][1]
            self.add(*(region.block.args[first + position] for region in op.regions))

    def positions(self, op: Operation) -> list[int]:
        return [n for n, result in enumerate(op.results) if result in self.values]


def _is_calculation(op: Operation) -> bool:
    return ttl.is_scalar_math(op) or isinstance(op, _CALCULATIONS)


_CALCULATIONS = (ttl.TensorSliceOp, ttl.PipeValueOp, ttl.RoleOp, ttl.NoTransferOp)


def _bounds(op: Operation) -> list[SSAValue]:
    """What a branch or loop itself needs."""
    return list(op.operands[: SHAPES[type(op)][0]])


def _starts(op: Operation) -> list[SSAValue]:
    return list(op.operands[len(_bounds(op)) :])


def _handed_on(op: Operation) -> list[list[SSAValue]]:
    """What each region hands on for the results; a test says first whether to go on."""
    return [
        list(end.operands[isinstance(end, scf.ConditionOp) :])
        for region in op.regions
        if region.blocks and (end := region.block.last_op) is not None
    ]


def _drop_handed_on(op: Operation, kept: list[int]) -> None:
    for region in op.regions:
        end = region.block.last_op if region.blocks else None
        if end is not None:
            first = int(isinstance(end, scf.ConditionOp))
            end.operands = [*end.operands[:first], *(end.operands[first + n] for n in kept)]


def _remove(op: Operation, needed: _Needed) -> None:
    if _is_calculation(op) and not any(result in needed.values for result in op.results):
        op.detach()
        op.erase()


def _rebuilt(op: Operation, kept: list[int]) -> Operation:
    starts = _starts(op)
    regions = [_moved(region) for region in op.regions]
    if isinstance(op, scf.IfOp) and not kept and len(regions[1].block.ops) == 1:
        regions[1] = Region()  # there is nothing to do
    new = type(op).create(
        operands=[*_bounds(op), *(starts[n] for n in kept if starts)],
        properties=dict(op.properties),
        result_types=[op.results[n].type for n in kept],
        regions=regions,
    )
    _replace(op, new, kept)
    return new


def _drop_arguments(op: Operation, kept: list[int]) -> None:
    first = SHAPES[type(op)][1]
    for region in op.regions:
        for block in region.blocks:
            dropped = [a for a in block.args[first:] if a.index - first not in kept]
            for argument in dropped:
                block.erase_arg(argument)


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

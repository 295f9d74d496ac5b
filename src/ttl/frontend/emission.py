"""Make the dialect's operations from the form before IR (hir.py), in one walk after all decisions.

While a loop is evaluated, all variables it changes become results, because it is unknown which ones
matter after it. This walk leaves out unneeded ones:
rule NEED  the operands of an operation with an effect are needed, and so are the operands that
           calculate a needed value. A needed result, or a needed argument of a loop's body, needs
           the body's value for it and its starting value.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from xdsl.dialects import scf
from xdsl.ir import Block, Operation, Region, SSAValue

from ttl.diagnostics import Span
from ttl.dialects import ttl
from ttl.dialects.locations import location_of

from .handles import Handles
from .hir import Body, Op, Origin, RunTime

# Operands before the carried ones, for loops, branches and the ends of their bodies.
BOUNDS: dict[type[Operation], int] = {
    **dict.fromkeys((scf.WhileOp, ttl.IfSrcOp, ttl.IfDstOp, scf.YieldOp, ttl.YieldOp), 0),
    **dict.fromkeys((scf.IfOp, scf.ConditionOp), 1),
    scf.ForOp: 3,
}
# Arguments of a body before the carried ones.
FIRST: dict[type[Operation], int] = {scf.ForOp: 1, ttl.IfSrcOp: 1, ttl.IfDstOp: 1}
CALCULATIONS = (
    ttl.NodeIndexOp,
    ttl.FloatDivisionOp,
    ttl.TensorSliceOp,
    ttl.PipeValueOp,
    ttl.RoleOp,
    ttl.NoTransferOp,
)


class _Needed:
    """Find the needed values by rule NEED."""

    def __init__(self, body: Body):
        self.values: set[RunTime] = set()
        self.carriers: dict[Body, Op] = {}  # the operations that bodies belong to
        self.waiting: list[RunTime] = []
        for op in body.walk():
            self.carriers.update(dict.fromkeys(op.bodies, op))
            if op.becomes in BOUNDS:
                self.add(*op.operands[: BOUNDS[op.becomes]])
            elif not is_left_out_unless_needed(op):
                self.add(*op.operands)
        while self.waiting:
            self._follow(self.waiting.pop())

    def add(self, *values: RunTime) -> None:
        self.waiting += [value for value in values if value not in self.values]
        self.values.update(values)

    def _follow(self, value: RunTime) -> None:
        owner = value.owner
        if isinstance(owner, Op):
            if owner.becomes in BOUNDS:
                self._position(owner, owner.results.index(value))
            elif is_left_out_unless_needed(owner):
                self.add(*owner.operands)
            return
        carrier = self.carriers.get(owner)
        if carrier is not None:
            position = owner.args.index(value) - FIRST.get(carrier.becomes, 0)
            if position >= 0:
                self._position(carrier, position)

    def _position(self, op: Op, position: int) -> None:
        first = FIRST.get(op.becomes, 0)
        self.add(op.results[position], *(list_carried(body.end)[position] for body in op.bodies))
        if starts := list_carried(op):
            self.add(starts[position], *(body.args[first + position] for body in op.bodies))


def list_carried(op: Op) -> tuple[RunTime, ...]:
    return op.operands[BOUNDS[op.becomes] :]


@lru_cache(maxsize=256)
def is_left_out_unless_needed(op: Op) -> bool:
    is_calculation = op.becomes.name.startswith("arith.") or issubclass(op.becomes, CALCULATIONS)
    return op.is_optional or is_calculation


class Emission:
    """Makes the operations of a kernel."""

    def __init__(self, entry: Body, handles: Handles):
        self.entry, self.handles = entry, handles
        self.needed = _Needed(entry).values
        self.values: dict[RunTime, SSAValue] = {}
        handles.keep_arguments(self.needed)

    def block(self) -> Block:
        block = self._block_with(self.entry.args)
        for op in self.handles.ops:
            self._emit(op, block)
        self._emit_all(self.entry, block)
        return block

    def _block_with(self, arguments: list[RunTime]) -> Block:
        block = Block(arg_types=[argument.type for argument in arguments])
        self._bind(arguments, block.args)
        return block

    def _bind(self, values: Sequence[RunTime], made: Sequence[SSAValue]) -> None:
        for value, result in zip(values, made, strict=True):
            result.name_hint = value.hint
            self.values[value] = result

    def _emit_all(self, body: Body, block: Block, kept: Sequence[int] = ()) -> None:
        for op in body.ops:
            if not is_left_out_unless_needed(op) or self.needed.intersection(op.results):
                self._emit(op, block, kept)

    def _emit(self, op: Op, block: Block, kept: Sequence[int] = ()) -> None:
        """Emit an operation; `kept` lists the needed carried values at the end of a body."""
        operands, results = op.operands, op.results
        if op.becomes in BOUNDS:
            if op.bodies:
                kept = [n for n, result in enumerate(results) if result in self.needed]
                results = tuple([results[n] for n in kept])
            starts = list_carried(op)
            operands = (*operands[: BOUNDS[op.becomes]], *(starts[n] for n in kept if starts))
        made = op.becomes.create(
            operands=[self.values[operand] for operand in operands],
            properties=op.properties,
            attributes=op.attributes,
            result_types=[result.type for result in results],
            regions=self._regions(op, kept),
        )
        if (place := op.place) is not None:
            made.location = location_of(place.frame.span(place.node), place.frame.call_sites())
        block.add_op(made)
        self._bind(results, made.results)

    def _regions(self, op: Op, kept: Sequence[int]) -> list[Region]:
        regions = [Region(self._region_block(op, body, kept)) for body in op.bodies]
        if op.becomes is scf.IfOp:
            if len(regions) > 1 and not kept and len(regions[1].block.ops) == 1:
                regions[1] = Region()  # an empty branch
            regions += [Region()] * (2 - len(regions))
        return regions

    def _region_block(self, op: Op, body: Body, kept: Sequence[int]) -> Block:
        first = FIRST.get(op.becomes, 0)
        arguments = [*body.args[:first], *(body.args[first + n] for n in kept if body.args[first:])]
        block = self._block_with(arguments)
        self._emit_all(body, block, kept)
        return block


def span_of_place(place: Origin | None) -> Span | None:
    return None if place is None else place.frame.span(place.node)

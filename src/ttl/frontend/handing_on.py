"""Blocks and transfers that a loop hands on: `held = following` at the end of its body.

rule NAME   data movement: the loop's body, its next iteration and what follows the loop each have
            their own name for the block. It is handed over and acquired again, in the same order;
            nothing happens on the chip. So every block has one acquire, and stands in its buffer
            where counting says.
rule VALUE  compute: what the block holds is handed on, and the block is popped at once. Kept, it
            would stand in front of the blocks that follow, and those behind the edge of a buffer
            have no address for the calls of a compute kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Operation, SSAValue

from ttl.dialects import ttl
from ttl.semantics.kernel_kinds import KernelKind

from .builder import FlowBroken, KernelBuilder, Value, flow_broken
from .changing import is_readable


class HandedOn:
    """The blocks and transfers that a loop starts with and hands on."""

    def __init__(self, builder: KernelBuilder):
        self.builder = builder
        self.start: list[SSAValue] = []
        self.order: list[int] = []  # in which they are handed over, oldest first

    def takes(self, value: Value) -> bool:
        """rule NAME"""
        if self.builder.kernel.kind is not KernelKind.DATAMOVEMENT:
            return False
        return self._is_left_to_program(value) or self._is_under_way(value)

    def takes_value(self, value: Value) -> bool:
        """rule VALUE"""
        is_compute = self.builder.kernel.kind is KernelKind.COMPUTE
        return is_compute and self._is_left_to_program(value) and is_readable(value)

    def _is_left_to_program(self, value: Value) -> bool:
        """A block that the program itself will release."""
        if not isinstance(value, SSAValue) or not isinstance(value.owner, ttl.AcquireOp):
            return False
        return value not in self.builder.scoped and not self._is_finished(value)

    def _is_under_way(self, value: Value) -> bool:
        """A transfer that the program itself will wait for; those of pipes have counters."""
        if not isinstance(value, SSAValue) or not isinstance(value.type, ttl.TransferType):
            return False
        return value.type.kind.data in ("read", "write") and not self._is_finished(value)

    def _is_finished(self, value: SSAValue) -> bool:
        """By the program already, or where it leaves it out."""
        op = value.owner
        assert isinstance(op, Operation)
        left_out = any(op in (level or ()) for level in self.builder.unfinished)
        is_implicit = left_out or {"implicit_release", "implicit_wait"} & op.attributes.keys()
        return value in self.builder.released or bool(is_implicit)

    def pop_blocks(self, values: list[SSAValue], numbers: set[int]) -> None:
        """rule VALUE: put what they hold in place of the blocks among some of the values."""
        some = [values[number] for number in sorted(numbers)]
        blocks = dict.fromkeys(value for value in some if self.takes_value(value))
        popped = {block: self._popped(block) for block in sorted(blocks, key=self._age)}
        for number in numbers:
            values[number] = popped.get(values[number], values[number])

    def _popped(self, block: SSAValue) -> SSAValue:
        if any(isinstance(use.operation, ttl.StoreOp) and use.index == 1 for use in block.uses):
            raise flow_broken("a loop that hands on a block which was stored into")
        copy = ttl.BLOCK_MATH["typecast"].create(operands=[block], result_types=[block.type])
        value = self.builder.value(copy, block.name_hint)
        acquire = block.owner
        assert isinstance(acquire, ttl.AcquireOp)
        pop = self.builder.emit(ttl.PopOp.create(operands=[acquire.buffer]))
        pop.attributes["number"] = self.builder.number(acquire)
        return value

    def number(self, value: SSAValue) -> int:
        if value not in self.start:
            self.start.append(value)
        return self.start.index(value)

    def broken(self, number: int, value: Value) -> FlowBroken | None:
        """Why the value cannot take the place of the one that the loop starts with."""
        if self.takes(value) and is_alike(value, self.start[number]):
            return None
        return flow_broken("a loop that hands on something else than it starts with")

    def begin(self) -> None:
        ages = [self._age(value) for value in self.start]
        self.order = sorted(range(len(ages)), key=ages.__getitem__)
        self.hand_over(self.start)

    def hand_over(self, values: Sequence[SSAValue]) -> None:
        """rule NAME: what takes the place of each value that it starts with."""
        if len({*values}) < len(values):
            raise flow_broken("a loop that gives a block or a transfer two names")
        ordered = [values[number] for number in self.order]
        for earlier, later in combinations(ordered, 2):
            if _end(earlier) == _end(later) and self._age(earlier) > self._age(later):
                raise flow_broken("a loop that hands on blocks of a buffer in another order")
        for value in ordered:
            if isinstance(value.owner, ttl.AcquireOp):
                op: Operation = ttl.HandOverOp.of(value.owner)
                op.attributes["number"] = self.builder.number(value.owner)
            else:
                op = ttl.HandOverTransferOp.create(operands=[value])
            self.builder.emit(op)

    def _age(self, value: SSAValue) -> int:
        return self.builder.ages.get(value, 0)  # transfers have none

    def resume(self) -> list[SSAValue]:
        resumed = {number: self._resumed(self.start[number]) for number in self.order}
        return [resumed[number] for number in range(len(self.start))]

    def _resumed(self, value: SSAValue) -> SSAValue:
        acquire = value.owner
        if not isinstance(acquire, ttl.AcquireOp):
            op: Operation = ttl.ResumeTransferOp.create(result_types=[value.type])
        else:
            op = type(acquire).create(operands=[acquire.buffer], result_types=[value.type])
            op.attributes["resumed"] = UnitAttr()
        return self.builder.value(op, value.name_hint)


def is_alike(one: SSAValue, other: SSAValue) -> bool:
    """Blocks of one end of a buffer, or transfers of one kind."""
    return one.type == other.type and _end(one) == _end(other)


def _end(value: SSAValue) -> object:
    acquire = value.owner
    is_block = isinstance(acquire, ttl.AcquireOp)
    return (type(acquire), acquire.buffer) if is_block else None  # type: ignore[union-attr]


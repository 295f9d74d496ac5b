"""Blocks and transfers that a loop carries: `held = following` at the end of its body.

rule NAME   data movement: the loop's body, its next iteration and what follows the loop each have
            their own name for the block. It is handed over and acquired again, in the same order;
            nothing happens on the chip. So every block has one acquire, and stands in its buffer
            where counting says.
rule VALUE  compute: what the block holds is carried, and the block is popped at once. Kept, it
            would stand in front of the blocks that follow, and those beyond the edge of a buffer
            have no address for the calls of a compute kernel.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import combinations
from typing import TypeGuard

from xdsl.dialects import scf
from xdsl.dialects.builtin import UnitAttr

from ttl.diagnostics import Diagnostic, codes
from ttl.dialects import ttl
from ttl.semantics.kernel_kinds import KernelKind

from .builder import KernelBuilder
from .emission import span_of_place
from .hir import BlockValue, Body, HeldBlock, RunTime, TransferValue, Value
from .problems import FlowBroken, flow_broken


class CarriedBlocks:
    """The blocks and transfers that a loop starts with and carries."""

    def __init__(self, builder: KernelBuilder):
        self.builder = builder
        self.start: list[RunTime] = []
        self.order: list[int] = []  # in which they are handed over, oldest first

    def takes(self, value: Value) -> TypeGuard[HeldBlock | TransferValue]:
        """rule NAME: what the program itself will release or wait for.

        A transfer of a pipe has counters.
        """
        is_movement = self.builder.kernel.kind is KernelKind.DATAMOVEMENT
        if isinstance(value, TransferValue) and value.kind in ("read", "write"):
            return is_movement and value not in self.builder.state.released
        return is_movement and self._is_left_to_program(value)

    def takes_value(self, value: Value) -> TypeGuard[HeldBlock]:
        """rule VALUE"""
        is_compute = self.builder.kernel.kind is KernelKind.COMPUTE
        return is_compute and self._is_left_to_program(value) and is_readable(value)

    def _is_left_to_program(self, value: Value) -> TypeGuard[HeldBlock]:
        if not isinstance(value, HeldBlock):
            return False
        return not value.is_scoped and value not in self.builder.state.released

    def pop_blocks(self, values: list[RunTime], numbers: Collection[int]) -> None:
        """rule VALUE: put what they hold in place of the blocks among some of the values."""
        some = [values[number] for number in sorted(numbers)]
        blocks = dict.fromkeys(value for value in some if self.takes_value(value))
        popped = {block: self._popped(block) for block in sorted(blocks, key=_age)}
        for number in numbers:
            value = values[number]
            values[number] = popped.get(value, value) if isinstance(value, HeldBlock) else value

    def _popped(self, block: HeldBlock) -> BlockValue:
        if block.is_stored:
            raise flow_broken("a loop that carries a block which was stored into")
        value = self.builder.block_value(ttl.BLOCK_MATH["typecast"], [block], block.type)
        value.hint = block.hint
        self.builder.release(ttl.PopOp, block)
        return value

    def number(self, value: RunTime) -> int:
        if value not in self.start:
            self.start.append(value)
        return self.start.index(value)

    def broken(self, number: int, value: Value) -> FlowBroken | None:
        """Why the value cannot take the place of the one that the loop starts with."""
        if self.takes(value) and is_alike(value, self.start[number]):
            return None
        return flow_broken("a loop that carries something else than it starts with")

    def begin(self) -> None:
        ages = [_age(value) for value in self.start]
        self.order = sorted(range(len(ages)), key=ages.__getitem__)
        self.hand_over(self.start)

    def hand_over(self, values: Sequence[RunTime]) -> None:
        """rule NAME: what takes the place of each value that it starts with."""
        if len({*values}) < len(values):
            raise flow_broken("a loop that gives a block or a transfer two names")
        ordered = [values[number] for number in self.order]
        for earlier, later in combinations(ordered, 2):
            if _end(earlier) == _end(later) and _age(earlier) > _age(later):
                raise flow_broken("a loop that carries blocks of a buffer in another order")
        for value in ordered:
            if isinstance(value, HeldBlock):
                op = self.builder.release(ttl.HandOverOp, value)
                if value.is_waited:
                    op.properties["is_wait"] = UnitAttr()
            else:
                self.builder.emit(ttl.HandOverTransferOp, [value])

    def resume(self) -> list[RunTime]:
        resumed = {number: self._resumed(self.start[number]) for number in self.order}
        return [resumed[number] for number in range(len(self.start))]

    def _resumed(self, value: RunTime) -> RunTime:
        if isinstance(value, HeldBlock):
            acquire = value.acquire
            block = self.builder.acquired(acquire.becomes, value.buffer, value.type)
            block.acquire.attributes["resumed"] = UnitAttr()
            block.hint = value.hint
            return block
        return self.builder.value(ttl.ResumeTransferOp, (), value.type, hint=value.hint)


def is_readable(value: Value) -> TypeGuard[HeldBlock]:
    """A block that other kernels wrote: what it holds can stand for it."""
    return isinstance(value, HeldBlock) and value.is_waited


def is_alike(one: RunTime, other: RunTime) -> bool:
    """Blocks of one end of a buffer, or transfers of one kind."""
    return one.type == other.type and _end(one) == _end(other)


def _end(value: RunTime) -> object:
    return (value.acquire.becomes, value.buffer) if isinstance(value, HeldBlock) else None


def _age(value: RunTime) -> int:
    return value.age if isinstance(value, HeldBlock) else 0  # transfers have none


CARRYING = (scf.YieldOp, scf.ForOp, scf.WhileOp)


def stores_under_aliases(body: Body) -> Iterator[Diagnostic]:
    """Stores into a block that a loop or branch carries: what it holds stands for it there, and a
    store is seen by every name of a block.
    """
    carried = {v for op in body.walk() if op.becomes in CARRYING for v in op.operands}
    for op in body.walk():
        if op.becomes is not ttl.StoreOp or op.operands[1] not in carried:
            continue
        block = op.operands[1]
        if isinstance(block, HeldBlock) and block.is_waited:
            broken = codes.NOT_COMPILED_YET.broken(
                "the compiler does not translate a store into a block that a condition or a loop "
                "gives another name yet",
                "use one name for the block, or store before it gets another",
            )
            yield broken.at(span_of_place(op.place))

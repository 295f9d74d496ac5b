"""Blocks and transfers that a loop carries: `held = following` at the end of its body.

rule NAME   data movement: the loop's body, its next iteration and the code after the loop each have
            their own name for the block. Each one hands it over and acquires it again, in order,
            which does nothing on the chip. So every block has one acquire, at the place in its
            buffer that counting gives.
rule VALUE  compute: the loop carries the block's contents, and pops the block at once. If kept, it
            would precede later blocks, and those beyond the edge of a buffer have no address for
            the calls of a compute kernel.
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
        self.order: list[int] = []  # hand-over order, oldest first

    def takes(self, value: Value) -> TypeGuard[HeldBlock | TransferValue]:
        """Does rule NAME apply: will the program itself release it or wait for it?

        Not to a transfer of a pipe, which has counters.
        """
        is_movement = self.builder.kernel.kind is KernelKind.DATAMOVEMENT
        if isinstance(value, TransferValue) and value.kind in ("read", "write"):
            return is_movement and value not in self.builder.state.released
        return is_movement and self._is_left_to_program(value)

    def takes_value(self, value: Value) -> TypeGuard[HeldBlock]:
        """Does rule VALUE apply?"""
        is_compute = self.builder.kernel.kind is KernelKind.COMPUTE
        return is_compute and self._is_left_to_program(value) and is_readable(value)

    def _is_left_to_program(self, value: Value) -> TypeGuard[HeldBlock]:
        if not isinstance(value, HeldBlock):
            return False
        return not value.is_scoped and value not in self.builder.state.released

    def pop_blocks(self, values: list[RunTime], numbers: Collection[int]) -> None:
        """Pop blocks among these values by rule VALUE, replacing them by their contents."""
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
        """Return why a value cannot replace the one at the start of the loop, or None."""
        if self.takes(value) and is_alike(value, self.start[number]):
            return None
        return flow_broken("a loop that carries something else than it starts with")

    def begin(self) -> None:
        ages = [_age(value) for value in self.start]
        self.order = sorted(range(len(ages)), key=ages.__getitem__)
        self.hand_over(self.start)

    def hand_over(self, values: Sequence[RunTime]) -> None:
        """Hand over the replacement of each starting value by rule NAME."""
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
    """Did other kernels write the block, so that its contents can replace it?"""
    return isinstance(value, HeldBlock) and value.is_waited


def is_alike(one: RunTime, other: RunTime) -> bool:
    """Are both blocks at one end of a buffer, or transfers of one kind?"""
    return one.type == other.type and _end(one) == _end(other)


def _end(value: RunTime) -> object:
    return (value.acquire.becomes, value.buffer) if isinstance(value, HeldBlock) else None


def _age(value: RunTime) -> int:
    return value.age if isinstance(value, HeldBlock) else 0  # transfers have no age


CARRYING = (scf.YieldOp, scf.ForOp, scf.WhileOp)


def stores_under_aliases(body: Body) -> Iterator[Diagnostic]:
    """Report stores into a block that a loop or branch carries by its contents: every name of a
    block must see a store.
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

"""A kernel without its data: control flow, synchronization, and the scalars these depend on.

rule NEEDED    kept are the operations that synchronize or slice tensors, divisions that may be by
               zero, assertions, the control flow around them, and the scalars that these use
rule ALIKE     a loop does the same in every iteration if no condition, bound or synchronization in
               it depends on its variable, and it carries nothing needed: it is walked once
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects import arith, func, scf
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, IntegerType, i1
from xdsl.ir import Block, Operation, SSAValue
from xdsl.ir.core import BlockArgument, OpResult

from ttl.dialects import ttl
from ttl.dialects.ttkernel import name_of

from ..module_pass import constant_of, terminator
from .scalars import function_of
from .statements import (
    DIVISIONS,
    Body,
    BranchStatement,
    Budget,
    Calculate,
    CannotEvaluate,
    CarriedRegisters,
    LoopStatement,
    Statement,
    Walk,
    WhileStatement,
    check_assertion,
    run_body,
    set_register,
)
from .symbolic import UNKNOWN, Number

MakeStatement = Callable[["Builder", Any], "Statement | None"]


@dataclass(frozen=True, slots=True)
class KernelSkeleton:
    """The skeleton of one kernel."""

    name: str
    thread: str
    body: Body
    constants: tuple[Number, ...]  # the registers at the start
    function: func.FuncOp

    def walk(
        self, node: tuple[int, ...], number: int, budget: Budget, ways: list[bool] | None = None
    ) -> Walk:
        walk = Walk(node, number, list(self.constants), budget, ways=ways)
        walk.budget.spend(len(self.body))
        try:
            run_body(self.body, walk)
        except CannotEvaluate as error:
            raise CannotEvaluate(error.op, walk.faults) from None
        return walk


class Builder:
    """Translates one kernel; `effects` makes statements of synchronizing operations.

    With `every_iteration`, no loop is walked once for all iterations.
    """

    def __init__(
        self,
        function: func.FuncOp,
        effects: dict[type[Operation], MakeStatement],
        every_iteration: bool = False,
    ):
        self.function = function
        self.every_iteration = every_iteration
        self.effects = effects
        self.registers: dict[SSAValue, int] = {}
        self.constants: list[Number] = []
        self.kept: set[Operation] = set()
        self.needed: set[SSAValue] = set()
        self.carries_transfers = any(
            isinstance(value.type, ttl.TransferType)
            for op in function.walk()
            if op.regions
            for value in op.results
        )

    def build(self, thread: str) -> KernelSkeleton:
        self._find_kept(self.function.body.block)
        body = self.body(self.function.body.block)
        name = name_of(self.function)
        return KernelSkeleton(name, thread, body, tuple(self.constants), self.function)

    # rule NEEDED

    def _find_kept(self, block: Block) -> bool:
        found = False
        for op in block.ops:
            if op.regions:
                inside = [self._find_kept(b) for region in op.regions for b in region.blocks]
                is_kept = any(inside) or type(op) in self.effects
                if is_kept:
                    self._need_all(_control_operands(op))
            else:
                is_kept = type(op) in self.effects or _may_fail(op)
            if is_kept:
                self.kept.add(op)
                if type(op) in self.effects or _may_fail(op):
                    self._need_all(op.operands)
                    for region in op.regions:
                        self._need_all(terminator(region.block).operands)
            found = found or is_kept
        return found

    def _need_all(self, values: Iterable[SSAValue]) -> None:
        waiting = list(values)
        while waiting:
            value = waiting.pop()
            if value not in self.needed:
                self.needed.add(value)
                waiting += self._sources(value)

    def _sources(self, value: SSAValue) -> list[SSAValue]:
        """Return the values that a value is computed from."""
        if isinstance(value, BlockArgument):
            loop = value.block.parent_op()
            if not isinstance(loop, (scf.ForOp, scf.WhileOp)):
                return []
            self.kept.add(loop)
            return [*_control_operands(loop), *_sources_of_argument(loop, value)]
        assert isinstance(value, OpResult)
        owner = value.op
        if isinstance(owner, (scf.IfOp, scf.ForOp, scf.WhileOp)):
            self.kept.add(owner)
            position = value.index
            ends = [terminator(region.block).operands for region in owner.regions if region.blocks]
            found = [*_control_operands(owner)]
            if isinstance(owner, scf.ForOp):
                found += [owner.iter_args[position], ends[0][position]]
            elif isinstance(owner, scf.IfOp):
                found += [end[position] for end in ends]
            else:
                found += [ends[0][position + 1]]
            return found
        if owner.regions or type(owner) in self.effects:
            return []
        if function_of(owner) is not None or isinstance(owner, arith.ConstantOp):
            self.kept.add(owner)
            return list(owner.operands)
        if isinstance(owner, (ttl.NodeIndexOp, ttl.RuntimeArgOp)):
            self.kept.add(owner)
        return []

    # Statements

    def register(self, value: SSAValue) -> int:
        """Return the walk's register for a value; unknown until a statement sets it."""
        known = self.registers.get(value)
        if known is None:
            known = self.registers[value] = len(self.constants)
            self.constants.append(UNKNOWN)
        return known

    def all_registers(self, values: Iterable[SSAValue]) -> tuple[int, ...]:
        return tuple([self.register(value) for value in values])

    def body(self, block: Block) -> Body:
        made = [self._statement(op) for op in block.ops if op in self.kept]
        return [statement for statement in made if statement is not None]

    def _statement(self, op: Operation) -> Statement | None:
        effect = self.effects.get(type(op))
        if effect is not None:
            return effect(self, op)
        if isinstance(op, scf.ForOp):
            return self._loop(op)
        if isinstance(op, scf.IfOp):
            return self._branch(op)
        if isinstance(op, scf.WhileOp):
            return self._while(op)
        if isinstance(op, arith.ConstantOp):
            self.constants[self.register(op.result)] = _constant(op)
            return None
        if isinstance(op, ttl.AssertOp):
            return check_assertion(op, self.register(op.condition))
        if isinstance(op, ttl.NodeIndexOp):
            dimension = op.dimension.value.data
            return set_register(self.register(op.result), lambda walk: walk.node[dimension])
        if isinstance(op, ttl.RuntimeArgOp):
            return self._node_argument(op)
        function = function_of(op)
        if function is None:  # a region of an unknown operation
            raise CannotEvaluate(op)
        return Calculate(
            op, function, self.all_registers(op.operands), self.register(op.results[0])
        )

    def _node_argument(self, op: ttl.RuntimeArgOp) -> Statement:
        """Set a value that differs between nodes."""
        by_node = _words(op, self.function)
        return set_register(
            self.register(op.result),
            lambda walk: by_node[walk.number] if walk.number < len(by_node) else UNKNOWN,
        )

    def carried_registers(
        self,
        starts: Iterable[SSAValue],
        arguments: Iterable[SSAValue],
        end: Iterable[SSAValue],
        results: Iterable[SSAValue],
    ) -> CarriedRegisters:
        return CarriedRegisters(
            *(self.all_registers(part) for part in (starts, arguments, end, results))
        )

    def _loop(self, op: scf.ForOp) -> Statement:
        arguments = op.body.block.args
        chosen = [
            i
            for i in range(len(op.iter_args))
            if arguments[i + 1] in self.needed or op.results[i] in self.needed
        ]
        yields = terminator(op.body.block).operands
        return LoopStatement(
            op,
            (self.register(op.lb), self.register(op.ub), self.register(op.step)),
            self.register(arguments[0]),
            self.carried_registers(
                [op.iter_args[i] for i in chosen],
                [arguments[i + 1] for i in chosen],
                [yields[i] for i in chosen],
                [op.results[i] for i in chosen],
            ),
            self.body(op.body.block),
            is_alike=not (chosen or self.every_iteration or self._varies(op)),
        )

    def _varies(self, loop: scf.ForOp) -> bool:
        """Does anything but the copied tiles depend on the variable? (rule ALIKE)"""
        return self._varies_in(loop.body.block, {loop.body.block.args[0]})

    def _varies_in(self, block: Block, changing: set[SSAValue]) -> bool:
        """Does `block` depend on values in `changing`? Adds those of its values that do."""
        for op in block.ops:
            if op not in self.kept:
                continue
            depends = any(operand in changing for operand in _decisive(op))
            if op.regions:
                if depends and self._synchronizes(op):
                    return True
                for region in op.regions:
                    for inner in region.blocks:
                        if self._region_varies(op, inner, depends, changing):
                            return True
                        depends = depends or _ends_changing(inner, changing)
            elif depends and type(op) in self.effects:
                return True
            if depends:
                changing.update(op.results)
        return False

    def _region_varies(
        self, op: Operation, inner: Block, depends: bool, changing: set[SSAValue]
    ) -> bool:
        if depends:
            changing.update(inner.args)
        if self._varies_in(inner, changing):
            return True
        if not _ends_changing(inner, changing) or changing.issuperset(inner.args):
            return isinstance(op, scf.WhileOp) and _ends_changing(inner, changing)
        changing.update(inner.args)  # the carried values depend on the variable from here on
        return isinstance(op, scf.WhileOp) or self._varies_in(inner, changing)

    def _synchronizes(self, op: Operation) -> bool:
        """Do its bounds or its condition decide more than scalars?"""
        return isinstance(op, (scf.ForOp, scf.WhileOp)) or any(
            type(inner) in self.effects for inner in op.walk()
        )

    def _branch(self, op: scf.IfOp) -> BranchStatement:
        chosen = [i for i, result in enumerate(op.results) if result in self.needed]
        bodies, yields = [], []
        for region in (op.true_region, op.false_region):
            bodies.append(self.body(region.block) if region.blocks else [])
            ends = terminator(region.block).operands if region.blocks else ()
            yields.append(self.all_registers(ends[i] for i in chosen))
        results = self.all_registers(op.results[i] for i in chosen)
        return BranchStatement(
            op, self.register(op.cond), bodies[0], bodies[1], yields[0], yields[1], results
        )

    def _while(self, op: scf.WhileOp) -> Statement:
        before, after = op.before_region.block, op.after_region.block
        condition, *passed = terminator(before).operands
        return WhileStatement(
            op,
            self.all_registers(op.arguments),
            self.all_registers(before.args),
            self.body(before),
            self.register(condition),
            self.all_registers(passed),
            self.all_registers(after.args),
            self.body(after),
            self.all_registers(terminator(after).operands),
            self.all_registers(op.results),
        )


def _may_fail(op: Operation) -> bool:
    """Is it a division whose divisor may be zero, or an assertion?"""
    if isinstance(op, ttl.AssertOp):
        return True
    if not isinstance(op, DIVISIONS):
        return False
    return not constant_of(op.rhs)


def _decisive(op: Operation) -> Sequence[SSAValue]:
    """Return operands that decide its effect on others; the choice of copied tiles does not."""
    if isinstance(op, ttl.TensorSliceOp):
        return ()
    if isinstance(op, ttl.CopyOp):
        return () if op.pipe is None else (op.pipe,)
    return op.operands


def _ends_changing(block: Block, changing: set[SSAValue]) -> bool:
    end = block.last_op
    return end is not None and any(operand in changing for operand in end.operands)


def _control_operands(op: Operation) -> list[SSAValue]:
    """Return the values that decide control flow."""
    if isinstance(op, scf.ForOp):
        return [op.lb, op.ub, op.step]
    if isinstance(op, scf.IfOp):
        return [op.cond]
    if isinstance(op, scf.WhileOp):  # everything it carries: the condition may need it
        ends = [terminator(region.block).operands for region in op.regions]
        return [*op.arguments, *ends[0], *ends[1]]
    return []


def _sources_of_argument(op: scf.ForOp | scf.WhileOp, value: BlockArgument) -> list[SSAValue]:
    if isinstance(op, scf.WhileOp) or value.index == 0:
        return []
    return [op.iter_args[value.index - 1], terminator(op.body.block).operands[value.index - 1]]


def _constant(op: arith.ConstantOp) -> Number:
    if not isinstance(op.value, (IntegerAttr, FloatAttr)):
        return UNKNOWN
    number = op.value.value.data
    return bool(number) if op.result.type == i1 else number


def _words(op: ttl.RuntimeArgOp, function: func.FuncOp) -> tuple[Number, ...]:
    """Return the values of a runtime argument on the nodes."""
    by_name: Any = function.attributes.get("ttl.runtime_args")
    words = None if by_name is None else by_name.data.get(op.arg_name.data)
    if words is None:
        return ()
    return tuple([_read_word(word.value.data, op.result) for word in words])


def _read_word(word: int, result: SSAValue) -> Number:
    from struct import pack, unpack

    if isinstance(result.type, IntegerType):
        return bool(word)
    kind = "f" if str(result.type).startswith("f") else "i"
    return unpack(f"<{kind}", pack("<I", word & 0xFFFFFFFF))[0]

"""Branches of a kernel, and the variables that change in them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerAttr, i1
from xdsl.ir import Block, Operation, Region, SSAValue

from .builder import CannotCompile, KernelBuilder, Unusable, Value, describe, not_yet
from .changing import Slot, changes, filled, name_value, on_some_paths, rebuilt, typed, zipped
from .environment import MISSING, is_same
from .scalars import SPECULATED, TYPES, common_kind, kind_of, truth

Path = Callable[[], None]


def conditional(
    builder: KernelBuilder, condition: SSAValue, then: Path, otherwise: Path
) -> scf.IfOp:
    """An scf.if whose branches are what `then` and `otherwise` emit."""
    before = builder.values
    blocks, ends = [], []
    for path in (then, otherwise):
        block, builder.values = Block(), dict(before)
        try:
            with builder.inside(block):
                path()
        except CannotCompile:
            builder.values = before
            raise
        blocks.append(block)
        ends.append(builder.values)
    join = _Join()
    builder.values = {
        variable: join.variable(variable[1], *(end.get(variable, MISSING) for end in ends))
        for variable in (*ends[0], *(v for v in ends[1] if v not in ends[0]))
    }
    branch = _emit_if(builder, condition, blocks, join)
    results = list(branch.results)
    for variable, template in builder.values.items():
        builder.values[variable] = filled(template, results)
        name_value(builder.values[variable], variable[1])
    return branch


class _Join:
    """Collects the pairs of values between which a branch decides."""

    def __init__(self) -> None:
        self.pairs: list[tuple[Value, Value]] = []

    def variable(self, name: str, one: Value, other: Value) -> Any:
        """A template for the value after the branch."""
        for value in (one, other):
            if isinstance(value, Unusable):
                return value
        if one is MISSING or other is MISSING:
            return on_some_paths(name)
        template = self.value(one, other)
        if template is not MISSING:
            return template
        return Unusable(
            not_yet(f"`{name}`, which is {describe(one)} or {describe(other)} by a condition")
        )

    def value(self, one: Value, other: Value) -> Any:
        if is_same(one, other):
            return one
        if (items := zipped(one, other)) is not None:
            templates = [self.value(*pair) for pair in items]
            return MISSING if any(t is MISSING for t in templates) else rebuilt(one, templates)
        if not changes(one) or not changes(other):
            return MISSING
        if (kind_of(one) is None) != (kind_of(other) is None):
            return MISSING
        if kind_of(one) is None and one.type != other.type:
            return MISSING
        self.pairs.append((one, other))
        return Slot(len(self.pairs) - 1)


def _emit_if(
    builder: KernelBuilder, condition: SSAValue, blocks: list[Block], join: _Join
) -> scf.IfOp:
    types, naturals = [], []
    for pair in join.pairs:
        kinds = [kind for value in pair if (kind := kind_of(value)) is not None]
        types.append(TYPES[common_kind(*kinds)] if kinds else pair[0].type)
    for side, block in enumerate(blocks):
        with builder.inside(block):
            yielded = [
                typed(builder, pair[side], type)
                for pair, type in zip(join.pairs, types, strict=True)
            ]
            naturals.append({n for n, value in enumerate(yielded) if value in builder.naturals})
            builder.emit(scf.YieldOp(*yielded))
    is_empty = len(blocks[1].ops) == 1 and not types
    branch = scf.IfOp(condition, types, Region(blocks[0]), None if is_empty else Region(blocks[1]))
    builder.emit(branch)
    builder.naturals |= {branch.results[number] for number in naturals[0] & naturals[1]}
    return branch


RESULT = "<result>"  # not a name a program could use


def choose(
    builder: KernelBuilder,
    condition: Value,
    then: Callable[[], Value],
    otherwise: Callable[[], Value],
) -> Value:
    """`then if condition else otherwise`: only one of them is evaluated."""
    decided = truth(builder, condition)
    if not isinstance(decided, SSAValue):
        return then() if decided else otherwise()
    variable = builder.frame.number, RESULT

    def put(value: Callable[[], Value]) -> Path:
        def path() -> None:
            builder.values[variable] = value()

        return path

    branch = conditional(builder, decided, put(then), put(otherwise))
    result = builder.values.pop(variable)
    if isinstance(result, Unusable):
        raise result.refuse()
    return _selected(builder, branch, result)


def _selected(builder: KernelBuilder, branch: scf.IfOp, result: Value) -> Value:
    """A branch that only calculates scalars is a selection."""
    blocks = [region.block for region in branch.regions if region.blocks]
    operations = [op for block in blocks for op in block.ops if not isinstance(op, scf.YieldOp)]
    is_simple = len(branch.results) == 1 == len(blocks) - 1 and isinstance(result, SSAValue)
    if not is_simple or not all(isinstance(op, SPECULATED) for op in operations):
        return result
    if kind_of(result) is None:
        return result
    yields = [block.last_op for block in blocks]
    for op in operations:
        op.detach()
        builder.block.insert_op_before(op, branch)
    select = _selection(branch.cond, *(end.operands[0] for end in yields if end))
    select.location = branch.location
    builder.block.insert_op_before(select, branch)
    selected = select.results[0]
    if result in builder.naturals:
        builder.naturals.add(selected)
    branch.detach()
    branch.erase()
    return selected


def _selection(condition: SSAValue, one: SSAValue, other: SSAValue) -> Operation:
    if condition.type == one.type and (other is condition or _is_false(other)):
        return arith.AndIOp(condition, one)
    if condition.type == one.type and one is condition:
        return arith.OrIOp(condition, other)
    return arith.SelectOp(condition, one, other)


def _is_false(value: SSAValue) -> bool:
    owner = value.owner
    return isinstance(owner, arith.ConstantOp) and owner.value == IntegerAttr(0, i1)

"""Branches of a kernel, and the variables that change in them."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerAttr, i1
from xdsl.ir import Block, Operation, Region, SSAValue

from ttl.dialects import ttl
from ttl.dialects.conditions import decided, with_fact
from ttl.semantics.tensors import TensorSlice

from .builder import (
    CannotCompile,
    FlowBroken,
    KernelBuilder,
    Mark,
    Unfinished,
    Unusable,
    Value,
    Variable,
    describe,
    finish,
    flow_broken,
)
from .changing import (
    HandedSlot,
    Slot,
    changes,
    filled,
    is_readable,
    name_value,
    on_some_paths,
    rebuilt,
    typed,
    zipped,
)
from .containers import Contents
from .environment import MISSING, is_same
from .handing_on import HandedOn, is_alike
from .linear import known_difference
from .scalars import SPECULATED, TYPES, arithmetic, common_kind, kind_of, truth

Path = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Joined:
    """Two branches in one operation."""

    op: scf.IfOp
    containers_agree: bool  # have lists, dicts and sets the same items behind both?
    are_local: bool  # else: do only those differ that no later iteration of a loop has?


def conditional(
    builder: KernelBuilder, condition: SSAValue, then: Path, otherwise: Path
) -> Joined:
    """An scf.if whose branches are what `then` and `otherwise` emit."""
    before = builder.mark()
    blocks, ends, contents, released = [], [], [], []
    facts = builder.facts
    for path in (then, otherwise):
        block = Block()
        builder.facts = with_fact(facts, condition, path is then)
        builder.values = dict(before.values)
        builder.unfinished = _copied(before.unfinished)
        builder.containers.go_back(before.mutations)
        builder.released = before.released
        try:
            with builder.inside(block):
                path()
                _finish_path(builder, before.unfinished)
        except CannotCompile:
            builder.values, builder.unfinished = before.values, before.unfinished
            builder.facts = facts
            raise
        blocks.append(block)
        ends.append(builder.values)
        contents.append(builder.containers.contents(before.mutations))
        released.append(builder.released)
    builder.facts = facts
    builder.released = before.released
    join = _Join(builder, released, ends)
    builder.values = {
        variable: join.variable(variable[1], *(end.get(variable, MISSING) for end in ends))
        for variable in (*ends[0], *(v for v in ends[1] if v not in ends[0]))
    }
    is_alike = _is_alike(*contents)
    items = None if is_alike else _joined_items(builder, before, join, *contents)
    branch = _emit_if(builder, condition, blocks, join)
    results: list[SSAValue] = list(branch.results)
    builder.popped |= {results[number] for number in join.values_of_blocks}
    builder.released = released[0] | released[1]
    join.resumed = join.handed.resume()
    if items is not None:
        builder.containers.go_back(before.mutations)
        for key, items_of_one in items.items():
            builder.containers.replace(key, join.finished(items_of_one, results))
    for variable, template in builder.values.items():
        builder.values[variable] = value = join.finished(template, results)
        if isinstance(value, list) and value is not template:
            builder.containers.made(value, builder.loops[-1] if builder.loops else None)
        name_value(builder.values[variable], variable[1])
    agree = is_alike or items is not None
    return Joined(branch, agree, agree or _are_local(builder, *contents))


def _copied(unfinished: tuple[Unfinished, ...]) -> tuple[Unfinished, ...]:
    return tuple(None if level is None else list(level) for level in unfinished)


def _finish_path(builder: KernelBuilder, before: tuple[Unfinished, ...]) -> None:
    """What a path left to be finished is finished at its end: behind it nobody has it."""
    for level, known in zip(builder.unfinished, before, strict=False):
        if level is not None and known is not None:
            new = [op for op in level if op not in known]
            finish(builder, new)
            level[:] = [op for op in level if op in known]


def _is_alike(one: Contents, other: Contents) -> bool:
    if one.keys() != other.keys():
        return False
    return all(is_same(one[key], other[key]) for key in one)


def _joined_items(
    builder: KernelBuilder, before: Mark, join: _Join, one: Contents, other: Contents
) -> dict[int, list[Any]] | None:
    """What containers hold behind a branch that changes them; None if that cannot be joined."""
    found: dict[int, list[Any]] = {}
    for key in dict.fromkeys((*one, *other)):
        start = builder.containers.contents_at(key, before.mutations)
        template = join.value(one.get(key, start), other.get(key, start), False)
        if template is MISSING:
            return None
        found[key] = template
    return found


def _are_local(builder: KernelBuilder, one: Contents, other: Contents) -> bool:
    loop = builder.loops[-1] if builder.loops else None
    if loop is None or loop.frame is not builder.frame:
        return False
    kept = [value for variable, value in builder.values.items() if variable in loop.variables]
    changed = [builder.containers.with_id(key) for key in {*one, *other}]
    return not any(value is each or has(value, each) for value in kept for each in changed)


def not_joined(builder: KernelBuilder, before: Mark) -> set[str]:
    """The variables of this function that have had a value which a loop or branch lost."""
    return {
        name
        for (frame, name), value in builder.values.items()
        if frame == builder.frame.number
        and isinstance(value, Unusable)
        and isinstance(value.broken, FlowBroken)
        and before.values.get((frame, name)) is not value
    }


class _Join:
    """Collects the pairs of values between which a branch decides."""

    def __init__(
        self,
        builder: KernelBuilder,
        released: list[frozenset[SSAValue]],
        ends: list[dict[Variable, Value]],
    ) -> None:
        self.released = released  # in each branch
        self.ends = ends  # the variables' values there
        self.builder = builder
        self.pairs: list[tuple[Value, Value]] = []
        self.hands_on = bool(builder.loops) and builder.loops[-1].hands_on
        self.handed = HandedOn(builder)
        self.handed_pairs: list[tuple[SSAValue, SSAValue]] = []
        self.resumed: list[SSAValue] = []
        self.values_of_blocks: set[int] = set()  # the slots of blocks that are popped in the branch

    def variable(self, name: str, one: Value, other: Value) -> Any:
        """A template for the value after the branch."""
        for value in (one, other):
            if isinstance(value, Unusable):
                return value
        if one is MISSING or other is MISSING:
            return on_some_paths(name)
        is_hidden = not name.isidentifier()  # the value of an expression or of a function
        template = self.value(one, other, is_hidden)
        if template is not MISSING:
            return template
        what = "a value" if is_hidden else f"`{name}`"
        return Unusable(
            flow_broken(f"{what} which is {describe(one)} or {describe(other)} by a condition")
        )

    def value(self, one: Value, other: Value, by_value: bool) -> Any:
        """`by_value`: a block may be what it holds."""
        if is_same(one, other):
            return one
        if (bounds := self._range(one, other)) is not None:
            return bounds
        if (items := zipped(one, other)) is not None:
            templates = [self.value(*pair, by_value) for pair in items]
            return MISSING if any(t is MISSING for t in templates) else rebuilt(one, templates)
        if by_value and (part := self._slice(one, other)) is not None:
            return part
        if (slot := self._handed(one, other)) is not None:
            return slot
        if not all(changes(value) or (by_value and is_readable(value)) for value in (one, other)):
            return MISSING
        if kind_of(one) is not kind_of(other):
            self.builder.mixes_kinds = True
            if self.builder.keeps_kinds or None in (kind_of(one), kind_of(other)):
                return MISSING
        if kind_of(one) is None and one.type != other.type:
            return MISSING
        self.pairs.append((one, other))
        return Slot(len(self.pairs) - 1)

    def _handed(self, one: Value, other: Value) -> Slot | HandedSlot | None:
        """Transfers, and in a loop that hands them on blocks."""
        if not isinstance(one, SSAValue) or not isinstance(other, SSAValue):
            return None
        if one in self.released[0] or other in self.released[1]:
            return None
        if not self.hands_on and not isinstance(one.type, ttl.TransferType):
            return None
        if self._have_other_names(one, other):
            return None
        if all(self.handed.takes(value) for value in (one, other)) and is_alike(one, other):
            if (one, other) not in self.handed_pairs:
                self.handed_pairs.append((one, other))
                self.handed.start.append(one)
            return HandedSlot(self.handed_pairs.index((one, other)))
        popped = self.builder.popped
        if not all(self.handed.takes_value(v) or v in popped for v in (one, other)):
            return None
        if (one, other) not in self.pairs:
            self.pairs.append((one, other))
        number = self.pairs.index((one, other))
        self.values_of_blocks.add(number)
        return Slot(number)

    def _have_other_names(self, one: SSAValue, other: SSAValue) -> bool:
        """A name that is something else in one branch would not know what is handed on."""
        return any(
            (value is one) != (self.ends[1][variable] is other)
            for variable, value in self.ends[0].items()
            if isinstance(self.ends[1].get(variable), SSAValue) and isinstance(value, SSAValue)
        ) or any(
            has(value, one) or has(value, other)
            for variable, value in self.ends[0].items()
            if value is self.ends[1].get(variable)
        )

    def hand_over(self, side: int) -> None:
        if side == 0:
            self.handed.begin()
        else:
            self.handed.hand_over([pair[side] for pair in self.handed_pairs])

    def values(self, side: int) -> list[Value]:
        """What a branch yields, emitted at its end."""
        found = [pair[side] for pair in self.pairs]
        self.handed.pop_blocks(found, self.values_of_blocks)
        return found

    def _range(self, one: Value, other: Value) -> RangeTemplate | None:
        """`slice` objects of one extent: so it stays known."""
        if not isinstance(one, slice) or not isinstance(other, slice):
            return None
        bounds = (one.start, one.stop, other.start, other.stop)
        if one.step != other.step or any(kind_of(bound) is not int for bound in bounds):
            return None
        extent = known_difference(one.stop, one.start)
        if extent is None or extent != known_difference(other.stop, other.start):
            return None
        return RangeTemplate(self.value(one.start, other.start, True), extent, one.step)

    def _slice(self, one: Value, other: Value) -> SliceTemplate | None:
        """Slices of one tensor that differ in where they start."""
        if not isinstance(one, SSAValue) or not isinstance(other, SSAValue):
            return None
        first, second = one.owner, other.owner
        if not isinstance(first, ttl.TensorSliceOp) or not isinstance(second, ttl.TensorSliceOp):
            return None
        shapes = [index_dims(self.builder.slices[part]) for part in (one, other)]
        if first.tensor is not second.tensor or one.type != other.type or shapes[0] != shapes[1]:
            return None
        starts = zip(first.starts, second.starts, strict=True)
        return SliceTemplate(one, tuple(self.value(*pair, True) for pair in starts))

    def finished(self, template: Any, results: list[SSAValue]) -> Any:
        if isinstance(template, SliceTemplate):
            return self._made_slice(template, results)
        if isinstance(template, RangeTemplate):
            start = filled(template.start, results)
            stop = arithmetic(self.builder, ast.Add(), start, template.extent)
            return slice(start, stop, template.step)
        if isinstance(template, (tuple, list)) and _has_parts(template):
            return type(template)(self.finished(item, results) for item in template)
        return filled(template, results, self.resumed)

    def _made_slice(self, template: SliceTemplate, results: list[SSAValue]) -> SSAValue:
        like = template.like.owner
        assert isinstance(like, ttl.TensorSliceOp)
        starts = [filled(start, results) for start in template.starts]
        made = self.builder.value(
            ttl.TensorSliceOp.create(
                operands=[like.tensor, *starts], result_types=[template.like.type]
            )
        )
        self.builder.slices[made] = self.builder.slices[template.like]
        return made


def has(container: Value, value: Value) -> bool:
    """Is it one of the items of a list, tuple or dict?"""
    if not isinstance(container, (list, tuple, dict)):
        return False
    items = container.values() if isinstance(container, dict) else container
    return any(item is value or has(item, value) for item in items)


def _has_parts(template: tuple[Any, ...] | list[Any]) -> bool:
    return any(isinstance(item, (SliceTemplate, RangeTemplate)) for item in template)


@dataclass(frozen=True, slots=True)
class RangeTemplate:
    """slice(start, start + extent, step) whose start is a result of a branch."""

    start: Any
    extent: int
    step: Any


@dataclass(frozen=True, slots=True)
class SliceTemplate:
    """A tensor slice whose starts are results of a branch."""

    like: SSAValue
    starts: tuple[Any, ...]


def index_dims(part: TensorSlice) -> list[bool]:
    """Which dimensions have an index, not a slice."""
    return [not isinstance(item, slice) for item in part.items]


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
                typed(builder, value, type)
                for value, type in zip(join.values(side), types, strict=True)
            ]
            join.hand_over(side)
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
    asked = truth(builder, condition)
    known = decided(builder.facts, asked) if isinstance(asked, SSAValue) else asked
    if known is not None:
        return then() if known else otherwise()
    variable = builder.frame.number, RESULT

    def put(value: Callable[[], Value]) -> Path:
        def path() -> None:
            builder.values[variable] = value()

        return path

    assert isinstance(asked, SSAValue)
    joined = conditional(builder, asked, put(then), put(otherwise))
    result = builder.values.pop(variable)
    if isinstance(result, Unusable):
        raise result.refuse()
    if not joined.containers_agree:
        raise flow_broken("a list, dict or set that a condition changes")
    return _selected(builder, joined.op, result)


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

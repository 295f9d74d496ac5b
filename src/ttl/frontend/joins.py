"""Branches of a kernel, and joining the variables that change in them."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import partial
from typing import Any

from xdsl.dialects import arith, scf
from xdsl.ir import Attribute

from ttl.dialects import ttl
from ttl.dialects.conditions import decided, with_fact
from ttl.source import bindings

from .builder import KernelBuilder, name_value
from .carried_blocks import CarriedBlocks, is_alike, is_readable
from .environment import MISSING
from .hir import TYPES, Body, Op, RunTime, Scalar, SliceValue, TransferValue, Value, kind_of
from .linear import find_difference
from .loop_values import (
    BlockSlot,
    Rebuilt,
    Slot,
    changes,
    common_type,
    convert_type,
    fill_template,
    has,
    names_of,
    rebuild,
    zip_items,
)
from .node_values import is_same
from .problems import Unusable, describe, flow_broken, on_some_paths
from .scalars import SPECULATED, arithmetic, calculate, common_kind, truth
from .state import RESULT, Do, Local, Path, Reached, refill
from .value_ranges import find_constant


def truth_here(builder: KernelBuilder, value: Value) -> bool | Scalar:
    """Return the truth of a value, as a bool if the path has decided it."""
    found = truth(builder, value)
    known = decided(builder.state.facts, found) if isinstance(found, Scalar) else found
    return found if known is None else known


def choose(
    builder: KernelBuilder,
    condition: Value,
    then: Callable[[], Value],
    otherwise: Callable[[], Value],
) -> Value:
    """Evaluate `then if condition else otherwise`, which runs only one of them."""
    asked = truth_here(builder, condition)
    if not isinstance(asked, Scalar):
        return then() if asked else otherwise()
    variable = builder.frame.variable(RESULT)

    def put(value: Callable[[], Value]) -> None:
        builder.state.values[variable] = value()

    join = Branches(builder, asked, partial(put, then), partial(put, otherwise)).join()
    join.close(may_select=True)
    result = builder.state.values.pop(variable)
    if isinstance(result, Unusable):
        raise result.refuse()
    if not join.containers_agree:
        raise flow_broken("a list, dict or set that a condition changes")
    return result


class Branches:
    """Both branches of a condition before their join, which can be continued."""

    def __init__(self, builder: KernelBuilder, condition: Scalar, then: Do, otherwise: Do):
        self.builder, self.condition = builder, condition
        facts = builder.state.facts
        self.paths = [
            builder.path(do, with_fact(facts, condition, is_then))
            for do, is_then in ((then, True), (otherwise, False))
        ]

    def go_on(self, do: Do) -> None:
        for path in self.paths:
            self.builder.go_on(path, do)

    @property
    def has_mistakes(self) -> bool:
        known = len(self.builder.state.mistakes)
        return any(len(path.state.mistakes) > known for path in self.paths)

    def join(self) -> Join:
        return Join(self.builder, self.condition, self.paths)


class Join:
    """The values of variables after both branches: templates, and the pairs that fill them."""

    def __init__(self, builder: KernelBuilder, condition: Scalar, paths: list[Path]):
        self.builder, self.condition, self.paths = builder, condition, paths
        self.before = builder.state
        self.ends = [path.state for path in paths]
        self.pairs: list[tuple[Value, Value]] = []
        self.carries_blocks = builder.loop is not None and builder.loop.carries_blocks
        self.carried = CarriedBlocks(builder)
        self.block_pairs: list[tuple[RunTime, RunTime]] = []
        self.values_of_blocks: set[int] = set()  # the slots of blocks that a branch pops
        one, other = (end.values for end in self.ends)
        self.templates = {
            variable: self._variable(
                variable, one.get(variable, MISSING), other.get(variable, MISSING)
            )
            for variable in (*one, *(v for v in other if v not in one))
        }
        self.contents = self._contents()
        self.loses_containers_inside = any(end.has_lost_containers for end in self.ends)
        self.containers_agree = self.contents is not None and not self.loses_containers_inside

    # Templates ------------------------------------------------------------------------------------

    def _variable(self, variable: Local, one: Value, other: Value) -> object:
        """Make a template for the value after the branch."""
        is_hidden = variable.is_hidden  # the value of an expression or a function
        for value in (one, other):
            if isinstance(value, Unusable):  # an outer loop detects changes by identity
                return value if one is other or is_hidden else copy(value)
        if one is MISSING or other is MISSING:
            return on_some_paths(variable.name)
        template = self._template(one, other, is_hidden)
        if template is not MISSING:
            return template
        what = "a value" if is_hidden else f"`{variable.name}`"
        return Unusable(
            flow_broken(f"{what} which is {describe(one)} or {describe(other)} by a condition")
        )

    def _template(self, one: Any, other: Any, by_value: bool) -> object:
        """Make a template of two values; with `by_value`, a block may become its contents."""
        if is_same(one, other):
            return one
        if (bounds := self._range(one, other)) is not None:
            return bounds
        if isinstance(one, list) and isinstance(other, list) and self._has_aliases(one, other):
            return MISSING
        if (items := zip_items(one, other)) is not None:
            templates = [self._template(*pair, by_value) for pair in items]
            return MISSING if any(t is MISSING for t in templates) else rebuild(one, templates)
        if by_value and (part := self._slice(one, other)) is not None:
            return part
        if (slot := self._carried_slot(one, other)) is not None:
            return slot
        if not all(changes(value) or (by_value and is_readable(value)) for value in (one, other)):
            return MISSING
        if kind_of(one) is not kind_of(other):
            self.builder.mixes_kinds = True
            if self.builder.keeps_kinds or None in (kind_of(one), kind_of(other)):
                return MISSING
        if kind_of(one) is None and common_type(one.type, other.type) is None:
            return MISSING
        self.pairs.append((one, other))
        return Slot(len(self.pairs) - 1)

    def _carried_slot(self, one: Value, other: Value) -> Slot | BlockSlot | None:
        """Return a slot for transfers, or for blocks in a loop that carries them."""
        if not isinstance(one, RunTime) or not isinstance(other, RunTime):
            return None
        if not self.carries_blocks and not isinstance(one, TransferValue):
            return None
        if one in self.ends[0].released or other in self.ends[1].released:
            return None
        if self._have_other_names(one, other):
            return None
        if self.carried.takes(one) and self.carried.takes(other) and is_alike(one, other):
            if (one, other) not in self.block_pairs:
                self.block_pairs.append((one, other))
                self.carried.start.append(one)
            return BlockSlot(self.block_pairs.index((one, other)))
        if not self._gives_value(one) or not self._gives_value(other):
            return None
        if (one, other) not in self.pairs:
            self.pairs.append((one, other))
        number = self.pairs.index((one, other))
        self.values_of_blocks.add(number)
        return Slot(number)

    def _gives_value(self, value: Value) -> bool:
        return self.carried.takes_value(value) or bool(getattr(value, "is_popped", False))

    def _has_aliases(self, one: list[object], other: list[object]) -> bool:
        """Does the list have several names? All of them see a change."""
        pairs = zip(self.ends, (one, other), strict=True)
        return any(len(names_of(end.values, items)) > 1 for end, items in pairs)

    def _have_other_names(self, one: RunTime, other: RunTime) -> bool:
        """Does a name mean another value in one branch, so it would miss the carried one?"""
        first, second = (end.values for end in self.ends)
        return any(
            (value is one) != (second[variable] is other)
            for variable, value in first.items()
            if isinstance(second.get(variable), RunTime) and isinstance(value, RunTime)
        ) or any(
            has(value, one) or has(value, other)
            for variable, value in first.items()
            if value is second.get(variable)
        )

    def _range(self, one: Value, other: Value) -> Rebuilt | None:
        """Join `slice` objects of one extent, which stays known."""
        if not isinstance(one, slice) or not isinstance(other, slice):
            return None
        bounds = (one.start, one.stop, other.start, other.stop)
        if one.step != other.step or any(kind_of(bound) is not int for bound in bounds):
            return None
        extent = find_difference(one.stop, one.start)
        if extent is None or extent != find_difference(other.stop, other.start):
            return None

        def from_start(start: Value) -> slice:
            return slice(start, arithmetic(self.builder, "+", start, extent), one.step)

        return Rebuilt((self._template(one.start, other.start, True),), from_start)

    def _slice(self, one: Value, other: Value) -> Rebuilt | None:
        """Join slices of one tensor with different starts."""
        if not isinstance(one, SliceValue) or not isinstance(other, SliceValue):
            return None
        (tensor, *starts), (other_tensor, *other_starts) = _operands(one), _operands(other)
        if tensor is not other_tensor or one.type != other.type:
            return None
        if _index_dims(one) != _index_dims(other):
            return None

        def from_starts(*starts: RunTime) -> Value:
            part = self.builder.value(ttl.TensorSliceOp, [tensor, *starts], one.type)
            assert isinstance(part, SliceValue)
            part.part = one.part
            return part

        pairs = zip(starts, other_starts, strict=True)
        return Rebuilt(tuple(self._template(*pair, True) for pair in pairs), from_starts)

    # Containers -----------------------------------------------------------------------------------

    def _changed(self) -> list[tuple[int, list[object], list[object]]]:
        """List the containers that a branch changed, with both contents."""
        found = []
        for key in self.before.containers:
            one, other = (end.containers[key].items for end in self.ends)
            if not is_same(one, other):
                found.append((key, one, other))
        return found

    def _contents(self) -> dict[int, object] | None:
        """Make templates of container contents; None if they cannot be joined."""
        found = {key: self._template(one, other, False) for key, one, other in self._changed()}
        return None if any(template is MISSING for template in found.values()) else found

    @property
    def are_local(self) -> bool:
        """Do only containers differ that no later iteration of a loop sees?"""
        loop = self.builder.loop
        if self.containers_agree:
            return True
        if loop is None or loop.frame is not self.builder.frame:
            return False
        kept = [value for v, value in self.templates.items() if v in loop.variables]
        changed = [self.before.containers[key].container for key, *_ in self._changed()]
        return not any(value is each or has(value, each) for value in kept for each in changed)

    def lost(self) -> set[bindings.Variable]:
        """Return this function's variables that lost their value here or in a branch."""
        return {*self.builder.lost(self.templates)}

    def lost_inside(self, lost: set[bindings.Variable]) -> bool:
        """Did a branch itself lose one of them, or a container's contents?"""
        inside = [self.builder.lost(end.values) for end in self.ends]
        return self.loses_containers_inside or any(not lost.isdisjoint(each) for each in inside)

    # The operation --------------------------------------------------------------------------------

    def close(self, may_select: bool = False) -> None:
        """Make the branch, and continue with its results."""
        types = [self._type(pair) for pair in self.pairs]
        yielded = [self._yielded(side, types) for side in range(2)]
        builder, bodies = self.builder, [path.body for path in self.paths]
        if may_select and self._is_selection(bodies):
            for body in bodies:
                builder.body.take(body)
            results: list[RunTime] = [_selected(builder, self.condition, *yielded[0], *yielded[1])]
        else:
            results = self._branch(types, bodies, yielded)
        for number, values in enumerate(zip(*yielded, strict=True)):
            if all(isinstance(value, Scalar) and value.is_natural for value in values):
                results[number].is_natural = True  # type: ignore[attr-defined]
        for number in self.values_of_blocks:
            results[number].is_popped = True  # type: ignore[attr-defined]
        self._go_on(results)

    def _type(self, pair: tuple[Any, Any]) -> Attribute:
        kinds = [kind for value in pair if (kind := kind_of(value)) is not None]
        if kinds:
            return TYPES[common_kind(*kinds)]
        found: Attribute = common_type(pair[0].type, pair[1].type) or pair[0].type
        return found

    def _yielded(self, side: int, types: list[Attribute]) -> list[RunTime]:
        """Return the values that a branch yields, evaluated at its end."""
        found: list[RunTime] = []

        def end() -> None:
            values: list[Any] = [pair[side] for pair in self.pairs]
            self.carried.pop_blocks(values, self.values_of_blocks)
            pairs = zip(values, types, strict=True)
            found.extend(convert_type(self.builder, value, type) for value, type in pairs)
            if side == 0:
                self.carried.begin()
            else:
                self.carried.hand_over([pair[side] for pair in self.block_pairs])

        self.builder.go_on(self.paths[side], end)
        return found

    def _is_selection(self, bodies: list[Body]) -> bool:
        """Do the branches only calculate one scalar?"""
        if len(self.pairs) != 1 or self.block_pairs or self.contents:
            return False
        is_calculation = all(op.becomes in SPECULATED for body in bodies for op in body.ops)
        return is_calculation and any(kind_of(value) is not None for value in self.pairs[0])

    def _branch(
        self, types: list[Attribute], bodies: list[Body], yielded: list[list[RunTime]]
    ) -> list[RunTime]:
        is_empty = not bodies[1].ops and not types
        for body, values in zip(bodies, yielded, strict=True):
            with self.builder.into(body):
                self.builder.emit(scf.YieldOp, values)
        kept = bodies[:1] if is_empty else bodies
        op = self.builder.add(Op(scf.IfOp, [self.condition], types, bodies=kept))
        return list(op.results)

    def _go_on(self, results: list[RunTime]) -> None:
        builder, state = self.builder, self.builder.state
        state.released |= self.ends[0].released | self.ends[1].released
        state.doubtful = self._doubtful()
        state.grouped = tuple(dict.fromkeys((*self.ends[0].grouped, *self.ends[1].grouped)))
        _join_states(state, *self.ends)
        state.has_lost_containers = not self.are_local
        blocks = self.carried.resume()
        for key, template in (self.contents or {}).items():
            refill(state.containers[key].container, fill_template(template, results, blocks))
        state.values = {}
        for variable, template in self.templates.items():
            value = state.values[variable] = fill_template(template, results, blocks)
            if isinstance(value, list) and value is not template:
                builder.new(value)
            name_value(value, variable.name)

    def _doubtful(self) -> dict[RunTime, tuple[Scalar, bool] | None]:
        """Return the handles that only one branch has finished."""
        one, other = self.ends
        found = dict.fromkeys((*one.doubtful, *other.doubtful), None)
        found |= dict.fromkeys(one.released - other.released, (self.condition, True))
        found |= dict.fromkeys(other.released - one.released, (self.condition, False))
        return {**found, **self.before.doubtful}


def _join_states(state: Reached, one: Reached, other: Reached) -> None:
    """Merge everything beside values that both branches found."""
    known = len(state.mistakes)
    for found in (*one.mistakes[known:], *other.mistakes[known:]):
        state.note_mistake(found)
    state.unrolled = one.unrolled + other.unrolled - state.unrolled
    state.split = one.split + other.split - state.split
    started = dict.fromkeys((*one.started, *other.started))
    state.started = {
        each: bool(one.started.get(each) and other.started.get(each)) for each in started
    }
    consumed = [v for v in state.shapeless if v not in one.shapeless or v not in other.shapeless]
    state.shapeless |= one.shapeless | other.shapeless
    for value in consumed:
        del state.shapeless[value]
    state.containers = other.containers | one.containers | state.containers


def _selected(builder: KernelBuilder, condition: Scalar, one: RunTime, other: RunTime) -> RunTime:
    """Select one of two scalars that are both calculated."""
    if condition.type == one.type and (other is condition or find_constant(other) is False):
        return calculate(builder, arith.AndIOp, condition, one)
    if condition.type == one.type and one is condition:
        return calculate(builder, arith.OrIOp, condition, other)
    return calculate(builder, arith.SelectOp, condition, one, other, type=one.type)


def _operands(value: RunTime) -> tuple[RunTime, ...]:
    assert isinstance(value.owner, Op)
    return value.owner.operands


def _index_dims(value: SliceValue) -> list[bool]:
    """Tell for each dimension whether it has an index."""
    return [not isinstance(item, slice) for item in value.part.items]

"""The variables that a loop changes: their values at its start, in its body and after it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from typing import Any

from xdsl.ir import Attribute

from ttl.diagnostics import RuleBroken, codes
from ttl.dialects.ttcore import block_type

from .block_math import Fill, block_operand
from .builder import KernelBuilder, name_value
from .carried_blocks import CarriedBlocks, is_readable
from .environment import MISSING
from .hir import (
    KINDS,
    BlockValue,
    Body,
    HeldBlock,
    RunTime,
    TransferValue,
    Value,
    items_of,
    kind_of,
    leaves,
)
from .loop_states import constants_of
from .loop_values import (
    BlockSlot,
    Slot,
    changes,
    common_type,
    convert_type,
    fill_template,
    names_of,
    rebuild,
    slots_of,
    zip_items,
)
from .node_values import is_same
from .problems import FlowBroken, Unusable, describe, flow_broken, on_some_paths
from .scalars import as_kind, common_kind
from .state import Local, LocalFunction, OpenLoop
from .uses import Uses, uses_of_all


class Carried:
    def __init__(self, builder: KernelBuilder, variables: Iterable[Local], loop: OpenLoop):
        self.builder, self.loop = builder, loop
        self.before = builder.state.values
        self.start: list[RunTime] = []
        self.templates: dict[Local, object] = {}
        self.fixed: dict[Local, Unusable] = {}  # have no value to carry
        self.kept: list[Local] = []  # get their old value back in each iteration
        self.blocks = CarriedBlocks(builder)
        self.values_of_blocks: set[int] = set()  # the slots of blocks that are already popped
        self.yielded: list[RunTime] = []  # the slots' values at the end of the body
        self.yielded_blocks: dict[int, RunTime] = {}
        read = uses_of_all(loop.nodes).read_first
        for variable in sorted(variables, key=lambda each: each.order):
            self._add(variable, variable.of in read)
        self.values_of_blocks &= {*range(len(self.start))}
        self.blocks.pop_blocks(self.start, self.values_of_blocks)
        self.blocks.begin()
        self.finished = _find_finished(builder)
        self.doubtful = builder.state.doubtful
        self.acquired_before = builder.block_count

    def _add(self, variable: Local, is_read: bool) -> None:
        name, value = variable.name, self.before.get(variable, MISSING)
        if isinstance(value, Unusable) and name.isidentifier():
            self.fixed[variable] = value
        if value is MISSING or isinstance(value, Unusable):
            return
        if isinstance(value, KEPT) and self._may_be_kept(variable, value):
            self.kept.append(variable)
            return
        mark, block_mark = len(self.start), len(self.blocks.start)
        template = self._template(value, is_read)
        if template is MISSING or not (slots_of(template) or isinstance(value, list)):
            del self.start[mark:], self.blocks.start[block_mark:]
            what = f"a loop that changes `{name}`, which is {describe(value)} at its start"
            self.fixed[variable] = Unusable(flow_broken(what, loop=self.loop))
        else:
            self.templates[variable] = template

    def _may_be_kept(self, variable: Local, value: Value) -> bool:
        """Does the body always, or mostly (None), reset the variable, and did this suffice so far?
        A fill is kept until the loop shows which block it becomes."""
        given = constants_of(self.loop.nodes).get(variable.of, [])
        resets = [each for each in given if each and _is_again(each.value, value)]
        is_reset = len(resets) == len(given) > 0 or (value is None and len(resets) > 0)
        is_reset |= isinstance(value, Fill)
        return is_reset and (self.loop.nodes[-1], variable) not in self.builder.changing

    def _check_kept(self) -> None:
        for variable in self.kept:
            value, end = self.before[variable], self.builder.state.values.get(variable, MISSING)
            if _is_again(end, value):
                continue
            is_filled = isinstance(value, Fill)
            grown = end.type if is_filled and isinstance(end, BlockValue) else None
            if grown is None:
                self.builder.changing.add((self.loop.nodes[-1], variable))
            what = f"`{variable.name}` changes"
            raise FlowBroken(codes.NOT_COMPILED_YET, what, grows=(variable, grown))

    def _check_releases(self) -> None:
        """Refuse to release a block from before the loop: only one iteration could."""
        if self.loop.hidden or self.loop.may_release or not self.loop.nodes:
            return
        for block in _find_finished(self.builder) - self.finished:
            if block.age <= self.acquired_before:
                name = block.buffer.hint or "a buffer"
                what = f"a loop that releases a block of `{name}` acquired before it"
                raise flow_broken(what, loop=self.loop)

    def _template(self, value: Value, by_value: bool) -> object:
        """Make a template; with `by_value`, a block may become its contents."""
        if (items := items_of(value)) is not None:
            by_value = by_value and not isinstance(value, slice)
            parts = [
                None
                if item is None and isinstance(value, slice)
                else self._template(item, by_value)
                for item in items
            ]
            return MISSING if any(part is MISSING for part in parts) else rebuild(value, parts)
        if self.loop.carries_blocks and by_value and self.blocks.takes(value):
            return BlockSlot(self.blocks.number(value))
        if not changes(value) and not (by_value and is_readable(value)):
            return MISSING
        if self.loop.carries_blocks and self.blocks.takes_value(value):
            self.values_of_blocks.add(len(self.start))
        if (kind := kind_of(value)) is not None:
            value = as_kind(self.builder, value, kind)
        assert isinstance(value, RunTime)
        self.start.append(value)
        return Slot(len(self.start) - 1)

    @property
    def types(self) -> list[Attribute]:
        return [value.type for value in self.start]

    def enter(self, arguments: Sequence[RunTime], is_test: bool = False) -> None:
        """Bind the variables to the arguments of the loop's body, or of its condition."""
        self.builder.state.values = dict(self.before)
        blocks = self.blocks.start if is_test else self.blocks.resume()
        self._bind(arguments, blocks, self.loop)
        self.builder.state.values |= self.fixed

    def _bind(
        self, values: Sequence[RunTime], blocks: Sequence[RunTime], carrier: OpenLoop | None = None
    ) -> None:
        for number in self.values_of_blocks:
            values[number].is_popped = True  # type: ignore[attr-defined]
        for variable, template in self.templates.items():
            value = fill_template(template, values, blocks)
            if isinstance(value, list) and value is template:
                value = list(value)  # an empty list
            name_value(value, variable.name)
            self._make_lists(value, self._carrier(variable) or carrier)
            self.builder.state.values[variable] = value

    def _carrier(self, variable: Local) -> OpenLoop | None:
        """Return the outermost loop that carries a list to this variable."""
        made = self.builder.state.containers.get(id(self.before[variable]))
        return None if made is None else made.carrier

    def _make_lists(self, value: Value, carrier: OpenLoop | None) -> None:
        """Register the lists in a value as new ones, which this body may change."""
        if isinstance(value, list):
            self.builder.new(value, carrier)
        for item in value if isinstance(value, (list, tuple)) else ():
            self._make_lists(item, carrier)

    def leave(
        self, body: Body, arguments: Sequence[RunTime]
    ) -> tuple[list[RunTime], dict[Local, Unusable]]:
        """Return the yielded values, and the variables that are unusable after the loop."""
        self._check_kept()
        self._check_releases()
        ends = self.builder.state.values
        self.yielded, self.yielded_blocks = list(arguments), {}
        yielded, blocks = self.yielded, self.yielded_blocks
        unusable: dict[Local, Unusable] = {}
        for variable, template in self.templates.items():
            broken = self._broken(variable, template)
            if broken is None:
                continue
            if broken.broken and self._is_read(template, body, arguments):
                raise broken.refuse()
            unusable[variable] = broken
        for variable, fixed in self.fixed.items():
            if ends[variable] is not fixed:  # so an outer loop sees the change
                unusable[variable] = copy(fixed)
        for variable in ends:
            if variable not in self.before:
                unusable[variable] = on_some_paths(variable.name)
        self.blocks.pop_blocks(yielded, self.values_of_blocks)
        self.blocks.hand_over([blocks[number] for number in sorted(blocks)])
        return yielded, unusable

    def _broken(self, variable: Local, template: object) -> Unusable | None:
        value = self.builder.state.values.get(variable, MISSING)
        if isinstance(value, Unusable):
            if _carries_blocks(template):
                raise value.refuse()
            return value
        broken = self._match(variable, template, value)
        return None if broken is None else Unusable(broken)

    def _match(self, variable: Local, template: object, value: Any) -> RuleBroken | None:
        name, yielded = variable.name, self.yielded
        if isinstance(template, BlockSlot):
            if self.yielded_blocks.setdefault(template.number, value) is not value:
                return flow_broken("a loop in which two names of a block part")
            return self.blocks.broken(template.number, value)
        if isinstance(template, Slot):
            type = yielded[template.number].type
            if not _fits(self.builder, value, type):
                return self._other_kind(variable, self.start[template.number], value)
            yielded[template.number] = convert_type(self.builder, value, type)
            return None
        pairs = zip_items(template, value)
        if pairs is None and isinstance(template, list) and isinstance(value, list):
            what = f"a loop that changes the length of `{name}`, a list made before it"
            return flow_broken(what, loop=self._carrier(variable) or self.loop, is_of_end=True)
        if pairs is None:
            same = is_same(template, value)
            return None if same else self._other_kind(variable, template, value)
        found = [self._match(variable, *pair) for pair in pairs]
        return next((broken for broken in found if broken), None)

    def _other_kind(self, variable: Local, start: Value, end: Value) -> FlowBroken:
        names = {float: "a float", int: "an int", bool: "a bool"}
        kinds = [kind_of(start), kind_of(end)]
        texts = [names[k] if k else describe(v) for k, v in zip(kinds, (start, end), strict=True)]
        grown: type | Attribute | None = None
        if isinstance(start, BlockValue) and isinstance(end, BlockValue):
            grown = common_type(start.type, end.type)
        elif not self.builder.keeps_kinds and None not in kinds:
            grown = kinds[1]
        return FlowBroken(
            codes.NOT_IN_KERNELS,
            f"`{variable.name}` is {texts[0]} before the loop and {texts[1]} in it: not part of "
            "the language of kernels",
            helps=("give it a value of the same kind before the loop, for example 0.0",),
            grows=None if grown is None else (variable, grown),
        )

    def _is_read(self, template: object, body: Body, arguments: Sequence[RunTime]) -> bool:
        """Does the next iteration read it?"""
        if isinstance(template, list):
            return True  # the body depends on known facts such as its length
        if _carries_blocks(template):
            return True
        read = {arguments[slot.number] for slot in slots_of(template)}
        return any(operand in read for op in body.walk() for operand in op.operands)

    def finish(self, results: Sequence[RunTime], unusable: dict[Local, Unusable]) -> None:
        """Bind the variables to the loop's results. The iteration that finished a handle, if any,
        is unknown afterwards."""
        state = self.builder.state
        state.doubtful = {**dict.fromkeys(state.doubtful, None), **self.doubtful}
        self.builder.state.values = dict(self.before)
        self._bind(results, self.blocks.resume())
        self.builder.state.values |= unusable


def _find_finished(builder: KernelBuilder) -> set[HeldBlock]:
    """Return the blocks that at least one path releases."""
    handles = builder.state.released | builder.state.doubtful.keys()
    return {handle for handle in handles if isinstance(handle, HeldBlock)}


KEPT = (bool, int, str, type(None), Fill)


def _is_again(end: Value, start: Value) -> bool:
    return type(end) is type(start) and end == start


def _carries_blocks(template: object) -> bool:
    return any(isinstance(place, BlockSlot) for place in slots_of(template))


def _fits(builder: KernelBuilder, value: Value, type: Attribute) -> bool:
    kind = kind_of(value)
    if kind is None:
        if not isinstance(value, RunTime) or common_type(value.type, type) != type:
            return False
        return changes(value) or is_readable(value)
    wanted = KINDS.get(type)
    if wanted in (None, kind):
        return wanted is kind
    builder.mixes_kinds = True
    return not builder.keeps_kinds and common_kind(kind, wanted) is wanted


def find_assigned(builder: KernelBuilder, uses: Uses) -> set[Local]:
    """Return the variables that statements may assign, also through functions they call."""
    values, found = builder.state.values, builder.variables(uses.stored)
    # `block += value` changes the block's contents, not its name.
    summed = builder.variables(uses.stored - uses.rebound)
    found -= {variable for variable in summed if isinstance(values.get(variable), HeldBlock)}
    found |= {each for each in builder.variables(uses.changed) if _is_own_list(builder, each)}
    for frame in builder.frame.callers:
        found |= {*frame.shared}
    # A returned function may assign its outer variables.
    returned = [value.frame for value in values.values() if isinstance(value, LocalFunction)]
    return found | ({each for frame in returned for each in frame.shared} & values.keys())


def _is_own_list(builder: KernelBuilder, variable: Local) -> bool:
    """Is it a list that the kernel made, held by this variable only?"""
    value = builder.state.values.get(variable)
    if not isinstance(value, list) or id(value) not in builder.state.containers:
        return False
    return names_of(builder.state.values, value) == [variable]


def grow(builder: KernelBuilder, variable: Local, kind: type | Attribute | None) -> bool:
    """Convert a variable to another kind of number or to a block; return False if impossible."""
    if kind is None:
        return True
    value = builder.state.values.get(variable, MISSING)
    if isinstance(kind, Attribute):
        if isinstance(value, Fill):
            value = block_operand(builder, value, block_type(kind))
        elif not isinstance(value, BlockValue) or value.type == kind:
            return False
        builder.state.values[variable] = convert_type(builder, value, kind)
    elif value is None:  # from a function that returns inside a loop
        builder.state.values[variable] = kind(0)
    else:
        now = kind_of(value)
        if now in (None, kind) or common_kind(now or kind, kind) is not kind:
            return False
        builder.state.values[variable] = as_kind(builder, value, kind)
        builder.mixes_kinds = True
    return True


def has_block(value: Value, may_be_read: bool) -> bool:
    """Does it have blocks or transfers? With `may_be_read`, readable ones do not count."""
    blocks = [leaf for leaf in leaves(value) if isinstance(leaf, (HeldBlock, TransferValue))]
    return any(not (may_be_read and is_readable(block)) for block in blocks)

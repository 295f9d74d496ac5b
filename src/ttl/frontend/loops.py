"""Loops of a kernel, and the variables that change in them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Attribute, Block, Region, SSAValue

from ttl.diagnostics import RuleBroken, codes
from ttl.dialects import ttl
from ttl.dialects.conditions import Facts
from ttl.dialects.ttcore import block_type

from .block_math import Fill, block_operand
from .branches import choose, has
from .builder import (
    FlowBroken,
    Frame,
    KernelBuilder,
    Unusable,
    Value,
    Variable,
    describe,
    flow_broken,
    value_name,
)
from .changing import (
    HandedSlot,
    Slot,
    changes,
    filled,
    is_readable,
    name_value,
    on_some_paths,
    parts_of,
    typed,
    zipped,
)
from .containers import CHANGING
from .environment import MISSING, is_same
from .handing_on import HandedOn
from .scalars import (
    TYPES,
    as_kind,
    common_kind,
    compare,
    integer,
    is_run_time,
    kind_of,
    negate,
    truth,
)
from .steps import Jump, reads_first


class _Changing(Unusable):
    """A value that cannot be carried around a loop which assigns to its name."""

    def __init__(self, name: str, value: Value):
        super().__init__(
            flow_broken(f"a loop that changes `{name}`, which is {describe(value)} at its start")
        )
        self.value = value


class Carried:
    """The variables that a loop changes: their values at its start and in its body."""

    def __init__(self, builder: KernelBuilder, variables: Iterable[Variable], loop: FlowLoop):
        self.builder, self.loop = builder, loop
        self.before = builder.values
        self.start: list[SSAValue] = []
        self.templates: dict[Variable, Any] = {}
        self.fixed: dict[Variable, _Changing] = {}
        self.handed = HandedOn(builder)
        self.values_of_blocks: set[int] = set()  # the slots of blocks that are popped already
        for variable in sorted(variables):
            value = self.before.get(variable, MISSING)
            if value is MISSING or isinstance(value, Unusable):
                continue
            mark, handed_mark = len(self.start), len(self.handed.start)
            by_value = reads_first(loop.nodes, variable[1])
            template = self._template(value, by_value)
            if template is MISSING or not (any(_places(template)) or isinstance(value, list)):
                del self.start[mark:], self.handed.start[handed_mark:]
                self.fixed[variable] = _Changing(variable[1], value)
            else:
                self.templates[variable] = template
        self.values_of_blocks &= {*range(len(self.start))}
        self.handed.pop_blocks(self.start, self.values_of_blocks)
        self.handed.begin()

    def _template(self, value: Value, by_value: bool) -> Any:
        """`by_value`: a block may be what it holds."""
        if isinstance(value, (tuple, list)):
            items = [self._template(item, by_value) for item in value]
            return MISSING if any(item is MISSING for item in items) else type(value)(items)
        if isinstance(value, slice):
            items = [None if p is None else self._template(p, False) for p in parts_of(value)]
            return MISSING if any(item is MISSING for item in items) else slice(*items)
        if self.loop.hands_on and by_value and self.handed.takes(value):
            return HandedSlot(self.handed.number(value))
        if self.loop.hands_on and by_value and self.handed.takes_value(value):
            self.start.append(value)
            self.values_of_blocks.add(len(self.start) - 1)
            return Slot(len(self.start) - 1)
        if not changes(value) and not (by_value and is_readable(value)):
            return MISSING
        kind = kind_of(value)
        self.start.append(value if kind is None else as_kind(self.builder, value, kind))
        return Slot(len(self.start) - 1)

    @property
    def types(self) -> list[Attribute]:
        return [value.type for value in self.start]

    def enter(self, arguments: Sequence[SSAValue], is_test: bool = False) -> None:
        """Bind the variables to the arguments of the loop's body, or of its condition."""
        self.builder.values = dict(self.before)
        handed = self.handed.start if is_test else self.handed.resume()
        self._are_popped(arguments)
        self._bind(arguments, handed)
        self.builder.values |= self.fixed

    def _bind(self, values: Sequence[SSAValue], handed: Sequence[SSAValue]) -> None:
        for variable, template in self.templates.items():
            value = filled(template, values, handed)
            value = list(value) if value is template else value  # a list that nothing is in
            name_value(value, variable[1])
            self._make_lists(value)
            self.builder.values[variable] = value

    def _make_lists(self, value: Value) -> None:
        """The lists in it are new ones, which may be changed here."""
        if isinstance(value, list):
            loops = self.builder.loops
            self.builder.containers.made(value, loops[-1] if loops else None)
        for item in value if isinstance(value, (list, tuple)) else ():
            self._make_lists(item)

    def _are_popped(self, values: Sequence[SSAValue]) -> None:
        self.builder.popped |= {values[number] for number in self.values_of_blocks}

    def leave(
        self, arguments: Sequence[SSAValue]
    ) -> tuple[list[SSAValue], dict[Variable, Unusable]]:
        """What the body yields, and the variables that cannot be used after the loop."""
        ends = self.builder.values
        yielded: list[SSAValue] = list(arguments)
        handed: dict[int, SSAValue] = {}
        unusable: dict[Variable, Unusable] = {}
        for variable, template in self.templates.items():
            value = ends.get(variable, MISSING)
            if isinstance(value, Unusable):
                if _hands_on(template) or (value.broken and _is_read(template, arguments)):
                    raise value.refuse()
                unusable[variable] = value
            elif (broken := self._match(variable, template, value, yielded, handed)) is not None:
                if _is_read(template, arguments):
                    raise broken
                unusable[variable] = Unusable(broken)
        for variable, fixed in self.fixed.items():
            if ends[variable] is not fixed:
                unusable[variable] = fixed
        for variable in ends:
            if variable not in self.before:
                unusable[variable] = on_some_paths(variable[1])
        self.handed.pop_blocks(yielded, self.values_of_blocks)
        self.handed.hand_over([handed[number] for number in sorted(handed)])
        return yielded, unusable

    def _match(
        self,
        variable: Variable,
        template: Any,
        value: Value,
        yielded: list[SSAValue],
        handed: dict[int, SSAValue],
    ) -> RuleBroken | None:
        name = variable[1]
        if isinstance(template, HandedSlot):
            if handed.setdefault(template.number, value) is not value:
                return flow_broken("a loop in which two names of a block part")
            return self.handed.broken(template.number, value)
        if isinstance(template, Slot):
            type = yielded[template.number].type
            if not _fits(self.builder, value, type):
                start = self.start[template.number]
                if not self.builder.keeps_kinds and {kind_of(start), kind_of(value)} <= {*TYPES}:
                    self.builder.grown[variable] = kind_of(value) or float
                return _other_kind(name, start, value)
            yielded[template.number] = typed(self.builder, value, type)
            return None
        pairs = zipped(template, value)
        if pairs is None and isinstance(template, list) and isinstance(value, list):
            return flow_broken(f"a loop that changes the length of `{name}`, a list made before it")
        if pairs is None:
            return None if is_same(template, value) else _other_kind(name, template, value)
        found = [self._match(variable, *pair, yielded, handed) for pair in pairs]
        return next((broken for broken in found if broken), None)

    def finish(self, results: Sequence[SSAValue], unusable: dict[Variable, Unusable]) -> None:
        """Bind the variables to the results of the loop."""
        self.builder.values = dict(self.before)
        handed = self.handed.resume()
        self._are_popped(results)
        self._bind(results, handed)
        self.builder.values |= unusable


def _places(template: Any) -> Iterator[Slot | HandedSlot]:
    if isinstance(template, (Slot, HandedSlot)):
        yield template
    elif isinstance(template, (tuple, list, slice)):
        items = parts_of(template) if isinstance(template, slice) else template
        for item in items:
            yield from _places(item)


def _hands_on(template: Any) -> bool:
    return any(isinstance(place, HandedSlot) for place in _places(template))


def _is_read(template: Any, arguments: Sequence[SSAValue]) -> bool:
    """Does the next iteration read it?"""
    if isinstance(template, list):
        return True  # what is known of it, as its length, is written into the body
    return _hands_on(template) or any(arguments[p.number].uses for p in _places(template))


def _fits(builder: KernelBuilder, value: Value, type: Attribute) -> bool:
    kind = kind_of(value)
    if kind is None:
        return (changes(value) or is_readable(value)) and value.type == type
    wanted = next((k for k, scalar in TYPES.items() if scalar == type), None)
    if wanted is not None and kind is not wanted:
        builder.mixes_kinds = True
        return not builder.keeps_kinds and common_kind(kind, wanted) is wanted
    return wanted is not None


def _other_kind(name: str, start: Value, end: Value) -> RuleBroken:
    names = {float: "a float", int: "an int", bool: "a bool"}
    texts = [names.get(kind_of(v)) or describe(v) for v in (start, end)]  # type: ignore[arg-type]
    return FlowBroken(
        codes.NOT_IN_KERNELS,
        f"`{name}` is {texts[0]} before the loop and {texts[1]} in it: not part of the language of "
        "kernels",
        helps=("give it a value of the same kind before the loop, for example 0.0",),
    )


def assigned(builder: KernelBuilder, nodes: Iterable[ast.AST]) -> set[Variable]:
    """The variables that statements may assign to, also through functions they call."""
    nodes = list(nodes)
    found = {variable for name in stored_names(nodes) if (variable := builder.variable(name))}
    found -= _summed_blocks(builder, nodes)
    found |= _changed_lists(builder, nodes)
    frame: Any = builder.frame
    while frame is not None:
        found |= {(frame.number, name) for name in frame.shared}
        frame = frame.caller
    return found


def _changed_lists(builder: KernelBuilder, nodes: list[ast.AST]) -> set[Variable]:
    """Lists of the kernel that it changes in place, under the only name that they have."""
    owners = {
        part.value.id
        for node in nodes
        for part in ast.walk(node)
        if (isinstance(part, ast.Subscript) and not isinstance(part.ctx, ast.Load))
        or (isinstance(part, ast.Attribute) and part.attr in CHANGING[list])
        if isinstance(part.value, ast.Name)
    }
    found = {variable for name in owners if (variable := builder.variable(name))}
    return {variable for variable in found if _is_own_list(builder, variable)}


def _is_own_list(builder: KernelBuilder, variable: Variable) -> bool:
    value = builder.values.get(variable)
    if not isinstance(value, list) or builder.containers.loop_of(value, MISSING) is MISSING:
        return False
    others = [other for each, other in builder.values.items() if each != variable]
    return not any(other is value or has(other, value) for other in others)


def _summed_blocks(builder: KernelBuilder, nodes: list[ast.AST]) -> set[Variable]:
    """`block += value` changes what the block holds, not what its name stands for."""
    sums = {
        inner.target.id: inner.target
        for node in nodes
        for inner in ast.walk(node)
        if isinstance(inner, ast.AugAssign) and isinstance(inner.target, ast.Name)
    }
    targets = {
        inner.target
        for node in nodes
        for inner in ast.walk(node)
        if isinstance(inner, ast.AugAssign)
    }
    rebound = {
        inner.id
        for node in nodes
        for inner in ast.walk(node)
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store)
        if inner not in targets
    }
    return {
        variable
        for name in sums
        if name not in rebound
        and (variable := builder.variable(name))
        and isinstance(value := builder.values.get(variable), SSAValue)
        and isinstance(value.owner, ttl.AcquireOp)
    }


def stored_names(nodes: Iterable[ast.AST]) -> set[str]:
    """The names that statements assign to; functions in them have names of their own."""
    return {name for node in nodes for name in _stored(node)}


@lru_cache(maxsize=1024)  # loops in loops ask for the same statements again
def _stored(node: ast.AST) -> frozenset[str]:
    if isinstance(node, ast.Name):
        return frozenset({node.id} if isinstance(node.ctx, ast.Store) else ())
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return frozenset({node.name})
    if isinstance(node, ast.alias):
        return frozenset({node.asname or node.name.partition(".")[0]})
    if isinstance(node, ast.MatchAs) and node.name is not None:
        return frozenset({node.name})
    if isinstance(node, ast.Lambda):
        return frozenset()
    return frozenset(stored_names(ast.iter_child_nodes(node)))


def settle_fills(
    builder: KernelBuilder,
    variables: Iterable[Variable],
    loop: FlowLoop,
    body: Callable[[], None],
) -> None:
    """A fill without a shape that a loop changes has the type that the loop gives it.

    The body is translated once more to find out, and what comes of that is thrown away.
    """
    fills = [v for v in sorted(variables) if isinstance(builder.values.get(v), Fill)]
    if not fills:
        return
    mark, scratch = builder.mark(), Block()
    with inside(builder, loop, scratch):
        body()
        ends = builder.values
    builder.go_back(mark)
    for variable in fills:
        end = ends[variable]
        if isinstance(end, SSAValue) and ttl.is_block_value(end.type):
            start = block_operand(builder, builder.values[variable], block_type(end.type))
            builder.values[variable] = start
    scratch.erase(safe_erase=False)


@dataclass(frozen=True, slots=True)
class RangeValue:
    """range(start, stop, step) with bounds that may be run-time values."""

    start: Value
    stop: Value
    step: Value

    @property
    def count(self) -> int | None:
        """How many steps there are, if that is known."""
        bounds = (self.start, self.stop, self.step)
        return None if is_run_time(bounds) else len(range(*bounds))


def steps_of(value: Value) -> RangeValue | None:
    """What a `for` can go over."""
    if isinstance(value, range):
        return RangeValue(value.start, value.stop, value.step)
    return value if isinstance(value, RangeValue) else None


@dataclass(frozen=True, slots=True, eq=False)
class FlowLoop:
    """A loop being translated that stays a loop; what leaves it early is in `hidden`."""

    frame: Frame
    nodes: tuple[ast.AST, ...]  # its condition and its body
    going_on: Variable
    hidden: frozenset[Variable]
    hands_on: bool  # blocks and transfers too
    facts: Facts  # what its path knows
    variables: frozenset[Variable]  # that have values before it
    returned: list[Value] = field(default_factory=list)


def new_loop(
    builder: KernelBuilder,
    nodes: tuple[ast.AST, ...],
    jumps: set[Jump],
    of_returns: tuple[str, ...],
    hands_on: bool = False,
) -> FlowLoop:
    frame = builder.frame
    going_on = (frame.number, f"<going on {len(builder.loops)}>")
    hidden = {going_on} if jumps else set()
    if ast.Return in jumps:
        hidden |= {(frame.number, name) for name in of_returns}
    return FlowLoop(frame, nodes, going_on, frozenset(hidden), hands_on, builder.facts,
                    frozenset(builder.values))  # fmt: skip


@contextmanager
def inside(builder: KernelBuilder, loop: FlowLoop, block: Block) -> Iterator[None]:
    """What is translated inside belongs to the body of the loop."""
    loops, unfinished = builder.loops, builder.unfinished
    builder.loops, builder.unfinished = (*loops, loop), (*unfinished, None)
    try:
        with builder.inside(block):
            yield
    finally:
        builder.loops, builder.unfinished = loops, unfinished


def range_value(builder: KernelBuilder, *given: Value) -> RangeValue:
    if not 1 <= len(given) <= 3 or any(kind_of(bound) not in (int, bool) for bound in given):
        raise RuleBroken(codes.WRONG_ARGUMENT, "range() takes one to three integers")
    start, stop = (0, given[0]) if len(given) == 1 else given[:2]
    step = given[2] if len(given) == 3 else 1
    if not isinstance(step, SSAValue) and step == 0:
        raise RuleBroken(codes.WRONG_ARGUMENT, "range() with a step of zero")
    return RangeValue(start, stop, step)


def loop_over(
    builder: KernelBuilder,
    steps: RangeValue,
    node: ast.For,
    loop: FlowLoop,
    body: Callable[[], None],
) -> None:
    """`for target in range(...)`"""
    target = node.target
    assert isinstance(target, ast.Name)
    changed = assigned(builder, [target, *node.body])

    def trial() -> None:
        builder.assign(target.id, builder.index(0))
        body()

    settle_fills(builder, changed, loop, trial)
    if loop.hidden:
        _counted_while(builder, steps, target, changed, loop, body)
        return
    carried = Carried(builder, changed, loop)
    lower, upper, step = _upward(builder, steps)
    block = Block(arg_types=[IndexType(), *carried.types])
    hint = value_name(target.id).strip("_") or "i"
    block.args[0].name_hint = hint
    if lower in builder.naturals:
        builder.naturals.add(block.args[0])
    if steps.count and steps.step > 0:
        every = range(steps.start, steps.stop, steps.step)
        builder.ranges[block.args[0]] = (every[0], every[-1])
    elif steps.count:
        builder.ranges[block.args[0]] = (0, steps.count - 1)
    arguments = list(block.args[1:])
    with inside(builder, loop, block):
        carried.enter(arguments)
        builder.assign(target.id, _counted(builder, steps, block.args[0], hint))
        body()
        yielded, unusable = carried.leave(arguments)
        builder.emit(scf.YieldOp(*yielded))
    made = builder.emit(scf.ForOp(lower, upper, step, carried.start, Region(block)))
    carried.finish(list(made.results), unusable)
    if steps.count and builder.variable(target.id) not in assigned(builder, node.body):
        last = range(steps.start, steps.stop, steps.step)[-1]
        builder.assign(target.id, last)  # as Python leaves it


def _counted_while(
    builder: KernelBuilder,
    steps: RangeValue,
    target: ast.Name,
    changed: set[Variable],
    loop: FlowLoop,
    body: Callable[[], None],
) -> None:
    """A `for` that may be left early counts in a `while`."""
    hint = value_name(target.id).strip("_") or "i"
    count = (builder.frame.number, f"<{hint} of {len(builder.loops)}>")
    total = _step_count(builder, steps)
    builder.values[count] = builder.index(0)
    variable = builder.variable(target.id)
    if steps.count and variable is not None:
        builder.values[variable] = as_kind(builder, steps.start, int)

    def condition() -> Value:
        return compare(builder, ast.Lt(), builder.values[count], total)

    def step() -> None:
        number = builder.values[count]
        builder.naturals.add(number)
        builder.assign(target.id, _counted(builder, steps, number, hint, from_zero=True))
        body()
        builder.values[count] = builder.value(arith.AddiOp(number, builder.index(1)))

    loop_while(builder, {*changed, count}, loop, condition, step)
    builder.values.pop(count, None)


def _upward(builder: KernelBuilder, steps: RangeValue) -> tuple[SSAValue, SSAValue, SSAValue]:
    """Bounds of a loop that counts up: the range itself, or the number of its steps."""
    if not isinstance(steps.step, SSAValue) and steps.step > 0:
        bounds = (as_kind(builder, b, int) for b in (steps.start, steps.stop, steps.step))
        lower, upper, step = bounds
        return lower, upper, step
    return builder.index(0), _step_count(builder, steps), builder.index(1)


def _step_count(builder: KernelBuilder, steps: RangeValue) -> SSAValue:
    bounds = (steps.start, steps.stop, steps.step)
    if not is_run_time(bounds):
        return builder.index(len(range(*bounds)))
    start, stop = (as_kind(builder, bound, int) for bound in bounds[:2])

    def count(first: SSAValue, last: SSAValue, size: SSAValue) -> SSAValue:
        distance = builder.value(arith.SubiOp(last, first))
        rounded = builder.value(arith.SubiOp(builder.value(arith.AddiOp(distance, size)),
                                             builder.index(1)))  # fmt: skip
        return builder.value(arith.DivSIOp(rounded, size))

    if not isinstance(steps.step, SSAValue):
        first, last = (start, stop) if steps.step > 0 else (stop, start)
        return count(first, last, builder.index(abs(steps.step)))
    step = steps.step
    downward = negate(builder, step)
    is_up = builder.value(arith.CmpiOp(step, builder.index(0), "sgt"))
    first, last = (builder.value(arith.SelectOp(is_up, *p)) for p in ((start, stop), (stop, start)))
    size = builder.value(arith.SelectOp(is_up, step, downward))
    return count(first, last, size)


def _counted(
    builder: KernelBuilder, steps: RangeValue, number: SSAValue, hint: str, from_zero: bool = False
) -> SSAValue:
    """The loop variable of the program, from that of the loop."""
    is_itself = (steps.start, steps.step) == (0, 1) if from_zero else True
    if not isinstance(steps.step, SSAValue) and steps.step > 0 and is_itself:
        return number
    number.name_hint = f"{hint}_step"
    way = integer(builder, arith.MuliOp, number, as_kind(builder, steps.step, int))
    start = as_kind(builder, steps.start, int)
    return builder.value(arith.AddiOp(start, way), hint)


class EndlessLoop(RuleBroken):
    """A `while` whose condition is true whatever its body does at run time."""


def endless_loop() -> EndlessLoop:
    return EndlessLoop(
        codes.NOT_IN_KERNELS,
        "a loop without end: not part of the language of kernels",
        helps=("give the `while` a condition",),
    )


def loop_while(
    builder: KernelBuilder,
    changed: set[Variable],
    loop: FlowLoop,
    condition: Callable[[], Value],
    body: Callable[[], None],
) -> None:
    """`while condition:`"""
    settle_fills(builder, changed, loop, body)
    mark = builder.mark()
    if loop.hidden:
        builder.values[loop.going_on] = True
    carried = Carried(builder, changed | loop.hidden, loop)
    test = Block(arg_types=carried.types)
    carried.enter(list(test.args), is_test=True)
    with builder.inside(test):
        decided = truth(builder, _goes_on(builder, loop, condition))
        if isinstance(decided, SSAValue):
            builder.emit(scf.ConditionOp(decided, *test.args))
    if not isinstance(decided, SSAValue):
        builder.go_back(mark)  # nothing is handed on
        if decided:
            raise endless_loop()
        return
    block = Block(arg_types=carried.types)
    arguments = list(block.args)
    with inside(builder, loop, block):
        carried.enter(arguments)
        body()
        yielded, unusable = carried.leave(arguments)
        builder.emit(scf.YieldOp(*yielded))
    made = builder.emit(scf.WhileOp(carried.start, carried.types, Region(test), Region(block)))
    carried.finish(list(made.results), unusable)
    builder.values.pop(loop.going_on, None)


def _goes_on(builder: KernelBuilder, loop: FlowLoop, condition: Callable[[], Value]) -> Value:
    if not loop.hidden:
        return condition()
    return choose(builder, builder.values[loop.going_on], condition, lambda: False)

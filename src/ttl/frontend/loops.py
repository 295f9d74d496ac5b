"""Loops that stay loops: over ranges, and while a condition holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects import arith, scf

from ttl.diagnostics import RuleBroken, codes
from ttl.source import bindings, tree
from ttl.source.walking import walk

from .builder import KernelBuilder
from .carried import Carried, assigned
from .hir import INDEX, Body, Counter, Op, Scalar, Value, value_name
from .joins import choose
from .ranges import RangeValue, counted, step_count, upward
from .scalars import as_kind, calculated, compare, truth
from .state import LEFT, OWN, RETURNED, Loop, Variable
from .uses import Jumps, uses_of, uses_of_all

Evaluate = Callable[[], None]


def new_loop(
    builder: KernelBuilder,
    nodes: tuple[tree.Node, ...],
    jumps: Jumps,
    **further: Any,
) -> Loop:
    """`further`: what is not as Loop has it else."""
    frame = builder.frame
    going_on = _own_variable(builder, f"<going on {len(builder.loops)}>")
    hidden = {going_on} if jumps else set()
    if "return" in jumps:
        hidden |= {frame.variable(LEFT), frame.variable(RETURNED)}
    held = frozenset((block.buffer, block.is_waited) for block in builder.state.held())
    variables = frozenset(builder.state.values)
    return Loop(
        frame, nodes, going_on, frozenset(hidden), builder.state.facts, variables, held, **further
    )


def _own_variable(builder: KernelBuilder, name: str) -> Variable:
    return builder.frame.variable(bindings.Variable(name, OWN))


def loop_over(
    builder: KernelBuilder, steps: RangeValue, node: tree.Loop, loop: Loop, body: Evaluate
) -> None:
    """`for target in range(...)`"""
    target = node.target
    assert isinstance(target, tree.Target)
    in_body = uses_of_all(node.body)
    changed = assigned(builder, uses_of(target).then(in_body))
    if loop.hidden:
        _counted_while(builder, steps, target, changed, loop, body)
        return
    _counted_for(builder, steps, target.binding, Carried(builder, changed, loop), body)
    is_left = builder.variable(target.binding) not in assigned(builder, in_body)
    if steps.known and is_left:
        builder.assign(target.binding, steps.known[-1])  # as Python leaves it


def _counted_for(
    builder: KernelBuilder,
    steps: RangeValue,
    target: bindings.Binding,
    carried: Carried,
    evaluate: Evaluate,
) -> None:
    bounds = upward(builder, steps)
    body = Body.with_args([INDEX, *carried.types])
    counter, *arguments = body.args
    assert isinstance(counter, Scalar)
    counter.hint = _hint(target.name)
    counter.is_natural = bounds[0].is_natural
    counter.bounds = _bounds(steps)
    if steps.known:
        first, step = (steps.start, steps.step) if steps.counts_up else (0, 1)
        counter.counter = Counter(first, step, carried.loop.cuts, carried.loop.periods)
    with builder.inside(carried.loop, body):
        carried.enter(arguments)
        builder.assign(target, counted(builder, steps, counter, counter.hint))
        evaluate()
        yielded, unusable = carried.leave(body, arguments)
        builder.emit(scf.YieldOp, yielded)
    op = Op(scf.ForOp, [*bounds, *carried.start], carried.types, bodies=[body])
    carried.finish(builder.add(op).results, unusable)


def _bounds(steps: RangeValue) -> tuple[int, int] | None:
    if not steps.known:
        return None
    return (steps.known[0], steps.known[-1]) if steps.step > 0 else (0, len(steps.known) - 1)


def _hint(name: str) -> str:
    return value_name(name).strip("_") or "i"


def _counted_while(
    builder: KernelBuilder,
    steps: RangeValue,
    target: tree.Target,
    changed: set[Variable],
    loop: Loop,
    body: Evaluate,
) -> None:
    """A `for` that may be left early counts in a `while`."""
    hint, values = _hint(target.binding.name), builder.state.values
    count = _own_variable(builder, f"<{hint} of {len(builder.loops)}>")
    total = step_count(builder, steps)
    values[count] = builder.index(0)
    variable = builder.variable(target.binding)
    if steps.known and variable is not None:
        values[variable] = as_kind(builder, steps.start, int)

    def condition() -> Value:
        return compare(builder, "<", builder.state.values[count], total)

    def step() -> None:
        number = builder.state.values[count]
        assert isinstance(number, Scalar)
        number.is_natural = True
        builder.assign(target.binding, counted(builder, steps, number, hint, from_zero=True))
        body()
        builder.state.values[count] = calculated(builder, arith.AddiOp, number, builder.index(1))

    loop_while(builder, {*changed, count}, loop, condition, step)
    builder.state.values.pop(count, None)


class EndlessLoop(RuleBroken):
    """A `while` whose condition is true whatever its body does at run time."""


def endless_loop(nodes: Sequence[tree.Node]) -> EndlessLoop:
    """Under the code that a run ends with: a loop that waits gets stuck there, others spin."""
    names = [each.name for each in walk(*nodes) if isinstance(each, tree.Attribute)]
    waits = any(name == "reserve" or name.startswith("wait") for name in names)
    return EndlessLoop(
        codes.DEADLOCK if waits else codes.SPINNING,
        "a loop without end" + (" waits for more than ever comes" if waits else ""),
        helps=("give the `while` a condition",),
    )


def loop_while(
    builder: KernelBuilder,
    changed: set[Variable],
    loop: Loop,
    condition: Callable[[], Value],
    evaluate: Evaluate,
) -> None:
    """`while condition:`"""
    tested: list[tuple[Carried, Body, bool | Scalar]] = []

    def test() -> None:
        tested.append(_tested(builder, changed, loop, condition))

    path = builder.path(test)
    carried, test_body, decided = tested[0]
    if decided is True:
        raise endless_loop(loop.nodes)
    if decided is False:
        return  # nothing is carried
    builder.adopt(path)
    body = Body.with_args(carried.types)
    with builder.inside(loop, body):
        carried.enter(body.args)
        evaluate()
        yielded, unusable = carried.leave(body, body.args)
        builder.emit(scf.YieldOp, yielded)
    op = Op(scf.WhileOp, carried.start, carried.types, bodies=[test_body, body])
    carried.finish(builder.add(op).results, unusable)
    builder.state.values.pop(loop.going_on, None)


def _tested(
    builder: KernelBuilder, changed: set[Variable], loop: Loop, condition: Callable[[], Value]
) -> tuple[Carried, Body, bool | Scalar]:
    if loop.hidden:
        builder.state.values[loop.going_on] = True
    carried = Carried(builder, changed | loop.hidden, loop)
    body = Body.with_args(carried.types)
    carried.enter(body.args, is_test=True)
    with builder.into(body):
        decided = truth(builder, _goes_on(builder, loop, condition))
        if isinstance(decided, Scalar):
            builder.emit(scf.ConditionOp, [decided, *body.args])
    return carried, body, decided


def _goes_on(builder: KernelBuilder, loop: Loop, condition: Callable[[], Value]) -> Value:
    if not loop.hidden:
        return condition()
    return choose(builder, builder.state.values[loop.going_on], condition, lambda: False)

"""Loops that stay loops: over ranges, and while a condition holds; and the steps after them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from xdsl.dialects import arith, scf

from ttl.diagnostics import RuleBroken, codes
from ttl.source import bindings, tree
from ttl.source.walking import walk

from .builder import KernelBuilder
from .carried import Carried, find_assigned, grow, has_block
from .continuations import ITERATION_END, Enter, Steps, leave, make_action, reads_first
from .hir import INDEX, Body, Counter, Op, RunTime, Scalar, Value, value_name
from .items import bind
from .joins import Branches, choose
from .operators import binary
from .problems import Mistake, Unusable
from .ranges import RangeValue, compute_counter, step_count, upward
from .scalars import as_kind, calculate, compare, truth
from .state import LEFT, OWN, RETURNED, Local, OpenLoop, Reached
from .uses import Jumps, uses_of_all

LEAVING: Jumps = frozenset({"break", "return"})


def new_loop(
    builder: KernelBuilder,
    nodes: tuple[tree.Node, ...],
    jumps: Jumps,
    carries_blocks: bool = False,
    may_release: bool = False,
) -> OpenLoop:
    frame = builder.frame
    going_on = _own_variable(builder, f"<going on {len(builder.loops)}>")
    hidden = {going_on} if jumps else set()
    if "return" in jumps:
        hidden |= {frame.variable(LEFT), frame.variable(RETURNED)}
    held = frozenset((block.buffer, block.is_waited) for block in builder.state.held())
    return OpenLoop(
        frame,
        nodes,
        going_on,
        frozenset(hidden),
        carries_blocks,
        builder.state.facts,
        frozenset(builder.state.values),
        held,
        may_release,
    )


def _own_variable(builder: KernelBuilder, name: str) -> Local:
    return builder.frame.variable(bindings.Variable(name, OWN))


class EndlessLoop(RuleBroken):
    """The condition of a `while` is always true, whatever its body does at run time."""


def endless_loop(nodes: Sequence[tree.Node]) -> EndlessLoop:
    """Report an endless loop with the code of its run: a loop that waits hangs, others spin."""
    names = [each.name for each in walk(*nodes) if isinstance(each, tree.Attribute)]
    waits = any(name == "reserve" or name.startswith("wait") for name in names)
    return EndlessLoop(
        codes.DEADLOCK if waits else codes.SPINNING,
        "a loop without end" + (" waits for more than ever comes" if waits else ""),
        helps=("give the `while` a condition",),
    )


@dataclass(frozen=True, slots=True)
class WholeLoop:
    """A `for` over a range or a `while` whose iterations all do the same."""

    builder: KernelBuilder
    node: tree.Loop | tree.While
    steps: RangeValue | None  # of a `for`
    period: int = 1  # iterations in its body
    cuts: set[int] = field(default_factory=set)  # as Counter has them
    periods: set[int] = field(default_factory=set)

    @property
    def jumps(self) -> Jumps:
        """Return the jumps that leave it."""
        return uses_of_all(self.node.body).jumps & LEAVING

    @property
    def target(self) -> tree.Target:
        """Return the variable of a `for`."""
        assert isinstance(self.node, tree.Loop) and isinstance(self.node.target, tree.Target)
        return self.node.target

    def variables(self) -> set[Local]:
        target = [self.target] if isinstance(self.node, tree.Loop) else []
        return find_assigned(self.builder, uses_of_all([*target, *self.node.body]))

    def nodes(self) -> tuple[tree.Node, ...]:
        test = [self.node.test] if isinstance(self.node, tree.While) else []
        return (*test, *self.node.body)

    def _needs_blocks(self) -> bool:
        """Does the next iteration read a block or transfer that this one changes?"""
        released = uses_of_all(self.nodes()).released
        return any(
            has_block(value, may_be_read=variable.of not in released)
            for variable, value in self.read().items()
        )

    def read(self) -> dict[Local, Value]:
        """Return the starting values that one iteration changes and the next one reads."""
        read, values = uses_of_all(self.nodes()).read_first, self.builder.state.values
        return {v: values[v] for v in self.variables() if v.of in read and v in values}

    def evaluate(self, is_refused: bool = False) -> None:
        """Evaluate the loop; an int start grows to a float if the loop adds floats to it."""
        builder, path = self.builder, None
        while path is None:
            if "return" in self.jumps:
                builder.state.values[builder.frame.variable(LEFT)] = False
            carries_blocks = is_refused or self._needs_blocks()
            loop = new_loop(builder, self.nodes(), self.jumps, carries_blocks, is_refused)
            try:
                path = builder.attempt(partial(self._evaluate_in, loop))
            except Mistake as mistake:
                grows = mistake.flow.grows if mistake.flow is not None else None
                is_outer = is_of_outer_loop(builder, mistake)
                if grows is None or is_outer or not grow(builder, *grows):
                    raise
        builder.adopt(path)

    def _evaluate_in(self, loop: OpenLoop) -> None:
        node = self.node
        if isinstance(node, tree.While):
            test = partial(self.builder.evaluate, node.test)
            self._while(loop, self.variables(), test, self._evaluate_period)
        elif loop.hidden:
            self._counted_while(loop)
        else:
            self._counted_for(loop)

    def _evaluate_period(self) -> None:
        body: Steps = (*self.node.body, ITERATION_END)
        steps = body
        if self.period > 1:
            first = self.builder.lookup(self.target.binding)
            for number in range(1, self.period):
                steps = (*steps, self._counter_after(first, number), *body)
        self.builder.sequence(steps)

    def _counter_after(self, first: Value, number: int) -> Enter:
        assert self.steps is not None
        builder, distance = self.builder, number * self.steps.step // self.period
        return make_action(
            self.target, lambda: bind(builder, self.target, binary(builder, "+", first, distance))
        )

    # Over a range ---------------------------------------------------------------------------------

    def _counted_for(self, loop: OpenLoop) -> None:
        builder, steps, target = self.builder, self.steps, self.target.binding
        assert steps is not None
        carried = Carried(builder, self.variables(), loop)
        bounds = upward(builder, steps)
        body = Body.with_args([INDEX, *carried.types])
        counter, *arguments = body.args
        assert isinstance(counter, Scalar)
        counter.hint = _hint(target.name)
        counter.is_natural = bounds[0].is_natural
        if steps.known:
            first, step = (steps.start, steps.step) if steps.counts_up else (0, 1)
            counter.bounds = first, first + (len(steps.known) - 1) * step
            counter.counter = Counter(first, step, self.cuts, self.periods)
        with builder.inside(loop, body):
            carried.enter(arguments)
            builder.assign(target, compute_counter(builder, steps, counter, counter.hint))
            self._evaluate_period()
            yielded, unusable = carried.leave(body, arguments)
            builder.emit(scf.YieldOp, yielded)
        op = Op(scf.ForOp, [*bounds, *carried.start], carried.types, bodies=[body])
        carried.finish(builder.add(op).results, unusable)
        in_body = find_assigned(builder, uses_of_all(self.node.body))
        if steps.known and builder.variable(target) not in in_body:
            builder.assign(target, steps.known[-1])  # as Python leaves it

    def _counted_while(self, loop: OpenLoop) -> None:
        """Compile a `for` with early exits as a counting `while`."""
        builder, steps, target = self.builder, self.steps, self.target.binding
        assert steps is not None
        changed, hint, values = self.variables(), _hint(target.name), builder.state.values
        count = _own_variable(builder, f"<{hint} of {len(builder.loops)}>")
        total = step_count(builder, steps)
        values[count] = builder.index(0)
        variable = builder.variable(target)
        if steps.known and variable is not None:
            values[variable] = as_kind(builder, steps.start, int)

        def condition() -> Value:
            return compare(builder, "<", builder.state.values[count], total)

        def step() -> None:
            number = builder.state.values[count]
            assert isinstance(number, Scalar)
            number.is_natural = True
            builder.assign(target, compute_counter(builder, steps, number, hint, from_zero=True))
            self._evaluate_period()
            one_more = calculate(builder, arith.AddiOp, number, builder.index(1))
            builder.state.values[count] = one_more

        self._while(loop, {*changed, count}, condition, step)
        builder.state.values.pop(count, None)

    # While a condition holds ----------------------------------------------------------------------

    def _while(
        self,
        loop: OpenLoop,
        changed: set[Local],
        condition: Callable[[], Value],
        step: Callable[[], None],
    ) -> None:
        builder = self.builder
        tested: list[tuple[Carried, Body, bool | Scalar]] = []
        path = builder.path(lambda: tested.append(_tested(builder, loop, changed, condition)))
        carried, test_body, decided = tested[0]
        if decided is True:
            raise endless_loop(loop.nodes)
        if decided is False:
            return  # carries no values
        builder.adopt(path)
        body = Body.with_args(carried.types)
        with builder.inside(loop, body):
            carried.enter(body.args)
            step()
            yielded, unusable = carried.leave(body, body.args)
            builder.emit(scf.YieldOp, yielded)
        op = Op(scf.WhileOp, carried.start, carried.types, bodies=[test_body, body])
        carried.finish(builder.add(op).results, unusable)
        builder.state.values.pop(loop.going_on, None)


def _hint(name: str) -> str:
    return value_name(name).strip("_") or "i"


def _tested(
    builder: KernelBuilder, loop: OpenLoop, changed: set[Local], condition: Callable[[], Value]
) -> tuple[Carried, Body, bool | Scalar]:
    if loop.hidden:
        builder.state.values[loop.going_on] = True
    carried = Carried(builder, changed | loop.hidden, loop)
    body = Body.with_args(carried.types)
    carried.enter(body.args, is_test=True)
    with builder.into(body):
        goes_on = condition
        if loop.hidden:
            is_on = builder.state.values[loop.going_on]
            goes_on = partial(choose, builder, is_on, condition, lambda: False)
        decided = truth(builder, goes_on())
        if isinstance(decided, Scalar):
            builder.emit(scf.ConditionOp, [decided, *body.args])
    return carried, body, decided


def is_of_outer_loop(builder: KernelBuilder, mistake: Mistake) -> bool:
    """Did an outer loop fail to carry a value, or to carry a value of another kind to this one?
    Then nothing helps this loop."""
    flow, values = mistake.flow, builder.state.values
    if flow is None or flow.grows is None:
        return flow is not None and flow.loop in builder.loops
    start = values.get(flow.grows[0])
    is_carried = isinstance(start, RunTime) and isinstance(start.owner, Body)
    return is_carried or isinstance(start, Unusable)


# After loops --------------------------------------------------------------------------------------


def require_kept(builder: KernelBuilder, end: Reached, rest: Steps) -> None:
    """Raise Mistake if the rest reads a variable whose value was lost on the way."""
    lost = builder.lost(end.values)
    for variable in sorted(reads_first(rest, lost), key=lambda each: each.name):
        broken = lost[variable].broken
        assert broken is not None
        raise builder.mistake(broken)


def after_loop(builder: KernelBuilder, jumps: Jumps, rest: Steps) -> Steps:
    """Skip the steps after a loop on paths where it has returned."""
    if "return" not in jumps:
        return rest
    left, returned = builder.frame.variable(LEFT), builder.frame.variable(RETURNED)
    has_left = truth(builder, builder.state.values[left])
    if not isinstance(has_left, Scalar):
        return leave_function(builder, rest) if has_left else rest

    def otherwise() -> None:
        builder.state.values[returned] = None
        builder.state.values[left] = False
        builder.sequence(rest)

    Branches(
        builder, has_left, lambda: builder.sequence(leave_function(builder, rest)), otherwise
    ).join().close()
    return ()


def leave_function(builder: KernelBuilder, rest: Steps) -> Steps:
    left = leave(rest, "return")
    if builder.loop is not None and builder.loop.frame is builder.frame:
        builder.state.values[builder.loop.going_on] = False
    return left

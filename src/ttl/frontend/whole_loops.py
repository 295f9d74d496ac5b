"""A loop that stays one: its evaluation as a whole, and what follows it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

from ttl.source import tree

from .builder import KernelBuilder
from .carried import assigned, grow, has_block
from .continuations import ITERATION_END, Enter, Steps, doing, leave, reads_first
from .expressions import expression
from .hir import Body, RunTime, Scalar, Value
from .items import bind
from .joins import Branches
from .loops import loop_over, loop_while, new_loop
from .operators import binary
from .problems import Mistake
from .ranges import RangeValue
from .scalars import truth
from .state import LEFT, RETURNED, Loop, State, Variable
from .uses import Jumps, uses_of_all

LEAVING: Jumps = frozenset({"break", "return"})


@dataclass(frozen=True, slots=True)
class WholeLoop:
    """A `for` over a range or a `while`, of which every iteration does the same."""

    builder: KernelBuilder
    node: tree.Loop | tree.While
    steps: RangeValue | None  # of a `for`
    period: int = 1  # iterations in its body
    cuts: set[int] = field(default_factory=set)  # as Loop has them
    periods: set[int] = field(default_factory=set)

    @property
    def jumps(self) -> Jumps:
        """Those that leave it."""
        return uses_of_all(self.node.body).jumps & LEAVING

    def variables(self) -> set[Variable]:
        target = [self.node.target] if isinstance(self.node, tree.Loop) else []
        return assigned(self.builder, uses_of_all([*target, *self.node.body]))

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

    def read(self) -> dict[Variable, Value]:
        """What the loop starts with of that which an iteration changes and the next one reads."""
        read, values = uses_of_all(self.nodes()).read_first, self.builder.state.values
        return {v: values[v] for v in self.variables() if v.of in read and v in values}

    def evaluate(self, is_refused: bool = False) -> None:
        """`total = 0` before a loop that adds floats to it is as a float the same number."""
        builder, path = self.builder, None
        while path is None:
            if "return" in self.jumps:
                builder.state.values[builder.frame.variable(LEFT)] = False
            loop = new_loop(
                builder,
                self.nodes(),
                self.jumps,
                carries_blocks=is_refused or self._needs_blocks(),
                may_release=is_refused,
                cuts=self.cuts,
                periods=self.periods,
            )
            try:
                path = builder.attempt(partial(self._evaluate_in, loop))
            except Mistake as mistake:
                grows = mistake.flow.grows if mistake.flow is not None else None
                is_outer = is_of_outer_loop(builder, mistake)
                if grows is None or is_outer or not grow(builder, *grows):
                    raise
        builder.adopt(path)

    def _evaluate_in(self, loop: Loop) -> None:
        builder, node = self.builder, self.node
        if isinstance(node, tree.Loop):
            assert self.steps is not None
            loop_over(builder, self.steps, node, loop, self._evaluate_period)
        else:
            test, changed = node.test, self.variables()
            loop_while(
                builder, changed, loop, lambda: expression(builder, test), self._evaluate_period
            )

    def _evaluate_period(self) -> None:
        node = self.node
        body: Steps = (*node.body, ITERATION_END)
        steps = body
        if self.period > 1:
            assert isinstance(node, tree.Loop) and isinstance(node.target, tree.Target)
            first = self.builder.lookup(node.target.binding)
            for number in range(1, self.period):
                steps = (*steps, self._counter_after(first, node.target, number), *body)
        self.builder.sequence(steps)

    def _counter_after(self, first: Value, target: tree.Target, number: int) -> Enter:
        assert self.steps is not None
        distance = number * self.steps.step // self.period
        return doing(
            target,
            lambda: bind(self.builder, target, binary(self.builder, "+", first, distance)),
        )


def is_of_outer_loop(builder: KernelBuilder, mistake: Mistake) -> bool:
    """Nothing helps a loop if one around it cannot carry something, or has to carry a number of
    another kind to it.
    """
    flow, values = mistake.flow, builder.state.values
    if flow is None or flow.grows is None:
        return flow is not None and flow.loop in builder.loops
    start = values.get(flow.grows[0])
    return isinstance(start, RunTime) and isinstance(start.owner, Body)


# What follows ------------------------------------------------------------------------------------


def require_kept(builder: KernelBuilder, end: State, rest: Steps) -> None:
    """Mistake if what follows reads a variable whose value was lost on the way."""
    lost = builder.lost(end.values)
    for variable in sorted(reads_first(rest, lost), key=lambda each: each.name):
        broken = lost[variable].broken
        assert broken is not None
        raise builder.mistake(broken)


def after_loop(builder: KernelBuilder, jumps: Jumps, rest: Steps) -> Steps:
    """What follows a loop is left out where the loop has returned."""
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

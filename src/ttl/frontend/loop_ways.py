"""How a loop is compiled: as a loop, with its ends apart, or unrolled.

A loop has several ways. The first that carries all that is read later is taken:
way VALUES  a loop that carries scalars and what blocks hold;
way BLOCKS  a loop that carries blocks and transfers too;
way NEST    the first iteration of all by itself, of loops with nothing else in them but each other;
way UNROLL  every iteration by itself, if there are few;
way APART   the first or last iterations by themselves, which hold other blocks than the others.
What one way could not carry says which others need not be tried, and what did for a loop is tried
first when the same loop comes again, as loops in loops do.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from typing import ClassVar

from ttl.source import tree

from .branching import branch
from .builder import KernelBuilder
from .carried import assigned, grow, has_block
from .continuations import ITERATION_END, Choice, Do, Iterate, Steps, leave, reads_first
from .desugar import nest_of, without_first
from .expressions import expression
from .hir import Body, RunTime, Scalar, Value, is_run_time, kind_of
from .items import bind
from .joins import Branches
from .loops import EndlessLoop, loop_over, loop_while, new_loop
from .operators import binary
from .problems import Mistake, Unusable
from .ranges import RangeValue, steps_of
from .scalars import common_kind, compare, truth
from .state import LEFT, RETURNED, Loop, Path, State, Variable
from .unrolling import unrolled, unrolled_while
from .uses import Jumps, uses_of, uses_of_all

LEAVING: Jumps = frozenset({"break", "return"})

# way APART: how many iterations are taken out of a long loop at its start and at its end.
APART = ((0, 1), (1, 0), (1, 1), (2, 0), (2, 1), (3, 0), (3, 1), (0, 2), (4, 0), (4, 1), (7, 0))


@dataclass(slots=True)
class Looping:
    """A `for` over a range or a `while` that is being compiled, and what follows it."""

    builder: KernelBuilder
    node: tree.Loop | tree.While
    steps: RangeValue | None  # of a `for`
    rest: Steps
    is_part: bool = False  # are its first or last iterations apart already?
    failure: Mistake | None = None  # of the last way
    doubtful: Path | None = None  # a loop which lost a value that may be read after it

    @property
    def jumps(self) -> Jumps:
        return uses_of_all(self.node.body).jumps

    def compile(self) -> Steps:
        """What is left to do after the loop."""
        key = self._key()
        known = self.builder.ways.get(key)
        if isinstance(known, Mistake):
            if self.builder.is_trial:
                raise Mistake(known.diagnostic, known.flow)
            known = None
        others = (way for way in self._ways() if way != known)
        for way in others if known is None else (known, *others):
            left = self._try(way)
            if left is not None:
                self.builder.ways[key] = way
                return left
        if self.doubtful is None:
            self.builder.ways[key] = self.failure
        return self._refused()

    def _try(self, way: Way) -> Steps | None:
        if not way.may_help(self):
            return None
        known = self.builder.state.mistakes
        try:
            return way.take(self)
        except Mistake as mistake:
            is_mended = way.is_apart and not self._is_of_outer_loop(mistake)
            if mistake.flow is None and is_mended:  # the loop itself is to be reported
                self.builder.state.mistakes = known
                return None
            if mistake.flow is None or self._is_of_outer_loop(mistake):
                raise
            self.failure = mistake
            return None

    def _is_of_outer_loop(self, mistake: Mistake) -> bool:
        """No way of this loop helps if one around it cannot carry something, or has to carry a
        number of another kind to it.
        """
        flow, values = mistake.flow, self.builder.state.values
        if flow is None or flow.grows is None:
            return flow is not None and flow.loop in self.builder.loops
        start = values.get(flow.grows[0])
        return isinstance(start, RunTime) and isinstance(start.owner, Body)

    def _refused(self) -> Steps:
        """Nothing helps: say what is wrong with it as a loop."""
        if self.doubtful is not None:
            self.builder.adopt(self.doubtful)
            return after_loop(self.builder, self.jumps & LEAVING, self.rest)
        if self.builder.is_trial and self.failure is not None:
            raise self.failure
        self.evaluate(carries_blocks=True, may_release=True)
        return after_loop(self.builder, self.jumps & LEAVING, self.rest)

    def _ways(self) -> Iterator[Way]:
        first, count = self._needs_blocks(), self._count
        yield AsLoop(first)
        if self.node in self.builder.parts:  # else each of the others is tried in each way of this
            return
        yield AsLoop(not first)
        may_part = not self.is_part and not self.jumps & LEAVING
        if count is not None:
            yield from (NestApart(), Unroll()) if may_part else (Unroll(),)
            if may_part:
                yield from (EndsApart(*ends) for ends in APART if sum(ends) < count)
        elif not self.is_part and not self.jumps:
            yield FirstApart()

    @property
    def _count(self) -> int | None:
        known = self.steps.known if self.steps is not None else None
        return None if known is None else len(known)

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

    def has_blocks(self) -> bool:
        values = self.builder.state.values
        return any(has_block(values.get(v), may_be_read=False) for v in self.variables())

    def _key(self) -> Hashable:
        """The same for loops that need the same way: what they read is alike."""
        state, builder = self.builder.state, self.builder
        variables = builder.variables(uses_of(self.node).mentioned)
        shapes = [_shape(state.values.get(v)) for v in sorted(variables, key=lambda v: v.order)]
        steps = _shape(self.steps.bounds) if self.steps is not None else None
        around = tuple([loop.carries_blocks for loop in builder.loops])
        return self.node, self.is_part, around, len(state.facts), steps, tuple(shapes)

    # As a loop ------------------------------------------------------------------------------------

    def as_loop(self, carries_blocks: bool) -> Path:
        builder = self.builder
        outer, builder.may_be_unrolled = builder.may_be_unrolled, self._may_be_unrolled()
        try:
            path = builder.attempt(lambda: self.evaluate(carries_blocks))
        finally:
            builder.may_be_unrolled = outer
        self.doubtful = path
        require_kept(builder, path.state, self.rest)
        return path

    def _may_be_unrolled(self) -> bool:
        return self._count is not None and self.builder.has_room(self._count)

    def evaluate(self, carries_blocks: bool, may_release: bool = False) -> None:
        """A loop that returns a number needs one before it, of the kind that it returns.

        `total = 0` before a loop that adds floats to it is as a float the same number.
        """
        builder, returned = self.builder, self.builder.frame.variable(RETURNED)
        jumps = self.jumps & LEAVING
        while True:
            if "return" in jumps:
                builder.state.values[builder.frame.variable(LEFT)] = False
            loop = new_loop(builder, self.nodes(), jumps, carries_blocks, may_release)
            path = self._grown(loop)
            if path is None:
                continue
            kinds = [kind for value in loop.returned if (kind := kind_of(value))]
            if not kinds or path.state.values.get(returned) is not None:
                break
            if builder.state.values.get(returned) is not None:
                break
            builder.state.values[returned] = common_kind(*kinds)(0)
        builder.adopt(path)

    def _grown(self, loop: Loop) -> Path | None:
        """The loop; None if a variable before it has grown to a number of another kind, or if it
        was taken for one that the loop leaves as it is.
        """
        try:
            return self.builder.attempt(lambda: self._evaluate_in(loop))
        except Mistake as mistake:
            if mistake.flow is not None and mistake.flow.is_tried_again:
                return None
            grows = mistake.flow.grows if mistake.flow is not None else None
            is_ours = grows is not None and not self._is_of_outer_loop(mistake)
            if grows is None or not is_ours or not grow(self.builder, *grows):
                raise
            return None

    def _evaluate_in(self, loop: Loop) -> None:
        builder, node = self.builder, self.node
        body: Steps = (*node.body, ITERATION_END)

        def evaluate() -> None:
            builder.sequence(body)

        if isinstance(node, tree.Loop):
            assert self.steps is not None
            loop_over(builder, self.steps, node, loop, evaluate)
        else:
            test = node.test
            loop_while(builder, self.variables(), loop, lambda: expression(builder, test), evaluate)


class Way:
    is_apart: ClassVar[bool] = False

    def may_help(self, loop: Looping) -> bool:
        return True

    def take(self, loop: Looping) -> Steps | None:
        """What is left to do after the loop; None, or Mistake with `flow`, if it does not do."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class AsLoop(Way):
    carries_blocks: bool

    def may_help(self, loop: Looping) -> bool:
        flow = loop.failure.flow if loop.failure is not None else None
        # What is nothing to be carried at all is read.
        return flow is None or flow.loop is None or loop.has_blocks()

    def take(self, loop: Looping) -> Steps:
        loop.builder.adopt(loop.as_loop(self.carries_blocks))
        return after_loop(loop.builder, loop.jumps & LEAVING, loop.rest)


@dataclass(frozen=True, slots=True)
class Unroll(Way):
    def take(self, loop: Looping) -> Steps | None:
        assert isinstance(loop.node, tree.Loop) and loop.steps is not None
        items = list(loop.steps.known or ())
        if not loop.builder.may_unroll(len(items)):
            return None
        return unrolled(loop.builder, loop.node, items, loop.rest)


@dataclass(frozen=True, slots=True)
class NestApart(Way):
    """At any depth there are two copies of the innermost body."""

    is_apart = True

    def may_help(self, loop: Looping) -> bool:
        nest = nest_of(loop.node)
        if len(nest) < 2 or loop.node in loop.builder.nested or None not in loop.read().values():
            return False
        bounds = uses_of_all(each.call for each in nest[1:]).mentioned
        if not loop.variables().isdisjoint(loop.builder.variables(bounds)):
            return False
        return not uses_of_all(nest[-1].node.body).jumps & LEAVING

    def take(self, loop: Looping) -> Steps | None:
        builder, nest = loop.builder, nest_of(loop.node)
        assert loop.steps is not None and loop.steps.known is not None
        ranges = (loop.steps.known, *(_range_of(builder, each.call) for each in nest[1:]))
        if not all(ranges) or len(ranges[-1]) < 2:
            return None
        others, *_ = parts = without_first(nest, ranges)
        builder.parts.update(parts)
        builder.nested |= {each.node for each in nest[1:]}
        counters = [found for each in nest if (found := builder.variable(each.variable))]
        firsts = {each: steps[0] for each, steps in zip(counters, ranges, strict=True)}

        def go_on(rest: Steps) -> Steps:
            for each in counters[1:]:
                builder.state.values.pop(each, None)
            return Looping(builder, others, loop.steps, rest).compile()

        begin = Do(loop.node, lambda: builder.state.values.update(firsts))
        first: Steps = (begin, *nest[-1].node.body, ITERATION_END)
        path = builder.attempt(
            lambda: builder.sequence((*first, Iterate(others.body, go_on)), loop.rest)
        )
        require_kept(builder, path.state, loop.rest)
        return loop.rest if _adopted(builder, path) else None


def _range_of(builder: KernelBuilder, call: tree.Call) -> range:
    """An empty one for what is no range that is known."""
    is_range = expression(builder, call.function) is range
    steps = steps_of(expression(builder, call)) if is_range else None
    return (steps and steps.known) or range(0)


@dataclass(frozen=True, slots=True)
class EndsApart(Way):
    first: int
    last: int
    is_apart = True

    def may_help(self, loop: Looping) -> bool:
        flow = loop.failure.flow if loop.failure is not None else None
        # What the loop starts with is changed by its first iterations only.
        return self.first > 0 or flow is None or flow.loop is None or flow.is_of_end

    def take(self, loop: Looping) -> Steps | None:
        builder, node = loop.builder, loop.node
        assert isinstance(node, tree.Loop) and loop.steps is not None and loop.steps.known
        items = loop.steps.known
        end = len(items) - self.last
        middle = RangeValue(items[self.first], items[end - 1] + items.step, items.step)
        following = unrolled(builder, node, list(items[end:]), loop.rest)
        before = unrolled(builder, node, list(items[: self.first]), ())
        path = builder.attempt(
            lambda: builder.sequence(
                (*before, other_iterations(builder, node, lambda: middle)), following
            )
        )
        require_kept(builder, path.state, following)
        return following if _adopted(builder, path) else None


@dataclass(frozen=True, slots=True)
class FirstApart(Way):
    """The first iteration gives variables the values that the others go on with."""

    is_apart = True

    def take(self, loop: Looping) -> Steps | None:
        if loop.steps is not None and is_run_time(loop.steps.step):
            return None
        left: list[Steps] = []
        choice = _first_of(loop)
        path = loop.builder.attempt(lambda: left.append(branch(loop.builder, choice, loop.rest)))
        return left[0] if _adopted(loop.builder, path) else None


def _adopted(builder: KernelBuilder, path: Path) -> bool:
    """Go on with a path on which no mistake was made."""
    if len(path.state.mistakes) > len(builder.state.mistakes):
        return False
    builder.adopt(path)
    return True


def _first_of(loop: Looping) -> Choice:
    """The first iteration, if there is one, then the others."""
    builder, node, steps = loop.builder, loop.node, loop.steps
    if isinstance(node, tree.While):
        test, others = node.test, other_iterations(builder, node, lambda: None)
        then: Steps = (*node.body, others)
        return Choice(node, lambda: expression(builder, test), then, ())
    assert steps is not None
    target, sign = node.target, "<" if steps.step > 0 else ">"

    def following() -> RangeValue:
        second = binary(builder, "+", steps.start, steps.step)
        return RangeValue(second, steps.stop, steps.step)

    first = Do(node, lambda: bind(builder, target, steps.start))
    then = (first, *node.body, other_iterations(builder, node, following))
    return Choice(node, lambda: compare(builder, sign, steps.start, steps.stop), then, ())


def other_iterations(
    builder: KernelBuilder, node: tree.Loop | tree.While, steps: Callable[[], RangeValue | None]
) -> Iterate:
    def others(rest: Steps) -> Steps:
        with builder.at(node):
            return Looping(builder, node, steps(), rest, is_part=True).compile()

    return Iterate(node.body, others)


def compile_while(builder: KernelBuilder, node: tree.While, rest: Steps) -> Steps:
    try:
        return Looping(builder, node, None, rest).compile()
    except EndlessLoop:
        if isinstance(node.test, tree.Constant):
            raise
        return unrolled_while(builder, node, rest)


# What is carried ----------------------------------------------------------------------------------


def require_kept(builder: KernelBuilder, end: State, rest: Steps) -> None:
    """Mistake if what follows reads a variable whose value was lost on the way."""
    lost = {
        variable.of: value
        for variable, value in end.values.items()
        if variable.frame == builder.frame.number
        and isinstance(value, Unusable)
        and value.is_lost
        and builder.state.values.get(variable) is not value
    }
    for variable in sorted(reads_first(rest, lost), key=lambda each: each.name):
        broken = lost[variable].broken
        assert broken is not None
        raise builder.mistake(broken)


def _shape(value: Value) -> Hashable:
    if isinstance(value, (tuple, list)):
        return type(value), tuple([_shape(item) for item in value])
    if isinstance(value, RunTime):
        return type(value), value.type
    is_constant = value is None or isinstance(value, (bool, int, float, str))
    return type(value), value if is_constant else None


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

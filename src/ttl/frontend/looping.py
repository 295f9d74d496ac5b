"""Compile a loop: repeated iterations become a loop, earlier ones are separate.

The iterations are evaluated from the first on until the remaining ones are a loop:
rule LOOP    an iteration is evaluated for all remaining ones: with run-time values for the
variables
             that it changes, and replacements for each block and transfer. If it ends as it began,
             except for these, it is the body of a loop (loops.py)
rule APART   otherwise the next iteration is separate. It may give the others values to start from
rule CUT     if a condition that only some iterations meet prevents a loop, it is cut into two loops
rule PERIOD  if a state of the variables, or a remainder of the counter, repeats after several
             iterations, these are the body
rule END     few iterations may all be separate; otherwise those before a state repeats
Findings about a loop are kept for its next evaluation, because inner loops come again.
"""

from __future__ import annotations

from collections.abc import Hashable, Set
from dataclasses import dataclass, replace

from ttl.source import tree

from .builder import KernelBuilder
from .continuations import ITERATION_END, LOOP_END, Choice, Enter, Steps, doing
from .desugar import nest_of, without_first
from .expressions import expression
from .hir import RunTime, is_run_time
from .items import bind
from .loop_states import flags_of, shape, state_of
from .loops import EndlessLoop, WholeLoop, after_loop, endless_loop, is_of_outer_loop, require_kept
from .operators import binary
from .problems import Mistake, flow_broken
from .ranges import RangeValue, steps_of
from .scalars import compare, truth
from .state import Path
from .uses import uses_of, uses_of_all

MOST_TRIED = 16  # iterations to try before giving up on making a loop of the others


@dataclass(frozen=True, slots=True)
class Failure:
    """Why the whole loop fails, where to cut it, and after how many iterations it may repeat."""

    mistake: Mistake
    cuts: Set[int] = frozenset()
    periods: Set[int] = frozenset()
    is_final: bool = False  # will every other way fail too?


@dataclass(slots=True)
class Looping:
    """A `for` over a range or a `while` being compiled, and the steps after it."""

    builder: KernelBuilder
    node: tree.Loop | tree.While
    steps: RangeValue | None  # of a `for`
    rest: Steps
    states: tuple[Hashable, ...] = ()  # at the starts of iterations that are already separate
    may_all_be_apart: bool = False
    failure: Failure | None = None
    doubtful: Path | None = None  # a loop that lost a value which may be read after it

    @property
    def whole(self) -> WholeLoop:
        return WholeLoop(self.builder, self.node, self.steps)

    @property
    def known(self) -> range | None:
        return None if self.steps is None else self.steps.known

    @property
    def count(self) -> int | None:
        return None if self.known is None else len(self.known)

    def compile(self) -> Steps:
        """Compile the loop; return the steps left after it."""
        known, key = self.builder.known_loops, self._key()
        before: Failure | None = known.get(key)
        if before is not None and before.is_final and self.builder.is_trial:
            raise before.mistake
        ways = [self._as_loop, self._apart]
        if before is not None and not before.is_final:
            self.failure = before
            ways.reverse()
        left = next((steps for way in ways if (steps := way()) is not None), None)
        if self.failure is not None and (left is not None or self.doubtful is None):
            known[key] = replace(self.failure, is_final=left is None)
        return self._refused() if left is None else left

    def _key(self) -> Hashable:
        """Return the key of loops with equal needs, because the values that they read are alike."""
        builder = self.builder
        steps = shape(builder, self.steps.bounds) if self.steps is not None else None
        around = tuple([loop.carries_blocks for loop in builder.loops])
        state = state_of(builder, uses_of(self.node).mentioned)
        return self.node, around, len(builder.state.facts), steps, state

    def _refused(self) -> Steps:
        """Report the mistake of the whole loop, because no way works."""
        if self.doubtful is not None:
            self.builder.adopt(self.doubtful)
        elif self.builder.is_trial and self.failure is not None:
            raise self.failure.mistake
        else:
            self.whole.evaluate(is_refused=True)
        return after_loop(self.builder, self.whole.jumps, self.rest)

    # As a loop ------------------------------------------------------------------------------------

    def _as_loop(self) -> Steps | None:  # rule LOOP
        return self._evaluated(self.whole, self.rest)

    def _evaluated(self, loop: WholeLoop, rest: Steps) -> Steps | None:
        builder = self.builder
        outer, builder.may_be_unrolled = builder.may_be_unrolled, self._has_room()
        try:
            path = self.doubtful = builder.attempt(loop.evaluate)
            require_kept(builder, path.state, rest)
        except Mistake as mistake:
            if mistake.flow is None or is_of_outer_loop(builder, mistake):
                raise
            self.failure = Failure(mistake, loop.cuts, loop.periods)
            return None
        finally:
            builder.may_be_unrolled = outer
        builder.adopt(path)
        return after_loop(builder, loop.jumps, rest)

    def _has_room(self) -> bool:
        return self.count is not None and self.builder.has_room(self.count)

    # Separate iterations --------------------------------------------------------------------------

    def _apart(self) -> Steps | None:  # rule END
        builder, jumps = self.builder, uses_of_all(self.node.body).jumps
        if self.node in builder.parts:  # nests try one loop only
            return None
        if self._has_room():
            self.may_all_be_apart = True
            return (*self._parts(), LOOP_END, *self.rest)
        if self.whole.jumps or (self.count is None and jumps):
            return None
        return self._tried()

    def _tried(self) -> Steps | None:
        """Try to separate some iterations; return None if that fails."""
        builder, known, left = self.builder, self.builder.state.mistakes, list[Steps]()
        try:
            steps = self._parts()
            path = builder.attempt(lambda: left.append(builder.sequence(steps, self.rest)))
            require_kept(builder, path.state, left[0])
        except Mistake as mistake:
            if is_of_outer_loop(builder, mistake):
                raise
            if mistake.flow is None:  # report the loop itself
                builder.state.mistakes = known
            else:
                self.failure = Failure(mistake)
            return None
        if len(path.state.mistakes) > len(known):
            return None
        builder.adopt(path)
        return left[0]

    def _parts(self, is_hopeless: bool = False) -> Steps:
        """Separate one iteration, or cut; `is_hopeless` means separating would not help."""
        known, cut = self.known, self._cut()
        if known is None:
            return (self._first_if_any(),)
        if cut is not None and (is_hopeless or not self._is_of_start()):
            return self._others(known[:cut]), self._others(known[cut:])
        if self.may_all_be_apart and not self.builder.may_unroll(1):
            raise flow_broken("so many iterations which are not alike")
        if (nest := self._first_of_nest(known)) is not None:
            return nest
        first = self._counter_at(known[0])
        return first, *self.node.body, ITERATION_END, self._others(known[1:], self._state())

    def _counter_at(self, value: object) -> Enter:
        assert isinstance(self.node, tree.Loop)
        target = self.node.target
        return doing(target, lambda: bind(self.builder, target, value))

    def _state(self) -> Hashable:
        """Return the state that an iteration reads and another one may have changed."""
        read, flags = uses_of(self.node).read_first, flags_of(self.node)
        changed = {each for each in self.whole.variables() if each.of not in flags}
        return state_of(self.builder, read, changed)

    def _others(self, steps: range | RangeValue | None, *states: Hashable) -> Enter:
        """Make the step for these remaining iterations, after some with further states."""
        others = replace(
            self, steps=steps_of(steps), states=(*self.states, *states) if states else ()
        )
        return Enter(self.node, lambda rest: replace(others, rest=rest)._go_on(), self.node.body)

    def _go_on(self) -> Steps:
        if self.count == 0:
            return self.rest
        state, left = self._state(), None
        is_known, is_tried = state in self.states, len(self.states) <= MOST_TRIED
        reason, self.failure = self.failure, None
        if is_known and is_tried:
            periods = {self.states[::-1].index(state) + 1}
            if reason is not None and not self.may_all_be_apart:
                periods |= reason.periods
            tried = (self._as_periods(period) for period in sorted(periods))
            left = next((steps for steps in tried if steps is not None), None)
        elif is_tried and self.count != 1:
            left = self._as_loop()
        if left is not None:
            return left
        self.failure = self.failure or reason
        is_hopeless = is_known or not is_tried or (self.count is None and self.states)
        if is_hopeless and not self.may_all_be_apart and self._cut() is None:
            assert self.failure is not None
            raise self.failure.mistake
        return (*self._parts(is_hopeless=is_known), *self.rest)

    def _as_periods(self, period: int) -> Steps | None:
        """Apply rule PERIOD; one iteration is left over, so the counter ends as in Python."""
        known = self.known
        if known is None or period == 1 or len(known) < 2 * period or self.whole.jumps:
            return None
        count = (len(known) - 1) // period * period
        steps = RangeValue(known[0], known[count - 1] + known.step, known.step * period)
        loop = WholeLoop(self.builder, self.node, steps, period)
        return self._evaluated(loop, (self._others(known[count:]), *self.rest))

    def _is_of_start(self) -> bool:
        """Does a starting value that the first iteration changes prevent the loop?"""
        flow = self.failure.mistake.flow if self.failure is not None else None
        return flow is not None and flow.loop is not None and not flow.is_of_end

    def _cut(self) -> int | None:
        """Apply rule CUT: return how many iterations come before the first that differs."""
        known = self.known
        if self.failure is None or known is None or self.whole.jumps:
            return None
        first, step = (known.start, known.step) if known.step > 0 else (0, 1)
        counts = [-((first - number) // step) for number in self.failure.cuts]
        return min((count for count in counts if 0 < count < len(known)), default=None)

    def _first_if_any(self) -> Choice:
        """Run the first iteration, if there is one, then the others."""
        builder, node, steps = self.builder, self.node, self.steps
        if isinstance(node, tree.While):
            test = node.test
            then: Steps = (*node.body, self._others(None, self._state()))
            return Choice(node, lambda: expression(builder, test), then, ())
        assert steps is not None and self.failure is not None
        if is_run_time(steps.step):
            raise self.failure.mistake
        second, sign = binary(builder, "+", steps.start, steps.step), "<" if steps.step > 0 else ">"
        others = self._others(RangeValue(second, steps.stop, steps.step), self._state())
        then = (self._counter_at(steps.start), *node.body, others)
        return Choice(node, lambda: compare(builder, sign, steps.start, steps.stop), then, ())

    def _first_of_nest(self, known: range) -> Steps | None:
        """Apply rule APART to perfectly nested loops: separate the very first iteration of all, if
        it gives a variable its first value. So the innermost body exists twice at any depth.
        """
        builder, nest = self.builder, nest_of(self.node)
        if len(nest) < 2 or None not in self.whole.read().values():
            return None
        bounds = uses_of_all(each.call for each in nest[1:]).mentioned
        if not self.whole.variables().isdisjoint(builder.variables(bounds)):
            return None
        ranges = (known, *(_range_of(builder, each.call) for each in nest[1:]))
        if not all(ranges) or len(ranges[-1]) < 2:
            return None
        counters = [found for each in nest if (found := builder.variable(each.variable))]
        firsts = {each: steps[0] for each, steps in zip(counters, ranges, strict=True)}
        loops = replace(self, node=without_first(nest, ranges))
        others = loops._others(self.steps, self._state())
        builder.parts.update(each.node for each in nest_of(loops.node)[1:])

        def go_on(rest: Steps) -> Steps:
            for each in counters[1:]:
                builder.state.values.pop(each, None)
            return others.enter(rest)

        begin = doing(self.node, lambda: builder.state.values.update(firsts))
        return begin, *nest[-1].node.body, ITERATION_END, replace(others, enter=go_on)


def _range_of(builder: KernelBuilder, call: tree.Call) -> range:
    """Return the range of a call, or an empty one if it is unknown."""
    found = expression(builder, call) if expression(builder, call.function) is range else None
    return found if isinstance(found, range) else range(0)


def compile_while(builder: KernelBuilder, node: tree.While, rest: Steps) -> Steps:
    try:
        return Looping(builder, node, None, rest).compile()
    except EndlessLoop:
        if isinstance(node.test, tree.Constant):
            raise
        return (*unrolled_while(builder, node), *rest)


# Unrolling ----------------------------------------------------------------------------------------


def unrolled(builder: KernelBuilder, node: tree.Loop, items: list[object]) -> Steps:
    """Repeat the body for each item."""

    def iteration(position: int) -> Steps:
        def enter(rest: Steps) -> Steps:
            bind(builder, node.target, items[position])
            return (*node.body, ITERATION_END, *iteration(position + 1), *rest)

        return (Enter(node.target, enter, node.body),) if position < len(items) else ()

    return (*iteration(0), LOOP_END)


def unrolled_while(builder: KernelBuilder, node: tree.While) -> Steps:
    """Unroll `while pending:` on a list, as long as the condition is true."""

    def enter(rest: Steps) -> Steps:
        condition = truth(builder, builder.evaluate(node.test))
        if isinstance(condition, RunTime):
            raise flow_broken("a `while` whose condition a list and the run decide")
        if not condition:
            return rest
        if not builder.may_unroll(1):
            raise endless_loop(node.body)
        return (*node.body, ITERATION_END, iteration, *rest)

    iteration = Enter(node, enter, node.body)
    return (iteration, LOOP_END)

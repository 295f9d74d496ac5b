"""How a loop is compiled: what repeats is a loop, what comes before stands apart.

The iterations are evaluated from the first on until what is left of them is a loop:
rule LOOP    an iteration is evaluated for all that are left: with run-time values in the place of
             what it changes, and with what takes the place of each block and transfer. If it ends
             with what it began with, but for these, it is the body of a loop
rule APART   else the next iteration stands by itself. It may give the others what they go on with
rule CUT     where a condition that tells some iterations from others does not let them be a loop,
             those before it changes are one loop, those after it another
rule END     of few iterations all may stand apart. Of many, or if nobody knows how many, those before
             the state of the variables comes back
What did for a loop is tried first when the same loop comes again, as loops in loops do.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable
from dataclasses import dataclass, replace

from ttl.source import tree

from .builder import KernelBuilder
from .carried import assigned, grow, has_block
from .continuations import ITERATION_END, LOOP_END, Choice, Do, Iterate, Steps, leave, reads_first
from .desugar import nest_of, without_first
from .expressions import expression
from .hir import Body, HeldBlock, RunTime, Scalar, Value, is_run_time, kind_of
from .items import bind
from .joins import Branches
from .loops import EndlessLoop, loop_over, loop_while, new_loop
from .operators import binary
from .problems import Mistake, Unusable, flow_broken
from .ranges import RangeValue, steps_of
from .scalars import common_kind, compare, truth
from .state import LEFT, RETURNED, Loop, Path, State, Variable
from .unrolling import unrolled_while
from .uses import Jumps, uses_of, uses_of_all

LEAVING: Jumps = frozenset({"break", "return"})
MOST_TRIED = 16  # iterations after which nobody tries any more to make a loop of the others
LOOP, APART = "loop", "apart"  # what did for a loop


@dataclass(slots=True)
class Looping:
    """A `for` over a range or a `while` that is being compiled, and what follows it."""

    builder: KernelBuilder
    node: tree.Loop | tree.While
    steps: RangeValue | None  # of a `for`
    rest: Steps
    states: tuple[Hashable, ...] = ()  # that the iterations before began with, which are apart
    may_all_be_apart: bool = False
    failure: Mistake | None = None  # why it is no loop
    reason: Mistake | None = None  # why those before are apart
    doubtful: Path | None = None  # a loop which lost a value that may be read after it
    cuts: Collection[int] = ()  # counts at which a condition changes

    @property
    def jumps(self) -> Jumps:
        return uses_of_all(self.node.body).jumps

    def compile(self) -> Steps:
        """What is left to do after the loop."""
        ways, key = self.builder.ways, self._key()
        known = ways.get(key)
        if isinstance(known, Mistake):
            if self.builder.is_trial:
                raise Mistake(known.diagnostic, known.flow)
            known = None
        for way in (APART, LOOP) if known == APART else (LOOP, APART):
            left = self._as_loop() if way == LOOP else self._apart()
            if left is not None:
                ways[key] = way
                return left
        if self.doubtful is None:
            ways[key] = self.failure
        return self._refused()

    def _refused(self) -> Steps:
        """Nothing helps: say what is wrong with it as a loop."""
        if self.doubtful is not None:
            self.builder.adopt(self.doubtful)
            return after_loop(self.builder, self.jumps & LEAVING, self.rest)
        if self.builder.is_trial and self.failure is not None:
            raise self.failure
        self.evaluate(carries_blocks=True, may_release=True)
        return after_loop(self.builder, self.jumps & LEAVING, self.rest)

    def _is_of_outer_loop(self, mistake: Mistake) -> bool:
        """Nothing here helps if a loop around it cannot carry something, or has to carry a number
        of another kind to it.
        """
        flow, values = mistake.flow, self.builder.state.values
        if flow is None or flow.grows is None:
            return flow is not None and flow.loop in self.builder.loops
        start = values.get(flow.grows[0])
        return isinstance(start, RunTime) and isinstance(start.owner, Body)

    # Some iterations apart ------------------------------------------------------------------------

    def _apart(self) -> Steps | None:
        """rule END"""
        builder, count = self.builder, self._count
        if self.node in builder.parts:  # else each of the others is tried in each way of the nest
            return None
        if count is not None and builder.has_room(count):
            self.may_all_be_apart = True
            return (*self._parts(), LOOP_END, *self.rest)
        if self.jumps & (LEAVING if count is not None else {*LEAVING, "continue"}):
            return None
        known, left = builder.state.mistakes, list[Steps]()
        try:
            steps = self._parts()
            path = builder.attempt(lambda: left.append(builder.sequence(steps, self.rest)))
            require_kept(builder, path.state, left[0])
        except Mistake as mistake:
            if self._is_of_outer_loop(mistake):
                raise
            if mistake.flow is None:  # the loop itself is to be reported
                builder.state.mistakes = known
            else:
                self.failure = mistake
            return None
        if len(path.state.mistakes) > len(known):
            return None
        builder.adopt(path)
        return left[0]

    def _parts(self) -> Steps:
        builder, node = self.builder, self.node
        if self._count is None:
            return (self._first_if_any(),)
        assert isinstance(node, tree.Loop) and self.steps is not None and self.steps.known
        if (cut := self._cut()) is not None:
            return self._others(self.steps.known[:cut]), self._others(self.steps.known[cut:])
        if self.may_all_be_apart and not builder.may_unroll(1):
            raise flow_broken("so many iterations which are not alike")
        if (nest := self._first_of_nest()) is not None:
            return nest
        known, target = self.steps.known, node.target
        first = Do(target, lambda: bind(builder, target, known[0]))
        return first, *node.body, ITERATION_END, self._others(known[1:], self._state())

    def _others(self, steps: range | RangeValue | None, *states: Hashable) -> Iterate:
        """The iterations over these steps, by the rules."""
        if isinstance(steps, range):
            steps = RangeValue(steps.start, steps.stop, steps.step)

        def go_on(rest: Steps) -> Steps:
            others = Looping(
                self.builder, self.node, steps, rest, (*self.states, *states) if states else (),
                self.may_all_be_apart, reason=self.failure or self.reason,
            )  # fmt: skip
            with self.builder.at(self.node):
                return others._go_on()

        return Iterate(self.node.body, go_on)

    def _go_on(self) -> Steps:
        count, state = self._count, self._state()
        if count == 0:
            return self.rest
        is_new = state not in self.states and len(self.states) <= MOST_TRIED
        if is_new and count != 1:
            left = self._as_loop()
            if left is not None:
                return left
        may_go_on = is_new if count is not None else not self.states
        if not may_go_on and not self.may_all_be_apart:
            raise self._given_up()
        return (*self._parts(), *self.rest)

    def _given_up(self) -> Mistake:
        found = self.failure or self.reason
        assert found is not None
        return found

    def _cut(self) -> int | None:
        """rule CUT: how many iterations come before the first that differs from them."""
        flow = self.failure.flow if self.failure is not None else None
        if flow is None or (flow.loop is not None and not flow.is_of_end):
            return None  # what the loop begins with is in the way: its first iteration changes it
        assert self.steps is not None and self.steps.known is not None
        first, step = (self.steps.start, self.steps.step) if self.steps.step > 0 else (0, 1)
        counts = [-((first - number) // step) for number in self.cuts]
        found = [count for count in counts if 0 < count < len(self.steps.known)]
        return min(found, default=None) if not self.jumps & LEAVING else None

    def _first_if_any(self) -> Choice:
        """The first iteration, if there is one, then the others."""
        builder, node, steps = self.builder, self.node, self.steps
        if isinstance(node, tree.While):
            test = node.test
            then: Steps = (*node.body, self._others(None, self._state()))
            return Choice(node, lambda: expression(builder, test), then, ())
        assert steps is not None
        if is_run_time(steps.step):
            raise self._given_up()
        second = binary(builder, "+", steps.start, steps.step)
        target, sign = node.target, "<" if steps.step > 0 else ">"
        others = self._others(RangeValue(second, steps.stop, steps.step), self._state())
        first = Do(node, lambda: bind(builder, target, steps.start))
        then = (first, *node.body, others)
        return Choice(node, lambda: compare(builder, sign, steps.start, steps.stop), then, ())

    def _first_of_nest(self) -> Steps | None:
        """rule APART, for loops that have nothing in them but each other: the very first iteration
        of all, if it gives a variable its first value. So at any depth the innermost body is there
        twice.
        """
        builder, nest = self.builder, nest_of(self.node)
        if len(nest) < 2 or None not in self.read().values():
            return None
        bounds = uses_of_all(each.call for each in nest[1:]).mentioned
        if not self.variables().isdisjoint(builder.variables(bounds)):
            return None
        assert self.steps is not None and self.steps.known is not None
        ranges = (self.steps.known, *(_range_of(builder, each.call) for each in nest[1:]))
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

        begin = Do(self.node, lambda: builder.state.values.update(firsts))
        return begin, *nest[-1].node.body, ITERATION_END, replace(others, enter=go_on)

    # What it begins with --------------------------------------------------------------------------

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

    def _key(self) -> Hashable:
        """The same for loops that need the same way: what they read is alike."""
        steps = _shape(self.builder, self.steps.bounds) if self.steps is not None else None
        around = tuple([loop.carries_blocks for loop in self.builder.loops])
        facts = len(self.builder.state.facts)
        return self.node, around, facts, steps, self._state(is_exact=True)

    def _state(self, is_exact: bool = False) -> Hashable:
        """The abstract state of an iteration. Numbers that the loop changes are any numbers."""
        values, changed = self.builder.state.values, self.variables() if not is_exact else set()
        variables = self.builder.variables(uses_of(self.node).mentioned)
        return tuple(
            _shape(self.builder, values.get(v), is_any=v in changed)
            for v in sorted(variables, key=lambda v: v.order)
        )

    # As a loop ------------------------------------------------------------------------------------

    def _as_loop(self) -> Steps | None:
        """rule LOOP"""
        try:
            path = self._evaluated()
        except Mistake as mistake:
            if mistake.flow is None or self._is_of_outer_loop(mistake):
                raise
            self.failure = mistake
            return None
        self.builder.adopt(path)
        return after_loop(self.builder, self.jumps & LEAVING, self.rest)

    def _evaluated(self) -> Path:
        builder = self.builder
        outer, builder.may_be_unrolled = builder.may_be_unrolled, self._may_be_unrolled()
        try:
            path = builder.attempt(lambda: self.evaluate(self._needs_blocks()))
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
            self.cuts = loop.cuts
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



def _range_of(builder: KernelBuilder, call: tree.Call) -> range:
    """An empty one for what is no range that is known."""
    is_range = expression(builder, call.function) is range
    steps = steps_of(expression(builder, call)) if is_range else None
    return (steps and steps.known) or range(0)


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


def _shape(builder: KernelBuilder, value: Value, is_any: bool = False) -> Hashable:
    """`is_any`: any number is like it."""
    if isinstance(value, (tuple, list)):
        return type(value), tuple([_shape(builder, item, is_any) for item in value])
    if is_any and (kind := kind_of(value)) is not None:
        return kind
    if isinstance(value, RunTime):
        buffer = value.buffer if isinstance(value, HeldBlock) else None
        return type(value), value.type, buffer, value in builder.state.released
    if isinstance(value, (dict, set)):
        return type(value), len(value)
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

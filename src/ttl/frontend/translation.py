"""Statements of a kernel. Handlers are plain functions, one for each syntax class.

A handler evaluates the start of a statement and returns the steps that are left of it
(continuations.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from xdsl.dialects import scf
from xdsl.dialects.builtin import StringAttr, UnitAttr

from ttl.diagnostics import RuleBroken, codes
from ttl.dialects import ttl
from ttl.language import PipeNet, signpost
from ttl.language.kernels import kernel_returns_value
from ttl.semantics.kernel_kinds import KernelKind
from ttl.source import tree
from ttl.source.walking import walk

from .block_math import refuse_shapeless
from .branching import branch
from .builder import KernelBuilder
from .carried import find_assigned
from .continuations import Decision, End, Enter, Step, Steps, leave, make_action, uses_of_steps
from .desugar import test_inside, without_choice
from .dispatch import call
from .expressions import expression
from .finishing import finish_scope
from .generators import ONE_VALUE, GeneratorCall, consumer_of
from .hir import BlockValue, HeldBlock, Scalar, Value, kind_of
from .in_python import refuse
from .items import bind, list_items
from .looping import Looping, compile_while, unroll
from .loops import leave_function, require_kept
from .operators import compare
from .pipes import call_with_pipe, counts_on_nodes, pipe_count
from .problems import MISTAKEN, Mistake, Unusable, flow_broken, not_in_kernels
from .ranges import steps_of
from .signposts import refuse_unused_signposts
from .simple_statements import STATEMENTS
from .state import LEFT, RETURNED, LocalFunction, Reached
from .uses import NOTHING, uses_of
from .value_ranges import Undecided, recalculate

PATTERN = "a `case` with the rest of a dict, places in a class or names in one of several patterns"


class Translation(KernelBuilder):
    """Evaluates the statements of a kernel; collects mistakes in its state."""

    def evaluate(self, node: tree.Expression) -> object:
        return expression(self, node)

    def call(self, function: Value, arguments: list[Value], keywords: dict[str, Value]) -> Value:
        return call(self, function, arguments, keywords)

    def evaluate_kernel(self) -> None:
        try:
            function = self.tree_of(self.kernel.function)
            if function.is_lambda:
                self.node = function
                raise codes.NO_SOURCE.broken(
                    "a kernel that is a lambda is not compiled",
                    "write it as a function, with `def`",
                )
        except RuleBroken as broken:
            self.report(self.mistake(broken))
            return
        self.evaluate_body(function)

    def evaluate_body(self, function: tree.Function) -> None:
        """Evaluate the statements of a kernel, or of a thread of another DSL."""
        self.frame.scope = function.scope
        self.state.values[self.frame.variable(RETURNED)] = None
        self.sequence(function.body)
        if not self.state.mistakes:
            refuse_shapeless(self)
            refuse_unused_signposts(self)

    def sequence(self, steps: Steps, after: Steps = ()) -> Steps:
        steps = (*steps, *after)
        while len(steps) > len(after):
            step, steps = steps[0], steps[1:]
            steps = self.step(step, steps)
        return steps

    def step(self, step: Step, rest: Steps) -> Steps:
        """Evaluate a step; return the steps left to do."""
        try:
            if isinstance(step, tree.Statement):
                return self.statement(step, rest)
            if isinstance(step, End):
                step.do()
                return rest
            with self.at(step.node):
                return branch(self, step, rest) if isinstance(step, Decision) else step.enter(rest)
        except Mistake as mistake:
            if mistake.flow is not None and self.is_trial:
                raise
            self.report(mistake)
            # Report mistakes of other statements too, but not consequences of this one.
            node = getattr(step, "node", step)
            stored = NOTHING.stored if isinstance(step, End) else uses_of(node).stored
            self.state.values |= dict.fromkeys(self.variables(stored), MISTAKEN)
        return rest

    def statement(self, node: tree.Statement, rest: Steps) -> Steps:
        if isinstance(node, tree.Evaluate) and is_call_for_pipes(node.value):
            return for_each_pipe(self, node, rest)
        return self.evaluate_statement(node, rest)

    def evaluate_statement(self, node: tree.Statement, rest: Steps) -> Steps:
        """Evaluate a statement; values that cannot be joined, or must be constant, get branches."""
        by_branches, steps = without_choice(node), list[Steps]()

        def evaluate() -> None:
            with self.at(node):
                steps.append(self._handler(node)(self, node) or ())

        try:
            path = self.attempt(evaluate)
        except Mistake as mistake:
            if mistake.flow is None:
                raise
            if by_branches is not None:
                return (by_branches, *rest)
            if (undecided := mistake.flow.undecided) is None:
                raise
            return (*by_value(self, undecided, node), *rest)
        if by_branches is not None and _is_released(self, path.state, node, rest):
            return (by_branches, *rest)
        self.adopt(path)
        return (*steps[0], *rest)

    def _handler(self, node: tree.Statement) -> Callable[..., Steps | None]:
        """Find the handler of a statement, which returns the steps left of it."""
        for table in (self.handlers.statements, STATEMENTS, FLOW):
            if (found := table.get(type(node))) is not None:
                return found
        keyword = getattr(node, "keyword", "try")
        raise not_in_kernels(PATTERN if keyword == "match" else f"`{keyword}`")


# Branches that a statement needs ------------------------------------------------------------------


def by_value(builder: KernelBuilder, undecided: Undecided, node: tree.Statement) -> Steps:
    """Branch `blocks[i].push()` into `if i == 0: ...` for each possible value of i."""
    cases: list[tuple[int, Steps]] = [(value, (node,)) for value in undecided.values]
    return by_number(builder, node, lambda: recalculate(builder, undecided.value), cases, undecided)


def by_number(
    builder: KernelBuilder,
    node: tree.Statement,
    number: Callable[[], Value],
    cases: Sequence[tuple[int, Steps]],
    deciding: Undecided | None = None,
) -> Steps:
    """Choose the steps by a number; the last case is the default."""
    (case, steps), *others = cases
    if not others:
        return steps
    otherwise = by_number(builder, node, number, others, deciding)
    is_case = lambda: compare(builder, "==", number(), case)  # noqa: E731
    return (Decision(node, is_case, steps, otherwise, deciding),)


def _is_released(builder: KernelBuilder, end: Reached, node: tree.Statement, rest: Steps) -> bool:
    """Does later code use the result of the statement as a block, which one of two branches gives?
    A data movement kernel can do nothing else with it."""
    later, moves = uses_of_steps(rest), builder.kernel.kind is KernelKind.DATAMOVEMENT
    used = uses_of(node).stored & (later.mentioned if moves else later.released)
    values = [end.values.get(variable) for variable in builder.variables(used)]
    return any(isinstance(v, BlockValue) and v.made_by is scf.IfOp for v in values)


# Pipes --------------------------------------------------------------------------------------------


def is_call_for_pipes(node: tree.Expression) -> bool:
    """Is it `net.if_src(f)` or `net.if_dst(f)`?"""
    return isinstance(node, tree.Call) and node.method in ("if_src", "if_dst")


def for_each_pipe(builder: Translation, node: tree.Evaluate, rest: Steps) -> Steps:
    """Evaluate one body for all pipes, or separate calls if a loop cannot carry a value.

    The number of pipes depends on the node: each number gets a branch.
    """
    try:
        path = builder.attempt(lambda: builder.sequence(builder.evaluate_statement(node, ())))
        require_kept(builder, path.state, rest)
    except Mistake as mistake:
        if mistake.flow is None:
            raise
        with builder.at(node):
            steps = _one_by_one(builder, node)
        if steps is None:
            raise
        return (*steps, *rest)
    builder.adopt(path)
    return rest


def _one_by_one(builder: KernelBuilder, node: tree.Evaluate) -> Steps | None:
    called = node.value
    assert isinstance(called, tree.Call) and isinstance(called.function, tree.Attribute)
    net = expression(builder, called.function.owner)
    arguments = [expression(builder, argument) for argument in called.arguments]
    role = called.method.removeprefix("if_")
    counts = counts_on_nodes(builder, net, role) if isinstance(net, PipeNet) else []
    if not counts or len(arguments) != 1 or not builder.may_unroll(sum(counts)):
        return None
    number = pipe_count(builder, net, role) if len(counts) > 1 else None
    calls = [
        make_action(node, call_with_pipe(builder, net, role, place, arguments[0]))
        for place in range(max(counts))
    ]
    cases = [
        (
            count,
            (make_action(node, partial(_note_role, builder, net, role, count > 0)), *calls[:count]),
        )
        for count in counts
    ]
    return by_number(builder, node, lambda: number, cases)


def _note_role(builder: KernelBuilder, net: PipeNet, role: str, has_role: bool) -> None:
    """Decide `net.is_dst()` in the branch for a number of pipes."""
    builder.state.facts = {**builder.state.facts, (builder.nets.symbol(net), role): has_role}


# Control flow -------------------------------------------------------------------------------------


def if_statement(builder: Translation, node: tree.Branch) -> Steps:
    condition = expression(builder, node.test)
    return (Decision(node, lambda: condition, node.then, node.otherwise),)


def for_loop(builder: Translation, node: tree.Loop) -> Steps:
    over = expression(builder, node.over)
    if isinstance(over, GeneratorCall):
        return (Enter(node, partial(loop_over_generator, builder, node, over)),)
    steps = steps_of(over)
    is_range = steps is not None and isinstance(node.target, tree.Target)
    count = None if steps is None or steps.known is None else len(steps.known)
    is_unrolled = count is not None and builder.frame.unrolls and builder.may_unroll(count)
    if not is_range or is_unrolled or count in (0, 1):
        return unroll(builder, node, list_items(over))
    return (Enter(node, lambda rest: Looping(builder, node, steps, rest).compile()),)


def loop_over_generator(
    builder: Translation, node: tree.Loop, over: GeneratorCall, rest: Steps
) -> Steps:
    frame, values = builder.frame, builder.state.values
    consumer = consumer_of(node, frame.scope)
    if consumer.after:
        values |= {frame.variable(consumer.returned): False, frame.variable(consumer.result): None}
    before, frame.of_bodies = frame.of_bodies, frame.of_bodies | consumer.stored
    if over.start(consumer.may_stop):
        return rest
    try:
        body = LocalFunction(consumer.function, frame, ONE_VALUE)
        over.run(body, consumer.may_stop, unrolls=bool(consumer.after))
    finally:
        frame.of_bodies = before
    return (*consumer.after, *rest)


def while_loop(builder: Translation, node: tree.While) -> Steps:
    calls = any(isinstance(part, tree.Call) for part in walk(node.test))
    if calls and find_assigned(builder, NOTHING):  # a function may change outer variables
        return (test_inside(node),)
    return (Enter(node, partial(compile_while, builder, node)),)


def jump(builder: Translation, node: tree.Jump) -> Steps:
    def go(rest: Steps) -> Steps:
        is_unrolled = any(isinstance(step, End) and step.jump == node.kind for step in rest)
        if node.kind == "break" and not is_unrolled:
            builder.state.values[builder.loops[-1].going_on] = False
        return leave(rest, node.kind)

    return (Enter(node, go),)


def return_statement(builder: Translation, node: tree.Return) -> Steps:
    value = None if node.value is None else expression(builder, node.value)
    if builder.frame.caller is None and value is not None:
        raise kernel_returns_value(builder.frame.scope.name)
    returned, kind = builder.frame.variable(RETURNED), kind_of(value)
    if kind is not None and isinstance(builder.state.values[returned], Unusable):
        raise flow_broken("a loop that returns a number", grows=(returned, kind))
    builder.state.values[returned] = value
    if any(loop.frame is builder.frame for loop in builder.loops):
        builder.state.values[builder.frame.variable(LEFT)] = True
    return (Enter(node, partial(leave_function, builder)),)


# `with` -------------------------------------------------------------------------------------------


@dataclass(slots=True)
class WithScope:
    """The blocks and actions of an open `with`."""

    blocks: list[HeldBlock] = field(default_factory=list)
    before: list[str] = field(default_factory=list)  # signposts that end after the release
    after: list[str] = field(default_factory=list)


def with_scope(builder: Translation, node: tree.With) -> Steps:
    scope = _begin(builder, node)

    def close() -> None:
        with builder.at(node):
            _close(builder, scope)

    return (*node.body, End(close))


def _begin(builder: KernelBuilder, node: tree.With) -> WithScope:
    scope = WithScope()
    for item in node.items:
        value = expression(builder, item.value)
        if isinstance(value, signpost):
            builder.signposts.pop(value, None)
            _signpost(builder, value.name, is_end=False)
            (scope.after if scope.blocks else scope.before).append(value.name)
            continue
        if not isinstance(value, HeldBlock):
            if isinstance(value, Scalar) or not hasattr(type(value), "__enter__"):
                raise refuse(value, "does not support the context manager protocol")
            raise not_in_kernels("`with` over anything but reserve(), wait() and ttl.signpost()")
        scope.blocks.append(value)
        value.is_scoped = True
        if item.target is not None:
            bind(builder, item.target, value)
    return scope


def _close(builder: KernelBuilder, scope: WithScope) -> None:
    for name in reversed(scope.after):
        _signpost(builder, name, is_end=True)
    finish_scope(builder, scope.blocks)
    for name in reversed(scope.before):
        _signpost(builder, name, is_end=True)


def _signpost(builder: KernelBuilder, name: str, is_end: bool) -> None:
    end = {"is_end": UnitAttr()} if is_end else {}
    builder.emit(ttl.SignpostOp, (), {"region_name": StringAttr(name), **end})


FLOW: dict[type[tree.Statement], Callable[..., Steps]] = {
    tree.Branch: if_statement,
    tree.Loop: for_loop,
    tree.While: while_loop,
    tree.Jump: jump,
    tree.Return: return_statement,
    tree.With: with_scope,
}

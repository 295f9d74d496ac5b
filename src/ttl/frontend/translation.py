"""Statements of a kernel. Handlers are plain functions, one for each syntax class.

A handler gets what follows its statement and returns what is left to do after it
(continuations.py).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

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
from .carried import assigned
from .continuations import Choice, Do, End, Iterate, Step, Steps, leave, uses_of_steps
from .desugar import tested_inside, without_choice
from .dispatch import call
from .expressions import expression
from .finishing import finish_scope
from .functions import LocalFunction
from .generators import Generator, consumer_of
from .hir import BlockValue, HeldBlock, Scalar, Value
from .in_python import refused
from .items import bind, iterated
from .looping import Looping, compile_while
from .operators import compare
from .pipes import call_with_pipe, counts_on_nodes, pipe_count
from .problems import MISTAKEN, Mistake, not_in_kernels
from .ranges import steps_of
from .signposts import refuse_unused_signposts
from .simple_statements import STATEMENTS, evaluate
from .state import LEFT, RETURNED, State
from .unrolling import unrolled
from .uses import NOTHING, uses_of
from .value_ranges import Undecided, repeated
from .whole_loops import leave_function, require_kept

T = TypeVar("T")
PATTERN = "a `case` with the rest of a dict, places in a class or names in one of several patterns"


class Translation(KernelBuilder):
    """Evaluates the statements of a kernel; what is wrong with it is in its state's mistakes."""

    def evaluate(self, node: tree.Expression) -> Any:
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
        """The statements of a kernel, or of a thread of another DSL."""
        self.frame.scope = function.scope
        self.state.values[self.frame.variable(RETURNED)] = None
        self.sequence(function.body)
        if not self.state.mistakes:
            refuse_shapeless(self)
            refuse_unused_signposts(self)

    def evaluate_function(self, function: tree.Function) -> None:
        self.sequence(function.body)

    def sequence(self, steps: Steps, after: Steps = ()) -> Steps:
        steps = (*steps, *after)
        while len(steps) > len(after):
            step, steps = steps[0], steps[1:]
            steps = self.step(step, steps)
        return steps

    def step(self, step: Step, rest: Steps) -> Steps:
        """Evaluate a step; what is left to do."""
        if isinstance(step, tree.Statement):
            return self.statement(step, rest)
        try:
            if isinstance(step, Choice):
                return branch(self, step, rest)
            if isinstance(step, Iterate):
                return step.enter(rest)
            if isinstance(step, Do):
                with self.at(step.node):
                    step.do()
            else:
                step.do()
        except Mistake as mistake:
            if mistake.flow is not None and self.is_trial:
                raise
            self.report(mistake)
        return rest

    def statement(self, node: tree.Statement, rest: Steps) -> Steps:
        try:
            with self.at(node):
                return self._statement(node, rest)
        except HeaderUndecided as mistake:
            assert mistake.flow is not None
            choice = by_value(self, mistake.flow.undecided, node)
            if choice is not None:
                return self.step(choice, rest)
            return self._given_up(node, mistake, rest)
        except Mistake as mistake:
            return self._given_up(node, mistake, rest)

    def _statement(self, node: tree.Statement, rest: Steps) -> Steps:
        flow = self.handlers.statements.get(type(node)) or FLOW.get(type(node))
        if flow is not None:
            return flow(self, node, rest)
        if (simple := STATEMENTS.get(type(node))) is None:
            keyword = getattr(node, "keyword", "try")
            raise not_in_kernels(PATTERN if keyword == "match" else f"`{keyword}`")
        if isinstance(node, tree.Evaluate) and is_call_for_pipes(node.value):
            return for_each_pipe(self, node, rest)
        return simple_statement(self, simple, node, rest)

    def _given_up(self, node: tree.Statement, mistake: Mistake, rest: Steps) -> Steps:
        """Go on: mistakes of other statements are reported too, but none that only follow."""
        if mistake.flow is not None and self.is_trial:
            raise mistake
        self.report(mistake)
        self.state.values |= dict.fromkeys(self.variables(uses_of(node).stored), MISTAKEN)
        return rest


# Constants that a statement needs -----------------------------------------------------------------


class HeaderUndecided(Mistake):
    """A value that the statement begins with is needed as a constant."""


def header(builder: KernelBuilder, evaluate: Callable[[], T]) -> T:
    """What a statement with a body begins with."""
    found: list[T] = []
    try:
        path = builder.attempt(lambda: found.append(evaluate()))
    except Mistake as mistake:
        if mistake.flow is None or mistake.flow.undecided is None:
            raise
        raise HeaderUndecided(mistake.diagnostic, mistake.flow) from None
    builder.adopt(path)
    return found[0]


def by_value(
    builder: KernelBuilder, undecided: Undecided | None, node: tree.Statement
) -> Choice | None:
    """`blocks[i].push()` as `if i == 0: ...` for each value that i may have."""
    if undecided is None:
        return None

    def is_number(number: int) -> Callable[[], Value]:
        return lambda: compare(builder, "==", repeated(builder, undecided.value), number)

    step: Step = node
    for number in reversed(undecided.values[:-1]):
        step = Choice(node, is_number(number), (node,), (step,), undecided)
    return step if isinstance(step, Choice) else None


def simple_statement(
    builder: Translation, handler: Callable[..., None], node: tree.Statement, rest: Steps
) -> Steps:
    """`x = a if c else b` is an `if` where a and b cannot be joined."""
    by_branches: Step | None = without_choice(node)

    def evaluate() -> None:
        with builder.at(node):
            handler(builder, node)

    try:
        path = builder.attempt(evaluate)
    except Mistake as mistake:
        if mistake.flow is None:
            raise
        other_way = by_branches or by_value(builder, mistake.flow.undecided, node)
        if other_way is None:
            raise
        return builder.step(other_way, rest)
    if by_branches is not None and _is_released(builder, path.state, node, rest):
        return builder.step(by_branches, rest)
    builder.adopt(path)
    return rest


def _is_released(
    builder: KernelBuilder, end: State, node: tree.Statement, rest: Steps
) -> bool:
    """Is one block or another, of which the statement gives the value, used as a block later? In a
    data movement kernel nothing else can be done with it.
    """
    later, moves = uses_of_steps(rest), builder.kernel.kind is KernelKind.DATAMOVEMENT
    used = uses_of(node).stored & (later.mentioned if moves else later.released)
    values = [end.values.get(variable) for variable in builder.variables(used)]
    return any(isinstance(v, BlockValue) and v.made_by is scf.IfOp for v in values)


# Pipes --------------------------------------------------------------------------------------------


def is_call_for_pipes(node: tree.Expression) -> bool:
    """`net.if_src(f)` or `net.if_dst(f)`"""
    return isinstance(node, tree.Call) and node.method in ("if_src", "if_dst")


def for_each_pipe(builder: Translation, node: tree.Evaluate, rest: Steps) -> Steps:
    """One body for all pipes; calls one by one if it carries what a loop cannot.

    How many there are depends on the node: each number has its branch.
    """
    try:
        path = builder.attempt(
            lambda: builder.sequence(simple_statement(builder, evaluate, node, ()))
        )
        require_kept(builder, path.state, rest)
    except Mistake as mistake:
        if mistake.flow is None:
            raise
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
    assert isinstance(net, PipeNet)
    number = pipe_count(builder, net, role) if len(counts) > 1 else None

    def calls(count: int) -> Steps:
        return tuple(Do(node, call_with_pipe(builder, net, role, n, arguments[0]))
                     for n in range(count))  # fmt: skip

    def by_count(first: int, *others: int) -> Steps:
        if not others:
            return calls(first)
        is_first = lambda: compare(builder, "==", number, first)  # noqa: E731
        return (Choice(node, is_first, calls(first), by_count(*others)),)

    return by_count(*counts)


# Control flow -------------------------------------------------------------------------------------


def if_statement(builder: Translation, node: tree.Branch, rest: Steps) -> Steps:
    condition = header(builder, lambda: expression(builder, node.test))
    choice = Choice(node, lambda: condition, node.then, node.otherwise)
    return branch(builder, choice, rest)


def for_loop(builder: Translation, node: tree.Loop, rest: Steps) -> Steps:
    over = header(builder, lambda: expression(builder, node.over))
    if isinstance(over, Generator):
        return loop_over_generator(builder, node, over, rest)
    steps = steps_of(over)
    is_range = steps is not None and isinstance(node.target, tree.Target)
    count = None if steps is None or steps.known is None else len(steps.known)
    is_unrolled = count is not None and builder.frame.unrolls and builder.may_unroll(count)
    if not is_range or is_unrolled or count in (0, 1):
        return unrolled(builder, node, iterated(over), rest)
    return Looping(builder, node, steps, rest).compile()


def loop_over_generator(
    builder: Translation, node: tree.Loop, over: Generator, rest: Steps
) -> Steps:
    frame, values = builder.frame, builder.state.values
    consumer = consumer_of(node, frame.scope)
    if consumer.after:
        values |= {frame.variable(consumer.returned): False, frame.variable(consumer.result): None}
    before, frame.of_bodies = frame.of_bodies, frame.of_bodies | consumer.stored
    if over.start(consumer.may_stop):
        return rest
    try:
        body = LocalFunction(consumer.function, frame, consumer.signature)
        over.run(body, consumer.may_stop, unrolls=bool(consumer.after))
    finally:
        frame.of_bodies = before
    return (*consumer.after, *rest)


def while_loop(builder: Translation, node: tree.While, rest: Steps) -> Steps:
    calls = any(isinstance(part, tree.Call) for part in walk(node.test))
    if calls and assigned(builder, NOTHING):  # a function may change variables around it
        return (tested_inside(node), *rest)
    return compile_while(builder, node, rest)


def jump(builder: Translation, node: tree.Jump, rest: Steps) -> Steps:
    is_unrolled = any(isinstance(step, End) and step.jump == node.kind for step in rest)
    if node.kind == "break" and not is_unrolled:
        builder.state.values[builder.loops[-1].going_on] = False
    return leave(rest, node.kind)


def return_statement(builder: Translation, node: tree.Return, rest: Steps) -> Steps:
    returned, value = node.value, None
    if returned is not None:
        value = header(builder, lambda: expression(builder, returned))
    if builder.frame.caller is None and value is not None:
        raise kernel_returns_value(builder.frame.scope.name)
    builder.state.values[builder.frame.variable(RETURNED)] = value
    for loop in builder.loops:
        if loop.frame is builder.frame:
            loop.returned.append(value)
            builder.state.values[builder.frame.variable(LEFT)] = True
    return leave_function(builder, rest)


# `with` -------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Scope:
    """What a `with` has begun."""

    blocks: list[HeldBlock] = field(default_factory=list)
    before: list[str] = field(default_factory=list)  # signposts that end after the release
    after: list[str] = field(default_factory=list)


def with_scope(builder: Translation, node: tree.With, rest: Steps) -> Steps:
    scope = header(builder, lambda: _begun(builder, node))

    def close() -> None:
        with builder.at(node):
            _close(builder, scope)

    return (*node.body, End(close), *rest)


def _begun(builder: KernelBuilder, node: tree.With) -> Scope:
    scope = Scope()
    for item in node.items:
        value = expression(builder, item.value)
        if isinstance(value, signpost):
            builder.signposts.pop(value, None)
            _signpost(builder, value.name, is_end=False)
            (scope.after if scope.blocks else scope.before).append(value.name)
            continue
        if not isinstance(value, HeldBlock):
            if isinstance(value, Scalar) or not hasattr(type(value), "__enter__"):
                raise refused(value, "does not support the context manager protocol")
            raise not_in_kernels("`with` over anything but reserve(), wait() and ttl.signpost()")
        scope.blocks.append(value)
        value.is_scoped = True
        if item.target is not None:
            bind(builder, item.target, value)
    return scope


def _close(builder: KernelBuilder, scope: Scope) -> None:
    for name in reversed(scope.after):
        _signpost(builder, name, is_end=True)
    finish_scope(builder, scope.blocks)
    for name in reversed(scope.before):
        _signpost(builder, name, is_end=True)


def _signpost(builder: KernelBuilder, name: str, is_end: bool) -> None:
    end = {"is_end": UnitAttr()} if is_end else {}
    builder.emit(ttl.SignpostOp, (), {"region_name": StringAttr(name), **end})


FLOW: dict[type[tree.Statement], Callable[[Translation, Any, Steps], Steps]] = {
    tree.Branch: if_statement,
    tree.Loop: for_loop,
    tree.While: while_loop,
    tree.Jump: jump,
    tree.Return: return_statement,
    tree.With: with_scope,
}

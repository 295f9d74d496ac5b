"""Statements of a kernel. Handlers are plain functions, one for each syntax class.

A handler gets what follows its statement and returns what is left to do after it
(continuations.py).
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeGuard, TypeVar

from xdsl.dialects import scf
from xdsl.dialects.builtin import StringAttr, UnitAttr

from ttl.diagnostics import RuleBroken, codes
from ttl.dialects import ttl
from ttl.language import PipeNet, signpost
from ttl.language.kernels import kernel_returns_value
from ttl.semantics.function_source import FunctionTree
from ttl.semantics.kernel_kinds import KernelKind
from ttl.semantics.syntax import walk
from ttl.source.functions import place_of
from ttl.source.scopes import own_names, shared_names
from ttl.source.uses import NOTHING, uses_of

from .block_math import refuse_shapeless
from .branching import branch
from .builder import KernelBuilder
from .carried import assigned
from .continuations import Choice, Do, End, Iterate, Step, Steps, leave, uses_of_steps
from .desugar import as_branches, one_by_one, without_assignment, without_choice, without_else
from .dispatch import call
from .expressions import expression
from .finishing import finish_scope
from .functions import RETURNED, tree_of
from .hir import BlockValue, HeldBlock, Scalar, Value
from .items import bind, iterated
from .loop_ways import LEFT, Looping, compile_while, leave_function, require_kept
from .operators import compare
from .pipes import call_with_pipe, counts_on_nodes, pipe_count
from .problems import MISTAKEN, Mistake, no_context_manager, not_in_kernels
from .ranges import steps_of
from .signposts import refuse_unused_signposts
from .simple_statements import STATEMENTS, expression_statement
from .state import State
from .unrolling import unrolled
from .value_ranges import Undecided, repeated

T = TypeVar("T")


class Translation(KernelBuilder):
    """Evaluates the statements of a kernel; what is wrong with it is in its state's mistakes."""

    def evaluate(self, node: ast.expr) -> Any:
        return expression(self, node)

    def call(self, function: Value, arguments: list[Value], keywords: dict[str, Value]) -> Value:
        return call(self, function, arguments, keywords)

    def evaluate_kernel(self) -> None:
        try:
            function = self.kernel.function
            tree = self.repaired.get(place_of(function.__code__)) or tree_of(function)
            if isinstance(tree, ast.Lambda):
                self.node = tree
                raise codes.NO_SOURCE.broken(
                    "a kernel that is a lambda is not compiled",
                    "write it as a function, with `def`",
                )
        except RuleBroken as broken:
            self.report(self.mistake(broken))
            return
        self.evaluate_body(tree)

    def evaluate_body(self, tree: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """The statements of a kernel, or of a thread of another DSL."""
        self.frame.tree = tree
        self.frame.own |= own_names(tree)
        self.frame.shared = shared_names(tree)
        self.state.values[self.frame.number, RETURNED] = None
        self.sequence(tuple(tree.body))
        if not self.state.mistakes:
            refuse_shapeless(self)
            refuse_unused_signposts(self)

    def evaluate_function(self, tree: FunctionTree) -> None:
        if isinstance(tree, ast.Lambda):
            self.state.values[self.frame.number, RETURNED] = expression(self, tree.body)
        else:
            self.sequence(tuple(tree.body))

    def sequence(self, steps: Steps, after: Steps = ()) -> None:
        steps = (*steps, *after)
        while len(steps) > len(after):
            step, steps = steps[0], steps[1:]
            steps = self.step(step, steps)

    def step(self, step: Step, rest: Steps) -> Steps:
        """Evaluate a step; what is left to do."""
        if isinstance(step, ast.stmt):
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

    def statement(self, node: ast.stmt, rest: Steps) -> Steps:
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

    def _statement(self, node: ast.stmt, rest: Steps) -> Steps:
        if (flow := FLOW.get(type(node))) is not None:
            return flow(self, node, rest)
        if (own := self.handlers.statements.get(type(node))) is not None:
            own(self, node)
            return rest
        if (simple := STATEMENTS.get(type(node))) is None:
            keyword = KEYWORDS.get(type(node), type(node).__name__)
            raise not_in_kernels(f"`{keyword}`")
        if is_call_for_pipes(node):
            return for_each_pipe(self, node, rest)
        return simple_statement(self, simple, node, rest)

    def _given_up(self, node: ast.stmt, mistake: Mistake, rest: Steps) -> Steps:
        """Go on: mistakes of other statements are reported too, but none that only follow."""
        if mistake.flow is not None and self.is_trial:
            raise mistake
        self.report(mistake)
        for name in uses_of(node).stored:
            if (variable := self.variable(name)) is not None:
                self.state.values[variable] = MISTAKEN
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
    builder: KernelBuilder, undecided: Undecided | None, node: ast.stmt
) -> Choice | None:
    """`blocks[i].push()` as `if i == 0: ...` for each value that i may have."""
    if undecided is None:
        return None

    def is_number(number: int) -> Callable[[], Value]:
        return lambda: compare(builder, ast.Eq(), repeated(builder, undecided.value), number)

    step: Step = node
    for number in reversed(undecided.values[:-1]):
        step = Choice(node, is_number(number), (node,), (step,), undecided)
    return step if isinstance(step, Choice) else None


def simple_statement(
    builder: Translation, handler: Callable[..., None], node: ast.stmt, rest: Steps
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


def _is_released(builder: KernelBuilder, end: State, node: ast.stmt, rest: Steps) -> bool:
    """Is one block or another, of which the statement gives the value, used as a block later? In a
    data movement kernel nothing else can be done with it.
    """
    later, moves = uses_of_steps(rest), builder.kernel.kind is KernelKind.DATAMOVEMENT
    names = uses_of(node).stored & (later.mentioned if moves else later.released)
    values = [end.values.get(variable) for n in names if (variable := builder.variable(n))]
    return any(isinstance(v, BlockValue) and v.made_by is scf.IfOp for v in values)


# Pipes --------------------------------------------------------------------------------------------


def is_call_for_pipes(node: ast.stmt) -> TypeGuard[ast.Expr]:
    """`net.if_src(f)` or `net.if_dst(f)`"""
    called = node.value if isinstance(node, ast.Expr) else None
    return (
        isinstance(called, ast.Call)
        and isinstance(called.func, ast.Attribute)
        and called.func.attr in ("if_src", "if_dst")
    )


def for_each_pipe(builder: Translation, node: ast.Expr, rest: Steps) -> Steps:
    """One body for all pipes; calls one by one if it carries what a loop cannot.

    How many there are depends on the node: each number has its branch.
    """
    try:
        path = builder.attempt(
            lambda: builder.sequence(simple_statement(builder, expression_statement, node, ()))
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


def _one_by_one(builder: KernelBuilder, node: ast.Expr) -> Steps | None:
    called = node.value
    assert isinstance(called, ast.Call) and isinstance(called.func, ast.Attribute)
    net = expression(builder, called.func.value)
    arguments = [expression(builder, argument) for argument in called.args]
    role = called.func.attr.removeprefix("if_")
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
        is_first = lambda: compare(builder, ast.Eq(), number, first)  # noqa: E731
        return (Choice(node, is_first, calls(first), by_count(*others)),)

    return by_count(*counts)


# Control flow -------------------------------------------------------------------------------------


def if_statement(builder: Translation, node: ast.If, rest: Steps) -> Steps:
    if (nested := one_by_one(node)) is not None:
        return (nested, *rest)
    condition = header(builder, lambda: expression(builder, node.test))
    choice = Choice(node, lambda: condition, tuple(node.body), tuple(node.orelse))
    return branch(builder, choice, rest)


def for_loop(builder: Translation, node: ast.For, rest: Steps) -> Steps:
    if node.orelse:
        return _rewritten(builder, *without_else(node), rest)
    over = header(builder, lambda: expression(builder, node.iter))
    steps = steps_of(over)
    is_range = steps is not None and isinstance(node.target, ast.Name)
    if not is_range or (steps and steps.known is not None and len(steps.known) < 2):
        return unrolled(builder, node, iterated(over), rest)
    return Looping(builder, node, steps, rest).compile()


def while_loop(builder: Translation, node: ast.While, rest: Steps) -> Steps:
    if node.orelse:
        return _rewritten(builder, *without_else(node), rest)
    if _may_assign(builder, node.test):
        return (without_assignment(node), *rest)
    return compile_while(builder, node, rest)


def _may_assign(builder: KernelBuilder, test: ast.expr) -> bool:
    """By `:=`, or by a function that changes variables around it."""
    kinds = {type(part) for part in walk(test)}
    return ast.NamedExpr in kinds or (ast.Call in kinds and bool(assigned(builder, NOTHING)))


def match_statement(builder: Translation, node: ast.Match, rest: Steps) -> Steps:
    return _rewritten(builder, *as_branches(node), rest)


def _rewritten(
    builder: Translation, variable: str, statements: tuple[ast.stmt, ...], rest: Steps
) -> Steps:
    """Statements with a variable of their own."""
    builder.frame.own |= {variable}
    return (*statements, *rest)


def break_loop(builder: Translation, node: ast.Break, rest: Steps) -> Steps:
    if not any(isinstance(step, End) and step.jump is ast.Break for step in rest):
        builder.state.values[builder.loops[-1].going_on] = False
    return leave(rest, ast.Break)


def continue_loop(builder: Translation, node: ast.Continue, rest: Steps) -> Steps:
    return leave(rest, ast.Continue)


def return_statement(builder: Translation, node: ast.Return, rest: Steps) -> Steps:
    returned, value = node.value, None
    if returned is not None:
        value = header(builder, lambda: expression(builder, returned))
    if builder.frame.caller is None and value is not None:
        raise kernel_returns_value(getattr(builder.frame.tree, "name", "<lambda>"))
    builder.state.values[builder.frame.number, RETURNED] = value
    for loop in builder.loops:
        if loop.frame is builder.frame:
            loop.returned.append(value)
            builder.state.values[builder.frame.number, LEFT] = True
    return leave_function(builder, rest)


# `with` -------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Scope:
    """What a `with` has begun."""

    blocks: list[HeldBlock] = field(default_factory=list)
    before: list[str] = field(default_factory=list)  # signposts that end after the release
    after: list[str] = field(default_factory=list)


def with_scope(builder: Translation, node: ast.With, rest: Steps) -> Steps:
    scope = header(builder, lambda: _begun(builder, node))

    def close() -> None:
        with builder.at(node):
            _close(builder, scope)

    return (*node.body, End(close), *rest)


def _begun(builder: KernelBuilder, node: ast.With) -> Scope:
    scope = Scope()
    for item in node.items:
        value = expression(builder, item.context_expr)
        if isinstance(value, signpost):
            builder.signposts.pop(value, None)
            _signpost(builder, value.name, is_end=False)
            (scope.after if scope.blocks else scope.before).append(value.name)
            continue
        if not isinstance(value, HeldBlock):
            if isinstance(value, Scalar) or not hasattr(type(value), "__enter__"):
                raise no_context_manager(value)
            raise not_in_kernels("`with` over anything but reserve(), wait() and ttl.signpost()")
        scope.blocks.append(value)
        value.is_scoped = True
        if item.optional_vars is not None:
            bind(builder, item.optional_vars, value)
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


FLOW: dict[type[ast.stmt], Callable[[Translation, Any, Steps], Steps]] = {
    ast.If: if_statement,
    ast.For: for_loop,
    ast.While: while_loop,
    ast.Match: match_statement,
    ast.Break: break_loop,
    ast.Continue: continue_loop,
    ast.Return: return_statement,
    ast.With: with_scope,
}

KEYWORDS: dict[type[ast.stmt], str] = {
    ast.AsyncFor: "async for",
    ast.AsyncFunctionDef: "async def",
    ast.AsyncWith: "async with",
    ast.ClassDef: "class",
    ast.Global: "global",
    ast.Try: "try",
}

"""Statements of a kernel. Handlers are plain functions, one for each syntax class.

A handler gets what follows its statement and gives what is left to do behind it (steps.py).
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeGuard
from weakref import WeakKeyDictionary

from xdsl.dialects import scf
from xdsl.ir import SSAValue

from ttl.diagnostics import RuleBroken
from ttl.dialects import ttl
from ttl.dialects.conditions import decided
from ttl.language import PipeNet, signpost

from .block_math import is_block, refuse_shapeless
from .branches import Joined, conditional, not_joined
from .builder import (
    MISTAKEN,
    CannotCompile,
    FlowBroken,
    KernelBuilder,
    Mark,
    Value,
    finish,
    flow_broken,
    not_in_kernels,
)
from .calling import call
from .choices import without_choice
from .decided import Undecided, repeated
from .expressions import expression
from .functions import RETURNED, BoundMethod, Definition, inline, shared_names
from .items import iterated
from .loops import (
    EndlessLoop,
    FlowLoop,
    assigned,
    endless_loop,
    loop_over,
    loop_while,
    new_loop,
    steps_of,
    stored_names,
)
from .pipes import call_with_pipe, counts_on_nodes, pipe_count
from .rewritten import as_branches, without_assignment, without_else
from .scalars import as_kind, common_kind, kind_of, truth
from .simple_statements import STATEMENTS, bind_target, expression_statement
from .source import kernel_tree
from .steps import (
    End,
    Iteration,
    Jump,
    Steps,
    jumps_out,
    leave,
    live_steps,
    reads_first,
    split_behind_end,
    uses_as_block,
)


def build_kernel(builder: KernelBuilder) -> None:
    """Translate the kernel; what is wrong with it is in the builder's diagnostics."""
    try:
        tree = kernel_tree(builder.kernel.function)
    except RuleBroken as broken:
        builder.report(broken)
        return
    build_body(builder, tree)


def build_body(builder: KernelBuilder, tree: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
    """The statements of a kernel, or of a thread of another DSL."""
    builder.frame.tree = tree
    builder.inline = lambda function, arguments, keywords: inline(
        builder, function, arguments, keywords, function_body
    )
    builder.call_value = lambda function, arguments, keywords: call(
        builder, function, arguments, keywords
    )
    builder.frame.shared = shared_names(tree)
    builder.values[builder.frame.number, RETURNED] = None
    sequence(builder, tuple(tree.body))
    if not builder.diagnostics:
        refuse_shapeless(builder)


def function_body(builder: KernelBuilder, tree: Definition) -> None:
    if isinstance(tree, ast.Lambda):
        builder.values[builder.frame.number, RETURNED] = expression(builder, tree.body)
    else:
        sequence(builder, tuple(tree.body))


def sequence(builder: KernelBuilder, steps: Steps, behind: Steps = ()) -> None:
    """Translate the steps to the end of the path, or up to what is left for later."""
    steps = (*steps, *behind)
    while len(steps) > len(behind):
        step, steps = steps[0], steps[1:]
        if isinstance(step, ast.stmt):
            steps = statement(builder, step, steps)
            continue
        with suppress(CannotCompile):
            if isinstance(step, End):
                step.do()
            else:
                steps = (*step.enter(), *steps)


class HeaderUndecided(CannotCompile):
    """A value that the statement begins with is needed as a constant."""

    def __init__(self, undecided: Undecided):
        self.undecided = undecided


def header(builder: KernelBuilder, part: ast.expr) -> Value:
    """What a statement with a body begins with."""
    builder.undecided = None
    try:
        return expression(builder, part)
    except CannotCompile:
        if builder.undecided is None:
            raise
        raise HeaderUndecided(builder.undecided) from None


def statement(builder: KernelBuilder, node: ast.stmt, rest: Steps) -> Steps:
    """Translate a statement; what is left to do."""
    mark = builder.mark()
    try:
        with builder.at(node):
            if (handler := FLOW.get(type(node))) is not None:
                return handler(builder, node, rest)
            if (simple := STATEMENTS.get(type(node))) is None:
                keyword = KEYWORDS.get(type(node), type(node).__name__)
                raise not_in_kernels(f"`{keyword}`")
            if is_call_for_pipes(node):
                return for_each_pipe(builder, node, rest)
            return _simple_statement(builder, simple, node, rest)
    except HeaderUndecided as error:
        branches = _by_value(error.undecided, node)
        if branches is not None:
            builder.go_back(mark)
            return statement(builder, branches, rest)
    except CannotCompile:
        # Go on: mistakes of other statements are reported too, but none that only follow.
        for name in stored_names([node]):
            if (variable := builder.variable(name)) is not None:
                builder.values[variable] = MISTAKEN
    return rest


def _simple_statement(
    builder: KernelBuilder, handler: Callable[..., None], node: ast.stmt, rest: Steps
) -> Steps:
    """`x = a if c else b` is an `if` where a and b cannot be joined."""
    by_branches = without_choice(node)
    mark = builder.mark()
    builder.undecided = None
    if by_branches is None:
        with suppress(CannotCompile), builder.at(node):
            handler(builder, node)
            return rest
        by_branches = _by_value(builder.undecided, node)
    else:
        with suppress(CannotCompile):
            with builder.at(node):
                handler(builder, node)
            if not any(
                _is_value(builder, n) and uses_as_block(rest, n) for n in stored_names([node])
            ):
                return rest
    has_mistakes = len(builder.diagnostics) > len(mark.mistakes)
    if by_branches is None or (has_mistakes and builder.flow_mistakes == mark.flow_mistakes):
        raise CannotCompile
    builder.go_back(mark)
    return statement(builder, by_branches, rest)


# The branches on values that are needed as constants.
DECIDING: WeakKeyDictionary[ast.If, Undecided] = WeakKeyDictionary()


def _by_value(undecided: Undecided | None, node: ast.stmt) -> ast.If | None:
    """`blocks[i].push()` as `if i == 0: ...` for each value that i may have."""
    if undecided is None:
        return None
    branch = node
    for number in reversed(undecided.values[:-1]):
        again = ast.Call(_value(BoundMethod(undecided.made, repeated)), [], [])
        test = ast.Compare(again, [ast.Eq()], [_value(number)])
        branch = ast.copy_location(ast.If(test, [node], [branch]), node)
        DECIDING[branch] = undecided
    return ast.fix_missing_locations(branch) if isinstance(branch, ast.If) else None


def _is_value(builder: KernelBuilder, name: str) -> bool:
    """Is it the value of one block or another, not one of them?"""
    variable = builder.variable(name)
    value = builder.values.get(variable) if variable is not None else None
    return isinstance(value, SSAValue) and is_block(value) and isinstance(value.owner, scf.IfOp)


def is_call_for_pipes(node: ast.stmt) -> TypeGuard[ast.Expr]:
    """`net.if_src(f)` or `net.if_dst(f)`"""
    call = node.value if isinstance(node, ast.Expr) else None
    return (
        isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr in ("if_src", "if_dst")
    )


def for_each_pipe(builder: KernelBuilder, node: ast.Expr, rest: Steps) -> Steps:
    """One body for all pipes; calls one by one if it hands on what a loop cannot.

    How many there are depends on the node: each number has its branch.
    """
    mark = builder.mark()
    with suppress(CannotCompile), builder.at(node):
        _simple_statement(builder, expression_statement, node, ())
    if not _needs_unrolling(builder, mark, rest):
        if len(builder.diagnostics) > len(mark.mistakes):
            raise CannotCompile
        return rest
    tried = tuple(builder.diagnostics)
    builder.go_back(mark)
    call = node.value
    assert isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)
    net = expression(builder, call.func.value)
    arguments = [expression(builder, argument) for argument in call.args]
    role = call.func.attr.removeprefix("if_")
    counts = counts_on_nodes(builder, net, role) if isinstance(net, PipeNet) else []
    if not counts or len(arguments) != 1 or not builder.may_unroll(sum(counts)):
        builder.diagnostics[:] = tried
        raise CannotCompile
    number = pipe_count(builder, net, role) if len(counts) > 1 else None
    return (*_by_count(node, net, role, arguments[0], number, counts), *rest)


def _by_count(
    node: ast.Expr,
    net: PipeNet,
    role: str,
    function: Value,
    number: SSAValue | None,
    counts: list[int],
) -> list[ast.stmt]:
    """`if number == counts[0]: f(pipe) ... else: ...`, as statements with values in them."""
    first, *others = counts
    calls: list[ast.stmt] = [
        ast.Expr(_call(BoundMethod(net, call_with_pipe(role, place)), function))
        for place in range(first)
    ]
    if others:
        test = ast.Compare(_value(number), [ast.Eq()], [_value(first)])
        otherwise = _by_count(node, net, role, function, number, others)
        calls = [ast.If(test, calls or [ast.Pass()], otherwise)]
    return [ast.fix_missing_locations(ast.copy_location(call, node)) for call in calls]


def _call(function: Value, argument: Value) -> ast.Call:
    return ast.Call(_value(function), [_value(argument)], [])


def _value(value: Value) -> ast.Constant:
    """An expression that is a value of the translation."""
    return ast.Constant(value)


# Control flow -------------------------------------------------------------------------------------


def if_statement(builder: KernelBuilder, node: ast.If, rest: Steps) -> Steps:
    """rule REST of steps.py"""
    condition = truth(builder, header(builder, node.test))
    if isinstance(condition, SSAValue) and (known := decided(builder.facts, condition)) is not None:
        condition = known
    if not isinstance(condition, SSAValue):
        return (*(node.body if condition else node.orelse), *rest)
    if jumps := jumps_out([node]):
        taken, behind = _up_to_jumps(rest, jumps)
        joined = _branches(builder, condition, node, taken)
        if not joined.containers_agree and not joined.are_local and behind:
            builder.report(flow_broken("a list, dict or set that a condition changes"))
        return behind
    return _join_or_split(builder, condition, node, rest)


def _join_or_split(
    builder: KernelBuilder, condition: SSAValue, node: ast.If, rest: Steps
) -> Steps:
    """Take along as little of what follows as will do."""
    mark, count = builder.mark(), 0
    while True:
        joined = _branches(builder, condition, node, rest[:count])
        is_joined = joined.containers_agree
        if len(builder.diagnostics) > len(mark.mistakes):
            return rest[count:]
        needed = _still_needed(builder, mark, rest[count:]) if is_joined else len(rest) - count
        if needed == 0:
            is_end = builder.frame.caller is None and not builder.loops
            if not is_joined and not is_end and not joined.are_local:
                builder.undecided = DECIDING.get(node)  # where it is called, it may be decided
                builder.report(flow_broken("a list, dict or set that a condition changes"))
            return rest[count:]
        count += needed
        jumps = jumps_out([step for step in rest[:count] if isinstance(step, ast.stmt)])
        count = max(count, len(_up_to_jumps(rest, jumps)[0]))
        builder.go_back(mark)
        builder.count_path()


def _still_needed(builder: KernelBuilder, mark: Mark, rest: Steps) -> int:
    """How many of the steps read what was not joined."""
    names = not_joined(builder, mark)
    return live_steps(rest, {name for name in names if reads_first(rest, name)})


def _up_to_jumps(rest: Steps, jumps: set[Jump]) -> tuple[Steps, Steps]:
    for jump in (ast.Return, ast.Break, ast.Continue):
        if jump in jumps:
            return split_behind_end(rest, jump)
    return (), rest


def _branches(
    builder: KernelBuilder, condition: SSAValue, node: ast.If, taken: Steps
) -> Joined:
    return conditional(
        builder,
        condition,
        lambda: sequence(builder, (*node.body, *taken)),
        lambda: sequence(builder, (*node.orelse, *taken)),
    )


def for_loop(builder: KernelBuilder, node: ast.For, rest: Steps) -> Steps:
    if node.orelse:
        return _rewritten(builder, *without_else(node), rest)
    over = header(builder, node.iter)
    steps = steps_of(over)
    if steps is None or not isinstance(node.target, ast.Name):
        return unrolled(builder, node, iterated(over), rest)
    count = steps.count
    if count is not None and count < 2:
        return unrolled(builder, node, iterated(over), rest)
    jumps = jumps_out(node.body) & {ast.Break, ast.Return}

    def translate(loop: FlowLoop) -> None:
        body: Steps = (*node.body, End(lambda: None, ast.Continue))
        loop_over(builder, steps, node, loop, lambda: sequence(builder, body))

    mark = builder.mark()
    outer = builder.may_be_unrolled
    builder.may_be_unrolled = count is not None and builder.has_room(count)
    is_loop, error = _try_loop(builder, tuple(node.body), jumps, translate, rest)
    builder.may_be_unrolled = outer
    if not is_loop and count is not None and builder.may_unroll(count):
        builder.go_back(mark)
        return unrolled(builder, node, iterated(over), rest)
    if not is_loop and count is not None and not jumps and not is_middle(node):
        tried = tuple(builder.diagnostics)
        builder.go_back(mark)
        if (left := _with_ends_apart(builder, node, iterated(over), rest)) is not None:
            return left
        builder.go_back(mark)
        builder.diagnostics[:] = tried
    if error is not None:
        raise error
    return _behind_loop(builder, jumps, rest)


def _try_loop(
    builder: KernelBuilder,
    nodes: tuple[ast.AST, ...],
    jumps: set[Jump],
    translate: Callable[[FlowLoop], None],
    rest: Steps,
) -> tuple[bool, CannotCompile | FlowBroken | None]:
    """First as it is, then handing on blocks: does it stay a loop, and what ended its translation?

    Mistakes that have nothing to do with what a loop hands on do not count.
    """
    mark = builder.mark()
    error: CannotCompile | FlowBroken | None = None
    for hands_on in (False, True):
        builder.go_back(mark)
        error = None
        try:
            _translate_loop(builder, nodes, jumps, translate, hands_on)
        except (CannotCompile, FlowBroken) as raised:
            error = raised
        if not isinstance(error, FlowBroken) and not _needs_unrolling(builder, mark, rest):
            return True, error
    return False, error


def _needs_unrolling(builder: KernelBuilder, mark: Mark, rest: Steps) -> bool:
    """Did it fail only by what a loop cannot hand on, or is such read behind it?"""
    flow_mistakes = builder.flow_mistakes - mark.flow_mistakes
    mistakes = len(builder.diagnostics) - len(mark.mistakes)
    if mistakes:
        return flow_mistakes > 0
    return any(reads_first(rest, name) for name in not_joined(builder, mark))


# How many iterations are taken out of a long loop at its start and at its end.


APART = ((0, 1), (1, 0), (1, 1), (2, 0), (2, 1), (3, 0), (3, 1), (0, 2), (4, 0), (4, 1), (7, 0))


def is_middle(node: ast.For) -> bool:
    return isinstance(node.iter, ast.Constant)


def _with_ends_apart(
    builder: KernelBuilder, node: ast.For, items: list[int], rest: Steps
) -> Steps | None:
    """A long loop whose first or last iterations hold other blocks than the others."""
    mark = builder.mark()
    for first, last in APART:
        end = len(items) - last
        step = items[1] - items[0]
        middle = ast.For(node.target, _value(range(items[first], items[end - 1] + step, step)),
                         node.body, [])  # fmt: skip
        ast.fix_missing_locations(ast.copy_location(middle, node))
        following = unrolled(builder, node, items[end:], rest)
        taken = unrolled(builder, node, items[:first], ())
        sequence(builder, (*taken, middle), following)
        if len(builder.diagnostics) == len(mark.mistakes) and not _needs_unrolling(
            builder, mark, following
        ):
            return following
        builder.go_back(mark)
    return None


def unrolled(
    builder: KernelBuilder, node: ast.For, items: list[Value], rest: Steps
) -> Steps:
    """The body once for each item."""

    def iteration(position: int) -> Steps:
        def enter() -> Steps:
            with builder.at(node.target):
                bind_target(builder, node.target, items[position])
            builder.unfinished = (*builder.unfinished, [])
            end = End(lambda: _leave_iteration(builder), ast.Continue)
            return (*node.body, end, *iteration(position + 1))

        return (Iteration(node.body, enter),) if position < len(items) else ()

    return (*iteration(0), End(lambda: None, ast.Break), *rest)


def while_loop(builder: KernelBuilder, node: ast.While, rest: Steps) -> Steps:
    if node.orelse:
        return _rewritten(builder, *without_else(node), rest)
    if any(isinstance(part, ast.NamedExpr) for part in ast.walk(node.test)):
        return (without_assignment(node), *rest)
    jumps = jumps_out(node.body) & {ast.Break, ast.Return}
    body: Steps = (*node.body, End(lambda: None, ast.Continue))

    def translate(loop: FlowLoop) -> None:
        loop_while(
            builder,
            assigned(builder, node.body),
            loop,
            lambda: expression(builder, node.test),
            lambda: sequence(builder, body),
        )

    mark = builder.mark()
    try:
        _, error = _try_loop(builder, (node.test, *node.body), jumps, translate, rest)
    except EndlessLoop:
        if isinstance(node.test, ast.Constant):
            raise
        builder.go_back(mark)
        return unrolled_while(builder, node, rest)
    if error is not None:
        raise error
    return _behind_loop(builder, jumps, rest)


def unrolled_while(builder: KernelBuilder, node: ast.While, rest: Steps) -> Steps:
    """`while pending:` on a list: the body as often as the condition is true."""

    def enter() -> Steps:
        with builder.at(node):
            condition = truth(builder, expression(builder, node.test))
            if isinstance(condition, SSAValue):
                raise flow_broken("a `while` whose condition a list and the run decide")
            if condition and not builder.may_unroll(1):
                raise endless_loop()
        if not condition:
            return ()
        builder.unfinished = (*builder.unfinished, [])
        end = End(lambda: _leave_iteration(builder), ast.Continue)
        return (*node.body, end, Iteration(node.body, enter))

    return (Iteration(node.body, enter), End(lambda: None, ast.Break), *rest)


def _leave_iteration(builder: KernelBuilder) -> None:
    *outer, unfinished = builder.unfinished
    finish(builder, unfinished or [])
    builder.unfinished = tuple(outer)


def match_statement(builder: KernelBuilder, node: ast.Match, rest: Steps) -> Steps:
    return _rewritten(builder, *as_branches(node), rest)


def _rewritten(
    builder: KernelBuilder, variable: str, statements: tuple[ast.stmt, ...], rest: Steps
) -> Steps:
    """Statements with a variable of their own."""
    builder.frame.own |= {variable}
    return (*statements, *rest)


LEFT = "<left>"  # has a loop of this function returned?


def _translate_loop(
    builder: KernelBuilder,
    nodes: tuple[ast.AST, ...],
    jumps: set[Jump],
    translate: Callable[[FlowLoop], None],
    hands_on: bool = False,
) -> None:
    """A loop that returns a number needs one before it: of the kind that it returns."""
    frame = builder.frame.number
    if ast.Return in jumps:
        builder.values[frame, LEFT] = False
    mark = builder.mark()
    loop = new_loop(builder, nodes, jumps, (LEFT, RETURNED), hands_on)
    try:
        builder.grown = {}
        translate(loop)
    except FlowBroken:
        if not _grow(builder, mark):
            raise
        _translate_loop(builder, nodes, jumps, translate, hands_on)
        return
    kinds = {kind_of(value) for value in loop.returned}
    if not loop.returned or kinds <= {None} or builder.values.get((frame, RETURNED)) is not None:
        return
    builder.go_back(mark)
    builder.values[frame, RETURNED] = common_kind(*(kind for kind in kinds if kind))(0)
    translate(new_loop(builder, nodes, jumps, (LEFT, RETURNED), hands_on))


def _grow(builder: KernelBuilder, mark: Mark) -> bool:
    """`total = 0` before a loop that adds floats to it: as a float it is the same number."""
    grown, builder.grown = builder.grown, {}
    if not grown:
        return False
    builder.go_back(mark)
    for variable, kind in grown.items():
        value = builder.values[variable]
        if kind_of(value) is None or common_kind(kind_of(value) or kind, kind) is not kind:
            return False
        builder.values[variable] = as_kind(builder, value, kind)
    builder.mixes_kinds = True
    return True


def _behind_loop(builder: KernelBuilder, jumps: set[Jump], rest: Steps) -> Steps:
    """What follows a loop is left out where the loop has returned."""
    if ast.Return not in jumps:
        return rest
    frame = builder.frame.number
    has_left = truth(builder, builder.values[frame, LEFT])
    if not isinstance(has_left, SSAValue):
        return leave_function(builder, rest) if has_left else rest

    def otherwise() -> None:
        builder.values[frame, RETURNED] = None
        builder.values[frame, LEFT] = False
        sequence(builder, rest)

    conditional(builder, has_left, lambda: sequence(builder, leave_function(builder, rest)),
                otherwise)  # fmt: skip
    return ()


def break_loop(builder: KernelBuilder, node: ast.Break, rest: Steps) -> Steps:
    if not any(isinstance(step, End) and step.jump is ast.Break for step in rest):
        builder.values[builder.loops[-1].going_on] = False
    return leave(rest, ast.Break)


def continue_loop(builder: KernelBuilder, node: ast.Continue, rest: Steps) -> Steps:
    return leave(rest, ast.Continue)


def return_statement(builder: KernelBuilder, node: ast.Return, rest: Steps) -> Steps:
    value = None if node.value is None else header(builder, node.value)
    if builder.frame.caller is None and value is not None:
        raise not_in_kernels("a kernel that returns a value", "write results into a tensor")
    builder.values[builder.frame.number, RETURNED] = value
    for loop in builder.loops:
        if loop.frame is builder.frame:
            loop.returned.append(value)
            builder.values[builder.frame.number, LEFT] = True
    return leave_function(builder, rest)


def leave_function(builder: KernelBuilder, rest: Steps) -> Steps:
    left = leave(rest, ast.Return)
    if builder.loops and builder.loops[-1].frame is builder.frame:
        builder.values[builder.loops[-1].going_on] = False
    return left


# `with` -------------------------------------------------------------------------------------------


def with_scope(builder: KernelBuilder, node: ast.With, rest: Steps) -> Steps:
    blocks: list[SSAValue] = []
    before: list[str] = []  # signposts that end behind the release of the blocks
    after: list[str] = []
    for item in node.items:
        value = header(builder, item.context_expr)
        if isinstance(value, signpost):
            _signpost(builder, value.name, is_end=False)
            (after if blocks else before).append(value.name)
            continue
        if not isinstance(value, SSAValue) or not isinstance(value.owner, ttl.AcquireOp):
            raise not_in_kernels("`with` over anything but reserve(), wait() and ttl.signpost()")
        blocks.append(value)
        builder.scoped.add(value)
        if item.optional_vars is not None:
            bind_target(builder, item.optional_vars, value)

    def close() -> None:
        with builder.at(node):
            for name in reversed(after):
                _signpost(builder, name, is_end=True)
            for block in blocks:
                builder.number(block.owner)
            if blocks:
                builder.emit(ttl.ScopeEndOp.create(operands=blocks))
            for name in reversed(before):
                _signpost(builder, name, is_end=True)

    return (*node.body, End(close), *rest)


def _signpost(builder: KernelBuilder, name: str, is_end: bool) -> None:
    builder.emit(ttl.SignpostOp.of(name, is_end))


FLOW: dict[type[ast.stmt], Callable[[KernelBuilder, Any, Steps], Steps]] = {
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
    ast.Raise: "raise",
    ast.Try: "try",
}

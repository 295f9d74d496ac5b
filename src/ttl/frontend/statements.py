"""Statements of a kernel. Handlers are plain functions, one for each syntax class.

A handler says whether the end of its statement is never reached. `return` in a branch: what
follows the `if` is done in the branches that do not return, so that every return is the last
thing on its path.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from xdsl.ir import SSAValue

from ttl.diagnostics import RuleBroken, codes
from ttl.dialects import ttl
from ttl.language import signpost

from .block_math import accumulate, is_block
from .branches import conditional
from .builder import MISTAKEN, CannotCompile, KernelBuilder, Value, not_in_kernels
from .expressions import binary, expression, steps_of
from .functions import RETURNED, Definition, inline, local_function, shared_names
from .loops import loop_over, loop_while, stored_names
from .scalars import truth
from .source import kernel_tree


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
    builder.frame.shared = shared_names(tree)
    builder.values[builder.frame.number, RETURNED] = None
    statements(builder, tree.body)


def function_body(builder: KernelBuilder, tree: Definition) -> None:
    if isinstance(tree, ast.Lambda):
        builder.values[builder.frame.number, RETURNED] = expression(builder, tree.body)
    else:
        statements(builder, tree.body)


def statements(
    builder: KernelBuilder, body: Sequence[ast.stmt], after: Sequence[ast.stmt] = ()
) -> bool:
    """Is nothing left to do behind these statements: they return, or have done `after` as well?

    `after` is all that follows them in the function. A branch that may return takes it along, so
    that the other branch does it and the returning one does not.
    """
    for position, statement in enumerate(body):
        rest = [*body[position + 1 :], *after]
        try:
            with builder.at(statement):
                if isinstance(statement, ast.If):
                    if if_statement(builder, statement, rest):
                        return True
                elif _handle(builder, statement, rest):
                    return True
        except CannotCompile:
            # Go on: mistakes of other statements are reported too, but none that only follow.
            for name in stored_names([statement]):
                if (variable := builder.variable(name)) is not None:
                    builder.values[variable] = MISTAKEN
    return False


def _handle(builder: KernelBuilder, statement: ast.stmt, rest: Sequence[ast.stmt]) -> bool:
    handler = STATEMENTS.get(type(statement))
    if handler is None:
        raise not_in_kernels(f"`{KEYWORDS.get(type(statement), type(statement).__name__)}`")
    is_scope = isinstance(statement, ast.With) and rest
    if is_scope and _may_return([statement]) and not _returns([statement]):
        raise not_in_kernels(
            "`return` on some paths through a `with`",
            "return behind the `with`, or from all its paths",
        )
    handler(builder, statement)
    return _returns([statement])


def _may_return(body: Sequence[ast.stmt]) -> bool:
    waiting: list[ast.AST] = list(body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Return):
            return True
        if not isinstance(node, (ast.FunctionDef, ast.Lambda)):
            waiting += ast.iter_child_nodes(node)
    return False


def _returns(body: Sequence[ast.stmt]) -> bool:
    """Do all paths through the statements return?"""
    for statement in body:
        if isinstance(statement, ast.Return):
            return True
        if isinstance(statement, ast.If) and all(map(_returns, (statement.body, statement.orelse))):
            return True
        if isinstance(statement, ast.With) and _returns(statement.body):
            return True
    return False


def expression_statement(builder: KernelBuilder, node: ast.Expr) -> None:
    if not isinstance(node.value, ast.Constant):  # a docstring says nothing
        expression(builder, node.value)


# Assignment ---------------------------------------------------------------------------------------


def assign(builder: KernelBuilder, node: ast.Assign) -> None:
    value = expression(builder, node.value)
    for target in node.targets:
        bind(builder, target, value)


def annotated_assign(builder: KernelBuilder, node: ast.AnnAssign) -> None:
    if node.value is not None:
        bind(builder, node.target, expression(builder, node.value))


def bind(builder: KernelBuilder, target: ast.expr, value: Value) -> None:
    if isinstance(target, ast.Name):
        builder.assign(target.id, value)
        return
    if not isinstance(target, (ast.Tuple, ast.List)):
        raise not_in_kernels("assignment to anything but names")
    if not isinstance(value, (tuple, list)):
        raise RuleBroken(codes.WRONG_ARGUMENT, "a single value for several names")
    starred = [p for p, part in enumerate(target.elts) if isinstance(part, ast.Starred)]
    if starred:
        _bind_starred(builder, target.elts, starred[0], list(value))
        return
    _bind_all(builder, target.elts, list(value))


def _bind_all(builder: KernelBuilder, targets: Sequence[ast.expr], values: list[Value]) -> None:
    if len(targets) != len(values):
        raise RuleBroken(codes.WRONG_ARGUMENT, f"{len(values)} values for {len(targets)} names")
    for part, item in zip(targets, values, strict=True):
        bind(builder, part, item)


def _bind_starred(
    builder: KernelBuilder, targets: list[ast.expr], star: int, values: list[Value]
) -> None:
    behind = len(targets) - star - 1
    if len(values) < len(targets) - 1:
        raise RuleBroken(codes.WRONG_ARGUMENT, f"{len(values)} values for {len(targets)} names")
    end = len(values) - behind
    rest = targets[star]
    assert isinstance(rest, ast.Starred)
    _bind_all(builder, targets[:star], values[:star])
    bind(builder, rest.value, values[star:end])
    _bind_all(builder, targets[star + 1 :], values[end:])


def augmented_assign(builder: KernelBuilder, node: ast.AugAssign) -> None:
    if not isinstance(node.target, ast.Name):
        raise not_in_kernels("assignment to anything but names")
    left = builder.lookup(node.target.id)
    right = expression(builder, node.value)
    if isinstance(left, SSAValue) and isinstance(left.owner, ttl.AcquireOp):
        if not isinstance(node.op, ast.Add):
            raise not_in_kernels("an assignment of a block by other than `+=`")
        accumulate(builder, left, right)
        return
    if is_block(left) and not isinstance(node.op, ast.Add):
        raise not_in_kernels("an assignment of a block by other than `+=`")
    builder.assign(node.target.id, binary(builder, node.op, left, right))


# Control flow -------------------------------------------------------------------------------------


def if_statement(builder: KernelBuilder, node: ast.If, rest: Sequence[ast.stmt]) -> bool:
    """An `if` and, where one of its branches may return, what follows it."""
    condition = truth(builder, expression(builder, node.test))
    takes_rest = _may_return([node])
    following = list(rest) if takes_rest else []
    if not isinstance(condition, SSAValue):
        return _path(builder, node.body if condition else node.orelse, following) or takes_rest
    if takes_rest and builder.loop_depth > builder.frame.loop_depth:
        raise _return_in_loop()
    conditional(
        builder,
        condition,
        lambda: _ignore(_path(builder, node.body, following)),
        lambda: _ignore(_path(builder, node.orelse, following)),
    )
    return takes_rest


def _path(builder: KernelBuilder, body: list[ast.stmt], rest: list[ast.stmt]) -> bool:
    return statements(builder, body, rest) or statements(builder, rest)


def _ignore(returned: bool) -> None:
    pass


def _return_in_loop() -> RuleBroken:
    return not_in_kernels("`return` in a loop", "return behind the loop")


def for_loop(builder: KernelBuilder, node: ast.For) -> None:
    steps = steps_of(expression(builder, node.iter))
    if steps is None:
        raise not_in_kernels("`for` over anything but range(...)")
    if node.orelse:
        raise not_in_kernels("`else` of a loop")
    if not isinstance(node.target, ast.Name):
        raise not_in_kernels("`for` with several targets")
    loop_over(builder, steps, node, lambda: _ignore(statements(builder, node.body)))


def while_loop(builder: KernelBuilder, node: ast.While) -> None:
    if node.orelse:
        raise not_in_kernels("`else` of a loop")
    if any(isinstance(part, ast.NamedExpr) for part in ast.walk(node.test)):
        raise not_in_kernels("an assignment in the condition of a loop")
    loop_while(
        builder,
        node,
        lambda: expression(builder, node.test),
        lambda: _ignore(statements(builder, node.body)),
    )


def break_or_continue(builder: KernelBuilder, node: ast.Break | ast.Continue) -> None:
    keyword = type(node).__name__.lower()
    raise not_in_kernels(
        f"`{keyword}`", "put what follows into an `if`, or use `while` with a condition"
    )


def return_statement(builder: KernelBuilder, node: ast.Return) -> None:
    if builder.loop_depth > builder.frame.loop_depth:
        raise _return_in_loop()
    value = None if node.value is None else expression(builder, node.value)
    if builder.frame.caller is None and value is not None:
        raise not_in_kernels("a kernel that returns a value", "write results into a tensor")
    builder.values[builder.frame.number, RETURNED] = value


def assertion(builder: KernelBuilder, node: ast.Assert) -> None:
    condition = truth(builder, expression(builder, node.test))
    if isinstance(condition, SSAValue):
        raise not_in_kernels("`assert` of a run-time condition")
    if not condition:
        raise RuleBroken(codes.WRONG_ARGUMENT, "this assertion is false")


def function_definition(builder: KernelBuilder, node: ast.FunctionDef) -> None:
    if node.decorator_list:
        raise not_in_kernels("decorators")
    made = local_function(builder, node, lambda default: expression(builder, default))
    builder.assign(node.name, made)


# `with` -------------------------------------------------------------------------------------------


def with_scope(builder: KernelBuilder, node: ast.With) -> None:
    blocks: list[SSAValue] = []
    before: list[str] = []  # signposts that end behind the release of the blocks
    after: list[str] = []
    for item in node.items:
        value = expression(builder, item.context_expr)
        if isinstance(value, signpost):
            _signpost(builder, value.name, is_end=False)
            (after if blocks else before).append(value.name)
            continue
        if not isinstance(value, SSAValue) or not isinstance(value.owner, ttl.AcquireOp):
            raise not_in_kernels("`with` over anything but reserve(), wait() and ttl.signpost()")
        blocks.append(value)
        if item.optional_vars is not None:
            bind(builder, item.optional_vars, value)
    statements(builder, node.body)
    for name in reversed(after):
        _signpost(builder, name, is_end=True)
    if blocks:
        builder.emit(ttl.ScopeEndOp.create(operands=blocks))
    for name in reversed(before):
        _signpost(builder, name, is_end=True)


def _signpost(builder: KernelBuilder, name: str, is_end: bool) -> None:
    builder.emit(ttl.SignpostOp.of(name, is_end))


def do_nothing(builder: KernelBuilder, node: ast.stmt) -> None:
    pass


STATEMENTS: dict[type[ast.stmt], Callable[[KernelBuilder, Any], None]] = {
    ast.Expr: expression_statement,
    ast.Assign: assign,
    ast.AnnAssign: annotated_assign,
    ast.AugAssign: augmented_assign,
    ast.For: for_loop,
    ast.While: while_loop,
    ast.Break: break_or_continue,
    ast.Continue: break_or_continue,
    ast.Return: return_statement,
    ast.Assert: assertion,
    ast.FunctionDef: function_definition,
    ast.With: with_scope,
    ast.Nonlocal: do_nothing,
    ast.Pass: do_nothing,
}

KEYWORDS: dict[type[ast.stmt], str] = {
    ast.AsyncFor: "async for",
    ast.AsyncFunctionDef: "async def",
    ast.AsyncWith: "async with",
    ast.ClassDef: "class",
    ast.Delete: "del",
    ast.Global: "global",
    ast.Import: "import",
    ast.ImportFrom: "import",
    ast.Match: "match",
    ast.Raise: "raise",
    ast.Try: "try",
}

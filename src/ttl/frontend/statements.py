"""Statements of a kernel. Handlers are plain functions, one for each syntax class."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from xdsl.dialects import scf
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, Region, SSAValue

from ttl.diagnostics import RuleBroken, codes
from ttl.dialects import ttl

from .builder import MISTAKEN, CannotCompile, KernelBuilder, Value, not_yet, value_name
from .expressions import binary, expression
from .source import function_tree


def build_kernel(builder: KernelBuilder) -> None:
    statements(builder, function_tree(builder.kernel.function).body)


def statements(builder: KernelBuilder, body: list[ast.stmt]) -> None:
    for statement in body:
        handler = STATEMENTS.get(type(statement))
        try:
            with builder.at(statement):
                if handler is None:
                    raise not_yet(f"`{type(statement).__name__}` statements")
                handler(builder, statement)
        except CannotCompile:
            # Go on: mistakes of other statements are reported too, but none that only follow.
            builder.names |= dict.fromkeys(_assigned(statement), MISTAKEN)


def expression_statement(builder: KernelBuilder, node: ast.Expr) -> None:
    if not isinstance(node.value, ast.Constant):  # a docstring says nothing
        expression(builder, node.value)


def assign(builder: KernelBuilder, node: ast.Assign) -> None:
    value = expression(builder, node.value)
    for target in node.targets:
        bind(builder, target, value)


def bind(builder: KernelBuilder, target: ast.expr, value: Value) -> None:
    if isinstance(target, ast.Name):
        builder.names[target.id] = value
        if isinstance(value, SSAValue) and value.name_hint is None:
            value.name_hint = value_name(target.id)
    elif isinstance(target, ast.Tuple) and isinstance(value, tuple):
        if len(target.elts) != len(value):
            raise RuleBroken(
                codes.WRONG_ARGUMENT, f"{len(value)} values for {len(target.elts)} names"
            )
        for part, item in zip(target.elts, value, strict=True):
            bind(builder, part, item)
    else:
        raise not_yet("assignment to anything but names")


def augmented_assign(builder: KernelBuilder, node: ast.AugAssign) -> None:
    if not isinstance(node.target, ast.Name):
        raise not_yet("`+=` on anything but a name")
    left = builder.lookup(node.target.id)
    if isinstance(left, SSAValue) and isinstance(left.owner, ttl.AcquireOp):
        raise not_yet("`+=` on a block")
    value = binary(builder, node.op, left, expression(builder, node.value))
    builder.names[node.target.id] = value


def for_loop(builder: KernelBuilder, node: ast.For) -> None:
    bounds = _range_bounds(builder, node.iter)
    if node.orelse or not isinstance(node.target, ast.Name):
        raise not_yet("`for` with `else` or several targets")
    carried = _carried_names(builder, node)
    initial = [builder.names[name] for name in carried]
    body = Block(arg_types=[IndexType(), *(value.type for value in initial)])
    body.args[0].name_hint = value_name(node.target.id).strip("_") or "i"
    outer_names = dict(builder.names)
    builder.names[node.target.id] = body.args[0]
    builder.names.update(zip(carried, body.args[1:], strict=True))
    with builder.inside(body):
        statements(builder, node.body)
        builder.emit(scf.YieldOp(*(builder.names[name] for name in carried)))
    builder.names = outer_names
    loop = builder.emit(scf.ForOp(*bounds, initial, Region(body)))
    for name, result in zip(carried, loop.results, strict=True):
        result.name_hint = value_name(name)
        builder.names[name] = result


def _range_bounds(builder: KernelBuilder, node: ast.expr) -> tuple[SSAValue, SSAValue, SSAValue]:
    if (
        not isinstance(node, ast.Call)
        or expression(builder, node.func) is not range
        or not 1 <= len(node.args) <= 3
    ):
        raise not_yet("`for` over anything but range(...)")
    given = [expression(builder, argument) for argument in node.args]
    start, stop, step = (
        (0, given[0], 1) if len(given) == 1 else (*given, 1) if len(given) == 2 else given
    )
    if not isinstance(step, int) or step < 1:
        raise not_yet("range(...) with a step that is not a positive constant")
    return builder.index(start), builder.index(stop), builder.index(step)


def _carried_names(builder: KernelBuilder, loop: ast.For) -> list[str]:
    """Names that hold a block value before the loop and another one after it."""
    carried = sorted(name for name in _assigned(loop) - {"_"} if name in builder.names)
    for name in carried:
        value = builder.lookup(name)
        if not isinstance(value, SSAValue) or not ttl.is_block_value(value.type):
            raise not_yet(f"a loop that changes `{name}`: only block expressions are carried on")
    return carried


def _assigned(statement: ast.stmt) -> set[str]:
    return {
        node.id
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


def with_scope(builder: KernelBuilder, node: ast.With) -> None:
    blocks = []
    for item in node.items:
        block = expression(builder, item.context_expr)
        if not isinstance(block, SSAValue) or not isinstance(block.owner, ttl.AcquireOp):
            raise not_yet("`with` over anything but reserve() and wait()")
        blocks.append(block)
        if item.optional_vars is not None:
            bind(builder, item.optional_vars, block)
    statements(builder, node.body)
    builder.emit(ttl.ScopeEndOp.create(operands=blocks))


def do_nothing(builder: KernelBuilder, node: ast.Pass) -> None:
    pass


STATEMENTS: dict[type[ast.stmt], Callable[[KernelBuilder, Any], None]] = {
    ast.Expr: expression_statement,
    ast.Assign: assign,
    ast.AugAssign: augmented_assign,
    ast.For: for_loop,
    ast.With: with_scope,
    ast.Pass: do_nothing,
}

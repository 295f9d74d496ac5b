"""Statements that are written with simpler ones.

`else` of loops, `match`, tests that assign, and conditional expressions whose values cannot be
joined.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from copy import deepcopy
from functools import lru_cache
from typing import NamedTuple

from ttl.semantics.syntax import walk

from .problems import not_in_kernels

Loop = ast.For | ast.While
SIMPLE = (ast.Expr, ast.Assign, ast.AugAssign, ast.AnnAssign)


def at(node: ast.stmt, new: ast.stmt) -> ast.stmt:
    return ast.fix_missing_locations(ast.copy_location(new, node))


# Loops --------------------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def without_else(node: Loop) -> tuple[str, tuple[ast.stmt, ...]]:
    """`else` as an `if` after the loop, on a variable that every `break` clears; its name too."""
    flag = f"<not left {node.lineno}.{node.col_offset}>"
    loop = deepcopy(node)
    loop.orelse = []
    loop.body = [_Leaving(flag).visit(statement) for statement in loop.body]
    after = ast.If(ast.Name(flag, ast.Load()), node.orelse, [])
    return flag, (at(node, _assigned(flag, True)), loop, at(node, after))


def _assigned(name: str, value: bool) -> ast.stmt:
    return ast.Assign([ast.Name(name, ast.Store())], ast.Constant(value))


class _Leaving(ast.NodeTransformer):
    """`break` of the loop itself, not of those in it."""

    def __init__(self, flag: str):
        self.flag = flag

    def visit_Break(self, node: ast.Break) -> list[ast.stmt]:
        return [at(node, _assigned(self.flag, False)), node]

    def generic_visit(self, node: ast.AST) -> ast.AST:
        inner = (ast.For, ast.While, ast.FunctionDef, ast.Lambda)
        return node if isinstance(node, inner) else super().generic_visit(node)


@lru_cache(maxsize=256)
def without_assignment(node: ast.While) -> ast.stmt:
    """`while (x := f()) > 0:` as a loop that is left where the test fails."""
    leave = ast.If(ast.UnaryOp(ast.Not(), node.test), [ast.Break()], [])
    body = [at(node, leave), *node.body]
    return at(node, ast.While(ast.Constant(True), body, []))


@lru_cache(maxsize=256)
def one_by_one(node: ast.If) -> ast.stmt | None:
    """`if a and (x := f()):` as an `if` in an `if`: x has a value wherever f() was called. None if
    no part of the test but the first assigns."""
    test = node.test
    if not isinstance(test, ast.BoolOp):
        return None
    first, *others = test.values
    parts = test.values if isinstance(first, ast.BoolOp) else others
    if not any(isinstance(part, ast.NamedExpr) for each in parts for part in walk(each)):
        return None
    rest = others[0] if len(others) == 1 else ast.BoolOp(test.op, others)
    inner = at(node, ast.If(rest, node.body, node.orelse))
    sides = ([inner], node.orelse) if isinstance(test.op, ast.And) else (node.body, [inner])
    return at(node, ast.If(first, *sides))


class RangeLoop(NamedTuple):
    node: ast.For
    name: str  # of its counter
    call: ast.Call  # of range()


@lru_cache(maxsize=256)
def nest_of(node: Loop) -> tuple[RangeLoop, ...]:
    """Loops that have nothing in them but the next one, over what calls without calls in them
    give, each with a counter of its own; () for others.
    """
    if not isinstance(node, ast.For) or node.orelse:
        return ()
    if not isinstance(node.target, ast.Name) or not isinstance(node.iter, ast.Call):
        return ()
    first, inner = RangeLoop(node, node.target.id, node.iter), node.body[0]
    if len(node.body) > 1 or not isinstance(inner, ast.For):
        return (first,)
    nest = nest_of(inner)
    parts = [part for each in nest for part in walk(each.call) if part is not each.call]
    is_mixed = any(isinstance(part, ast.Call) for part in parts)
    is_mixed |= any(each.name == first.name for each in nest)
    return (first, *nest) if nest and not is_mixed else ()


@lru_cache(maxsize=256)
def without_first(nest: tuple[RangeLoop, ...], ranges: tuple[range, ...]) -> tuple[ast.For, ...]:
    """The loops of a nest but for their very first iteration: the innermost loop begins with its
    second step where the others are at their first.
    """
    *outer, inner = nest
    are_first: list[ast.expr] = [
        ast.Compare(ast.Name(each.name, ast.Load()), [ast.Eq()], [ast.Constant(steps[0])])
        for each, steps in zip(outer, ranges, strict=False)
    ]
    steps, is_first = ranges[-1], ast.BoolOp(ast.And(), are_first)
    start = ast.IfExp(is_first, ast.Constant(steps[1]), ast.Constant(steps[0]))
    bounds = [start, ast.Constant(steps.stop), ast.Constant(steps.step)]
    loops = [ast.For(inner.node.target, ast.Call(inner.call.func, bounds, []), inner.node.body, [])]
    for each in reversed(outer):
        loops.insert(0, ast.For(each.node.target, each.call, [loops[0]], []))
    for each, loop in zip(reversed(nest), reversed(loops), strict=True):
        at(each.node, loop)
    return tuple(loops)


# match --------------------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def as_branches(node: ast.Match) -> tuple[str, tuple[ast.stmt, ...]]:
    """`match` on values as `if`, on a variable of the subject; its name too."""
    subject = f"<subject {node.lineno}.{node.col_offset}>"
    branches: list[ast.stmt] = []
    for case in reversed(node.cases):
        branches = _branch(case, subject, branches)
    put = ast.Assign([ast.Name(subject, ast.Store())], node.subject)
    return subject, tuple(at(node, each) for each in (put, *branches))


def _branch(case: ast.match_case, subject: str, otherwise: list[ast.stmt]) -> list[ast.stmt]:
    name = ast.Name(subject, ast.Load())
    test, bound = _test(case.pattern, name)
    body: Sequence[ast.stmt] = case.body
    if bound is not None:
        put = ast.Assign([ast.Name(bound, ast.Store())], name)
        if case.guard is not None:
            raise not_in_kernels("a `case` with a name and a condition")
        body = [put, *body]
    if case.guard is not None:
        test = case.guard if test is None else ast.BoolOp(ast.And(), [test, case.guard])
    return list(body) if test is None else [ast.If(test, list(body), otherwise)]


def _test(pattern: ast.pattern, subject: ast.Name) -> tuple[ast.expr | None, str | None]:
    """What a pattern asks, None for what is always so, and the name that it gives the subject."""
    if isinstance(pattern, ast.MatchValue):
        return ast.Compare(subject, [ast.Eq()], [pattern.value]), None
    if isinstance(pattern, ast.MatchSingleton):
        return ast.Compare(subject, [ast.Is()], [ast.Constant(pattern.value)]), None
    if isinstance(pattern, ast.MatchOr):
        tests = [_test(each, subject) for each in pattern.patterns]
        if all(test is not None and name is None for test, name in tests):
            return ast.BoolOp(ast.Or(), [test for test, _ in tests if test is not None]), None
    if isinstance(pattern, ast.MatchAs) and pattern.pattern is None:
        return None, pattern.name
    raise not_in_kernels("a `case` that is not a value, several values or a name")


# Conditional expressions --------------------------------------------------------------------------


@lru_cache(maxsize=1024)
def without_choice(node: ast.stmt) -> ast.If | None:
    """`f(a if c else b)` as `if c: f(a)` and `else: f(b)`; None if there is no choice in it."""
    if not isinstance(node, SIMPLE):
        return None
    choice = next(_choices(node), None)
    if choice is None:
        return None
    then, otherwise = deepcopy(node), deepcopy(node)
    for branch, part in ((then, "body"), (otherwise, "orelse")):
        found = next(_choices(branch))
        _Put(found, getattr(found, part)).visit(branch)
    return ast.copy_location(ast.If(choice.test, [then], [otherwise]), node)


def _choices(node: ast.AST) -> Iterator[ast.IfExp]:
    """Conditional expressions that are evaluated whenever the statement is, once."""
    skipped = (ast.Lambda, ast.ListComp, ast.DictComp, ast.SetComp, ast.GeneratorExp, ast.BoolOp)
    if isinstance(node, ast.IfExp):
        yield node
    elif not isinstance(node, skipped):
        for child in ast.iter_child_nodes(node):
            yield from _choices(child)


class _Put(ast.NodeTransformer):
    def __init__(self, old: ast.IfExp, new: ast.expr):
        self.old, self.new = old, new

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        return self.new if node is self.old else node

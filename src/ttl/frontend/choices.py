"""Statements with a conditional expression, as an `if` of two statements."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from copy import deepcopy
from functools import lru_cache

SIMPLE = (ast.Expr, ast.Assign, ast.AugAssign, ast.AnnAssign)


@lru_cache(maxsize=1024)
def without_choice(node: ast.stmt) -> ast.If | None:
    """`f(a if c else b)` as `if c: f(a)` and `else: f(b)`; None if there is no choice in it."""
    if not isinstance(node, SIMPLE):
        return None
    choice = next(_choices(node), None)
    if choice is None:
        return None
    then, otherwise = deepcopy(node), deepcopy(node)
    for made, part in ((then, "body"), (otherwise, "orelse")):
        found = next(_choices(made))
        _Put(found, getattr(found, part)).visit(made)
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

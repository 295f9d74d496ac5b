"""Expressions that are nested more deeply than Python lets functions call each other.

Whatever reads an expression calls itself for each of its parts. So a sum of some hundred terms,
which Python itself runs, can end in a RecursionError of ours: it is reported with the expression.
"""

from __future__ import annotations

import ast
from types import CodeType

from ttl.diagnostics import Span, UsageError, codes
from ttl.semantics.function_source import definition_of
from ttl.semantics.syntax import child_nodes

DEEP = 100  # far below what ends in an error


def too_deep(code: CodeType) -> UsageError | None:
    """For the deepest expression of an operation; None if it has no deep one."""
    definition = definition_of(code)
    depth, found = (0, ast.Constant(0)) if definition is None else _deepest(definition)
    if depth < DEEP:
        return None
    broken = codes.NOT_IN_KERNELS.broken(
        f"an expression of {depth} operations inside each other is too deep",
        "add up in a loop, or store a part of it into a block",
    )
    return UsageError(broken.at(Span.of_node(code.co_filename, found)))


def _deepest(definition: ast.AST) -> tuple[int, ast.expr]:
    """The depth of the deepest expression, and that expression."""
    deepest: tuple[int, ast.expr] = (0, ast.Constant(0))
    left: list[tuple[ast.AST, int, ast.expr | None]] = [(definition, 0, None)]
    while left:
        node, depth, outermost = left.pop()
        if isinstance(node, ast.expr):
            depth, outermost = depth + 1, outermost or node
            deepest = max(deepest, (depth, outermost), key=lambda each: each[0])
        else:
            depth, outermost = 0, None
        left += [(child, depth, outermost) for child in child_nodes(node)]
    return deepest

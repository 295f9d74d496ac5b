"""Loops of which a kernel needs the number of rounds only.

`for row in range(first, first + count)` is `for row in range(count)` to a kernel that does not use
`row`: then `first`, which may depend on the node, is not computed there.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from ttl.semantics.function_source import nodes_of

from .units import Unit


def counted(loop: ast.For) -> ast.Call | None:
    """What a loop that only counts goes over, if that is simpler."""
    call = loop.iter
    if not isinstance(call, ast.Call) or ast.unparse(call.func) != "range" or len(call.args) < 2:
        return None
    start, stop, *step = call.args
    if not isinstance(stop, ast.BinOp) or not isinstance(stop.op, ast.Add):
        return None
    if ast.dump(stop.left) != ast.dump(start):
        return None
    zero: list[ast.expr] = [ast.copy_location(ast.Constant(0), start)] if step else []
    return ast.copy_location(ast.Call(call.func, [*zero, stop.right, *step], []), call)


def only_counts(unit: Unit, included: Iterable[Unit]) -> bool:
    """Does a kernel that has these units not use the variable of the loop?"""
    return not any(unit in origins for other in included for origins in other.reads.values())


def names_in(node: ast.AST) -> set[str]:
    """Those that are used, and those of parameters."""
    nodes = nodes_of(node)
    named = {each.id for each in nodes if isinstance(each, ast.Name)}
    return named | {each.arg for each in nodes if isinstance(each, ast.arg)}

"""Loops of which a kernel needs the number of rounds only.

`for row in range(first, first + count)` is `for row in range(count)` to a kernel that does not use
`row`: then `first`, which may depend on the node, is not computed there.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from .units import Unit


def counted(loop: ast.For) -> ast.Call | None:
    """What a loop that only counts goes over, if that is simpler."""
    call = loop.iter
    is_range = isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
    if not is_range or call.func.id != "range" or len(call.args) < 2:  # type: ignore[union-attr]
        return None
    assert isinstance(call, ast.Call)
    start, stop, *step = call.args
    is_sum = isinstance(stop, ast.BinOp) and isinstance(stop.op, ast.Add)
    if not is_sum or ast.dump(stop.left) != ast.dump(start):  # type: ignore[attr-defined]
        return None
    count = stop.right  # type: ignore[attr-defined]
    zero = [ast.copy_location(ast.Constant(0), start)] if step else []
    return ast.copy_location(ast.Call(call.func, [*zero, count, *step], []), call)


def only_counts(unit: Unit, included: Iterable[Unit]) -> bool:
    """Does a kernel that has these units not use the variable of the loop?"""
    return not any(unit in origins for other in included for origins in other.reads.values())


def names_in(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}

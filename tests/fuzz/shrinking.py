"""A smaller text that fails in the same way.

Statements go, or stand without what is around them; expressions become one of their parts; lists of
changes lose some. Whether a smaller one fails is asked of the caller, as often as the budget lets.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Iterator

Fails = Callable[[str], bool]


def shrunk(text: str, candidates: Callable[[str], Iterator[str]], fails: Fails, budget: int) -> str:
    """Greedy: the first smaller one that fails is gone on with."""
    left = budget
    while True:
        for smaller in candidates(text):
            if left <= 0:
                return text
            left -= 1
            if fails(smaller):
                text = smaller
                break
        else:
            return text


def of_program(text: str) -> Iterator[str]:
    """Largest parts first; what follows the operation (its tensors, the call) stays."""
    head, mark, tail = text.partition("\nINPUTS = ")
    yield from (f"{each}\n{mark}{tail}" for each in _statements(head))
    yield from (f"{each}\n{mark}{tail}" for each in _expressions(head))


def _statements(text: str) -> Iterator[str]:
    count = len(list(_places(ast.parse(text))))
    for number in range(count):
        for change in (_gone, _bare):
            tree = ast.parse(text)
            body, place = list(_places(tree))[number]
            if change(body, place):
                yield ast.unparse(ast.fix_missing_locations(tree))


def _places(tree: ast.AST) -> Iterator[tuple[list[ast.stmt], int]]:
    for node in ast.walk(tree):
        for name in ("body", "orelse"):
            body = getattr(node, name, None)
            if isinstance(body, list):
                yield from ((body, place) for place in range(len(body)))


def _gone(body: list[ast.stmt], place: int) -> bool:
    if isinstance(body[place], (ast.Pass, ast.Import, ast.ImportFrom)):
        return False
    if len(body) > 1:
        del body[place]
    else:
        body[place] = ast.Pass()
    return True


def _bare(body: list[ast.stmt], place: int) -> bool:
    """Without the loop, the condition or the `with` around it."""
    statement = body[place]
    if not isinstance(statement, (ast.For, ast.If, ast.While, ast.With)):
        return False
    body[place : place + 1] = statement.body
    return True


def _expressions(text: str) -> Iterator[str]:
    count = sum(1 for _ in _parents(ast.parse(text)))
    for number in range(count):
        part = 0
        while True:
            tree = ast.parse(text)
            parent, name, index, value = list(_parents(tree))[number]
            parts = [each for each in ast.iter_child_nodes(value) if isinstance(each, ast.expr)]
            if part >= len(parts):
                break
            if index is None:
                setattr(parent, name, parts[part])
            else:
                getattr(parent, name)[index] = parts[part]
            part += 1
            yield ast.unparse(tree)


def _parents(tree: ast.AST) -> Iterator[tuple[ast.AST, str, int | None, ast.expr]]:
    """Where an expression with operands stands."""
    for node in ast.walk(tree):
        for name, value in ast.iter_fields(node):
            values = list(enumerate(value)) if isinstance(value, list) else [(None, value)]
            for index, each in values:
                if isinstance(each, (ast.BinOp, ast.UnaryOp, ast.IfExp, ast.Call)):
                    yield node, name, index, each


def of_lines(text: str) -> Iterator[str]:
    """Halves, quarters, ... down to single lines."""
    lines = text.splitlines(keepends=True)
    size = len(lines) // 2
    while size:
        for start in range(0, len(lines), size):
            yield "".join(lines[:start] + lines[start + size :])
        size //= 2


def of_edits(text: str) -> Iterator[str]:
    """A JSON object whose `edits` lose one."""
    values = json.loads(text)
    for number in range(len(values["edits"])):
        edits = [*values["edits"][:number], *values["edits"][number + 1 :]]
        yield json.dumps({**values, "edits": edits})

"""Programs with one synchronization removed or displaced.

rule REMOVE  a statement that only waits, pushes, pops, sends, receives or changes a semaphore goes
rule PAIR    a copy that is bound to a name goes, with the wait for it after it
rule SWAP    such a statement changes places with the one before it
rule AFTER   such a statement at the end of a `with` goes after it
rule BIND    a `with` becomes assignments: nothing is released
rule SKIP    a `with` that acquires blocks goes, with all that is in it
rule ORDER   two items of a `with` change places
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass

SYNC_METHODS = (
    "wait",
    "wait_all",
    "push",
    "pop",
    "wait_ge",
    "wait_eq",
    "set",
    "inc",
    "set_multicast",
    "if_src",
    "if_dst",
)
ACQUIRES = ("reserve", "wait")


@dataclass(frozen=True, slots=True)
class Mutant:
    rule: str
    line: int  # of the synchronization, in the original
    text: str  # of it
    source: str  # of the whole program


def mutants(source: str) -> Iterator[Mutant]:
    """Every mutant of the kernels of a program, in the order of its lines."""
    found = [
        Mutant(rule, line, text, mutated)
        for rule, line, text, mutated in _mutants(source)
        if mutated != ast.unparse(ast.parse(source))
    ]
    yield from sorted(found, key=lambda mutant: (mutant.line, mutant.rule, mutant.source))


Change = Callable[[list[ast.stmt], int], None]


def _mutants(source: str) -> Iterator[tuple[str, int, str, str]]:
    bodies = list(_kernel_bodies(ast.parse(source)))
    for position, body in enumerate(bodies):
        for index, statement in enumerate(body):
            for rule, change in _changes(body, index):
                tree = ast.parse(source)  # a fresh one to change, with the same bodies in order
                change(list(_kernel_bodies(tree))[position], index)
                text = ast.unparse(statement).splitlines()[0]
                yield rule, statement.lineno, text, ast.unparse(ast.fix_missing_locations(tree))


def _kernel_bodies(tree: ast.AST) -> Iterator[list[ast.stmt]]:
    """The lists of statements in kernels, whatever they are nested in."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and _is_kernel(node):
            for inner in ast.walk(node):
                for name in ("body", "orelse"):
                    body = getattr(inner, name, None)
                    if isinstance(body, list) and body:
                        yield body


def _is_kernel(node: ast.FunctionDef) -> bool:
    decorators = [ast.unparse(each) for each in node.decorator_list]
    return any(text in ("ttl.compute()", "ttl.datamovement()") for text in decorators)


def _changes(body: list[ast.stmt], index: int) -> Iterator[tuple[str, Change]]:
    statement = body[index]
    if is_synchronization(statement):
        yield "remove", _remove
        if index:
            yield "swap", _swap
    if (wait := _wait_of_copy(body, index)) is not None:
        yield "pair", _remove_both(wait)
    if isinstance(statement, ast.With) and _acquires(statement):
        yield "bind", _bind
        yield "skip", _remove
        if len(statement.body) > 1 and is_synchronization(statement.body[-1]):
            yield "after", _after
        for item in range(len(statement.items) - 1):
            yield "order", _order(item)


def is_synchronization(statement: ast.stmt) -> bool:
    """`x.wait()`, `ttl.copy(a, b).wait()`, `net.if_src(f)`, ..."""
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
        return False
    function = statement.value.func
    return isinstance(function, ast.Attribute) and function.attr in SYNC_METHODS


def _wait_of_copy(body: list[ast.stmt], index: int) -> int | None:
    """Where the transfer that a statement binds to a name is waited for."""
    statement = body[index]
    if not isinstance(statement, ast.Assign) or "ttl.copy(" not in ast.unparse(statement.value):
        return None
    wait = f"{ast.unparse(statement.targets[0])}.wait()"
    found = [place for place, other in enumerate(body) if ast.unparse(other) == wait]
    return found[0] if found else None


def _acquires(statement: ast.With) -> bool:
    return all(
        isinstance(item.context_expr, ast.Call)
        and isinstance(item.context_expr.func, ast.Attribute)
        and item.context_expr.func.attr in ACQUIRES
        for item in statement.items
    )


def _remove(body: list[ast.stmt], index: int) -> None:
    body[index] = ast.Pass()


def _remove_both(other: int) -> Change:
    def change(body: list[ast.stmt], index: int) -> None:
        body[index] = body[other] = ast.Pass()

    return change


def _swap(body: list[ast.stmt], index: int) -> None:
    body[index - 1], body[index] = body[index], body[index - 1]


def _after(body: list[ast.stmt], index: int) -> None:
    statement = body[index]
    assert isinstance(statement, ast.With)
    body.insert(index + 1, statement.body.pop())


def _bind(body: list[ast.stmt], index: int) -> None:
    statement = body[index]
    assert isinstance(statement, ast.With)
    body[index : index + 1] = [
        ast.Assign([item.optional_vars], item.context_expr)
        if item.optional_vars is not None
        else ast.Expr(item.context_expr)
        for item in statement.items
    ] + statement.body


def _order(item: int) -> Change:
    def change(body: list[ast.stmt], index: int) -> None:
        statement = body[index]
        assert isinstance(statement, ast.With)
        items = statement.items
        items[item], items[item + 1] = items[item + 1], items[item]

    return change

"""What a kernel still has to do at some place: statements, and the ends of what they stand in.

A statement is handed what follows it and says what is left to do behind it. So a branch can take
what follows along, and a jump is leaving steps out:
rule REST   what follows an `if` is done in both its branches if they end with values that cannot
            be joined and are read later, or if a branch may jump; else behind it, once.
rule JUMP   `return`, `break` and `continue` leave out the steps up to their end, except that every
            `with` in between is closed.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

Jump = type[ast.Return] | type[ast.Break] | type[ast.Continue]


@dataclass(frozen=True, slots=True, eq=False)
class End:
    """The end of a `with`, or of what `jump` leaves: an iteration (continue), a loop (break)."""

    do: Callable[[], None]
    jump: Jump | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Iteration:
    """The next iteration of a loop that is unrolled: gives the steps that stand for it."""

    body: Sequence[ast.stmt]
    enter: Callable[[], Steps]


Step = ast.stmt | End | Iteration
Steps = tuple[Step, ...]


def split_behind_end(steps: Steps, jump: Jump) -> tuple[Steps, Steps]:
    """The steps up to the end that a jump leads to, with it, and those behind it."""
    for position, step in enumerate(steps):
        if isinstance(step, End) and step.jump is jump:
            return steps[: position + 1], steps[position + 1 :]
    return steps, ()


def leave(steps: Steps, jump: Jump) -> Steps:
    """rule JUMP: what is left to do behind a jump."""
    skipped, rest = split_behind_end(steps, jump)
    for step in skipped:
        if isinstance(step, End):
            step.do()
    return rest


def jumps_out(body: Sequence[ast.AST]) -> set[Jump]:
    """How statements may leave the body they stand in."""
    return {jump for node in body for jump in _jumps(node)}


def _jumps(node: ast.AST) -> Iterator[Jump]:
    if isinstance(node, (ast.Return, ast.Break, ast.Continue)):
        yield type(node)
    if isinstance(node, (ast.FunctionDef, ast.Lambda)):
        return
    inside = jumps_out(list(ast.iter_child_nodes(node)))
    if isinstance(node, (ast.For, ast.While)):
        # In its `else` a jump would be one of the loop around; kernels have no such `else`.
        inside &= {ast.Return}
    yield from inside


# Reads --------------------------------------------------------------------------------------------


def reads_first(steps: Iterable[Step | ast.AST], name: str) -> bool:
    """May the steps read the variable before they give it a value?"""
    return _first_use(steps, name) is True


def _first_use(steps: Iterable[Step | ast.AST], name: str) -> bool | None:
    """True if it may be read first, False if it is certainly written first, else None."""
    for step in steps:
        found = None
        if isinstance(step, Iteration):
            found = True if _first_use(step.body, name) else None
        elif isinstance(step, ast.AST):
            found = _use(step, name)
        if found is not None:
            return found
    return None


def _use(node: ast.AST, name: str) -> bool | None:
    if isinstance(node, ast.If):
        return _use_of_if(node, name)
    if isinstance(node, ast.Assign):
        return _first_use([node.value, *node.targets], name)
    if isinstance(node, ast.AugAssign):
        return True if _mentions(node, name) else None
    if isinstance(node, ast.With):
        items = [part for i in node.items for part in (i.context_expr, i.optional_vars) if part]
        return _first_use([*items, *node.body], name)
    if isinstance(node, ast.For):
        return _first_use([node.iter, node.target, *node.body], name) or None
    if isinstance(node, (ast.expr, ast.Expr)):
        if isinstance(node, ast.Name) and node.id == name:
            return not isinstance(node.ctx, ast.Store)
        return _first_use(ast.iter_child_nodes(node), name)
    return True if _mentions(node, name) else None


def _use_of_if(node: ast.If, name: str) -> bool | None:
    found = _use(node.test, name)
    if found is not None:
        return found
    uses = [_first_use(branch, name) for branch in (node.body, node.orelse)]
    if True in uses:
        return True
    return False if uses == [False, False] else None


def _mentions(node: ast.AST, name: str) -> bool:
    return any(isinstance(part, ast.Name) and part.id == name for part in ast.walk(node))


def uses_as_block(steps: Steps, name: str) -> bool:
    """Do the steps release or store into what the variable stands for?"""
    nodes = [n for step in steps for n in (step.body if isinstance(step, Iteration) else [step])]
    return any(
        isinstance(part, ast.Attribute)
        and part.attr in ("push", "pop", "store")
        and isinstance(part.value, ast.Name)
        and part.value.id == name
        for node in nodes
        if isinstance(node, ast.AST)
        for part in ast.walk(node)
    )


def live_steps(steps: Steps, names: set[str]) -> int:
    """How many steps there are up to the last that may read what the variables have now."""
    count = 0
    for name in names:
        for position, step in enumerate(steps):
            use = _first_use([step], name)
            nodes = step.body if isinstance(step, Iteration) else [step]
            if any(_mentions(node, name) for node in nodes if isinstance(node, ast.AST)):
                count = max(count, position + (use is not False))
            if use is False:
                break
    return count

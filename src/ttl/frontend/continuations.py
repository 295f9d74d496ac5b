"""What a kernel still has to do at some place: statements, and the ends of what they stand in.

A statement is handed what follows it and returns what is left to do after it. So a branch can take
what follows along, and a jump is leaving steps out:
rule REST   what follows an `if` is done in both its branches if they end with values that cannot
            be joined and are read later, or if a branch may jump; else after it, once.
rule JUMP   `return`, `break` and `continue` leave out the steps up to their end, except that every
            `with` in between is closed.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce

from ttl.source.uses import NOTHING, Jump, Uses, uses_of, uses_of_all

from .hir import Value
from .value_ranges import Undecided


@dataclass(frozen=True, slots=True, eq=False)
class End:
    """The end of a `with`, or of what `jump` leaves: an iteration (continue), a loop (break)."""

    do: Callable[[], None]
    jump: Jump | None = None


ITERATION_END, LOOP_END = (End(lambda: None, jump) for jump in (ast.Continue, ast.Break))


@dataclass(frozen=True, slots=True, eq=False)
class Do:
    """Something to do at a statement's place that no name of the program takes part in."""

    node: ast.AST
    do: Callable[[], None]


@dataclass(frozen=True, slots=True, eq=False)
class Iterate:
    """Iterations of a loop: gives the steps that stand for them, the next one or all the others."""

    body: Sequence[ast.stmt]
    enter: Callable[[Steps], Steps]  # from what follows


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """An `if`: of the program, or on a value for which each branch is made."""

    node: ast.AST
    test: Callable[[], Value]
    then: Steps
    otherwise: Steps
    deciding: Undecided | None = None  # where it is called, the value may be decided


Step = ast.stmt | End | Do | Iterate | Choice
Steps = tuple[Step, ...]


def uses_of_step(step: Step) -> Uses:
    if isinstance(step, ast.AST):
        return uses_of(step)
    if isinstance(step, Iterate):
        return uses_of_all(step.body).perhaps()
    if isinstance(step, Choice):
        return uses_of_steps(step.then).either(uses_of_steps(step.otherwise))
    return NOTHING


def uses_of_steps(steps: Iterable[Step]) -> Uses:
    return reduce(Uses.then, map(uses_of_step, steps), NOTHING)


def jumps_in(step: Step) -> frozenset[Jump]:
    found = uses_of_step(step).jumps
    # The end of an iteration comes with it.
    return found - {ast.Continue} if isinstance(step, Iterate) else found


def split_after_end(steps: Steps, jump: Jump) -> tuple[Steps, Steps]:
    """The steps up to the end that a jump leads to, with it, and those after it."""
    for position, step in enumerate(steps):
        if isinstance(step, End) and step.jump is jump:
            return steps[: position + 1], steps[position + 1 :]
    return steps, ()


def up_to_jumps(steps: Steps, jumps: Iterable[Jump]) -> tuple[Steps, Steps]:
    """The steps that are left out by one of the jumps, and those after them."""
    for jump in (ast.Return, ast.Break, ast.Continue):
        if jump in jumps:
            return split_after_end(steps, jump)
    return (), steps


def leave(steps: Steps, jump: Jump) -> Steps:
    """rule JUMP: what is left to do after a jump."""
    skipped, rest = split_after_end(steps, jump)
    for step in skipped:
        if isinstance(step, End):
            step.do()
    return rest


def reads_first(steps: Iterable[Step], names: Iterable[str]) -> set[str]:
    """The names that the steps may read before they give them a value."""
    wanted, found = {*names}, set[str]()
    for step in steps if wanted else ():
        uses = uses_of_step(step)
        found |= wanted & uses.read_first
        wanted -= uses.read_first | uses.written_first
        if not wanted:
            break
    return found


def live_steps(steps: Steps, names: set[str]) -> int:
    """How many steps there are up to the last that may read what the variables have now."""
    count, wanted = 0, {*names}
    for position, step in enumerate(steps):
        uses = uses_of_step(step)
        written = wanted & uses.written_first
        if wanted & uses.mentioned - written:
            count = position + 1
        elif written:
            count = max(count, position)
        wanted -= written
        if not wanted:
            break
    return count

"""What a kernel still has to do at some place: statements, and the ends of what they stand in.

A step gets the steps that follow it and returns those that are left to do. So a branch can take
what follows along, and a jump leaves steps out:
rule REST   what follows an `if` is done in both its branches if they end with values that cannot
            be joined and are read later, or if a branch may jump; else after it, once.
rule JUMP   `return`, `break` and `continue` leave out the steps up to their end, except that every
            `with` in between is closed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce

from ttl.source import tree
from ttl.source.bindings import Variable

from .hir import Value
from .uses import NOTHING, Jumps, Uses, uses_of, uses_of_all
from .value_ranges import Undecided


@dataclass(frozen=True, slots=True, eq=False)
class End:
    """The end of a `with`, or of what `jump` leaves: an iteration (continue), a loop (break)."""

    do: Callable[[], None]
    jump: str | None = None


ITERATION_END, LOOP_END = (End(lambda: None, jump) for jump in ("continue", "break"))


@dataclass(frozen=True, slots=True, eq=False)
class Enter:
    """Something to do at a node's place; `enter` gets the steps that follow, returns those left."""

    node: tree.Node
    enter: Callable[[Steps], Steps]
    body: Sequence[tree.Statement] = ()  # of a loop that is entered


def doing(node: tree.Node, do: Callable[[], object]) -> Enter:
    """Makes a step of an action after which everything that follows is left."""

    def enter(rest: Steps) -> Steps:
        do()
        return rest

    return Enter(node, enter)


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """An `if`: of the program, or on a value for which each branch is made."""

    node: tree.Node
    test: Callable[[], Value]
    then: Steps
    otherwise: Steps
    deciding: Undecided | None = None  # where it is called, the value may be decided


Step = tree.Statement | End | Enter | Choice
Steps = tuple[Step, ...]


def uses_of_step(step: Step) -> Uses:
    if isinstance(step, tree.Statement):
        return uses_of(step)
    if isinstance(step, Enter):
        return uses_of_all(step.body).perhaps()
    if isinstance(step, Choice):
        return uses_of_steps(step.then).either(uses_of_steps(step.otherwise))
    return NOTHING


def uses_of_steps(steps: Iterable[Step]) -> Uses:
    return reduce(Uses.then, map(uses_of_step, steps), NOTHING)


def jumps_in(step: Step) -> Jumps:
    found = uses_of_step(step).jumps
    # The end of an iteration comes with it.
    return found - {"continue"} if isinstance(step, Enter) else found


def split_after_end(steps: Steps, jump: str) -> tuple[Steps, Steps]:
    """The steps up to the end that a jump leads to, with it, and those after it."""
    for position, step in enumerate(steps):
        if isinstance(step, End) and step.jump == jump:
            return steps[: position + 1], steps[position + 1 :]
    return steps, ()


def up_to_jumps(steps: Steps, jumps: Iterable[str]) -> tuple[Steps, Steps]:
    """The steps that are left out by one of the jumps, and those after them."""
    for jump in ("return", "break", "continue"):
        if jump in jumps:
            return split_after_end(steps, jump)
    return (), steps


def leave(steps: Steps, jump: str) -> Steps:
    """rule JUMP: what is left to do after a jump."""
    skipped, rest = split_after_end(steps, jump)
    for step in skipped:
        if isinstance(step, End):
            step.do()
    return rest


def reads_first(steps: Iterable[Step], variables: Iterable[Variable]) -> set[Variable]:
    """The variables that the steps may read before they give them a value."""
    wanted, found = {*variables}, set[Variable]()
    for step in steps if wanted else ():
        uses = uses_of_step(step)
        found |= wanted & uses.read_first
        wanted -= uses.read_first | uses.written_first
        if not wanted:
            break
    return found


def live_steps(steps: Steps, variables: set[Variable]) -> int:
    """How many steps there are up to the last that may read what the variables have now."""
    count, wanted = 0, {*variables}
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

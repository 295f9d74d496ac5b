"""The rest of a kernel at some place: statements, and the ends of the constructs around it.

A step gets the steps that follow it and returns those that are left to do. So a branch can
duplicate the rest, and a jump can leave steps out:
rule REST   the steps after an `if` are done in both branches if these end with values that cannot
            be joined and are read later, or if a branch may jump; otherwise after it, once.
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
    """The end of a `with`, or of the construct that `jump` leaves: an iteration or a loop."""

    do: Callable[[], None]
    jump: str | None = None


ITERATION_END, LOOP_END = (End(lambda: None, jump) for jump in ("continue", "break"))


@dataclass(frozen=True, slots=True, eq=False)
class Enter:
    """An action at a node's place; `enter` gets the following steps and returns those left."""

    node: tree.Node
    enter: Callable[[Steps], Steps]
    body: Sequence[tree.Statement] = ()  # of an entered loop


def doing(node: tree.Node, do: Callable[[], object]) -> Enter:
    """Make a step of an action that leaves all following steps."""

    def enter(rest: Steps) -> Steps:
        do()
        return rest

    return Enter(node, enter)


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """An `if` of the program, or on a value that needs a branch for each case."""

    node: tree.Node
    test: Callable[[], Value]
    then: Steps
    otherwise: Steps
    deciding: Undecided | None = None  # where the called code may decide the value


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
    # An iteration includes its end.
    return found - {"continue"} if isinstance(step, Enter) else found


def split_after_end(steps: Steps, jump: str) -> tuple[Steps, Steps]:
    """Split the steps after the end that a jump leads to."""
    for position, step in enumerate(steps):
        if isinstance(step, End) and step.jump == jump:
            return steps[: position + 1], steps[position + 1 :]
    return steps, ()


def up_to_jumps(steps: Steps, jumps: Iterable[str]) -> tuple[Steps, Steps]:
    """Split off the steps that one of the jumps leaves out."""
    for jump in ("return", "break", "continue"):
        if jump in jumps:
            return split_after_end(steps, jump)
    return (), steps


def leave(steps: Steps, jump: str) -> Steps:
    """Return the steps left after a jump, by rule JUMP."""
    skipped, rest = split_after_end(steps, jump)
    for step in skipped:
        if isinstance(step, End):
            step.do()
    return rest


def reads_first(steps: Iterable[Step], variables: Iterable[Variable]) -> set[Variable]:
    """Return the variables that the steps may read before assigning them."""
    wanted, found = {*variables}, set[Variable]()
    for step in steps if wanted else ():
        uses = uses_of_step(step)
        found |= wanted & uses.read_first
        wanted -= uses.read_first | uses.written_first
        if not wanted:
            break
    return found


def live_steps(steps: Steps, variables: set[Variable]) -> int:
    """Count the steps up to the last that may read the current values of variables."""
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

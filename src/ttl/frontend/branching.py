"""Evaluate `if`: decide it now, or make two branches that duplicate little of the rest."""

from __future__ import annotations

from .builder import KernelBuilder
from .continuations import Choice, Steps, jumps_in, live_steps, reads_first, up_to_jumps
from .hir import Scalar
from .joins import Branches, truth_here
from .problems import FlowBroken, flow_broken


def branch(builder: KernelBuilder, choice: Choice, rest: Steps) -> Steps:
    """Evaluate an `if` by rule REST of continuations.py."""
    condition = truth_here(builder, choice.test())
    if not isinstance(condition, Scalar):
        return (*(choice.then if condition else choice.otherwise), *rest)
    if jumps := jumps_in(choice):
        count = _with_ends(rest, len(up_to_jumps(rest, jumps)[0]))
        taken, after = rest[:count], rest[count:]
        join = _branches(builder, condition, choice, taken).join()
        join.close()
        if not join.are_local and after:
            raise _changed_containers(choice)
        return after
    return _join_or_split(builder, condition, choice, rest)


def _branches(builder: KernelBuilder, condition: Scalar, choice: Choice, taken: Steps) -> Branches:
    return Branches(
        builder,
        condition,
        lambda: builder.sequence((*choice.then, *taken)),
        lambda: builder.sequence((*choice.otherwise, *taken)),
    )


def _join_or_split(builder: KernelBuilder, condition: Scalar, choice: Choice, rest: Steps) -> Steps:
    """Duplicate the shortest continuation that makes the branches join."""
    branches, count = _branches(builder, condition, choice, ()), 0
    while True:
        join = branches.join()
        lost = reads_first(rest[count:], join.lost())
        needed = live_steps(rest[count:], lost) if join.containers_agree else len(rest) - count
        if branches.has_mistakes or needed == 0:
            break
        known, count = count, _with_ends(rest, count + needed)
        builder.count_path()
        if join.lost_inside(lost):  # an inner branch has to duplicate it
            branches = _branches(builder, condition, choice, rest[:count])
        else:
            taken = rest[known:count]
            branches.go_on(lambda taken=taken: builder.sequence(taken))  # type: ignore[misc]
    is_end = builder.frame.caller is None and builder.loop is None
    join.close()
    if not is_end and not branches.has_mistakes and not join.are_local:
        raise _changed_containers(choice)
    return rest[count:]


def _with_ends(rest: Steps, count: int) -> int:
    """Extend a number of steps to the targets of the jumps in them."""
    position = 0
    while position < count:
        step, after = rest[position], rest[position + 1 :]
        position += 1
        count = max(count, position + len(up_to_jumps(after, jumps_in(step))[0]))
    return count


def _changed_containers(choice: Choice) -> FlowBroken:
    return flow_broken("a list, dict or set that a condition changes", undecided=choice.deciding)

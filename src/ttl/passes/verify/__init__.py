"""Static checks: find errors that would occur at run time, without changing the module."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import ModuleOp

from ttl.diagnostics import CompileError, Diagnostic, Label, Severity, codes
from ttl.dialects.locations import span_of

from .block_use import NOTHING_KNOWN, BlockUse
from .ends import check_ends
from .guards import check_guards
from .orders import Schedules, check_semaphore_orders
from .outputs import (
    MOST_VALUES,
    check_covered,
    check_orders,
    check_races,
    check_written_twice,
    outputs_of,
)
from .padding import check_padding
from .pipes import check_pipe_types, check_posted_again, check_unused_pipes
from .schedule import MOST_EVENTS, check_schedule, not_proven, schedules_of
from .slices import check_slices
from .soft_float import note_soft_float
from .walk import MOST_STEPS, WalkedModule, walk_module

__all__ = ["check_part", "check_synchronization", "raise_errors"]

# The checks that are also passes by themselves: one producer and one consumer of each buffer; pipes
# only in a node's roles; all kernels end; slices are inside their tensors.
PARTS: dict[str, tuple[Callable[[WalkedModule], list[Diagnostic]], ...]] = {
    "ttl-verify-dfb-spsc": (check_ends,),
    "ttl-verify-pipenet-guards": (check_guards,),
    "ttl-verify-pipenet-schedule": (check_pipe_types, check_schedule),
    "ttl-verify-tensor-slices": (check_slices,),
}


def check_part(name: str, module: ModuleOp) -> None:
    walked = walk_module(module)
    raise_errors([found for check in PARTS[name] for found in check(walked)])


PATIENCE = 10  # `ttl check` may take this many times as long as the check in a compilation


def check_synchronization(
    module: ModuleOp, used: BlockUse = NOTHING_KNOWN, with_warnings: bool = False
) -> list[Diagnostic]:
    """Return everything that the module's walk and the use of blocks show.

    Warnings that a simulator run does not give are made only with `with_warnings`.
    """
    patience = PATIENCE if with_warnings else 1
    walked = walk_module(module, patience * MOST_STEPS)
    if again := check_posted_again(walked):  # a run gets there, or gets stuck before
        schedule = check_schedule(walked, patience * MOST_EVENTS, with_warnings)
        return [*(each for each in schedule if each.code is codes.DEADLOCK), *again]
    decisive = [*check_ends(walked), *check_guards(walked)]
    found = [*decisive, *check_pipe_types(walked), *check_slices(walked)]
    schedules = schedules_of(walked, patience * MOST_EVENTS)
    if not decisive:  # their subjects get stuck too
        found += check_semaphore_orders(walked, schedules) or check_schedule(
            walked, patience * MOST_EVENTS, with_warnings
        )
    found = _with_misused_blocks(found, used, module, with_warnings)
    if with_warnings and walked.is_spent:
        steps = patience * MOST_STEPS
        found.append(not_proven(f"{steps} steps are not enough to follow its kernels"))
    elif with_warnings and not (walked.is_complete or decisive or walked.faults):
        found.append(_unknown_flow(walked))
    if not errors_of(found):
        found += _check_outputs(walked, schedules, patience, with_warnings)
        found += note_soft_float(module)
    return found


def _with_misused_blocks(
    found: list[Diagnostic], used: BlockUse, module: ModuleOp, with_warnings: bool
) -> list[Diagnostic]:
    """Add misused blocks: a deadlock comes before them; leftover blocks can follow from them."""
    if any(each.code is codes.DEADLOCK for each in found):
        return found
    found = [*found, *used.warnings]
    if not used.doubtful:
        return found
    from .exact_states import first_mistake  # only needed if there is a doubt

    patience = PATIENCE if with_warnings else 1
    answers = {kernel: first_mistake(kernel, module, patience) for kernel in used.doubtful}
    seen = [
        used.doubtful[kernel] or answer if answer.code is codes.NOT_PROVEN else answer
        for kernel, answer in answers.items()
        if answer is not None
    ]
    if misused := errors_of(seen):
        return [*misused, *(each for each in found if each.code is not codes.BUFFER_LEFTOVER)]
    known = {(each.code.code, each.primary) for each in found}
    wanted = Severity if with_warnings else (Severity.WARNING,)
    new = [each for each in seen if (each.code.code, each.primary) not in known]
    return [*found, *(each for each in new if each.severity in wanted)]


def _unknown_flow(walked: WalkedModule) -> Diagnostic:
    why = "its control flow depends on what is not known before the run"
    kernel, _, op = walked.unknown[0]
    span = span_of(op.location)
    place = None if span is None else Label(span, f"what `{kernel}` does here is not known")
    return not_proven(why, place=place)


def _check_outputs(
    walked: WalkedModule, schedules: Schedules, patience: int, with_warnings: bool
) -> list[Diagnostic]:
    outputs = outputs_of(walked, patience * MOST_VALUES)
    if races := check_races(outputs, walked, schedules):
        return races
    found = [
        *check_padding(walked),
        *check_covered(outputs, walked),
        *check_written_twice(outputs, walked, schedules),
    ]
    if with_warnings:
        found += [*check_orders(outputs, walked, schedules), *check_unused_pipes(walked)]
    return found


def errors_of(found: list[Diagnostic]) -> list[Diagnostic]:
    return [each for each in found if each.severity is Severity.ERROR]


def raise_errors(found: list[Diagnostic]) -> None:
    if errors := errors_of(found):
        raise CompileError(*errors)

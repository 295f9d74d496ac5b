"""Static checks: they change nothing and find what would be wrong at run time."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from ttl.diagnostics import CompileError, Diagnostic, Severity

from .ends import check_ends
from .guards import check_guards
from .pipes import check_pipe_types, check_unused_pipes
from .schedule import MOST_EVENTS, check_schedule, not_proven
from .slices import check_outputs, check_slices
from .walk import MOST_STEPS, walk_module

__all__ = ["check_synchronization", "raise_errors"]


PATIENCE = 10  # `ttl check` may take so many times as long as the check of a compilation


def check_synchronization(module: ModuleOp, with_warnings: bool = False) -> list[Diagnostic]:
    """Everything that the walk of the module shows; what is no error only if it is asked for."""
    patience = PATIENCE if with_warnings else 1
    walked = walk_module(module, patience * MOST_STEPS)
    decisive = [*check_ends(walked), *check_guards(walked)]
    found = [*decisive, *check_pipe_types(walked), *check_slices(walked)]
    if not decisive:  # what they are about gets stuck too
        found += check_schedule(walked, patience * MOST_EVENTS, with_warnings)
    if not with_warnings:
        return errors_of(found)
    if walked.is_spent:
        steps = patience * MOST_STEPS
        found.append(not_proven(f"{steps} steps are not enough to follow its kernels"))
    elif not walked.is_complete and not decisive:
        found.append(not_proven("its control flow depends on what is not known before the run"))
    if not errors_of(found):
        found += [*check_unused_pipes(walked), *check_outputs(walked)]
    return found


def errors_of(found: list[Diagnostic]) -> list[Diagnostic]:
    return [each for each in found if each.severity is Severity.ERROR]


def raise_errors(found: list[Diagnostic]) -> None:
    if errors := errors_of(found):
        raise CompileError(*errors)

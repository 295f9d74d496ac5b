"""What is wrong with the operations of a program, all of it, as far as it is known before a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ttl.config import Config
from ttl.diagnostics import (
    Code,
    Diagnostic,
    Effect,
    InternalError,
    RuleBroken,
    Severity,
    TTLError,
    codes,
)
from ttl.language.operation import Program
from ttl.loading.forks import ForkLock
from ttl.source.recent import Recent
from ttl.target import Target

from .memo import kept_for
from .remarks import Remarks, judged, show

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp


MOST_REMEMBERED = 4096


@dataclass(slots=True)
class Checked:
    """The errors of one operation."""

    errors: int = 0


class Checks:
    """How many operations were looked at, and how many errors they have."""

    def __init__(self) -> None:
        self.operations = 0
        self.errors = 0
        self.warnings = 0
        self._known: Recent[Checked] = Recent(MOST_REMEMBERED)
        self._lock = ForkLock()

    def of(self, program: Program, target: Target, config: Config, remarks: Remarks) -> Checked:
        """What is known of a program. What is found is shown once."""

        def look() -> Checked:
            checked = self.begin()
            self.found(checked, check_operation(program, target), config, remarks)
            return checked

        with self._lock():
            return kept_for(self._known, program, target, config, look)

    def compiled(self, program: Program) -> None:
        """An operation of a model, which nobody looks at but the compiler."""
        self._known.get(id(program.operation), self.begin)

    def begin(self) -> Checked:
        """An operation more."""
        with self._lock():
            self.operations += 1
        return Checked()

    def found(
        self, checked: Checked, found: Sequence[Diagnostic], config: Config, remarks: Remarks
    ) -> None:
        """Before a run, or by a call that failed: its arguments, its body, or the simulator."""
        wanted = judged(found, config)
        severities = [each.severity for each in wanted]
        errors = severities.count(Severity.ERROR)
        with self._lock():
            self.errors += errors
            self.warnings += severities.count(Severity.WARNING)
            checked.errors += errors
            for each in wanted:
                remarks.is_new(each)  # the run that follows does not show it again
        show(wanted, config)


def check_operation(program: Program, target: Target) -> list[Diagnostic]:
    """Everything that is wrong with a program as far as it is known before it runs.

    What only the compiler does not do is a warning: on the simulator the program may be right.
    """
    from ttl.passes.pipelines import synchronize
    from ttl.passes.verify import check_synchronization

    from .compile import compiling, internal_fault, make_module

    try:
        with compiling():
            module = make_module(program, target)
            used = synchronize(module)
            found: Sequence[Diagnostic] = [
                *check_synchronization(module, used, with_warnings=True),
                *_unused_nets(program, module),
            ]
    except InternalError:
        raise
    except TTLError as error:  # what comes after something that is not compiled may follow from it
        reasons = [each for each in error.diagnostics if _is_compilers_own(each.code)]
        found = reasons or error.diagnostics
    except (Exception, RuleBroken) as error:
        raise InternalError(internal_fault(program, error)) from error
    return [_simulated(program, each) if _is_compilers_own(each.code) else each for each in found]


def _simulated(program: Program, found: Diagnostic) -> Diagnostic:
    message = f"`{program.operation.__name__}` cannot be compiled: {found.message}"
    return replace(found, code=found.code.mild, message=message)


def _is_compilers_own(code: Code) -> bool:
    """Does it say nothing about a run on the simulator?"""
    return code.severity is Severity.ERROR and code.milder is Effect.SIMULATED


def _unused_nets(program: Program, module: ModuleOp) -> Iterator[Diagnostic]:
    """Nets that no kernel names are not in the module."""
    from ttl.dialects import ttl
    from ttl.dialects.locations import span_of

    used = {span_of(op.location) for op in ttl.nets_of(module)}
    for net in program.pipe_nets:
        if net.span not in used and not net.is_implicit:
            yield codes.PIPE_UNUSED.broken(
                "no kernel uses this pipe net", "send through it, or take it out"
            ).at(net.span, "declared here")

"""Find every mistake of a program's operations that shows before a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ttl.config import Config
from ttl.diagnostics import (
    CompileError,
    Diagnostic,
    InternalError,
    RuleBroken,
    Severity,
    TTLError,
    codes,
)
from ttl.language.operation import Program
from ttl.loading.forks import ForkLock
from ttl.loading.recent import Recent
from ttl.target import Target

from .remarks import Remarks, judged
from .signature import CallSignature, kept_for

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

    def of(
        self,
        program: Program,
        signature: CallSignature | None,
        target: Target,
        config: Config,
        remarks: Remarks,
    ) -> Checked:
        """Return the findings about a program, and show each of them once."""

        def look() -> Checked:
            checked = self.begin()
            self.found(checked, check_operation(program, target), config, remarks)
            return checked

        with self._lock():
            return kept_for(self._known, signature, look)

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
        remarks.show(wanted, config)


# What no kernel may have, though the simulator, which runs Python, could run it.
OUTSIDE = (codes.NOT_IN_KERNELS, codes.NO_SOURCE)


class Outside:
    """Asks the compiler about kernels whose Python may be no part of the language."""

    def __init__(self) -> None:
        self._known: Recent[list[Diagnostic]] = Recent(MOST_REMEMBERED)

    def refuse(self, program: Program, signature: CallSignature | None, target: Target) -> None:
        """CompileError before the simulator runs what no other way does."""
        found = kept_for(self._known, signature, lambda: check_operation(program, target))
        if errors := [each for each in found if each.code in OUTSIDE]:
            raise CompileError(*errors)


def check_operation(program: Program, target: Target) -> list[Diagnostic]:
    """Find everything that is wrong with a program and known before it runs.

    Compiles the program as `ttl compile` does, so an error here is an error there.
    """
    from .compile import compiling, internal_fault

    try:
        with compiling():
            return _found_by_compiling(program, target)
    except InternalError:
        raise
    except TTLError as error:
        return list(error.diagnostics)
    except (Exception, RuleBroken) as error:
        raise InternalError(internal_fault(program, error)) from error


def _found_by_compiling(program: Program, target: Target) -> list[Diagnostic]:
    """The checks with all their warnings; without an error, the rest of the pipeline."""
    from ttl.codegen import assemble
    from ttl.dialects.verification import verify_module
    from ttl.passes.pipelines import lower, synchronize
    from ttl.passes.verify import check_synchronization

    from .compile import first_passes, load_compiler, make_module
    from .operands import operands_of

    load_compiler()
    module = make_module(program, target)
    used = synchronize(module, first=first_passes(program))
    found = [
        *check_synchronization(module, used, with_warnings=True),
        *_unused_nets(program, module),
    ]
    if any(each.severity is Severity.ERROR for each in found):
        return found
    try:
        lower(module)
        verify_module(module)
        assemble(program.operation.__name__, module, operands_of(program))
    except CompileError as error:
        found += error.diagnostics
    return found


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

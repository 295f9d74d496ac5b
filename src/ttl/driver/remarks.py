"""Notes and warnings beside a program's own output, each of them once."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence

from ttl.config import Config
from ttl.diagnostics import (
    Diagnostic,
    KernelFault,
    Severity,
    TTLError,
    UsageError,
    codes,
    render_all,
)
from ttl.diagnostics.painting import show_text
from ttl.language.arguments import is_tensor
from ttl.language.operation import Program, definition_span
from ttl.loading.recent import Recent
from ttl.source.captured import find_captured_writes
from ttl.source.facts import facts_of
from ttl.source.facts.releases import make_supplied_note, refuse_repairs
from ttl.source.functions import place_of
from ttl.source.old_names import old_names, old_names_note
from ttl.source.undeclared import find_undeclared_kernels

from .surroundings import surroundings

MOST_REMEMBERED = 4096


def judged(found: Sequence[Diagnostic], config: Config) -> list[Diagnostic]:
    """As the options want them: some warnings are errors, others are not there."""
    severities = [config.severity_of(each.code) for each in found]
    return [
        each.as_error() if severity is Severity.ERROR else each
        for each, severity in zip(found, severities, strict=True)
        if severity is not None
    ]


def scalar_arguments(program: Program) -> list[Diagnostic]:
    """Note arguments that other tools only take from the scope around an operation."""
    scalars = [f"`{name}`" for name, value in program.arguments.items() if not is_tensor(value)]
    if not scalars or program.operation.frontend is not None:
        return []
    name = program.operation.__name__
    note = codes.SCALAR_ARGUMENT.broken(
        f"`{name}` is given {' and '.join(scalars)}, and other tools give operations tensors only",
        "define the operation in a function that has the constants as parameters",
    )
    return [note.at(definition_span(program.operation.function))]


class Remarks:
    """The remarks that a process has made."""

    def __init__(self) -> None:
        self._warned: Recent[None] = Recent(MOST_REMEMBERED)
        self._noted: Recent[None] = Recent(MOST_REMEMBERED)
        self._knows_surroundings = False
        self.shown: list[Diagnostic] | None = None  # all of them, for whoever wants them

    def show(self, found: Sequence[Diagnostic], config: Config) -> None:
        if self.shown is not None:
            self.shown += found
        if found:
            show_text(render_all(found, config.json), sys.stderr)

    def is_new(self, found: Diagnostic) -> bool:
        """A warning is shown once for each line: an operation may be called a thousand times."""
        place = found.primary.span if found.primary is not None else None
        return self._warned.is_first((found.code.code, place), None)

    def warn(self, found: Sequence[Diagnostic], config: Config, kind: type[TTLError]) -> None:
        """Show what is new; what the options make an error is raised, all of it at once."""
        wanted = judged(found, config)
        new = [each for each in wanted if not each.is_made_error and self.is_new(each)]
        self.show(new, config)
        if errors := [each for each in wanted if each.is_made_error]:
            raise kind(*errors)

    def of_a_run(self, config: Config) -> RunRemarks:
        if not self._knows_surroundings:
            self.note_surroundings(config)
        return RunRemarks(self, config)

    def note_surroundings(self, config: Config) -> None:
        """Show notes about variables and the cache, once in a process."""
        self._knows_surroundings = True
        for each in surroundings(config):
            self.note_once(each, config)

    def show_threads(self, program: Program) -> None:
        """Once for each unified operation: its threads, and the kernels that it becomes."""
        from ttl.source.unified.unify import show_threads

        name = program.operation.__name__
        text = show_threads(program.operation, program.arguments)
        text = text or f"`{name}` is not unified: each of its kernels is a thread of its own"
        if self._noted.is_first(text, None):
            print(text)

    def note_once(self, found: Diagnostic | None, config: Config) -> None:
        """A note of which one in a process is enough."""
        if found is not None and self._noted.is_first(found.code.code, None):
            self.show([found], config)

    def supply(self, program: Program, config: Config) -> None:
        """Note once for each operation which releases and waits are supplied, or refuse them."""
        if not self._knows_surroundings:
            self.note_surroundings(config)
        points = facts_of(program).points
        if config.severity_of(codes.SUPPLIED) is Severity.ERROR:
            refuse_repairs(points)
        kernels = tuple(place_of(kernel.function.__code__) for kernel in program.kernels)
        mild = codes.CAPTURED_WRITTEN.mild
        refuses = config.severity_of(mild) is Severity.ERROR
        written = find_captured_writes(program, mild) if config.backend == "sim" else []
        if errors := [each for each in written if each.severity is Severity.ERROR]:
            raise UsageError(*errors)
        if not self._noted.is_first(kernels, None) and not refuses:
            return
        remarks = [note for note in self._notes(program) if note is not None] + written
        if config.strict:
            remarks += scalar_arguments(program)
        self.warn(remarks, config, UsageError)

    def _notes(self, program: Program) -> Iterator[Diagnostic | None]:
        name, facts = program.operation.__name__, facts_of(program)
        yield make_supplied_note(name, facts.points)
        yield self._old_names(program)
        yield from find_undeclared_kernels(program)

    def _old_names(self, program: Program) -> Diagnostic | None:
        """One note for a program: what one of its operations has shown is not shown again."""
        found = [each for each in old_names(program) if self._noted.is_first(each.now, None)]
        return old_names_note(program.operation.__name__, found)


class RunRemarks:
    """For the warnings of a run. One that fails has a better error than they would be.

    That kernels are not closed in as asked is told before they run, while they can be refused.
    Written out, because every launch has one.
    """

    __slots__ = ("_config", "_found", "_remarks")

    def __init__(self, remarks: Remarks, config: Config):
        self._remarks, self._config = remarks, config
        self._found: list[Diagnostic] = []

    def __enter__(self) -> Callable[[Diagnostic], None]:
        return self._report

    def __exit__(self, raised: type[BaseException] | None, *details: object) -> None:
        if not self._found:
            return
        if raised is None:
            self._remarks.warn(self._found, self._config, KernelFault)
            return
        kept = [each for each in judged(self._found, self._config) if not each.is_made_error]
        new = [each for each in kept if self._remarks.is_new(each)]
        self._remarks.show(new, self._config)

    def _report(self, found: Diagnostic) -> None:
        if found.code is codes.ISOLATION_PARTIAL:
            self._remarks.warn([found], self._config, UsageError)
        else:
            self._found.append(found)

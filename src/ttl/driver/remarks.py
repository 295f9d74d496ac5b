"""What is printed beside a program's own output, once for each thing that is remarked."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from ttl.config import Config
from ttl.diagnostics import Diagnostic, codes, render_all
from ttl.language.captured import captured_writes
from ttl.language.operation import Program
from ttl.source.facts import facts_of
from ttl.source.functions import place_of
from ttl.source.supplied import refuse_repairs, supplied_note

from .recent import Recent

MOST_REMEMBERED = 4096


def show(found: Sequence[Diagnostic], config: Config) -> None:
    if found:
        print(render_all(found, config.json), file=sys.stderr)


class Remarks:
    """The remarks that a process has made."""

    def __init__(self) -> None:
        self._warned: Recent[None] = Recent(MOST_REMEMBERED)
        self._noted: Recent[None] = Recent(MOST_REMEMBERED)

    def is_new(self, found: Diagnostic) -> bool:
        """A warning is shown once for each line: an operation may be called a thousand times."""
        place = found.primary.span if found.primary is not None else None
        return self._warned.is_first((found.code.code, place), None)

    def warn(self, found: Diagnostic, config: Config) -> None:
        if self.is_new(found):
            show([found], config)

    def supply(self, program: Program, config: Config) -> None:
        """Note once for each operation which releases and waits are supplied, or refuse them."""
        points = facts_of(program).points
        if config.strict:
            refuse_repairs(points)
        kernels = tuple(place_of(kernel.function.__code__) for kernel in program.kernels)
        if not self._noted.is_first(kernels, None):
            return
        note = supplied_note(program.operation.__name__, points)
        remarks = [] if note is None else [note]
        if config.backend == "sim":
            remarks += captured_writes(program, codes.CAPTURED_WRITTEN_SIMULATED)
        show(remarks, config)

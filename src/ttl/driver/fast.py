"""`ttl run --fast N`: the first N calls of a kind are simulated, with every check, others compiled.

rule KIND     calls are of one kind if they would be compiled to the same artifact
rule PASSED   a call counts when it has ended without an error
rule REFUSED  what the compiler does not translate stays on the simulator, and that is told
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace

from ttl.config import Config
from ttl.diagnostics import Blame, CompileError
from ttl.language.operation import Program
from ttl.loading.recent import Recent
from ttl.target import Target

from .signature import kept_for, signature_of

MOST_KINDS = 4096
NEVER = float("-inf")  # in the place of a count: it is not to be compiled


class FastCalls:
    """How many calls of each kind the simulator has passed in this process."""

    def __init__(self) -> None:
        self._passed: Recent[list[float]] = Recent(MOST_KINDS)

    def run(
        self, program: Program, target: Target, config: Config, run: Callable[[Config], None]
    ) -> None:
        assert config.fast is not None
        simulated = replace(config, fast=None)
        # rule KIND: of calls without a key nobody can tell what would be the same
        passed = kept_for(self._passed, signature_of(program, target, simulated), lambda: [0])
        if passed[0] >= config.fast:
            try:
                run(replace(simulated, backend="host"))
                return
            except CompileError as error:
                _check_refused(error, program)
                passed[0] = NEVER
        run(simulated)
        passed[0] += 1  # rule PASSED


def _check_refused(error: CompileError, program: Program) -> None:  # rule REFUSED
    first = error.diagnostics[0]
    if first.code.blame not in (Blame.UNSUPPORTED, Blame.NOT_YET):
        raise error
    name = program.operation.__name__
    print(f"ttl: `{name}` stays on the simulator: {first.message}", file=sys.stderr)

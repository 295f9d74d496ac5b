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
from ttl.source.frozen import NoKey
from ttl.target import Target

from .memo import compile_key
from .recent import Recent

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
        passed = self._count_of(program, target, simulated)
        if passed[0] >= config.fast:
            try:
                run(replace(simulated, backend="host"))
                return
            except CompileError as error:
                _check_refused(error, program)
                passed[0] = NEVER
        run(simulated)
        passed[0] += 1  # rule PASSED

    def _count_of(self, program: Program, target: Target, config: Config) -> list[float]:
        try:
            return self._passed.get(compile_key(program, target, config), lambda: [0])
        except NoKey:  # rule KIND: nobody can tell what would be the same
            return [0]


def _check_refused(error: CompileError, program: Program) -> None:  # rule REFUSED
    first = error.diagnostics[0]
    if first.code.blame not in (Blame.UNSUPPORTED, Blame.NOT_YET):
        raise error
    name = program.operation.__name__
    print(f"ttl: `{name}` stays on the simulator: {first.message}", file=sys.stderr)

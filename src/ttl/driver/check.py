"""What is wrong with the operations of a program, all of it, as far as it is known before a run."""

from __future__ import annotations

import sys
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ttl.config import Config
from ttl.diagnostics import (
    Blame,
    Code,
    Diagnostic,
    InternalError,
    RuleBroken,
    Severity,
    Span,
    TTLError,
    codes,
    render_all,
)
from ttl.language.operation import Program
from ttl.target import Target

from .compile import collection_paused, internal_fault, make_module
from .memo import compile_key

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp


Warned = tuple[str, Span | None]


def place_of(found: Diagnostic) -> Warned:
    """A warning is shown once for each line: an operation may be called a thousand times."""
    return found.code.code, found.primary.span if found.primary is not None else None


class Checks:
    """The operations that were looked at, and how many errors each has."""

    def __init__(self, warned: set[Warned]) -> None:
        self.errors: dict[Hashable, int] = {}
        self.warned = warned  # what the run that follows does not say again
        self.current: Hashable | None = None  # the operation that is being called

    def refuse(self, program: Program, target: Target, config: Config) -> bool:
        """Has the operation errors? What is found is shown once."""
        try:
            key: Hashable = compile_key(program, target, config)
        except TypeError:
            key = object()
        self.current = key
        if key not in self.errors:
            self._show(key, check_operation(program, target), config)
        return self.errors[key] > 0

    def caught(self, error: TTLError, config: Config) -> None:
        """What made a call fail: its arguments, the body of the operation, or the simulator."""
        key = object() if self.current is None else self.current
        self._show(key, error.diagnostics, config)

    def _show(self, key: Hashable, found: Sequence[Diagnostic], config: Config) -> None:
        errors = sum(each.severity is Severity.ERROR for each in found)
        self.errors[key] = self.errors.get(key, 0) + errors
        self.warned |= {place_of(each) for each in found}
        if found:
            print(render_all(found, config.json), file=sys.stderr)


def check_operation(program: Program, target: Target) -> list[Diagnostic]:
    """Everything that is wrong with a program as far as it is known before it runs.

    What only the compiler does not do is a warning: on the simulator the program may be right.
    """
    from ttl.passes.pipelines import synchronize
    from ttl.passes.verify import check_synchronization

    try:
        with collection_paused():
            module = make_module(program, target)
            doubtful = synchronize(module)
            found: Sequence[Diagnostic] = [
                *check_synchronization(module, doubtful, with_warnings=True),
                *_unused_nets(program, module),
            ]
    except InternalError:
        raise
    except TTLError as error:  # what is behind something that is not compiled may follow from it
        reasons = [each for each in error.diagnostics if _is_compilers_own(each.code)]
        found = reasons or error.diagnostics
    except (Exception, RuleBroken) as error:
        raise InternalError(internal_fault(program, error)) from error
    return [_simulated(program, each) if _is_compilers_own(each.code) else each for each in found]


def _simulated(program: Program, found: Diagnostic) -> Diagnostic:
    message = f"`{program.operation.__name__}` cannot be compiled: {found.message}"
    return replace(found, code=codes.SIMULATOR_ONLY, message=message)


# Of the rules about the use of the language the frontend knows these as the simulator does; others
# (1xxx), and that something is not compiled (7xxx), say nothing about a run on the simulator.
RULES_OF_USE = (
    codes.OUTSIDE_OPERATION,
    codes.WRONG_KERNEL_KIND,
    codes.NODE_OUTSIDE_GRID,
    codes.KERNEL_COUNT,
    codes.UNKNOWN_NAME,
    codes.WRONG_ARGUMENT,
)


def _is_compilers_own(code: Code) -> bool:
    if code.severity is not Severity.ERROR or code in RULES_OF_USE:
        return False
    return code.blame is not Blame.USER or code.code.startswith(("TTL1", "TTL7"))


def _unused_nets(program: Program, module: ModuleOp) -> Iterator[Diagnostic]:
    """Nets that no kernel names are not in the module."""
    from ttl.dialects import ttl
    from ttl.dialects.locations import span_of

    used = {span_of(op.location) for op in ttl.nets_of(module)}
    for net in program.pipe_nets:
        if net.span not in used:
            yield RuleBroken(
                codes.PIPE_UNUSED,
                "no kernel uses this pipe net",
                helps=("send through it, or take it out",),
            ).at(net.span, "declared here")

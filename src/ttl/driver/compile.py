"""A program through frontend, passes and code generation."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from importlib import import_module
from typing import TYPE_CHECKING

from ttl.artifact import CompiledOperation
from ttl.config import Config
from ttl.diagnostics import (
    CompileError,
    Diagnostic,
    InternalError,
    RuleBroken,
    TTLError,
    codes,
    writing,
)
from ttl.diagnostics.activity import busy
from ttl.language.operation import Program
from ttl.loading import without_collecting
from ttl.loading.forks import ForkLock, WhileRunning
from ttl.semantics.limits import check_limits, check_semaphores
from ttl.source.captured import find_captured_writes
from ttl.source.facts import facts_of
from ttl.target import Target

from .operands import operands_of

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.passes import ModulePass


Report = Callable[[Diagnostic], None]
Observe = Callable[[str, "ModuleOp"], None]  # the name of a pass, or FRONTEND; the module after it
FRONTEND = "frontend"
DEEPEST_CALLS = 20_000


def compile_operation(
    program: Program,
    target: Target,
    config: Config,
    report: Report | None = None,
    observe: Observe | None = None,
) -> CompiledOperation:
    """The artifact of a program; `report` gets warnings, `observe` the module after each step.

    Every compilation goes through here.
    """
    try:
        with compiling(), busy(f"compiling {program.operation.__name__} to C++"):
            return _compile(program, target, config, report, observe)
    except TTLError:
        raise
    except (Exception, RuleBroken) as error:
        raise InternalError(internal_fault(program, error)) from error


_COMPILING = ForkLock()  # Python runs one thread at a time, so others lose nothing by waiting


def _allow_deep_calls() -> Callable[[], None]:
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, DEEPEST_CALLS))
    return partial(sys.setrecursionlimit, limit)


_deep_calls = WhileRunning(_allow_deep_calls)


@contextmanager
def compiling() -> Iterator[None]:
    """For one thread at a time: the collector and the depth of calls are the whole process's.

    Compiling makes many objects that all stay: looking for garbage costs a fifth of its time. What
    a value is computed from is followed by functions that call themselves, and a kernel of a
    thousand statements is no mistake.
    """
    with _COMPILING(), without_collecting(), _deep_calls():
        yield


def _compile(
    program: Program, target: Target, config: Config, report: Report | None, observe: Observe | None
) -> CompiledOperation:
    load_compiler()
    from ttl.codegen import assemble
    from ttl.dialects.verification import verify_module
    from ttl.passes import run_pipeline

    module = make_module(program, target)
    _write_module(module, config.initial_mlir)
    if observe is not None:
        observe(FRONTEND, module)
    run_pipeline(
        module,
        before=_dump("before") if config.verbose_passes else None,
        after=observe or (_dump("after") if config.verbose_passes else None),
        report=report,
        first=first_passes(program),
    )
    verify_module(module)
    _write_module(module, config.final_mlir)
    return assemble(program.operation.__name__, module, operands_of(program))


@cache
def load_compiler() -> None:
    """Import the compiler."""
    from ttl.passes import PIPELINE, find_pass

    for module in ("ttl.codegen", "ttl.frontend"):
        import_module(module)
    for name in PIPELINE:
        find_pass(name)


def make_module(program: Program, target: Target) -> ModuleOp:
    """The ttl module of a program, before any pass."""
    from ttl.frontend import build_module

    check_limits(program.buffers, target, program.options.get("ttl-l1-budget"))
    check_semaphores(program.semaphores, target)
    _ = facts_of(program).points  # refuses what is released on some paths only
    if written := find_captured_writes(program, codes.CAPTURED_WRITTEN):
        raise CompileError(*written)
    frontend = program.operation.frontend
    module: ModuleOp = (build_module if frontend is None else frontend.module)(program, target)
    return module


def first_passes(program: Program) -> Sequence[ModulePass]:
    """Return the passes that turn the IR of another frontend into the language's."""
    frontend = program.operation.frontend
    return () if frontend is None else frontend.passes()


def _write_module(module: ModuleOp, file: str | None) -> None:
    from ttl.dialects import print_module

    if file is None:
        return
    text = print_module(module)
    with writing(file), open(file, "w", encoding="utf-8") as output:
        output.write(text)


def _dump(when: str) -> Callable[[str, ModuleOp], None]:
    from ttl.dialects import print_module

    def show(name: str, module: ModuleOp) -> None:
        print(f"// -----// IR {when} {name} //----- //\n{print_module(module)}", file=sys.stderr)

    return show


def internal_fault(program: Program, error: BaseException) -> Diagnostic:
    return Diagnostic(
        codes.INTERNAL,
        f"the compiler failed on `{program.operation.__name__}`: {type(error).__name__}: {error}",
    )

"""A program through frontend, passes and code generation."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ttl.artifact import CompiledOperation, Operand
from ttl.config import Config
from ttl.diagnostics import (
    Blame,
    Code,
    CompileError,
    Diagnostic,
    InternalError,
    RuleBroken,
    Severity,
    TTLError,
    codes,
    file_not_usable,
)
from ttl.language.captured import captured_writes
from ttl.language.implicit_sync import program_points
from ttl.language.operation import Program
from ttl.semantics.dtypes import dtype_of
from ttl.semantics.layout import layout_of
from ttl.semantics.limits import check_limits, check_semaphores
from ttl.target import Target

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp


def compile_operation(program: Program, target: Target, config: Config) -> CompiledOperation:
    """The artifact of a program. Every compilation goes through here."""
    try:
        with _collection_paused():
            return _compile(program, target, config)
    except TTLError:
        raise
    except (Exception, RuleBroken) as error:
        raise InternalError(_internal(program, error)) from error


@contextmanager
def _collection_paused() -> Iterator[None]:
    """Compiling makes many objects that all stay: looking for garbage costs a fifth of its time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _compile(program: Program, target: Target, config: Config) -> CompiledOperation:
    from ttl.codegen import assemble
    from ttl.passes import run_pipeline

    module = _module(program, target)
    _write_module(module, config.initial_mlir)
    run_pipeline(
        module,
        before=_dump("before") if config.verbose_passes else None,
        after=_dump("after") if config.verbose_passes else None,
    )
    module.verify()
    _write_module(module, config.final_mlir)
    return assemble(program.operation.__name__, module, _operands(program))


def _module(program: Program, target: Target) -> ModuleOp:
    from ttl.frontend import build_module

    check_limits(program.buffers, target, program.options.get("ttl-l1-budget"))
    check_semaphores(program.semaphores, target)
    program_points(program)  # refuses what is released on some paths only
    if written := captured_writes(program, codes.CAPTURED_WRITTEN):
        raise CompileError(*written)
    return build_module(program, target)


def check_operation(program: Program, target: Target) -> list[Diagnostic]:
    """Everything that is wrong with a program as far as it is known before it runs.

    What only the compiler does not do is a warning: on the simulator the program may be right.
    """
    from ttl.passes.pipelines import synchronize
    from ttl.passes.verify import check_synchronization

    try:
        with _collection_paused():
            module = _module(program, target)
            synchronize(module)
            found: Sequence[Diagnostic] = check_synchronization(module, with_warnings=True)
    except InternalError:
        raise
    except TTLError as error:  # what is behind something that is not compiled may follow from it
        reasons = [each for each in error.diagnostics if _is_compilers_own(each.code)]
        found = reasons or error.diagnostics
    except (Exception, RuleBroken) as error:
        raise InternalError(_internal(program, error)) from error
    return [_simulated(program, each) if _is_compilers_own(each.code) else each for each in found]


def _simulated(program: Program, found: Diagnostic) -> Diagnostic:
    message = f"`{program.operation.__name__}` runs on the simulator only: {found.message}"
    return replace(found, code=codes.SIMULATOR_ONLY, message=message)


# Of the rules about the use of the language the frontend knows these as the simulator does; others
# (1xxx), and that something is not compiled (7xxx), say nothing about a run on the simulator.
RULES_OF_USE = (codes.WRONG_KERNEL_KIND, codes.NODE_OUTSIDE_GRID, codes.KERNEL_COUNT)


def _is_compilers_own(code: Code) -> bool:
    if code.severity is not Severity.ERROR or code in RULES_OF_USE:
        return False
    return code.blame is not Blame.USER or code.code.startswith(("TTL1", "TTL7"))


def _operands(program: Program) -> tuple[Operand, ...]:
    return tuple(
        Operand(name, tuple(tensor.shape), dtype_of(tensor).name, layout_of(tensor).name)
        for name, tensor in program.tensors.items()
    )


def _write_module(module: ModuleOp, file: str | None) -> None:
    from ttl.dialects import print_module

    if file is None:
        return
    try:
        Path(file).write_text(print_module(module))
    except OSError as error:
        raise file_not_usable(file, error) from None


def _dump(when: str) -> Callable[[str, ModuleOp], None]:
    from ttl.dialects import print_module

    def show(name: str, module: ModuleOp) -> None:
        print(f"// -----// IR {when} {name} //----- //\n{print_module(module)}", file=sys.stderr)

    return show


def _internal(program: Program, error: BaseException) -> Diagnostic:
    return Diagnostic(
        codes.INTERNAL,
        f"the compiler failed on `{program.operation.__name__}`: {type(error).__name__}: {error}",
        helps=("set TTL_DEBUG=1 to see where, and report it with the program",),
    )

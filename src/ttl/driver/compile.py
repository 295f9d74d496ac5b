"""A program through frontend, passes and code generation."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ttl.artifact import CompiledOperation, Operand
from ttl.config import Config
from ttl.diagnostics import (
    CompileError,
    Diagnostic,
    InternalError,
    RuleBroken,
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
    from ttl.frontend import build_module
    from ttl.passes import run_pipeline

    check_limits(program.buffers, target, program.options.get("ttl-l1-budget"))
    check_semaphores(program.semaphores, target)
    program_points(program)  # refuses what is released on some paths only
    if written := captured_writes(program, codes.CAPTURED_WRITTEN):
        raise CompileError(*written)
    module = (program.operation.lowering or build_module)(program, target)
    _write_module(module, config.initial_mlir)
    run_pipeline(
        module,
        before=_dump("before") if config.verbose_passes else None,
        after=_dump("after") if config.verbose_passes else None,
    )
    module.verify()
    _write_module(module, config.final_mlir)
    return assemble(program.operation.__name__, module, _operands(program))


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

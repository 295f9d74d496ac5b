"""A call of an operation: run the body, choose a backend, compile or run."""

from __future__ import annotations

import sys
from collections.abc import Hashable
from pathlib import Path
from types import CodeType
from typing import Any

from ttl.artifact import CompiledOperation, write_folder
from ttl.config import Config
from ttl.diagnostics import RuleBroken, UsageError, codes, render_all
from ttl.language import Operation
from ttl.language.captured import captured_writes
from ttl.language.implicit_sync import program_points, refuse_repairs, supplied_note
from ttl.language.operation import Program
from ttl.target import TARGETS, Target, load
from ttl.trace import Recorder, write_json_lines

from .compile import compile_operation
from .memo import compile_key

BACKENDS = ("sim", "host")


class Driver:
    """Runs operations; what it compiled once it keeps."""

    def __init__(self) -> None:
        self.compiled: dict[Hashable, CompiledOperation] = {}
        self.folders: dict[Path, str] = {}
        self.noted: set[tuple[CodeType, ...]] = set()  # by the code of their kernels

    def launch(self, operation: Operation, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        config = Config.from_environment()
        _check_choice("TTL_TARGET", config.target, TARGETS)
        _check_choice("TTL_BACKEND", config.backend, BACKENDS)
        _check_float32(config)
        target = load(config.target)
        program = operation.program(
            args, kwargs, target.default_grid, config.compiler_options
        )
        self._supply(program, config)
        wants_artifact = config.wants_artifact
        compiled = self.compile(program, target, config) if wants_artifact else None
        if not config.compile_only:
            _run(program, compiled if config.backend == "host" else None, target, config)

    def _supply(self, program: Program, config: Config) -> None:
        """Say once for each operation which releases and waits are supplied, or refuse them."""
        points = program_points(program)
        if config.strict:
            refuse_repairs(points)
        kernels = tuple(kernel.function.__code__ for kernel in program.kernels)
        if kernels in self.noted:
            return
        self.noted.add(kernels)
        note = supplied_note(program, points)
        remarks = [] if note is None else [note]
        if config.backend == "sim":
            remarks += captured_writes(program, codes.CAPTURED_WRITTEN_SIMULATED)
        if remarks:
            print(render_all(remarks, config.json), file=sys.stderr)

    def compile(self, program: Program, target: Target, config: Config) -> CompiledOperation:
        try:
            key: Hashable = compile_key(program, target, config)
        except TypeError:
            key = object()
        if key not in self.compiled:
            self.compiled[key] = compile_operation(program, target, config)
            if config.compile_to:
                self._write(self.compiled[key], Path(config.compile_to))
        return self.compiled[key]

    def _write(self, compiled: CompiledOperation, folder: Path) -> None:
        """The first operation goes into the folder itself, others into folders of their names."""
        owner = self.folders.setdefault(folder, compiled.name)
        chosen = folder if owner == compiled.name else folder / compiled.name
        write_folder(compiled, chosen)
        print(f"ttl: `{compiled.name}` compiled into {chosen}", file=sys.stderr)


def _run(
    program: Program, compiled: CompiledOperation | None, target: Target, config: Config
) -> None:
    recorder = Recorder() if config.trace else None
    try:
        if compiled is None:
            from ttl import sim

            sim.run(
                program,
                target=target,
                recorder=recorder,
                seed=config.seed,
                float32=config.float32,
                report=lambda found: print(render_all([found], config.json), file=sys.stderr),
            )
        else:
            from ttl import host

            storages = [tensor.storage for tensor in program.tensors.values()]
            host.launch(compiled, storages, cache_dir=config.cache_dir, recorder=recorder)
    finally:
        if recorder is not None and config.trace is not None:
            with Path(config.trace).open("a") as out:
                write_json_lines(recorder.events, out)


def _check_float32(config: Config) -> None:
    if config.float32 and config.backend != "sim":
        broken = RuleBroken(
            codes.WRONG_ARGUMENT,
            "TTL_FLOAT32=1 is for the simulator; compiled kernels have the types of their tensors",
            helps=("unset TTL_FLOAT32, or run without --host",),
        )
        raise UsageError(broken.at(None))


def _check_choice(variable: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        broken = RuleBroken(
            codes.WRONG_ARGUMENT,
            f"{variable}={value}: not one of {', '.join(choices)}",
            helps=(f"unset {variable}, or set it to {choices[0]}",),
        )
        raise UsageError(broken.at(None))

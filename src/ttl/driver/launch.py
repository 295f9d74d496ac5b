"""A call of an operation: run the body, choose a backend, compile or run."""

from __future__ import annotations

import sys
from collections.abc import Hashable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from types import CodeType
from typing import TYPE_CHECKING, Any

from ttl.artifact import CompiledOperation, with_sources, write_bundle, write_folder
from ttl.config import SCHEDULERS, Config
from ttl.device import Chip
from ttl.diagnostics import (
    Diagnostic,
    InternalError,
    RuleBroken,
    TTLError,
    UsageError,
    codes,
    file_not_usable,
    render_all,
)
from ttl.diagnostics.frames import raised_by_pyttl
from ttl.language import Operation
from ttl.language.captured import captured_writes
from ttl.language.operation import Program
from ttl.semantics.limits import check_limits, l1_tensors
from ttl.source.facts import facts_of
from ttl.source.supplied import refuse_repairs, supplied_note
from ttl.target import TARGETS, Target, load
from ttl.trace import CATEGORIES, EventKind, Recorder
from ttl.trace.files import append_events

from .backend import BACKENDS, choose_backend
from .captured import CAPTURED
from .check import Checks, Warned, place_of
from .compile import compile_operation
from .memo import compile_key
from .spmd import calls_by_device, mesh_of, on_device

if TYPE_CHECKING:
    from ttl.host import CallCounts


class Driver:
    """Runs operations; what it compiled once it keeps."""

    def __init__(self) -> None:
        self.compiled: dict[Hashable, CompiledOperation] = {}
        self.folders: dict[Path, str] = {}
        self.stored: set[tuple[Hashable, str]] = set()  # compiled programs and their folders
        self.dumped: set[tuple[int, Path]] = set()
        self.counts: dict[str, CallCounts] = {}  # of each operation, where that is asked for
        self.ticks: dict[str, int] = {}  # of each trace so far
        self.traced_calls: dict[str, int] = {}
        self.warned: set[Warned] = set()
        self.noted: set[tuple[CodeType, ...]] = set()  # by the code of their kernels
        self.checks = Checks(self.warned)

    def launch(self, operation: Operation, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.checks.current = None
        try:
            self._launch_or_refuse(operation, args, kwargs)
        except InternalError:
            raise
        except TTLError as error:
            config = Config.from_environment()
            if not config.check or CAPTURED.get() is not None:
                raise
            self.checks.caught(error, config)  # other operations are looked at too

    def _launch_or_refuse(
        self, operation: Operation, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        try:
            self._launch_on_devices(operation, args, kwargs)
        except RecursionError:
            _refuse_deep(operation)
            raise

    def _launch_on_devices(
        self, operation: Operation, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        mesh = mesh_of(operation, args, kwargs)
        if mesh is None:
            self._launch(operation, args, kwargs)
            return
        for index, (own_args, own_kwargs) in enumerate(calls_by_device(mesh, args, kwargs)):
            try:
                self._launch(operation, own_args, own_kwargs)
            except TTLError as error:
                raise on_device(error, mesh, index) from error.__cause__

    def _launch(self, operation: Operation, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Run the operation on one device."""
        config = Config.from_environment()
        _check_choice("TTL_TARGET", config.target, TARGETS)
        _check_choice("TTL_BACKEND", config.backend, BACKENDS)
        _check_choice("TTL_SCHEDULER", config.scheduler, SCHEDULERS)
        for category in config.trace_events or ():
            _check_choice("TTL_TRACE_EVENTS", category, CATEGORIES)
        config, chip = choose_backend(config, args, kwargs)
        _check_float32(config)
        target = _target(config)
        program = operation.program(
            args,
            kwargs,
            config.grid or _own_grid(chip, target),
            config.compiler_options,
            largest_grid=_largest_grid(config, _own_grid(chip, target)),
        )
        try:
            self._compile_and_run(program, target, config)
        except InternalError as error:
            from .crash import with_bundle  # what most runs never need

            raise with_bundle(error, program, target, config) from error.__cause__
        except (TTLError, MemoryError, OSError):
            raise
        except Exception as error:
            if not raised_by_pyttl(error.__traceback__):
                raise
            if isinstance(error, RecursionError):
                _refuse_deep(operation)
            from .crash import unexpected, with_bundle

            raise with_bundle(unexpected(program, error), program, target, config) from error

    def _compile_and_run(self, program: Program, target: Target, config: Config) -> None:
        if in_l1 := l1_tensors(program.tensors):
            check_limits(program.buffers, target, program.options.get("ttl-l1-budget"), in_l1)
        self._supply(program, config)
        captured = CAPTURED.get()  # of a model: without the artifact there is nothing to go on with
        checks = config.check and captured is None
        if checks and (self.checks.refuse(program, target, config) or config.compile_only):
            return
        wants_artifact = config.wants_artifact or program.operation.kernel_folder is not None
        compiled = self.compile(program, target, config) if wants_artifact else None
        loads_kernels = program.operation.loads_kernels
        if compiled is not None and loads_kernels:
            compiled = with_sources(compiled, Path(program.operation.kernel_folder or "."))
        if compiled is not None and captured is not None:
            captured.append((compiled, list(program.tensors.values())))
            self.checks.errors.setdefault(id(program.operation), 0)  # else it had not been compiled
        if not config.compile_only:
            artifact = compiled if config.backend != "sim" or loads_kernels else None
            self._run(program, artifact, target, config)

    def _run(
        self,
        program: Program,
        compiled: CompiledOperation | None,
        target: Target,
        config: Config,
    ) -> None:
        recorder = Recorder(config.trace_events) if config.trace else None
        if recorder is not None:
            _check_trace(config)
            recorder.record(EventKind.OPERATION_START, (), "", program.operation.__name__)
        try:
            with _unchanged(program) if config.dry_run else nullcontext():
                self._run_kernels(program, compiled, target, config, recorder)
        finally:
            if recorder is not None and config.trace is not None:
                recorder.record(EventKind.OPERATION_END, (), "", program.operation.__name__)
                tick = self.ticks.get(config.trace, 0)
                append_events(Path(config.trace), recorder, tick)
                self.ticks[config.trace] = tick + recorder.size
                if config.trace_results:
                    from ttl.trace.results import append_results

                    call = self.traced_calls.get(config.trace, 0)
                    append_results(Path(config.trace), call, program.tensors)
                    self.traced_calls[config.trace] = call + 1

    def _run_kernels(
        self,
        program: Program,
        compiled: CompiledOperation | None,
        target: Target,
        config: Config,
        recorder: Recorder | None,
    ) -> None:
        if compiled is None:
            from ttl import sim

            sim.run(
                program,
                target=target,
                recorder=recorder,
                seed=_seed(config),
                float32=config.float32,
                finds_races=config.strict or config.seed is not None,
                report=lambda found: self._warn(found, config),
            )
        elif config.backend == "device":
            from ttl import device

            device.launch(compiled, list(program.tensors.values()))
        else:
            from ttl import host

            storages = [tensor.storage for tensor in program.tensors.values()]
            host.launch(
                compiled,
                storages,
                cache_dir=config.cache_dir,
                recorder=recorder,
                seed=config.seed,
                counts=self._counts_of(program) if config.counts else None,
            )

    def _warn(self, found: Diagnostic, config: Config) -> None:
        if (place := place_of(found)) not in self.warned:
            self.warned.add(place)
            print(render_all([found], config.json), file=sys.stderr)

    def _counts_of(self, program: Program) -> CallCounts:
        from ttl.host import CallCounts

        return self.counts.setdefault(program.operation.__name__, CallCounts())

    def _supply(self, program: Program, config: Config) -> None:
        """Say once for each operation which releases and waits are supplied, or refuse them."""
        points = facts_of(program).points
        if config.strict:
            refuse_repairs(points)
        kernels = tuple(kernel.function.__code__ for kernel in program.kernels)
        if kernels in self.noted:
            return
        self.noted.add(kernels)
        note = supplied_note(program.operation.__name__, points)
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
            self.compiled[key] = compile_operation(
                program, target, config, lambda found: self._warn(found, config)
            )
            if config.compile_to:
                self._write(self.compiled[key], Path(config.compile_to))
        folder = program.operation.kernel_folder
        if folder and not program.operation.loads_kernels and (key, folder) not in self.stored:
            self.stored.add((key, folder))
            self._write(self.compiled[key], Path(folder))
        if config.kernel_dumps:
            self._dump(self.compiled[key], Path(config.kernel_dumps))
        return self.compiled[key]

    def _dump(self, compiled: CompiledOperation, place: Path) -> None:
        """Once for each operation and place."""
        if (id(compiled), place) not in self.dumped:
            self.dumped.add((id(compiled), place))
            folder = write_bundle(compiled, place)
            print(f"ttl: `{compiled.name}` compiled into {folder}", file=sys.stderr)

    def _write(self, compiled: CompiledOperation, folder: Path) -> None:
        """The first operation goes into the folder itself, others into folders of their names."""
        owner = self.folders.setdefault(folder, compiled.name)
        chosen = folder if owner == compiled.name else folder / compiled.name
        write_folder(compiled, chosen)
        print(f"ttl: `{compiled.name}` compiled into {chosen}", file=sys.stderr)


def _refuse_deep(operation: Operation) -> None:
    """UsageError if it has an expression that explains a RecursionError."""
    from ttl.source.nesting import too_deep

    if (found := too_deep(operation.function.__code__)) is not None:
        raise found from None


def _check_trace(config: Config) -> None:
    """Before the run: what it wrote would be lost otherwise."""
    assert config.trace is not None
    try:
        Path(config.trace).open("a").close()
    except OSError as error:
        raise file_not_usable(config.trace, error) from None


@contextmanager
def _unchanged(program: Program) -> Iterator[None]:
    """The kernels work on copies of the tensors, which are thrown away."""
    storages = [tensor.storage for tensor in program.tensors.values()]
    kept = [storage.elements for storage in storages]
    for storage in storages:
        storage.elements = storage.elements.copy()
    try:
        yield
    finally:
        for storage, elements in zip(storages, kept, strict=True):
            storage.elements = elements


def _target(config: Config) -> Target:
    """The chip, with the limits that the options set for this run."""
    target = load(config.target)
    buffers = config.max_dataflow_buffers or target.dataflow_buffers
    budget = config.max_l1_bytes or target.dataflow_buffer_budget_bytes
    if config.wants_artifact:  # kernels for a chip cannot have more than the chip
        buffers = min(buffers, target.dataflow_buffers)
        budget = min(budget, target.dataflow_buffer_budget_bytes)
    if (buffers, budget) == (target.dataflow_buffers, target.dataflow_buffer_budget_bytes):
        return target
    return replace(target, dataflow_buffers=buffers, dataflow_buffer_budget_bytes=budget)


def _own_grid(chip: Chip | None, target: Target) -> tuple[int, int]:
    """The nodes that there are: on a device, those that are not harvested or used by ttnn."""
    return target.default_grid if chip is None else chip.grid


def _largest_grid(config: Config, own: tuple[int, int]) -> tuple[int, ...]:
    """An operation may ask for a grid of its own beside a smaller one for the others."""
    return tuple(max(sizes) for sizes in zip(config.grid or own, own, strict=True))


FAIR_SEED = 0


def _seed(config: Config) -> int | None:
    """`fair` lets others run where a kernel could also go on: what any seed does."""
    if config.seed is None and config.scheduler == "fair":
        return FAIR_SEED
    return config.seed


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

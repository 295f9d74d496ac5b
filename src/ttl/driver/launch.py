"""Call an operation in four steps.

    program     run the body, which declares kernels, buffers, nets and semaphores
    signature   identify everything that the artifact depends on
    runnable    find or compile the artifact, and let a backend prepare it
    run         run the kernels on the tensors of the call

Most calls find the artifact of an earlier call by its signature. A bound call keeps its runnable
and starts at the last step: bound.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ttl.config import BACKENDS, ROUNDINGS, SCHEDULERS, Config
from ttl.diagnostics import CompileError, InternalError, Span, TTLError, codes, usage_error
from ttl.diagnostics.deadlock import REORDERED
from ttl.diagnostics.frames import raised_by_pyttlang
from ttl.language import Operation
from ttl.language.operation import Program
from ttl.loading.forks import computed_once
from ttl.semantics.current_engine import TRACE
from ttl.semantics.limits import check_limits, l1_tensors
from ttl.source.facts import facts_of
from ttl.target import CHOICES, Target, load
from ttl.trace import CATEGORIES

from .backend import choose_backend
from .backends import Backend, DeviceBackend, Executor, Runnable, Simulator
from .grids import check_on_chip, larger_grid_helps
from .placing import host_note, placed
from .remarks import Remarks
from .running import Runs
from .spmd import calls_by_device, mesh_of, on_device

if TYPE_CHECKING:
    from pathlib import Path

    from ttl.artifact import CompiledOperation
    from ttl.device import Chip

    from .artifacts import Artifacts
    from .bound import BoundCall
    from .check import Checked, Checks, Outside
    from .fast import FastCalls
    from .signature import CallSignature
    from .views import Views


class Driver:
    """Runs operations, in any number of threads; what it compiled it keeps for a while.

    What a call on the simulator does not need is made when it is first asked for: by the first
    thread, if several ask at once.
    """

    def __init__(self) -> None:
        self.remarks = Remarks()
        self.runs = Runs()

    @computed_once
    def simulator(self) -> Simulator:
        return Simulator()

    @computed_once
    def executor(self) -> Executor:
        return Executor()

    @computed_once
    def device(self) -> DeviceBackend:
        return DeviceBackend()

    @computed_once
    def artifacts(self) -> Artifacts:
        from .artifacts import Artifacts

        return Artifacts()

    @computed_once
    def checks(self) -> Checks:
        from .check import Checks

        return Checks()

    @computed_once
    def outside(self) -> Outside:
        from .check import Outside

        return Outside()

    @computed_once
    def fast(self) -> FastCalls:
        from .fast import FastCalls

        return FastCalls()

    @computed_once
    def views(self) -> Views:
        from .views import Views

        return Views()

    def launch(
        self,
        operation: Operation,
        args: tuple[object, ...],
        kwargs: dict[str, object],
        sources: Path | None = None,
    ) -> None:
        """Run an operation; the C++ in `sources` takes the place of what is compiled."""
        config = Config.current()
        if config.hand_over is not None:
            program, compiled = self._compiled(operation, args, kwargs, config, sources)
            config.hand_over(compiled, list(program.tensors.values()))
            self.checks.compiled(program)
            return
        call = OperationCall(self, operation, config, sources)
        if (trace := TRACE.get()) is not None:
            trace.append(partial(self.launch, operation, args, kwargs, sources))
        try:
            call.launch(args, kwargs)
        except InternalError:
            raise
        except TTLError as error:
            if not call.config.check:
                raise
            checked = call.checked or self.checks.begin()  # other operations are looked at too
            self.checks.found(checked, error.diagnostics, call.config, self.remarks)

    def bind(
        self, operation: Operation, args: tuple[object, ...], kwargs: dict[str, object]
    ) -> BoundCall:
        from .bound import bind

        return bind(OperationCall(self, operation, Config.current()), args, kwargs)

    def compile(
        self, operation: Operation, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> CompiledOperation:
        return self._compiled(operation, args, kwargs, Config.current())[1]

    def _compiled(
        self,
        operation: Operation,
        args: tuple[object, ...],
        kwargs: dict[str, object],
        config: Config,
        sources: Path | None = None,
    ) -> tuple[Program, CompiledOperation]:
        """Compile even if a command only checks: the caller needs the artifact."""
        from .bound import compiled_for

        config = replace(config, compile_only=True, check=False)
        return compiled_for(OperationCall(self, operation, config, sources), args, kwargs)

    def backend_of(self, config: Config, has_sources: bool) -> Backend:
        if config.backend == "device":
            return self.device
        if config.backend == "host" or has_sources:
            return self.executor
        return self.simulator


def _reordered(place: Span) -> str | None:
    from .reordered import reordered_kernel  # what most runs never need

    return reordered_kernel(place)


@contextmanager
def guarded(program: Program, target: Target, config: Config) -> Iterator[None]:
    """Turn our own faults into InternalErrors, with a bundle to find the cause."""
    token = REORDERED.set(_reordered)
    try:
        yield
    except InternalError as error:
        from .crash import with_bundle  # what most runs never need

        raise with_bundle(error, program, target, config) from error.__cause__
    except (TTLError, MemoryError, OSError):
        raise
    except Exception as error:
        if not raised_by_pyttlang(error.__traceback__):
            raise
        if isinstance(error, RecursionError):
            _refuse_deep(program.operation)
        from .crash import unexpected, with_bundle

        raise with_bundle(unexpected(program, error), program, target, config) from error
    finally:
        REORDERED.reset(token)


@dataclass(slots=True)
class OperationCall:
    """One call of an operation."""

    driver: Driver
    operation: Operation
    config: Config
    sources: Path | None = None  # the folder of C++ that runs in the place of what is compiled
    checked: Checked | None = None  # what was found in it so far

    def launch(self, args: tuple[object, ...], kwargs: dict[str, object]) -> None:
        try:
            self._launch_on_devices(args, kwargs)
        except RecursionError:
            _refuse_deep(self.operation)
            raise

    def _launch_on_devices(self, args: tuple[object, ...], kwargs: dict[str, object]) -> None:
        mesh = mesh_of(self.operation, args, kwargs)
        if mesh is None:
            self._launch_on_one(args, kwargs)
            return
        calls = list(calls_by_device(mesh, args, kwargs))

        def launch(index: int) -> None:
            try:
                self._launch_on_one(*calls[index])
            except TTLError as error:
                raise on_device(error, mesh, index) from error.__cause__

        if (processes := self.config.mesh_processes) is not None:
            from .mesh_processes import launch_split, may_split

            if may_split(self.config, calls):
                launch_split(launch, calls, processes)
                return
        for index in range(len(calls)):
            launch(index)

    def _launch_on_one(self, args: tuple[object, ...], kwargs: dict[str, object]) -> None:
        with placed(args, kwargs) as (args_there, kwargs_there):
            program, target, config = self.program(args_there, kwargs_there)
            note = host_note(program, has_visitors=kwargs_there is not kwargs)
            self.driver.remarks.note_once(note, config)
            if config.fast is not None and config.backend == "sim":
                self.driver.fast.run(
                    program, target, config, lambda now: self._run(program, _target(now), now)
                )
            else:
                self._run(program, target, config)

    def program(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Program, Target, Config]:
        """Run the body; return the program, its chip and the options of this call."""
        _check_choices(self.config)
        config, chip = choose_backend(self.config, args, kwargs)
        _check_float32(config)
        target = _target(config)
        helps = partial(larger_grid_helps, is_simulated=not _is_for_chip(config))
        program = self.operation.program(
            args,
            kwargs,
            config.grid or _own_grid(chip, target),
            config.compiler_options,
            largest_grid=_largest_grid(config, _own_grid(chip, target)),
            larger_grid_helps=helps if chip is None else None,
        )
        if config.show_threads:
            self.driver.remarks.show_threads(program)
        return program, target, config

    def _run(self, program: Program, target: Target, config: Config) -> None:
        with guarded(program, target, config):
            if (runnable := self.runnable(program, target, config)) is not None:
                self.run(runnable, program, list(program.tensors.values()), config)

    def run(
        self, runnable: Runnable, program: Program, tensors: list[object], config: Config
    ) -> None:
        driver = self.driver
        if (config.estimate or config.trace_times) and runnable.artifact is not None:
            driver.runs.record(runnable.artifact, tensors, config)
        if not (config.estimate or config.compile_only):
            with driver.remarks.of_a_run(config) as warn:
                driver.runs.run(runnable, program, tensors, config, warn)

    def runnable(self, program: Program, target: Target, config: Config) -> Runnable | None:
        """Prepare the program; return None if a check found errors."""
        compiles = config.wants_artifact or self.sources is not None
        looks = config.check or config.view
        signature = _signature_of(program, target, config) if compiles or looks else None
        is_known = compiles and not looks and self.driver.artifacts.knows(signature)
        if not (is_known or self._is_right(program, signature, target, config)):
            return None
        compiled = self.artifact(program, signature, target, config) if compiles else None
        backend = self.driver.backend_of(config, self.sources is not None)
        return backend.prepare(program, compiled, target, config)

    def _is_right(
        self, program: Program, signature: CallSignature | None, target: Target, config: Config
    ) -> bool:
        """Look for mistakes that show before a run: raise them, or let a check show them."""
        driver = self.driver
        if _is_for_chip(config):
            check_on_chip(program, target)
        if in_l1 := l1_tensors(program.tensors):
            check_limits(program.buffers, target, program.options.get("ttl-l1-budget"), in_l1)
        driver.remarks.supply(program, config)
        if config.check:
            self.checked = driver.checks.of(program, signature, target, config, driver.remarks)
            if self.checked.errors or config.compile_only:
                return False
        elif config.backend == "sim" and _is_unusual(program):
            signature = signature or _signature_of(program, target, config)
            driver.outside.refuse(program, signature, target)
        if config.view:
            driver.views.see(program, signature, target, config)
        return True

    def artifact(
        self, program: Program, signature: CallSignature | None, target: Target, config: Config
    ) -> CompiledOperation:
        warn = partial(self.driver.remarks.warn, config=config, kind=CompileError)
        compiled = self.driver.artifacts.compile(program, signature, target, config, warn)
        if self.sources is not None:
            from ttl.artifact import with_sources

            compiled = with_sources(compiled, self.sources)
        return compiled


def _signature_of(program: Program, target: Target, config: Config) -> CallSignature | None:
    from .signature import signature_of  # what the simulator does not need

    return signature_of(program, target, config)


def _is_unusual(program: Program) -> bool:
    """Look for unusual Python, except in another DSL, which has rules of its own."""
    return program.operation.frontend is None and facts_of(program).is_unusual


def _refuse_deep(operation: Operation) -> None:
    """UsageError if it has an expression or statement that explains a RecursionError."""
    from ttl.source.nesting import too_deep

    if (found := too_deep(operation.function)) is not None:
        raise found from None


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


def _is_for_chip(config: Config) -> bool:
    """Is anything wanted that only nodes of the chip can have, an artifact or an estimate?"""
    return bool(config.compile_to or config.estimate or config.trace_times)


def _check_float32(config: Config) -> None:
    if config.float32 and config.backend != "sim":
        raise usage_error(
            codes.WRONG_OPTION,
            "f32 for all types (--float32, TTL_FLOAT32=1) is for the simulator; compiled kernels "
            "have the types of their tensors",
            "take it out, or run on the simulator",
        )


def _check_choices(config: Config) -> None:
    _check_choice("TTL_TARGET", config.target, CHOICES)
    _check_choice("TTL_BACKEND", config.backend, BACKENDS)
    _check_choice("TTL_SCHEDULER", config.scheduler, SCHEDULERS)
    _check_choice("TTL_ROUNDING", config.rounding, ROUNDINGS)
    for category in config.trace_events or ():
        _check_choice("TTL_TRACE_EVENTS", category, CATEGORIES)


def _check_choice(variable: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise usage_error(
            codes.WRONG_OPTION,
            f"{variable}={value}: not one of {', '.join(choices)}",
            f"unset {variable}, or set it to {choices[0]}",
        )

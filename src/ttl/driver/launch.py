"""A call of an operation: run the body, choose a backend, compile or run."""

from __future__ import annotations

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
from .captured import CAPTURED
from .grids import check_on_chip, larger_grid_helps
from .placing import host_note, placed
from .remarks import Remarks
from .running import Runs
from .spmd import calls_by_device, mesh_of, on_device

if TYPE_CHECKING:
    from ttl.artifact import CompiledOperation
    from ttl.device import Chip

    from .artifacts import Artifacts
    from .check import Checked, Checks, Outside
    from .fast import FastCalls
    from .ready import Given, ReadyCalls
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
    def ready(self) -> ReadyCalls:
        from .ready import ReadyCalls

        return ReadyCalls()

    @computed_once
    def views(self) -> Views:
        from .views import Views

        return Views()

    def launch(self, operation: Operation, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        token = REORDERED.set(_reordered)
        try:
            self._launch(operation, args, kwargs)
        finally:
            REORDERED.reset(token)

    def _launch(self, operation: Operation, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        config = Config.current()
        may_be_ready = "ready" in self.__dict__ and self.runs.around is None
        if may_be_ready and self.ready.run(operation, (args, kwargs), config):
            return
        call = Call(self, operation, config)
        if (trace := TRACE.get()) is not None:
            trace.append(partial(self.launch, operation, args, kwargs))
        try:
            given = args, dict(kwargs)
            call.launch(args, kwargs)
            self._keep(call, given)
        except InternalError:
            raise
        except TTLError as error:
            if not call.checks:
                raise
            checked = call.checked or self.checks.begin()  # other operations are looked at too
            self.checks.found(checked, error.diagnostics, config, self.remarks)

    def _keep(self, call: Call, given: Given) -> None:
        """The next call of this kind needs nothing but its tensors."""
        if call.ran is not None and not call.operation.loads_kernels:
            program, compiled = call.ran
            again = partial(self.runs.again, program, compiled, call.config, self.remarks)
            self.ready.keep(given, program, call.config, again)

    def compile(self, program: Program, target: Target, config: Config) -> CompiledOperation:
        return self.artifacts.compile(
            program, target, config, lambda found: self.remarks.warn(found, config, CompileError)
        )


def _reordered(place: Span) -> str | None:
    from .reordered import reordered_kernel  # what most runs never need

    return reordered_kernel(place)


@dataclass(slots=True)
class Call:
    """One call of an operation."""

    driver: Driver
    operation: Operation
    config: Config
    checked: Checked | None = None  # what was found in it so far
    ran: tuple[Program, CompiledOperation] | None = None  # what was compiled

    @property
    def checks(self) -> bool:
        """Not the operations of a model: without the artifact there is nothing to go on with."""
        return self.config.check and CAPTURED.get() is None

    def launch(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        try:
            self._launch_on_devices(args, kwargs)
        except RecursionError:
            _refuse_deep(self.operation)
            raise

    def _launch_on_devices(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
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

    def _launch_on_one(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        _check_choices(self.config)
        with placed(args, kwargs) as on_device:
            self._launch_placed(*on_device, has_visitors=on_device[1] is not kwargs)

    def _launch_placed(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], has_visitors: bool
    ) -> None:
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
        self.driver.remarks.note_once(host_note(program, has_visitors), config)
        if config.fast is not None and config.backend == "sim":
            self.driver.fast.run(
                program, target, config, lambda chosen: self._run(program, _target(chosen), chosen)
            )
        else:
            self._run(program, target, config)

    def _run(self, program: Program, target: Target, config: Config) -> None:
        try:
            self._compile_and_run(program, target, config)
        except InternalError as error:
            from .crash import with_bundle  # what most runs never need

            raise with_bundle(error, program, target, config) from error.__cause__
        except (TTLError, MemoryError, OSError):
            raise
        except Exception as error:
            if not raised_by_pyttlang(error.__traceback__):
                raise
            if isinstance(error, RecursionError):
                _refuse_deep(self.operation)
            from .crash import unexpected, with_bundle

            raise with_bundle(unexpected(program, error), program, target, config) from error

    def _compile_and_run(self, program: Program, target: Target, config: Config) -> None:
        driver = self.driver
        if _is_for_chip(config):
            check_on_chip(program, target)
        if in_l1 := l1_tensors(program.tensors):
            check_limits(program.buffers, target, program.options.get("ttl-l1-budget"), in_l1)
        driver.remarks.supply(program, config)
        if self.checks:
            self.checked = driver.checks.of(program, target, config, driver.remarks)
            if self.checked.errors or config.compile_only:
                return
        elif config.backend == "sim" and _is_unusual(program):
            driver.outside.refuse(program, target, config)
        if config.view:
            driver.views.see(program, target, config)
        compiled = self._artifact(program, target, config)
        if config.estimate and compiled is not None:
            driver.runs.record(program, compiled, config)
        elif not config.compile_only:
            if config.trace_times and compiled is not None:
                driver.runs.record(program, compiled, config)
            is_used = config.backend != "sim" or program.operation.loads_kernels
            with driver.remarks.of_a_run(config) as warn:
                driver.runs.run(program, compiled if is_used else None, target, config, warn)
            if is_used and compiled is not None:
                self.ran = program, compiled

    def _artifact(
        self, program: Program, target: Target, config: Config
    ) -> CompiledOperation | None:
        folder = program.operation.kernel_folder
        if not config.wants_artifact and folder is None:
            return None
        compiled = self.driver.compile(program, target, config)
        if program.operation.loads_kernels:
            from pathlib import Path

            from ttl.artifact import with_sources

            compiled = with_sources(compiled, Path(folder or "."))
        if (captured := CAPTURED.get()) is not None:
            captured.append((compiled, list(program.tensors.values())))
            self.driver.checks.compiled(program)
        return compiled


def _is_unusual(program: Program) -> bool:
    """Not of another DSL, which says itself what its threads may have."""
    return program.operation.lowering is None and facts_of(program).is_unusual


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

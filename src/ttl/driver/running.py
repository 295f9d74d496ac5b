"""Runs of kernels on the simulator, on this CPU or on a device."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ttl.config import Config
from ttl.diagnostics import InternalError, KernelFault, codes, usage_error
from ttl.language.operation import Program
from ttl.loading.forks import ForkLock, computed_once
from ttl.semantics.dtypes import dtype_of, spacing_at_1
from ttl.semantics.rounding import Rounding
from ttl.source.facts import facts_of
from ttl.target import Target
from ttl.trace import EventKind, Recorder

from .roundings import Roundings
from .traces import Traces

if TYPE_CHECKING:
    from ttl.artifact import CompiledOperation
    from ttl.device import Programs
    from ttl.device.watch import Watch
    from ttl.host import CallCounts
    from ttl.trace.calls import Recording
    from ttl.trace.results import Bound

    from .compile import Report
    from .remarks import Remarks

FAIR_SEED = 0


@dataclass(slots=True)
class Recorded:
    """What the kernels of an operation call, and how often the program calls the operation."""

    compiled: CompiledOperation
    recording: Recording
    times: int = 1


class Runs:
    """What runs leave beside their results: traces, counts of calls, recorded calls."""

    def __init__(self) -> None:
        self.traces = Traces()
        self.roundings = Roundings()
        self.counts: dict[str, CallCounts] = {}  # of each operation of the program, if wanted
        self.recorded: dict[CompiledOperation, Recorded] = {}  # for estimates, if wanted
        self.recorded_calls: list[CompiledOperation] = []  # in the order of the program
        # What is done around the run of a program, while the tensors are those that it works on.
        self.around: Callable[[Program], AbstractContextManager[None]] | None = None
        self._watch: Watch | None = None  # has read the logs up to some place
        self._is_cache_bounded = False  # looked at once in a process
        self._counting = ForkLock()  # the counters are the library's: one run at a time

    @computed_once
    def programs(self) -> Programs:
        """Those of devices."""
        from ttl.device import Programs

        return Programs()

    def run(
        self,
        program: Program,
        compiled: CompiledOperation | None,
        target: Target,
        config: Config,
        warn: Report,
    ) -> None:
        """Run the kernels, those of the artifact if there is one."""
        name = program.operation.__name__
        bound_of = partial(_bound_of, program)
        with self.traces.recorded(config, program.tensors, bound_of) as recorder:
            if recorder is not None:
                recorder.record(EventKind.OPERATION_START, (), "", name)
            try:
                unchanged = _unchanged(program) if config.dry_run else nullcontext()
                around = nullcontext() if self.around is None else self.around(program)
                with unchanged, around:
                    if compiled is None:
                        rounding = self.roundings.of(program, target, config)
                        _simulate(program, target, config, rounding, recorder, warn)
                    else:
                        self._run_compiled(program, compiled, config, recorder, warn)
            finally:
                if recorder is not None:
                    recorder.record(EventKind.OPERATION_END, (), "", name)

    def _run_compiled(
        self,
        program: Program,
        compiled: CompiledOperation,
        config: Config,
        recorder: Recorder | None,
        warn: Report,
    ) -> None:
        if config.backend == "device":
            from ttl import device

            device.launch(
                compiled,
                list(program.tensors.values()),
                programs=self.programs,
                watch=self._watch_of(config),
                recorder=recorder,
                report=warn,
            )
            return
        from .cache import keep_bounded

        if not self._is_cache_bounded:
            self._is_cache_bounded = True
            keep_bounded(config)
        with self._counting() if config.counts else nullcontext():
            counts = self._counts_of(program) if config.counts else None
            storages = [tensor.storage for tensor in program.tensors.values()]
            launch = _host_launch(compiled, config)
            launch(storages, recorder=recorder, counts=counts, report=warn)

    def again(
        self, program: Program, compiled: CompiledOperation, config: Config, remarks: Remarks
    ) -> Callable[[Sequence[Any]], None]:
        """What runs the operation once more, for other tensors of the same kinds."""
        if config.backend == "host":
            launch = _host_launch(compiled, config)

            def run(tensors: Sequence[Any]) -> None:
                with remarks.of_a_run(config) as warn:
                    launch([tensor.storage for tensor in tensors], report=warn)

            return run
        from ttl.device import launch_program, module_of

        tensors = list(program.tensors.values())
        known = self.programs.of(module_of(tensors[0]), compiled, tensors)
        return partial(launch_program, known)

    def record(self, program: Program, compiled: CompiledOperation, config: Config) -> None:
        """The calls of the kernels; a second call of the same kind is only counted."""
        from ttl import host

        self.recorded_calls.append(compiled)
        if (known := self.recorded.get(compiled)) is not None:
            known.times += 1
            return
        if any(kernel.own is not None for kernel in compiled.kernels):
            raise usage_error(
                codes.WRONG_FILE,
                f"`{compiled.name}` has kernels that were written by hand: there is no estimate",
                "estimate operations of the language",
            )
        with self._counting(), _unchanged(program):
            storages = [tensor.storage for tensor in program.tensors.values()]
            recording = host.record(compiled, storages, cache_dir=config.cache_dir)
        self.recorded[compiled] = Recorded(compiled, recording)

    def _watch_of(self, config: Config) -> Watch | None:
        if config.device_timeout is None:
            return None
        if self._watch is None:
            from ttl.device.watch import Watch

            self._watch = Watch(os.environ, config.device_timeout)
        self._watch.limit_seconds = config.device_timeout
        return self._watch

    def show_rest(self) -> None:
        """What the print server of a device has written since the last launch."""
        if self._watch is not None:
            self._watch.show_rest()

    def _counts_of(self, program: Program) -> CallCounts:
        from ttl.host import CallCounts

        return self.counts.setdefault(program.operation.__name__, CallCounts())


def _host_launch(compiled: CompiledOperation, config: Config) -> Callable[..., None]:
    """What runs an artifact on this CPU, with these options."""
    from ttl import host

    return partial(
        host.launch,
        compiled,
        cache_dir=config.cache_dir,
        seed=config.seed,
        threads=config.threads,
        rounds_like_chip=config.rounding == "chip",
        isolate=config.isolate,
        memory_bytes=config.isolate_memory,
    )


def _bound_of(program: Program, tensor: Any) -> Bound | None:
    """How far what another engine leaves in the tensor may be away: by the op table."""
    from ttl.source.inexact import inexact_operations
    from ttl.trace.results import Bound

    applied, dtype = inexact_operations(program), dtype_of(tensor)
    if not applied or not dtype.is_float:
        return None
    return Bound(applied, spacing_at_1(facts_of(program).dest_dtype), spacing_at_1(dtype))


def _simulate(
    program: Program,
    target: Target,
    config: Config,
    rounding: Rounding,
    recorder: Recorder | None,
    warn: Report,
) -> None:
    import ttl.sim as sim

    try:
        sim.run(
            program,
            target=target,
            recorder=recorder,
            seed=_seed(config),
            float32=config.float32,
            rounding=rounding,
            finds_races=config.strict or config.seed is not None,
            report=warn,
        )
    except KernelFault as fault:
        raise _with_sizes(fault, program, target) from fault.__cause__


def _with_sizes(fault: KernelFault, program: Program, target: Target) -> KernelFault:
    """A run knows which buffer was too small; the proof knows how large it has to be."""
    first = fault.diagnostics[0]
    waiting = first.facts.get("waiting", ())
    if first.code is not codes.DEADLOCK or all(each["action"] != "reserve" for each in waiting):
        return fault
    from .check import check_operation  # a report, which most runs do not need

    try:
        found = check_operation(program, target)
    except InternalError:  # the run has found enough
        return fault
    for proven in found:
        if (proven.code, proven.message) == (first.code, first.message):
            return KernelFault(replace(first, helps=proven.helps), *fault.diagnostics[1:])
    return fault


def _seed(config: Config) -> int | None:
    """`fair` lets others run where a kernel could also go on: what any seed does."""
    if config.seed is None and config.scheduler == "fair":
        return FAIR_SEED
    return config.seed


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

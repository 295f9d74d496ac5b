"""Run programs on the simulator, on this CPU or on a device.

A backend prepares a runnable from a program once. The runnable runs on tensors any number of times.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from ttl.config import Config
from ttl.diagnostics import Diagnostic, InternalError, KernelFault, codes
from ttl.language.operation import Program
from ttl.loading.forks import ForkLock, computed_once
from ttl.target import Target
from ttl.trace import Recorder

from .roundings import Roundings

if TYPE_CHECKING:
    from ttl.artifact import CompiledOperation
    from ttl.device import Programs
    from ttl.device.watch import Watch
    from ttl.host import CallCounts

Report = Callable[[Diagnostic], None]
FAIR_SEED = 0


class Runnable(Protocol):
    @property
    def artifact(self) -> CompiledOperation | None:
        """Return None if nothing was compiled, as in most runs on the simulator."""

    def run(self, tensors: Sequence[object], recorder: Recorder | None, report: Report) -> None:
        """Run the kernels on tensors that match the program's, in the same order."""


class Backend(Protocol):
    def prepare(
        self, program: Program, compiled: CompiledOperation | None, target: Target, config: Config
    ) -> Runnable:
        """Prepare to run a program. Only the simulator works without an artifact."""


# The simulator ------------------------------------------------------------------------------------


class Simulator:
    def __init__(self) -> None:
        self.roundings = Roundings()

    def prepare(
        self, program: Program, compiled: CompiledOperation | None, target: Target, config: Config
    ) -> Runnable:
        return PreparedSimulation(program, target, config, self.roundings, compiled)


@dataclass(frozen=True, slots=True)
class PreparedSimulation:
    program: Program
    target: Target
    config: Config
    roundings: Roundings = field(repr=False)
    artifact: CompiledOperation | None

    def run(self, tensors: Sequence[object], recorder: Recorder | None, report: Report) -> None:
        import ttl.sim as sim

        program, config = self.program.on_tensors(tensors), self.config
        try:
            sim.run(
                program,
                target=self.target,
                recorder=recorder,
                seed=_seed(config),
                float32=config.float32,
                rounding=self.roundings.of(program, self.target, config),
                finds_races=config.strict or config.seed is not None,
                report=report,
            )
        except KernelFault as fault:
            raise _with_sizes(fault, program, self.target) from fault.__cause__


def _with_sizes(fault: KernelFault, program: Program, target: Target) -> KernelFault:
    """Add the size that a proof computes: the run only knows which buffer was too small."""
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
    """Use any seed for `fair`: it lets other kernels run even if one could continue."""
    if config.seed is None and config.scheduler == "fair":
        return FAIR_SEED
    return config.seed


# The executor -------------------------------------------------------------------------------------


class Executor:
    """Runs compiled kernels on this CPU."""

    def __init__(self) -> None:
        self.counts: dict[str, CallCounts] = {}  # of each operation of the program, if wanted
        self._counting = ForkLock()  # the counters are the library's: one run at a time
        self._is_cache_bounded = False  # looked at once in a process

    def prepare(
        self, program: Program, compiled: CompiledOperation | None, target: Target, config: Config
    ) -> Runnable:
        assert compiled is not None
        if not self._is_cache_bounded:
            from .cache import keep_bounded

            self._is_cache_bounded = True
            keep_bounded(config)
        counts = self._counts_of(program) if config.counts else None
        return HostKernels(compiled, config, counts, self._counting)

    def _counts_of(self, program: Program) -> CallCounts:
        from ttl.host import CallCounts

        return self.counts.setdefault(program.operation.__name__, CallCounts())


@dataclass(frozen=True, slots=True)
class HostKernels:
    artifact: CompiledOperation
    config: Config
    counts: CallCounts | None
    counting: ForkLock

    def run(self, tensors: Sequence[Any], recorder: Recorder | None, report: Report) -> None:
        from ttl import host

        config = self.config
        with nullcontext() if self.counts is None else self.counting():
            host.launch(
                self.artifact,
                [tensor.storage for tensor in tensors],
                cache_dir=config.cache_dir,
                recorder=recorder,
                seed=config.seed,
                threads=config.threads,
                rounds_like_chip=config.rounding == "chip",
                counts=self.counts,
                report=report,
                isolate=config.isolate,
                memory_bytes=config.isolate_memory,
            )


# Devices ------------------------------------------------------------------------------------------


class DeviceBackend:
    """Runs compiled kernels on the device of their tensors, through the real ttnn."""

    def __init__(self) -> None:
        self._watch: Watch | None = None  # has read the logs up to some place

    @computed_once
    def programs(self) -> Programs:
        from ttl.device import Programs

        return Programs()

    def prepare(
        self, program: Program, compiled: CompiledOperation | None, target: Target, config: Config
    ) -> Runnable:
        assert compiled is not None
        return DeviceKernels(compiled, self.programs, self._watch_of(config))

    def _watch_of(self, config: Config) -> Watch | None:
        if config.device_timeout is None:
            return None
        if self._watch is None:
            from ttl.device.watch import Watch

            self._watch = Watch(os.environ, config.device_timeout)
        self._watch.limit_seconds = config.device_timeout
        return self._watch

    def show_rest(self) -> None:
        """Show what a device printed since the last launch."""
        if self._watch is not None:
            self._watch.show_rest()


@dataclass(frozen=True, slots=True)
class DeviceKernels:
    artifact: CompiledOperation
    programs: Programs = field(repr=False)
    watch: Watch | None

    def run(self, tensors: Sequence[object], recorder: Recorder | None, report: Report) -> None:
        from ttl import device

        device.launch(
            self.artifact,
            tensors,
            programs=self.programs,
            watch=self.watch,
            recorder=recorder,
            report=report,
        )

"""Run a program: a greenlet for each kernel on each node, in one deterministic queue."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from contextvars import Context, copy_context
from math import prod
from random import Random

import numpy as np
from greenlet import GreenletExit, getcurrent

from ttl.diagnostics import OBSERVER, Diagnostic, KernelFault, RuleBroken, TTLError, accesses
from ttl.diagnostics.activity import busy
from ttl.language.grid import nodes_of
from ttl.language.operation import KernelFunction, Program
from ttl.semantics.current_engine import ENGINE
from ttl.semantics.dtypes import float32
from ttl.semantics.kernel_config import dest_dtype
from ttl.semantics.limits import check_limits, check_semaphores
from ttl.semantics.rounding import LANGUAGE, Rounding
from ttl.semantics.types import Shape
from ttl.source.facts import facts_of
from ttl.target import Target
from ttl.trace import Recorder

from .blas import one_blas_thread
from .buffer import BufferPlan, NodeBuffer
from .copies import TensorTransfer
from .coverage import find_double_writes, find_uncovered_outputs, find_unordered_accesses
from .faults import fault_at
from .garbage import rare_collections
from .kernel import KernelRun, notice
from .leftovers import find_leftovers
from .loopbacks import Loopbacks
from .nets import NetRuns
from .overwrites import Overwrites
from .padding import Padding
from .place import Place
from .plan import KernelPlan
from .printing import language_print
from .races import Races
from .repair import repair
from .semaphores import SemaphoreRuns
from .shards import mark_shards, shard_of
from .types import TypeTable
from .watchdog import watchdog
from .workers import start

SPIN_SECONDS = 5.0
POLLS_WITHOUT_PROGRESS = 20_000
MOST_TIMES_ENDED = 10
_ABANDONED: list[KernelRun] = []


def run(
    program: Program,
    *,
    target: Target,
    recorder: Recorder | None = None,
    seed: int | None = None,
    float32: bool = False,
    rounding: Rounding = LANGUAGE,
    spin_seconds: float = SPIN_SECONDS,
    finds_races: bool = False,
    report: Callable[[Diagnostic], None] | None = None,
) -> None:
    """Run the kernels of `program` on all nodes; `seed` shuffles their order.

    A kernel that uses the CPU for `spin_seconds` without a call of the language is stopped.
    `report` gets the warnings after the run. With `finds_races`, the run follows the order that
    pipes, semaphores and dataflow buffers create. Otherwise it does so only in programs with pipes
    or semaphores that may read tensors they write; in others, it finds races between nodes that use
    neither. With `float32`, floats of every type are f32 everywhere: in tensors, blocks and
    expressions. Another `rounding` loses the precision that the chip's units lose.

    Raises UsageError if the buffers do not fit on `target`, KernelFault if a kernel breaks a rule
    or raises, or if no kernel can continue. Tensors keep the values written until then.
    """
    check_limits(program.buffers, target, program.options.get("ttl-l1-budget"))
    check_semaphores(program.semaphores, target)
    # numpy's error state is a context variable, so kernels' contexts are copied inside the `with`.
    with (
        repair(program),
        one_blas_thread(),
        rare_collections(),
        language_print(),
        np.errstate(all="ignore"),
    ):
        for tensor in program.tensors.values():
            tensor.storage.keep_float32(float32)
        simulation = Simulation(program, recorder, seed, float32, finds_races, rounding)
        try:
            with (
                watchdog(spin_seconds, simulation.progress, simulation.steps),
                busy(f"simulating {program.operation.__name__}: kernels done", simulation.done),
            ):
                simulation.run()
        finally:
            if report is not None:
                for warning in simulation.warnings():
                    report(warning)
            if simulation.has_succeeded:
                simulation.break_cycles()


def _races(program: Program, finds_races: bool) -> Races | None:
    """Choose the clocks; semaphores need them always: a set may race with another change."""
    if program.semaphores:
        from .semaphore_races import SemaphoreRaces  # most programs do not need it

        return SemaphoreRaces(finds_races)
    return Races() if finds_races else None


class Simulation:
    """One run of a program."""

    __slots__ = (
        "activity",
        "dest",
        "has_succeeded",
        "hub",
        "is_stopping",
        "keep_float32",
        "kernels",
        "loopbacks",
        "marks_reads",
        "nets",
        "nodes",
        "overwrites",
        "padding",
        "polls",
        "program",
        "progress_at_poll",
        "races",
        "random",
        "ready",
        "recorder",
        "rounding",
        "semaphores",
        "tensor_names",
        "tolerated",
        "types",
    )

    def __init__(
        self,
        program: Program,
        recorder: Recorder | None,
        seed: int | None = None,
        keep_float32: bool = False,
        finds_races: bool = False,
        rounding: Rounding = LANGUAGE,
    ):
        self.program = program
        self.keep_float32 = keep_float32
        self.random = None if seed is None else Random(seed)
        self.marks_reads = facts_of(program).may_read_what_it_writes
        if self.marks_reads and (program.pipe_nets or program.semaphores):
            finds_races = True  # nodes may exchange data through a tensor, in an order they create
        # Buffers in a tensor's shards also read and write it.
        self.marks_reads |= any(buffer.backing is not None for buffer in program.buffers)
        self.races = _races(program, finds_races)
        is_followed = finds_races or prod(program.grid) == 1
        self.overwrites = None if is_followed else Overwrites(self.marks_reads)
        self.tolerated: dict[tuple[str, Place | None], Diagnostic] = {}
        # Races get the same events as recorders.
        self.recorder = Recorder(()) if recorder is None and self.races else recorder
        self.tensor_names = {id(tensor): name for name, tensor in program.tensors.items()}
        self.padding = Padding.of(program)
        self.dest = dest_dtype(True) if keep_float32 else facts_of(program).dest_dtype
        self.rounding = rounding
        self.types = TypeTable(rounding.is_chips, rounding, self.dest is not float32)
        self.hub = getcurrent()
        self.is_stopping = False
        self.has_succeeded = False
        self.activity = 0  # semaphore calls so far
        self.polls = 0
        self.progress_at_poll = -1
        self.nets = NetRuns(program.pipe_nets, program.grid)
        self.loopbacks = Loopbacks()
        self.semaphores = SemaphoreRuns(program.semaphores)
        self.nodes: dict[Shape, list[NodeBuffer]] = {}
        self.kernels: list[KernelRun] = []
        self.ready: deque[KernelRun] = deque()
        types = [self.types.block(b.shape, b.dtype, b.layout) for b in program.buffers]
        buffers = [
            BufferPlan(declared, type_, keep_float32, rounding.is_chips)
            for declared, type_ in zip(program.buffers, types, strict=True)
        ]
        plans = self._plans(program.kernels)
        for coordinate in nodes_of(program.grid):
            self.nodes[coordinate] = [
                NodeBuffer(each, shard_of(each.declared, coordinate)) for each in buffers
            ]
            if program.kernels_by_node:
                plans = self._plans(program.kernels_on(coordinate))
            self.kernels += [KernelRun(self, plan, coordinate) for plan in plans]
        self.ready.extend(self.kernels)

    def _plans(self, kernels: Iterable[KernelFunction]) -> list[KernelPlan]:
        program, wide = self.program, self.keep_float32
        held = [float32 if wide and b.dtype.is_float else b.dtype for b in program.buffers]
        return [KernelPlan.of(kernel, self.dest, held) for kernel in kernels]

    def run(self) -> None:
        context = copy_context()
        context.run(OBSERVER.set, notice)
        try:
            self._run_ready(context)
            while self.loopbacks.resume_sends(self):
                self._run_ready(context)
            self.loopbacks.check_end(self.nets.pipes())
            if not all(kernel.is_finished for kernel in self.kernels):
                raise self.deadlock()
            if self.races is not None:
                self.races.check()
        finally:
            self._stop()
            for buffers in self.nodes.values():
                for buffer in buffers:
                    buffer.end_run()
        mark_shards(self.nodes)
        if diagnostics := self._find_node_races():
            raise KernelFault(*diagnostics)
        self.has_succeeded = True

    def _run_ready(self, context: Context) -> None:
        while self.ready:
            if self.random is not None:
                self._shuffle()
            kernel = self.ready.popleft()
            if kernel.greenlet is None:
                start(kernel, self.hub, context)
            else:
                kernel.greenlet.switch()

    def _find_node_races(self) -> list[Diagnostic]:
        """Find races between nodes that nothing can have ordered, if clocks did not."""
        if self.overwrites is None or self._may_be_ordered:
            return []
        return find_unordered_accesses(self, self.overwrites)

    @property
    def _may_be_ordered(self) -> bool:
        return self.nets.are_used or self.semaphores.are_used

    def warnings(self) -> list[Diagnostic]:
        """Return the warnings of the run, however it ended."""
        padding = [] if self.padding is None else list(self.padding.warnings.values())
        found = [*padding, *self.tolerated.values(), *self.loopbacks.notes()]
        if not self.has_succeeded:
            return found
        twice = list(self.races.written_alike.values()) if self.races is not None else []
        if self.overwrites is not None:
            why = accesses.PERHAPS_ORDERED if self._may_be_ordered else accesses.SAME_BYTES
            twice = find_double_writes(self, self.overwrites, why)
        return [*found, *find_leftovers(self.nodes), *find_uncovered_outputs(self), *twice]

    def tolerate(
        self, kernel: KernelRun, broken: RuleBroken, place: Place | None, label: str = ""
    ) -> None:
        """Warn, once for each place, about a harmless action that may be a mistake."""
        key = (broken.code.code, place)
        if key not in self.tolerated:
            self.tolerated[key] = fault_at(kernel, broken, place, label).diagnostics[0]

    def switch_to_next(self) -> None:
        """Run the next kernel in place of one that must wait; return at that one's next turn."""
        if self.is_stopping:  # in a `finally` of a kernel that is being ended
            self._end_again()
        ready = self.ready
        if self.random is not None:
            self._shuffle()
        if ready and (following := ready[0].greenlet) is not None:
            ready.popleft()
            following.switch()
        else:  # only the hub starts greenlets: one started here would be on our stack
            self.hub.switch()

    def _end_again(self) -> None:
        """End the running kernel; abandon it if its `except:` has caught that too often."""
        kernel: KernelRun = ENGINE.get()
        kernel.times_ended += 1
        if kernel.times_ended <= MOST_TIMES_ENDED:
            raise GreenletExit
        _ABANDONED.append(kernel)  # if collected, its greenlet would run
        self.hub.switch()

    def _shuffle(self) -> None:
        assert self.random is not None
        if self.ready:
            self.ready.rotate(self.random.randrange(len(self.ready)))

    def perhaps_switch(self, kernel: KernelRun) -> None:
        """With a seed: sometimes let others run, although the kernel could continue."""
        if self.random is not None and self.random.random() < 0.5:
            self.ready.append(kernel)
            self.switch_to_next()

    def perhaps_move_early(self, transfer: TensorTransfer) -> None:
        """With a seed: finish a copy at any time between its start and its wait."""
        if self.random is not None and self.random.random() < 0.5:
            transfer.move_early()

    def poll(self, kernel: KernelRun) -> None:
        """Let others run; raise the deadlock if all kernels left only poll."""
        self.polls += 1
        if self.polls % POLLS_WITHOUT_PROGRESS == 0:
            progress = self.synchronization_count
            if progress == self.progress_at_poll and not self.loopbacks.resume_sends(self):
                raise self.deadlock()
            self.progress_at_poll = progress
        self.ready.append(kernel)
        self.switch_to_next()

    @property
    def synchronization_count(self) -> int:
        """Return a number that grows with every event that other kernels can see."""
        buffers = [buffer for node in self.nodes.values() for buffer in node]
        ends = [end for buffer in buffers for end in (buffer.producer, buffer.consumer)]
        moved = sum([kernel.copies + kernel.is_finished for kernel in self.kernels])
        return self.activity + moved + sum([end.acquired + end.released for end in ends])

    def progress(self) -> int:
        return self.synchronization_count + self.polls

    def done(self) -> tuple[int, int]:
        """Return how many kernels have ended on all nodes, and how many there are."""
        return len([kernel for kernel in self.kernels if kernel.is_finished]), len(self.kernels)

    def steps(self) -> int:
        """Return how many block expressions were computed so far."""
        return sum([kernel.steps for kernel in self.kernels])

    def deadlock(self) -> KernelFault:
        from .deadlock import deadlock_fault  # most runs never need a report

        stuck = [kernel for kernel in self.kernels if not kernel.is_finished]
        race = None if self.races is None else self.races.cause_of_deadlock()
        if race is not None:
            return KernelFault(race)
        return deadlock_fault(stuck, self.nodes, self.program)

    def break_cycles(self) -> None:
        """Break the run's reference cycles, so that it is freed now. A garbage collection takes as
        long as a small launch.
        """
        for buffers in self.nodes.values():
            for buffer in buffers:
                buffer.break_cycles()
        self.nodes.clear()
        self.kernels.clear()

    def _stop(self) -> None:
        """End the remaining kernels; exceptions from their cleanup are not the cause."""
        self.is_stopping = True
        for kernel in self.kernels:
            if kernel.greenlet is not None and not kernel.is_finished:
                with suppress(TTLError):
                    kernel.greenlet.throw(GreenletExit)

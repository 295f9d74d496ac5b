"""Runs a compiled operation: build, load, hand over the tensors' pages, run, report."""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from itertools import compress
from pathlib import Path

from ttl.artifact import CompiledOperation
from ttl.diagnostics import (
    Diagnostic,
    KernelFault,
    Severity,
    UsageError,
    codes,
    file_not_usable,
)
from ttl.diagnostics.activity import busy
from ttl.loading.recent import Recent
from ttl.target import Target
from ttl.target import load as load_target
from ttl.trace import Recorder

from . import build
from .build import CompilerRejected, build_kernels, build_runtime
from .clashes import clashes
from .counts import CallCounts
from .events import check_events, declare, record_events
from .execution import declare as declare_running
from .execution import execute
from .leftovers import leftover_diagnostics
from .memory import PagedTensor, TensorMemory, shard_words_of, tensor_memories
from .printed import printed_lines
from .program import (
    COUNTS,
    FIRST_TENSOR_ADDRESS,
    NO_CALLS,
    NO_MEMORY,
    TENSOR_ADDRESS_STEP,
    HostProgram,
    Parts,
    ReportStruct,
    RunOptions,
    TensorPlan,
    make_program,
    plan_tensor,
    program_parts,
)
from .report import compiler_failure, raise_if_failed
from .toolchain import Compiler, find_compiler
from .translation_unit import translation_units

# A step is about a call of the runtime. Blocks that fill all of L1 take some thousand of them; an
# endless loop of the cheapest call gets here in about a second, one of matrix products in minutes.
STEP_BUDGET = 100_000_000


def launch(
    compiled: CompiledOperation,
    tensors: Sequence[PagedTensor],
    *,
    cache_dir: Path,
    recorder: Recorder | None = None,
    step_budget: int = STEP_BUDGET,
    seed: int | None = None,
    threads: int | None = None,
    rounds_like_chip: bool = False,
    counts: CallCounts | None = None,
    report: Callable[[Diagnostic], None] | None = None,
    isolate: bool = False,
    memory_bytes: int | None = None,
) -> None:
    """Runs every kernel on every node; the tensors then hold what the kernels wrote.

    KernelFault where a kernel misuses the chip, all wait for each other, or one runs for
    `step_budget` steps without letting others run; the tensors keep what was written until then, as
    they do after a KeyboardInterrupt. UsageError without a compiler or for a format that the
    runtime does not know, InternalError where the compiler rejects a kernel. Transfers land as late
    as the barriers allow, in an order that a seed shuffles. Nodes run on so many threads, or one
    for each processor; with a seed, a recorder or counts on one. With `rounds_like_chip` ties go
    where the chip has them. The calls are added to `counts`, if it is given; `report` gets
    warnings. With `isolate` the kernels run in a process of their own, which may take
    `memory_bytes` beside the tensors, and KernelFault is also what ends that.
    """
    assert len(tensors) == len(compiled.operands), "one tensor for each operand"
    options = _run_options(
        trace=recorder is not None,
        step_budget=step_budget,
        seed=seed,
        threads=threads or processors(),
        is_in_turn=counts is not None,
        rounds_like_chip=rounds_like_chip,
        records=NO_CALLS if counts is None else COUNTS,
    )
    if isolate:
        _launch_isolated(
            compiled, tensors, options, cache_dir, recorder, counts, report, memory_bytes
        )
        return
    ready = _ready(compiled, tensors, cache_dir, _records(compiled, recorder, counts))
    memories = tensor_memories(tensors)
    program = make_program(ready.parts, memories, options)
    try:
        _run(ready.runtime, program, compiled, tensors, memories, recorder, counts, report)
    finally:
        if counts is not None:
            counts.add_run(compiled, (each.pages for each in program.tensors if each.written))


_run_options = lru_cache(maxsize=16)(RunOptions)  # those of the last launch, nearly always


def _records(
    compiled: CompiledOperation, recorder: Recorder | None, counts: CallCounts | None
) -> bool:
    """Are the kernels to tell what they call, or where their marks are?"""
    has_marks = any(kernel.marks for kernel in compiled.kernels)
    return counts is not None or (recorder is not None and has_marks)


@dataclass(frozen=True, slots=True)
class _Ready:
    """An operation that can run: its kernels are loaded."""

    runtime: ctypes.CDLL
    parts: Parts


# Under the identity of the operation, which its parts keep alive.
_READY: Recent[_Ready] = Recent(256)


def _ready(
    compiled: CompiledOperation,
    tensors: Sequence[PagedTensor],
    cache_dir: Path,
    records_calls: bool,
) -> _Ready:
    def anew() -> _Ready:
        target = load_target(compiled.target)
        plans = _plans(compiled, tensors, target)
        runtime, entries = load(compiled, plans, cache_dir, records_calls)
        return _Ready(runtime, program_parts(compiled, target, plans, entries))

    kinds = tuple([(each.page_bytes, each.memory, shard_words_of(each)) for each in tensors])
    return _READY.get((id(compiled), kinds, cache_dir, records_calls), anew)


def _plans(
    compiled: CompiledOperation, tensors: Sequence[PagedTensor], target: Target
) -> list[TensorPlan]:
    _check(compiled, target)
    return [
        plan_tensor(address, tensor.page_bytes, tensor.memory, target, shard_words_of(tensor))
        for address, tensor in zip(addresses_of(compiled), tensors, strict=True)
    ]


def processors() -> int:
    """Count the processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def addresses_of(compiled: CompiledOperation) -> list[int]:
    """Return the addresses that kernels written by hand were given, or any others."""
    return [
        FIRST_TENSOR_ADDRESS + n * TENSOR_ADDRESS_STEP if each.address is None else each.address
        for n, each in enumerate(compiled.operands)
    ]


def _check(compiled: CompiledOperation, target: Target) -> None:
    own = sum(buffer.own_bytes for buffer in compiled.buffers)
    total = own + compiled.pipe_scratch_bytes
    if total > target.dataflow_buffer_budget_bytes:
        message = f"the buffers of `{compiled.name}` take {total} bytes of L1"
        budget = f"a node of {target.name} has {target.dataflow_buffer_budget_bytes}"
        raise UsageError(Diagnostic(codes.L1_BUDGET, message, notes=(budget,)))


def load(
    compiled: CompiledOperation,
    plans: Sequence[TensorPlan],
    cache_dir: Path,
    records_calls: bool = False,
) -> tuple[ctypes.CDLL, list[int]]:
    """The runtime, and where each kernel begins."""
    entries = []
    for unit in translation_units(compiled, plans):
        with _reported(compiled, cache_dir):
            api = compiled.device_api
            kernels, runtime = _libraries(unit.text, cache_dir, api, records_calls)
        for position in unit.kernels:
            address = ctypes.cast(kernels[f"ttl_kernel_{position}"], ctypes.c_void_p).value
            assert address is not None
            entries.append(address)
    return runtime, entries


def _built(
    compiled: CompiledOperation,
    plans: Sequence[TensorPlan],
    cache_dir: Path,
    records_calls: bool,
) -> tuple[Path, list[tuple[Path, tuple[int, ...]]]]:
    """The runtime, and the libraries with the kernels in each, which are not loaded."""
    built = []
    for unit in translation_units(compiled, plans):
        with _reported(compiled, cache_dir):
            compiler, runtime, _ = _runtime(cache_dir)
            path = build_kernels(
                compiler,
                unit.text,
                runtime,
                cache_dir,
                device_api=compiled.device_api,
                records_calls=records_calls,
            )
        built.append((path, unit.kernels))
    return runtime, built


@contextmanager
def _reported(compiled: CompiledOperation, cache_dir: Path) -> Iterator[None]:
    try:
        yield
    except CompilerRejected as rejection:
        raise compiler_failure(compiled, rejection.output) from None
    except OSError as error:  # no room left, or no folder to write to
        raise file_not_usable(cache_dir, error) from None


@lru_cache(maxsize=512)
def _libraries(
    unit: str, cache_dir: Path, device_api: str, records_calls: bool
) -> tuple[ctypes.CDLL, ctypes.CDLL]:
    """The kernels and the runtime, loaded. Libraries stay loaded: a run may be using them."""
    compiler, runtime_path, runtime = _runtime(cache_dir)
    with busy("compiling the C++ of the kernels"):
        _, kernels = build.load(
            lambda anew: build_kernels(
                compiler,
                unit,
                runtime_path,
                cache_dir,
                anew=anew,
                device_api=device_api,
                records_calls=records_calls,
            )
        )
    return kernels, runtime


@lru_cache(maxsize=8)
def _runtime(cache_dir: Path) -> tuple[Compiler, Path, ctypes.CDLL]:
    compiler = find_compiler()
    with busy("building the C++ runtime, once"):
        path, library = build.load(lambda anew: build_runtime(compiler, cache_dir, anew=anew))
    library.ttl_free_report.argtypes = [ctypes.POINTER(ReportStruct)]
    library.ttl_free_report.restype = None
    declare(library)
    declare_running(library)
    return compiler, path, library


def _run(
    runtime: ctypes.CDLL,
    program: HostProgram,
    compiled: CompiledOperation,
    tensors: Sequence[PagedTensor],
    memories: Sequence[TensorMemory],
    recorder: Recorder | None,
    counts: CallCounts | None,
    warn: Callable[[Diagnostic], None] | None,
) -> None:
    report = ReportStruct()
    with busy(f"running the C++ kernels of {compiled.name}"):
        interruption = execute(runtime, program, report)
    try:
        if counts is not None:
            counts.take(report)
        written = [bool(plan.written) for plan in program.tensors]
        _show_results(compiled, tensors, memories, written, report)
        if recorder is not None:
            record_events(runtime, compiled, report, recorder)
        if interruption is not None:
            raise interruption
        _judge(compiled, tensors, report, warn)
    finally:
        runtime.ttl_free_report(ctypes.byref(report))


def _show_results(
    compiled: CompiledOperation,
    tensors: Sequence[PagedTensor],
    memories: Sequence[TensorMemory],
    written: Sequence[bool],
    report: ReportStruct,
) -> None:
    for tensor, memory, is_written in zip(tensors, memories, written, strict=True):
        if is_written:
            memory.write_back(tensor)
    for line in printed_lines(compiled, report) if report.printed_bytes else ():
        print(line)


def _judge(
    compiled: CompiledOperation,
    tensors: Sequence[PagedTensor],
    report: ReportStruct,
    warn: Callable[[Diagnostic], None] | None,
) -> None:
    raise_if_failed(compiled, report)
    found = [*leftover_diagnostics(compiled, report), *clashes(compiled, report, tensors)]
    if races := [each for each in found if each.severity is Severity.ERROR]:
        raise KernelFault(*races)
    if warn is not None:
        for warning in found:
            warn(warning)


def _launch_isolated(
    compiled: CompiledOperation,
    tensors: Sequence[PagedTensor],
    options: RunOptions,
    cache_dir: Path,
    recorder: Recorder | None,
    counts: CallCounts | None,
    warn: Callable[[Diagnostic], None] | None,
    memory_bytes: int | None,
) -> None:
    from . import isolation  # starts processes: not needed otherwise

    target = load_target(compiled.target)
    plans = _plans(compiled, tensors, target)
    memories = tensor_memories(tensors)
    runtime, libraries = _built(compiled, plans, cache_dir, _records(compiled, recorder, counts))
    with busy(f"running the C++ kernels of {compiled.name} in a process of their own"):
        outcome = isolation.run_isolated(
            compiled, target, plans, memories, options, runtime, libraries, warn, memory_bytes
        )
    if outcome.report.status == NO_MEMORY:
        raise UsageError(isolation.too_little_memory(compiled))
    if counts is not None:
        counts.take(outcome.report)
        pages = (m.array.nbytes // plan.page_bytes for m, plan in zip(memories, plans, strict=True))
        counts.add_run(compiled, compress(pages, outcome.written))
    try:
        _show_results(compiled, tensors, memories, outcome.written, outcome.report)
        if recorder is not None and outcome.report.event_count:
            check_events(compiled, outcome.report)
            record_events(_runtime(cache_dir)[2], compiled, outcome.report, recorder)
        _judge(compiled, tensors, outcome.report, warn)
    except (AssertionError, LookupError, ValueError, struct.error) as error:
        # Numbers of things that there are not: the kernels have written over the report.
        raise KernelFault(isolation.broken(compiled, isolation.NOT_READABLE)) from error

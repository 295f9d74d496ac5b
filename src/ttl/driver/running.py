"""Trace runs, record their calls, and keep tensors unchanged on request."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from ttl.config import Config
from ttl.diagnostics import codes, usage_error
from ttl.language.operation import Program
from ttl.loading.forks import ForkLock
from ttl.semantics.dtypes import dtype_of, spacing_at_1
from ttl.source.facts import facts_of
from ttl.trace import EventKind

from .backends import Report, Runnable
from .traces import Traces

if TYPE_CHECKING:
    from ttl.artifact import CompiledOperation
    from ttl.trace.calls import Recording
    from ttl.trace.results import ErrorBound


@dataclass(slots=True)
class Recorded:
    """Hold the calls that an operation's kernels make, and how often the program calls it."""

    compiled: CompiledOperation
    recording: Recording
    times: int = 1


class Runs:
    """Keep traces and recorded calls of a process."""

    def __init__(self) -> None:
        self.traces = Traces()
        self.recorded: dict[CompiledOperation, Recorded] = {}  # for estimates, if wanted
        self.recorded_calls: list[CompiledOperation] = []  # in the order of the program
        # What is done around a run, given the tensors that it works on by name.
        self.around: Callable[[Mapping[str, Any]], AbstractContextManager[None]] | None = None
        self._recording = ForkLock()  # the records are the library's: one run at a time

    def run(
        self,
        runnable: Runnable,
        program: Program,
        tensors: Sequence[object],
        config: Config,
        warn: Report,
    ) -> None:
        if config.trace is None and self.around is None and not config.dry_run:
            runnable.run(tensors, None, warn)
            return
        name = program.operation.__name__
        named = dict(zip(program.tensors, tensors, strict=True))
        with self.traces.recorded(config, named, partial(_bound_of, program)) as recorder:
            if recorder is not None:
                recorder.record(EventKind.OPERATION_START, (), "", name)
            try:
                unchanged = _unchanged(tensors) if config.dry_run else nullcontext()
                around = nullcontext() if self.around is None else self.around(named)
                with unchanged, around:
                    runnable.run(tensors, recorder, warn)
            finally:
                if recorder is not None:
                    recorder.record(EventKind.OPERATION_END, (), "", name)

    def record(self, compiled: CompiledOperation, tensors: Iterable[Any], config: Config) -> None:
        """Record the calls of the kernels; only count a second call of the same kind."""
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
        with self._recording(), _unchanged(tensors):
            storages = [tensor.storage for tensor in tensors]
            recording = host.record(compiled, storages, cache_dir=config.cache_dir)
        self.recorded[compiled] = Recorded(compiled, recording)


def _bound_of(program: Program, tensor: object) -> ErrorBound | None:
    """Bound the difference that another engine may leave in a tensor, from the op table."""
    from ttl.source.inexact import inexact_operations
    from ttl.trace.results import ErrorBound

    applied, dtype = inexact_operations(program), dtype_of(tensor)
    if not applied or not dtype.is_float:
        return None
    return ErrorBound(applied, spacing_at_1(facts_of(program).dest_dtype), spacing_at_1(dtype))


@contextmanager
def _unchanged(tensors: Iterable[Any]) -> Iterator[None]:
    """Let kernels work on copies of the elements, and drop the copies."""
    storages = [tensor.storage for tensor in tensors]
    kept = [storage.elements for storage in storages]
    for storage in storages:
        storage.elements = storage.elements.copy()
    try:
        yield
    finally:
        for storage, elements in zip(storages, kept, strict=True):
            storage.elements = elements

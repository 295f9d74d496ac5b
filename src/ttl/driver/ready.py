"""Calls of compiled operations that are known already: for tensors of the same kinds.

Such a call neither runs the operation's body nor looks for the artifact: it hands its tensors to
what ran before, on a device or on this CPU.

rule PURE     only bodies are skipped that use nothing but what is listed: bodies.py
rule WATCHED  what the names stood for is compared at every call, by identity: they are immutable
rule PLAIN    only where nothing is to be seen of a run: no trace, no watch, no check
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ttl.config import Config
from ttl.language import Operation
from ttl.language.engine import LAUNCH_HOOK
from ttl.language.operation import Program
from ttl.loading.forks import ForkLock
from ttl.semantics.current_engine import TRACE
from ttl.semantics.types import Shape
from ttl.ttnn.storage import NoStorage
from ttl.ttnn.tensor import Tensor

from .bodies import CONSTANTS, Seen, seen_by
from .captured import CAPTURED

MOST_KEPT = 4096
Kind = tuple[Any, ...]
Given = tuple[tuple[Any, ...], dict[str, Any]]  # positional arguments and others


@dataclass(frozen=True, slots=True)
class ReadyCall:
    operation: Operation
    run: Callable[[list[Any]], None]
    operands: tuple[int, ...]  # the positions of the tensors among the arguments
    grid: Shape
    config: Config
    seen: Seen


class ReadyCalls:
    """Those of a process that were made last."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Kind, ReadyCall] = OrderedDict()
        self._always: OrderedDict[int, Operation] = OrderedDict()  # those whose bodies always run
        self._lock = ForkLock()

    def __len__(self) -> int:
        return len(self._kept)

    def run(self, operation: Operation, given: Given, config: Config) -> bool:
        """Make the call if it is known."""
        if not self._kept or TRACE.get() is not None or CAPTURED.get() is not None:
            return False
        values = (*given[0], *given[1].values())
        kind = _kind(operation, given, values)
        ready = None if kind is None else self._kept.get(kind)
        if ready is None or ready.operation is not operation or ready.config is not config:
            return False
        if not ready.seen.is_unchanged():  # rule WATCHED
            return False
        LAUNCH_HOOK.last_grid = ready.grid
        ready.run([values[position] for position in ready.operands])
        return True

    def keep(
        self,
        given: Given,
        program: Program,
        config: Config,
        again: Callable[[], Callable[[list[Any]], None]],
    ) -> None:
        """Remember a call that was made, if the next one may skip the body."""
        operation, values = program.operation, (*given[0], *given[1].values())
        if id(operation) in self._always or not _is_plain(config):
            return
        kind, operands = _kind(operation, given, values), _positions(values, program)
        if kind is None or operands is None or not _is_hashable(kind):
            return
        seen = seen_by(operation, program.tensors)
        with self._lock():
            if seen is None:
                self._always[id(operation)] = operation
            else:
                self._kept[kind] = ReadyCall(
                    operation, again(), operands, program.grid, config, seen
                )
            for most_recent in (self._kept, self._always):
                while len(most_recent) > MOST_KEPT:
                    most_recent.popitem(last=False)


def _is_plain(config: Config) -> bool:  # rule PLAIN
    looks = (config.check, config.compile_only, config.trace, config.device_timeout,
             config.counts, config.dry_run, config.estimate, config.trace_times, config.view,
             config.show_threads, config.fast is not None)  # fmt: skip
    writes = (config.initial_mlir, config.final_mlir, config.compile_to, config.kernel_dumps)
    return not any((*looks, *writes, config.verbose_passes))


def _kind(operation: Operation, given: Given, values: tuple[Any, ...]) -> Kind | None:
    """What a call has in common with others of the same program; None if that cannot be told."""
    kind: list[Any] = [id(operation), *given[1]]
    tensors: list[int] = []
    for value in values:
        if type(value) is Tensor:
            device = value.device()
            if device is None or not device.is_open or type(value.storage) is NoStorage:
                return None
            kind.append((value.shape, value.dtype, value.layout, value.config, device))
            tensors.append(id(value))
        elif getattr(value, "spec", None) is not None and value.device() is not None:
            kind.append((value.spec, value.device().id()))
            tensors.append(id(value))
        elif type(value) is float:
            kind.append(value.hex())  # 0.0 and -0.0 differ
        elif type(value) in CONSTANTS:
            kind.append((type(value), value))
        else:
            return None
    return tuple(kind) if len({*tensors}) == len(tensors) else None


def _is_hashable(kind: Kind) -> bool:
    """Not every version of ttnn has specs that are."""
    try:
        hash(kind)
    except TypeError:
        return False
    return True


def _positions(values: tuple[Any, ...], program: Program) -> tuple[int, ...] | None:
    """Where the operands stand among the arguments, if they are all there."""
    places = {id(value): position for position, value in enumerate(values)}
    tensors = program.tensors.values()
    if not all(id(tensor) in places for tensor in tensors):
        return None
    return tuple(places[id(tensor)] for tensor in tensors)

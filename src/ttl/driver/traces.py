"""Trace files: each run adds its events, and its results where they are wanted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ttl.config import Config
from ttl.diagnostics import file_not_usable
from ttl.loading.forks import ForkLock
from ttl.semantics.layout import TILE_LAYOUT, layout_of
from ttl.trace import Recorder

from .backend import is_real

if TYPE_CHECKING:
    from pathlib import Path

    from ttl.trace.results import ErrorBound

Parts = list[list[tuple[str, bool, Any, "ErrorBound | None"]]]

BoundOf = Callable[[Any], "ErrorBound | None"]  # of a tensor


@dataclass(slots=True)
class _Written:
    ticks: int = 0
    calls: int = 0


class Traces:
    """How far each file is written. There are as many as TTL_TRACE has had values."""

    def __init__(self) -> None:
        self._files: dict[Path, _Written] = {}
        self._lock = ForkLock()  # the events of one run stay together

    @contextmanager
    def recorded(
        self,
        config: Config,
        results: Mapping[str, object] | None = None,
        bound_of: BoundOf = lambda tensor: None,
    ) -> Iterator[Recorder | None]:
        """What is recorded inside goes to the file, also that of a run that fails; None if no
        trace is wanted. With them, on demand, what the tensors `results` hold then.
        """
        if config.trace is None:
            yield None
            return
        from pathlib import Path

        from ttl.sim.garbage import rare_collections

        file, recorder = Path(config.trace), Recorder(config.trace_events)
        _check(file)
        with rare_collections():  # of which the first after the run would go through all events
            parts: Parts = []
            try:
                yield recorder
                parts = parts_of(results, bound_of) if results and config.trace_results else []
            except BaseException:
                if results and config.trace_results and not has_real(results):  # a device may hang
                    parts = parts_of(results, bound_of)
                raise
            finally:
                self._write(file, recorder, parts)

    def _write(self, file: Path, recorder: Recorder, parts: Parts) -> None:
        with self._lock():
            try:
                self._append(file, recorder, parts)
            except OSError as error:
                raise file_not_usable(file, error) from None
            finally:
                recorder.raw.clear()

    def _append(self, file: Path, recorder: Recorder, parts: Parts) -> None:
        from ttl.trace.files import append_events
        from ttl.trace.results import Result, append_results

        if not file.exists() or not file.stat().st_size:  # somebody starts anew
            self._files.pop(file, None)
        written = self._files.setdefault(file, _Written())
        append_events(file, recorder, written.ticks)
        written.ticks += recorder.size
        if parts:
            results = [
                Result(written.calls + number, *result)
                for number, part in enumerate(parts)
                for result in part
            ]
            append_results(file, results, is_first=not written.calls)
            written.calls += len(parts)


def has_real(tensors: Mapping[str, object]) -> bool:
    return any(map(is_real, tensors.values()))


def parts_of(tensors: Mapping[str, object], bound_of: BoundOf) -> Parts:
    """Name, form, values and bound of each tensor; a call on a mesh is one for each device."""
    from ttl.arrays import to_numpy
    from ttl.device import parts_on_devices

    parts = {n: parts_on_devices(t) if is_real(t) else [t] for n, t in tensors.items()}
    values = {name: list(map(to_numpy, own)) for name, own in parts.items()}
    return [
        [
            (n, layout_of(tensors[n]) is TILE_LAYOUT, each[place], bound_of(tensors[n]))
            for n, each in values.items()
        ]
        for place in range(max(map(len, values.values()), default=0))
    ]


def _check(file: Path) -> None:
    """Before the run: what it wrote would be lost otherwise."""
    try:
        file.open("a").close()
    except OSError as error:
        raise file_not_usable(file, error) from None

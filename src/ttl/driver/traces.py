"""Trace files: each run adds its events, and its results where they are wanted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

from ttl.config import Config
from ttl.diagnostics import file_not_usable
from ttl.trace import Recorder
from ttl.trace.files import append_events


@dataclass(slots=True)
class _Written:
    ticks: int = 0
    calls: int = 0


class Traces:
    """How far each file is written. There are as many as TTL_TRACE has had values."""

    def __init__(self) -> None:
        self._files: dict[Path, _Written] = {}
        self._lock = Lock()  # the events of one run stay together

    @contextmanager
    def recorded(
        self, config: Config, results: dict[str, Any] | None = None
    ) -> Iterator[Recorder | None]:
        """What is recorded inside goes to the file, also that of a run that fails; None if no
        trace is wanted. With them, on demand, what the tensors `results` hold then.
        """
        if config.trace is None:
            yield None
            return
        file, recorder = Path(config.trace), Recorder(config.trace_events)
        _check(file)
        try:
            yield recorder
        finally:
            with self._lock:
                self._append(file, recorder, results if config.trace_results else None)

    def _append(self, file: Path, recorder: Recorder, results: dict[str, Any] | None) -> None:
        if not file.exists() or not file.stat().st_size:  # somebody starts anew
            self._files.pop(file, None)
        written = self._files.setdefault(file, _Written())
        append_events(file, recorder, written.ticks)
        written.ticks += recorder.size
        if results is not None:
            from ttl.trace.results import append_results

            append_results(file, written.calls, results)
            written.calls += 1


def _check(file: Path) -> None:
    """Before the run: what it wrote would be lost otherwise."""
    try:
        file.open("a").close()
    except OSError as error:
        raise file_not_usable(file, error) from None

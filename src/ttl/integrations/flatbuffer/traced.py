"""Runs of flatbuffers with TTL_TRACE=FILE: what the kernels do goes to the file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ttl.config import Config
from ttl.diagnostics import file_not_usable
from ttl.trace import Recorder
from ttl.trace.files import append_events

from .runtime import Runtime

_TICKS: dict[str, int] = {}  # of each file, how many events this process has written


def run_traced(runtime: Runtime, inputs: Sequence[Any], config: Config) -> list[np.ndarray]:
    """The outputs of the first program. A run that fails leaves its events too."""
    if config.trace is None:
        return runtime.run(inputs)
    file = Path(config.trace)
    try:
        file.open("a").close()  # before the run: its events would be lost otherwise
    except OSError as error:
        raise file_not_usable(file, error) from None
    recorder = Recorder(config.trace_events)
    try:
        return runtime.run(inputs, recorder=recorder)
    finally:
        tick = _TICKS.get(config.trace, 0) if file.stat().st_size else 0
        append_events(file, recorder, tick)
        _TICKS[config.trace] = tick + recorder.size

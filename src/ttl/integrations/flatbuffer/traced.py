"""Runs of flatbuffers with TTL_TRACE=FILE: what the kernels do goes to the file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ttl.config import Config
from ttl.driver import PROCESS_DRIVER

from .runtime import Runtime


def run_traced(runtime: Runtime, inputs: Sequence[Any], config: Config) -> list[np.ndarray]:
    """The outputs of the first program. A run that fails leaves its events too."""
    with PROCESS_DRIVER.runs.traces.recorded(config) as recorder:
        return runtime.run(inputs, recorder=recorder)

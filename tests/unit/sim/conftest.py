"""Running operations on the simulator and looking at what they report."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import ttl
from ttl import sim, ttnn
from ttl.diagnostics import Diagnostic, KernelFault, TTLError
from ttl.language import Operation
from ttl.target import load
from ttl.trace import Recorder

DEVICE = ttnn.open_device(device_id=0)

TARGET = load("wormhole_b0")
Simulate = Callable[..., None]


def _simulate(operation: Operation, *args: Any, recorder: Recorder | None = None) -> None:
    program = operation.program(args, {}, TARGET.default_grid)
    sim.run(program, target=TARGET, recorder=recorder)


@pytest.fixture
def simulate() -> Simulate:
    return _simulate


class Report:
    """The text of an error, and what its marks point at."""

    def __init__(self, error: TTLError):
        self.error = error
        self.text = str(error)
        assert "src/ttl" not in self.text

    @property
    def code(self) -> str:
        return self.error.diagnostics[0].code.slug

    @property
    def primary(self) -> str:
        """The source that is marked with ^."""
        (marked,) = self.marked("^")
        return marked

    def marked(self, mark: str) -> list[str]:
        """The source over each run of `mark`, cut out by column."""
        lines = self.text.splitlines()
        found = []
        for source, below in pairwise(lines):
            _, bar, marks = below.partition(" | ")
            stripped = marks.lstrip(" ")
            if bar and stripped.startswith(mark) and not below.partition(" | ")[0].strip():
                start = len(marks) - len(stripped)
                width = len(stripped) - len(stripped.lstrip(mark))
                found.append(source.partition(" | ")[2][start : start + width])
        return found


@pytest.fixture
def report() -> Callable[..., Report]:
    def run(operation: Operation, *args: Any) -> Report:
        with pytest.raises(TTLError) as caught:
            _simulate(operation, *args)
        return Report(caught.value)

    return run


@pytest.fixture
def warnings() -> Callable[..., list[Diagnostic]]:
    """What a run that succeeds mentions."""

    def run(operation: Operation, *args: Any) -> list[Diagnostic]:
        found: list[Diagnostic] = []
        program = operation.program(args, {}, TARGET.default_grid)
        sim.run(program, target=TARGET, report=found.append)
        return found

    return run


@pytest.fixture
def warned(warnings: Callable[..., list[Diagnostic]]) -> Callable[..., Report]:
    """The first of its warnings."""
    return lambda operation, *args: Report(KernelFault(warnings(operation, *args)[0]))


@pytest.fixture
def tensor() -> Callable[..., ttnn.Tensor]:
    """Tensors of one to a few tiles with different numbers everywhere."""

    def make(rows: int = 32, columns: int = 32, dtype: Any = ttnn.float32) -> ttnn.Tensor:
        values = np.arange(rows * columns, dtype=np.float32).reshape(rows, columns) % 251
        return ttl.from_numpy(values, dtype=dtype, device=DEVICE)

    return make

"""Operations that are simulated and checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ttl import sim, ttnn
from ttl.diagnostics import Diagnostic, KernelFault, Severity
from ttl.driver.check import check_operation
from ttl.language import Operation
from ttl.target import load

DEVICE = ttnn.open_device(device_id=0)
TARGET = load("wormhole_b0")


def tensors(*shapes: tuple[int, int]) -> list[Any]:
    """Of so many tiles."""
    return [
        ttnn.zeros(
            (rows * 32, columns * 32), dtype=ttnn.bfloat16, layout=ttnn.TILE_LAYOUT, device=DEVICE
        )
        for rows, columns in shapes
    ]


class Checked:
    """What the check says of an operation, and what happens when it is simulated."""

    def __init__(self, operation: Operation, args: list[Any]):
        program = self.program = operation.program(tuple(args), {}, TARGET.default_grid)
        self.found: list[Diagnostic] = check_operation(program, TARGET)
        self.errors = [each for each in self.found if each.severity is Severity.ERROR]
        self.warnings = [each for each in self.found if each.severity is Severity.WARNING]
        self.notes = [each for each in self.found if each.severity is Severity.NOTE]
        self.simulated: list[Diagnostic] = []
        self.warned: list[Diagnostic] = []  # by the simulator
        try:
            sim.run(program, target=TARGET, report=self.warned.append)
        except KernelFault as fault:
            self.simulated = list(fault.diagnostics)

    @property
    def error(self) -> Diagnostic:
        (error,) = self.errors
        return error


Check = Callable[..., Checked]


@pytest.fixture
def check() -> Check:
    def checked(operation: Operation, *shapes: tuple[int, int]) -> Checked:
        return Checked(operation, tensors(*shapes))

    return checked

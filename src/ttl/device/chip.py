"""The chip that holds real tensors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from ttl.artifact import Coordinate
from ttl.diagnostics import codes, usage_error
from ttl.target import TARGETS


class _Architecture(Protocol):
    name: str


class _Grid(Protocol):
    x: int
    y: int


class RealDevice(Protocol):
    """A device of the real ttnn, as far as chip_of() asks it."""

    def arch(self) -> _Architecture: ...

    def compute_with_storage_grid_size(self) -> _Grid: ...


@dataclass(frozen=True, slots=True)
class Chip:
    target: str  # one of TARGETS
    grid: Coordinate  # columns, rows that programs may use


def chip_of(device: RealDevice) -> Chip:
    """Return the chip of a real ttnn device; raise UsageError if pyttlang does not know it."""
    name = device.arch().name.lower()
    if name not in TARGETS:
        raise usage_error(
            codes.UNUSABLE_TENSOR,
            f"the tensors are on a chip called {name}; kernels are compiled for "
            f"{' and '.join(TARGETS)}",
            "use a device of one of these",
        )
    grid = device.compute_with_storage_grid_size()
    return Chip(name, (grid.x, grid.y))

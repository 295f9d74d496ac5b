"""Devices of the embedded ttnn: a chip to run on, without the chip."""

from __future__ import annotations

from typing import NamedTuple

from ttl.target import Target, load


class CoreCoord(NamedTuple):
    x: int
    y: int


class Device:
    """What open_device() returns. Nothing is locked: a device can be opened any number of times."""

    __slots__ = ("device_id", "is_open", "target")

    def __init__(self, device_id: int, target: Target):
        self.device_id = device_id
        self.target = target
        self.is_open = True

    def id(self) -> int:
        return self.device_id

    def compute_with_storage_grid_size(self) -> CoreCoord:
        """The compute grid, columns first."""
        return CoreCoord(*self.target.default_grid)


def open_device(device_id: int = 0, *, target: str = "wormhole_b0") -> Device:
    return Device(device_id, load(target))


def close_device(device: Device) -> None:
    device.is_open = False

"""Devices of the embedded ttnn, which need no chip."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ttl.target import CHOICES, Target, find_choice, load

from .cores import CoreCoord, CoreGrid, Grid
from .enums import Arch
from .faults import wrong, wrong_type

__all__ = [
    "CloseDevice",
    "GetNumAvailableDevices",
    "close_device",
    "get_arch_name",
    "get_device_ids",
    "get_max_worker_l1_unreserved_size",
    "get_num_devices",
    "manage_device",
    "open_device",
    "synchronize_device",
]


class AnyDevice:
    """Device or mesh of devices: the real ttnn has one class for both."""

    __slots__ = ()

    @property
    def target(self) -> Target:
        raise NotImplementedError

    @property
    def grid(self) -> Grid:
        """Columns and rows of each chip."""
        raise NotImplementedError

    def compute_with_storage_grid_size(self) -> CoreCoord:
        """The compute grid, columns first."""
        return CoreCoord(*self.grid)

    @property
    def core_grid(self) -> CoreGrid:
        return CoreGrid(y=self.grid.y, x=self.grid.x)

    def arch(self) -> Arch:
        return Arch[self.target.name.upper()]

    def worker_core_from_logical_core(self, logical_core: CoreCoord) -> CoreCoord:
        """The coordinates by which kernels find it on the NoC."""
        x, y = logical_core.x, logical_core.y
        columns, rows = self.target.noc_columns, self.target.noc_rows
        if not (0 <= x < len(columns) and 0 <= y < len(rows)):
            raise wrong(
                f"core {(x, y)} is not on the chip",
                f"give one of {len(columns)} columns and {len(rows)} rows",
            )
        return CoreCoord(columns[x], rows[y])

    def enable_program_cache(self) -> None:
        """Compiled programs are always kept."""

    def disable_and_clear_program_cache(self) -> None:
        """What is kept is kept for all devices; nothing depends on it."""

    clear_program_cache = disable_and_clear_program_cache


class Device(AnyDevice):
    """What open_device() returns. Nothing is locked: a device can be opened any number of times."""

    __slots__ = ("_grid", "_target", "device_id", "is_open", "shares_memory")

    def __init__(self, device_id: int, target: Target, grid: tuple[int, int] | None = None):
        self.device_id = device_id
        self._target = target
        self._grid = Grid(*(grid or target.default_grid))
        self.is_open = True
        self.shares_memory = False  # other processes can access its tensors

    @property
    def target(self) -> Target:
        return self._target

    @property
    def grid(self) -> Grid:
        return self._grid

    @property
    def shape(self) -> Any:
        from .mesh import MeshShape

        return MeshShape(1, 1)

    def id(self) -> int:
        return self.device_id

    def get_num_devices(self) -> int:
        return 1

    def get_device_ids(self) -> list[int]:
        return [self.device_id]

    def __repr__(self) -> str:
        return f"Device({self.device_id}, {self.target.name})"


def open_device(
    *,
    device_id: int = 0,
    target: str | None = None,
    l1_small_size: int = 0,
    trace_region_size: int = 0,
    num_command_queues: int = 1,
    dispatch_core_config: Any = None,
    worker_l1_size: int = 0,
) -> Device:
    """A device by its number. Sizes of memory regions and queues have no meaning here."""
    count = GetNumAvailableDevices()
    if not isinstance(device_id, int) or not 0 <= device_id < count:
        raise wrong(
            f"device_id={device_id!r}: there are {count} devices",
            f"use 0 to {count - 1}, or set TTL_NUM_DEVICES",
        )
    return new_device(device_id, target)


def new_device(device_id: int, target: str | None = None) -> Device:
    from ttl.config import Config  # not at `import ttnn`: it loads pathlib

    return Device(device_id, _chip(target), Config.current().grid)


def _chip(name: str | None = None) -> Target:
    """Return the chip of that name, or the configured one."""
    from ttl.config import Config

    chip = name or Config.current().target
    if (found := find_choice(chip)) is None:
        raise wrong(f"{chip} is not a chip pyttlang knows", f"use one of {', '.join(CHOICES)}")
    return load(found)


def get_arch_name() -> str:
    """The chip of the devices there are."""
    return _chip().name


def get_max_worker_l1_unreserved_size() -> int:
    """The bytes of L1 that a core has for programs."""
    return _chip().worker_l1_bytes


def close_device(device: Any) -> None:
    """End the use of a device; closing it again does nothing."""
    if not hasattr(device, "is_open"):
        raise wrong_type("device", device, "a device", "give what ttnn.open_device() returned")
    device.is_open = False


CloseDevice = close_device


@contextmanager
def manage_device(device_id: int = 0) -> Iterator[Device]:
    """`with ttnn.manage_device(device_id=0) as device:`"""
    device = open_device(device_id=device_id)
    try:
        yield device
    finally:
        close_device(device)


def synchronize_device(device: Any = None, *args: Any, **kwargs: Any) -> None:
    """Nothing to wait for: an operation has ended when its call returns."""


def GetNumAvailableDevices() -> int:
    """As many as TTL_NUM_DEVICES says, four if it says nothing."""
    return devices_there_are(4)


def devices_there_are(otherwise: int) -> int:
    """Return TTL_NUM_DEVICES, or `otherwise` if it is not set."""
    from ttl.config import Config

    return Config.current().num_devices or otherwise


def get_num_devices() -> int:
    return GetNumAvailableDevices()


def get_device_ids() -> list[int]:
    return list(range(GetNumAvailableDevices()))

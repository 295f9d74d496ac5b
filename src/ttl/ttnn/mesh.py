"""Meshes of devices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import Any

from ttl.target import Target

from .cores import Grid
from .device import (
    AnyDevice,
    Device,
    GetNumAvailableDevices,
    close_device,
    devices_there_are,
    new_device,
)
from .enums import FabricConfig
from .faults import wrong, wrong_type

__all__ = [
    "MeshShape",
    "close_mesh_device",
    "open_mesh_device",
    "set_fabric_config",
]

LARGEST_MACHINE = 32  # chips


class MeshShape(tuple[int, ...]):
    """Rows and columns of a mesh: MeshShape(2, 4) or MeshShape((2, 4))."""

    __slots__ = ()

    def __new__(cls, *sizes: Any) -> MeshShape:
        given = sizes[0] if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)) else sizes
        if not given or not all(isinstance(size, int) and size > 0 for size in given):
            raise wrong(f"MeshShape{sizes}: not the shape of a mesh", "write MeshShape(rows, cols)")
        return super().__new__(cls, given)

    @property
    def rows(self) -> int:
        return self[0]

    @property
    def cols(self) -> int:
        return prod(self[1:])

    def mesh_size(self) -> int:
        return prod(self)

    def dims(self) -> int:
        return len(self)

    def __repr__(self) -> str:
        return f"MeshShape({list(self)})"


class MeshDevice(AnyDevice):
    """Devices in rows and columns; their order is row by row."""

    __slots__ = ("devices", "is_open", "shape")

    def __init__(self, shape: MeshShape, devices: Sequence[Device]):
        self.shape = shape
        self.devices = tuple(devices)
        self.is_open = True

    @property
    def num_devices(self) -> int:
        return len(self.devices)

    @property
    def target(self) -> Target:
        return self.devices[0].target

    @property
    def grid(self) -> Grid:
        return self.devices[0].grid

    def get_num_devices(self) -> int:
        return len(self.devices)

    def get_devices(self) -> list[Device]:
        return list(self.devices)

    def get_device_ids(self) -> list[int]:
        return [device.device_id for device in self.devices]

    def id(self) -> int:
        return self.devices[0].device_id

    def __repr__(self) -> str:
        return f"MeshDevice({' x '.join(map(str, self.shape))}, {self.target.name})"


class SystemMeshDescriptor:
    """What is connected: one row of all the devices there are."""

    __slots__ = ()

    def shape(self) -> MeshShape:
        return MeshShape(1, GetNumAvailableDevices())

    local_shape = shape


def open_mesh_device(
    mesh_shape: Any = None,
    *,
    shape: Any = None,
    physical_device_ids: Iterable[int] = (),
    l1_small_size: int = 0,
    trace_region_size: int = 0,
    num_command_queues: int = 1,
    dispatch_core_config: Any = None,
    offset: Any = None,
    worker_l1_size: int = 0,
) -> MeshDevice:
    """A mesh of devices, without a shape one row of all there are.

    A program that asks for more than there are by default means a machine that has them.
    """
    given = shape if mesh_shape is None else mesh_shape
    sizes = SystemMeshDescriptor().shape() if given is None else _mesh_shape(given)
    needed, count = sizes.mesh_size(), devices_there_are(LARGEST_MACHINE)
    ids = list(physical_device_ids) or list(range(needed))
    if needed > count or len(ids) != needed or any(not 0 <= i < count for i in ids):
        raise wrong(
            f"a mesh of {' x '.join(map(str, sizes))} needs {needed} devices, there are {count}",
            f"use a smaller mesh, or set TTL_NUM_DEVICES={needed}",
        )
    mesh = MeshDevice(sizes, [new_device(device_id) for device_id in ids])
    for device in mesh.devices:
        device.shares_memory = _in_processes()
    return mesh


def _in_processes() -> bool:
    from ttl.config import Config

    return Config.current().mesh_processes is not None


def close_mesh_device(mesh_device: Any) -> None:
    """End the use of a mesh and its devices."""
    close_device(checked_mesh(mesh_device))
    for device in mesh_device.devices:
        close_device(device)


def checked_mesh(value: Any, name: str = "mesh_device") -> MeshDevice:
    """Check and return a mesh; a device becomes a mesh of one."""
    if isinstance(value, Device):
        return MeshDevice(MeshShape(1, 1), [value])
    if not isinstance(value, MeshDevice):
        raise wrong_type(
            name, value, "a mesh of devices", "give what ttnn.open_mesh_device() returned"
        )
    return value


def _mesh_shape(value: Any) -> MeshShape:
    if isinstance(value, (tuple, list)):
        return MeshShape(*value)
    raise wrong_type("mesh_shape", value, "the shape of a mesh", "write ttnn.MeshShape(rows, cols)")


def set_fabric_config(config: Any, *args: Any, **kwargs: Any) -> None:
    """Accepted: data between chips move without a fabric here."""
    if not isinstance(config, (FabricConfig, str)):
        raise wrong_type("config", config, "a ttnn.FabricConfig")

"""Allocates tensors, after checking the request."""

from __future__ import annotations

from typing import Any

from ttl.diagnostics import RuleBroken, codes
from ttl.semantics.dtypes import DTYPES, DType, as_dtype
from ttl.semantics.layout import ROW_MAJOR_LAYOUT, TILE_LAYOUT, Layout
from ttl.target import TARGETS, load

from .device import Device
from .faults import refused, wrong, wrong_call, wrong_type
from .memory_config import DRAM_MEMORY_CONFIG, MemoryConfig
from .mesh import MeshDevice
from .mesh_tensor import MeshTensor
from .shape import Shape
from .sharding import check_memory_config
from .storage import Storage
from .tensor import Tensor

Place = Device | MeshDevice | None


def layout_for(dtype: Any, layout: Any) -> Any:
    """Return the requested layout; by default rows, like the real ttnn.

    Block floats exist only in tiles.
    """
    if layout is not None:
        return layout
    kind = as_dtype(dtype)
    return TILE_LAYOUT if kind is not None and kind.is_block_float else ROW_MAJOR_LAYOUT


def alias(tensor: Tensor, shape: Any = None, storage: Storage | None = None) -> Tensor:
    """Make another tensor in the same memory."""
    sizes = tensor.shape if shape is None else shape
    held = storage or tensor.storage
    assert isinstance(held, Storage)
    place: Any = tensor.device()
    return Tensor.allocated(sizes, tensor.dtype, tensor.layout, place, tensor.config, held)


def new_tensor(
    shape: Any, dtype: Any, layout: Any, device: Any, memory_config: Any = None
) -> Tensor:
    """Make a tensor of zeros; on a mesh, one for each device."""
    sizes = Shape(shape)
    dtype = as_dtype(dtype) or dtype
    _check_kind(dtype, layout)
    place = checked_device(device)
    config = DRAM_MEMORY_CONFIG if memory_config is None else memory_config
    grid = load(TARGETS[0]).default_grid if place is None else place.grid
    if config is not DRAM_MEMORY_CONFIG:
        check_memory_config(config, tuple(sizes), layout, grid)
    if isinstance(place, MeshDevice):
        parts = [_on_device(sizes, dtype, layout, found, config) for found in place.devices]
        return MeshTensor(place, parts)
    return _on_device(sizes, dtype, layout, place, config)


def _on_device(
    shape: Shape, dtype: DType, layout: Layout, device: Device | None, config: MemoryConfig
) -> Tensor:
    tensor = Tensor.allocated(shape, dtype, layout, device, config)
    if device is not None:
        check_l1(tensor, device)
    return tensor


def check_l1(tensor: Tensor, device: Device) -> None:
    """Check that a core's part of a tensor in L1 fits."""
    if tensor.l1_bytes > device.target.dataflow_buffer_budget_bytes:
        raise refused(_too_large(tensor, device))


def _too_large(tensor: Tensor, device: Device) -> RuleBroken:
    budget = device.target.dataflow_buffer_budget_bytes
    return codes.L1_BUDGET.broken(
        f"a tensor of shape {tuple(tensor.shape)} in L1 needs {tensor.l1_bytes} bytes on a core; "
        f"a core of {device.target.name} has {budget}",
        "use ttnn.DRAM_MEMORY_CONFIG, or shards on more cores",
        needed_bytes=tensor.l1_bytes,
        budget_bytes=budget,
    )


def _check_kind(dtype: Any, layout: Any) -> None:
    if not isinstance(dtype, DType):
        choices = ", ".join(f"ttnn.{name}" for name in DTYPES)
        raise wrong_call(f"dtype={dtype!r}: not an element type", f"use one of {choices}")
    if not isinstance(layout, Layout):
        raise wrong_call(
            f"layout={layout!r}: not a layout", "use ttnn.TILE_LAYOUT or ttnn.ROW_MAJOR_LAYOUT"
        )
    if layout is ROW_MAJOR_LAYOUT and dtype.is_block_float:
        raise wrong(
            f"{dtype} exists only in tiles: 16 elements of a row of a tile share an exponent",
            "use ttnn.TILE_LAYOUT, or another element type such as ttnn.bfloat16",
        )


def checked_device(device: Any) -> Place:
    """Check that it is None, an open device or an open mesh, and return it."""
    if device is None:
        return None
    if not isinstance(device, (Device, MeshDevice)):
        raise wrong_type(
            "device", device, "a device", "give what ttnn.open_device(device_id=0) returned"
        )
    if not device.is_open:
        raise wrong(f"{device} is closed", "close it after the last use of its tensors")
    return device

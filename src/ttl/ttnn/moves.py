"""Tensors changed in place, kind or layout: each result is a copy."""

from __future__ import annotations

from typing import Any

from ttl.semantics.current_engine import TRACE
from ttl.semantics.dtypes import DType, as_dtype
from ttl.semantics.layout import Layout

from .allocation import checked_device, new_tensor
from .faults import wrong, wrong_type
from .memory_config import MemoryConfig
from .mesh import MeshDevice
from .mesh_tensor import MeshTensor, checked_tensor, per_device
from .storage import NoStorage
from .tensor import Tensor
from .traces import traced

__all__ = [
    "clone", "copy", "copy_host_to_device_tensor", "deallocate", "from_device",
    "get_memory_config", "is_sharded", "to_device", "to_layout", "to_memory_config", "typecast",
]  # fmt: skip

_SAME: Any = object()


def to_layout(
    tensor: Tensor,
    layout: Layout,
    dtype: DType | None = None,
    *,
    memory_config: Any = None,
    sub_core_grids: Any = None,
) -> Tensor:
    """A copy of the tensor in tiles or in rows."""
    source = checked_tensor(tensor, "to_layout")
    return _copy(source, layout=layout, dtype=dtype, memory_config=memory_config)


def typecast(
    input_tensor: Tensor,
    dtype: Any,
    *,
    memory_config: Any = None,
    output_tensor: Tensor | None = None,
) -> Tensor:
    """A copy with another element type; a float becomes an integer by dropping its fraction."""
    source = checked_tensor(input_tensor, "typecast")
    if as_dtype(dtype) is None:
        raise wrong_type("dtype", dtype, "an element type", "use for example ttnn.float32")
    result = _copy(source, dtype=dtype, memory_config=memory_config)
    if output_tensor is None:
        return result
    return copy(result, checked_tensor(output_tensor, "typecast"))


def clone(input_tensor: Tensor, *, dtype: DType | None = None, memory_config: Any = None) -> Tensor:
    """A copy of the tensor."""
    return _copy(checked_tensor(input_tensor, "clone"), dtype=dtype, memory_config=memory_config)


@traced
def copy(input_a: Tensor, input_b: Tensor) -> Tensor:
    """Replace the elements of the second tensor by those of the first."""
    source, target = checked_tensor(input_a, "copy"), checked_tensor(input_b, "copy")
    if source.shape != target.shape:
        raise wrong(f"a tensor of shape {source.shape} cannot be copied to one of {target.shape}")

    def fill(part: Tensor, filled: Tensor) -> Tensor:
        filled.storage.fill(part.storage.logical)
        return filled

    per_device(fill, source, target)
    return target


def copy_host_to_device_tensor(
    host_tensor: Tensor, device_tensor: Tensor, cq_id: int | None = None
) -> None:
    """Replace the elements of a tensor on a device by those of one in the memory of the host."""
    copy(host_tensor, device_tensor)


def to_memory_config(tensor: Tensor, memory_config: Any, dtype: DType | None = None) -> Tensor:
    """A copy of the tensor in another memory, or cut into other shards."""
    source = checked_tensor(tensor, "to_memory_config")
    if memory_config is None:
        raise wrong_type("memory_config", memory_config, "a memory config")
    return _copy(source, dtype=dtype, memory_config=memory_config)


def get_memory_config(tensor: Tensor) -> MemoryConfig:
    return checked_tensor(tensor, "get_memory_config").memory_config


def is_sharded(tensor: Tensor) -> bool:
    """Is it cut into shards that each lie on one core?"""
    return checked_tensor(tensor, "is_sharded").is_sharded()


def to_device(
    tensor: Tensor, device: Any, *, memory_config: Any = None, cq_id: int | None = None
) -> Tensor:
    """A copy of the tensor on a device, or on each device of a mesh."""
    source = checked_tensor(tensor, "to_device")
    place = checked_device(device)
    if place is None:
        raise wrong_type("device", device, "a device", "use ttnn.from_device() for the host")
    if isinstance(source, MeshTensor):
        if not isinstance(place, MeshDevice) or place.num_devices != len(source.shards):
            raise wrong(f"{source} does not fit on {place}", "use a mesh of as many devices")
        parts = [
            _copy(part, device=found, memory_config=memory_config)
            for part, found in zip(source.shards, place.devices, strict=True)
        ]
        return MeshTensor(place, parts)
    return _copy(source, device=place, memory_config=memory_config)


def from_device(tensor: Tensor, blocking: bool = True, cq_id: int | None = None) -> Tensor:
    """A copy of the tensor in the memory of the host."""
    return _copy(checked_tensor(tensor, "from_device"), device=None)


def deallocate(tensor: Tensor, force: bool = True) -> None:
    """Give the memory of a tensor back; using it afterwards is an error.

    A trace that is being captured keeps its tensors.
    """
    if TRACE.get() is not None:
        return
    for shard in checked_tensor(tensor, "deallocate").shards:
        if shard.is_allocated():
            help_text = "call ttnn.deallocate() after the last use of a tensor"
            shard.storage = NoStorage(f"{shard} was deallocated", help_text)


@traced
def _copy(
    tensor: Tensor, *, layout: Any = None, dtype: Any = None, device: Any = _SAME,
    memory_config: Any = None,
) -> Tensor:  # fmt: skip
    """A copy that differs in what is given."""

    def copied(part: Tensor) -> Tensor:
        result = new_tensor(
            part.shape,
            dtype or part.dtype,
            layout or part.layout,
            part.device() if device is _SAME else device,
            memory_config or part.memory_config,
        )
        for filled in result.shards:
            filled.storage.fill(part.storage.logical)
        return result

    copies: Tensor = per_device(copied, tensor)
    return copies

"""Changes tensors' device, element type or layout.

A move that changes nothing returns a tensor in the same memory, like the real ttnn; others copy.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ttl.semantics.current_engine import TRACE
from ttl.semantics.dtypes import NARROW, Array, DType, as_dtype, bfloat16, int32, uint16
from ttl.semantics.layout import ROW_MAJOR_LAYOUT, TILE_LAYOUT, Layout

from .allocation import alias, checked_device, new_tensor
from .faults import not_on_device, wrong, wrong_type
from .memory_config import MemoryConfig
from .mesh import MeshDevice
from .mesh_tensor import MeshTensor, checked_tensor, per_device
from .storage import NoStorage, make_storage
from .tensor import Tensor
from .traces import traced

__all__ = [
    "bitcast",
    "clone",
    "copy",
    "copy_device_to_host_tensor",
    "copy_host_to_device_tensor",
    "deallocate",
    "from_device",
    "get_memory_config",
    "is_sharded",
    "is_tensor_storage_on_device",
    "move",
    "reallocate",
    "to_device",
    "to_dtype",
    "to_layout",
    "to_memory_config",
    "typecast",
]

_SAME: Any = object()


def to_layout(
    tensor: Tensor,
    layout: Layout,
    dtype: DType | None = None,
    memory_config: Any = None,
    sub_core_grids: Any = None,
    pad_value: float = 0.0,
) -> Tensor:
    """The tensor in tiles or in rows. Rows of block floats are bfloat16."""
    source = checked_tensor(tensor, "to_layout")
    if not isinstance(layout, Layout):
        raise wrong_type("layout", layout, "a layout", "use ttnn.TILE_LAYOUT")
    to_rows = layout is ROW_MAJOR_LAYOUT and source.layout is TILE_LAYOUT
    if to_rows and dtype not in (None, source.dtype):
        raise wrong(
            f"to_layout() to rows with dtype={dtype}: the element type stays {source.dtype}",
            "convert it before or afterwards with ttnn.typecast()",
        )
    if to_rows and source.dtype.is_block_float:
        dtype = bfloat16
    return _moved(source, layout=layout, dtype=dtype, memory_config=memory_config)


@traced
def typecast(
    input_tensor: Tensor,
    dtype: Any,
    output_dtype: Any = None,
    *,
    memory_config: Any = None,
    output_tensor: Tensor | None = None,
    sub_core_grids: Any = None,
) -> Tensor:
    """A copy with another element type.

    A float becomes an integer by dropping its fraction; on a device uint16 is the nearest, halves
    up; uint8 and uint16 wrap around. typecast(tensor, from_dtype, to_dtype) names both types.
    """
    source = checked_tensor(input_tensor, "typecast")
    wanted = as_dtype(dtype if output_dtype is None else output_dtype)
    if wanted is None:
        raise wrong_type("dtype", dtype, "an element type", "use for example ttnn.float32")

    def cast(part: Tensor) -> Tensor:
        config = memory_config or part.config
        result = new_tensor(part.shape, wanted, part.layout, part.device(), config)
        values = part.storage.logical
        on_device = part.device() is not None
        result.storage.fill(converted(values, part.dtype, wanted, on_device=on_device))
        return result

    result: Tensor = per_device(cast, source)
    if output_tensor is None:
        return result
    return fill_from(result, checked_tensor(output_tensor, "typecast"))


def converted(values: Array, source: DType, dtype: DType, *, on_device: bool) -> Array:
    """Convert elements like typecast(), before they are rounded to `dtype`."""
    if dtype.is_float or not source.is_float:
        return values
    wide = values.astype(np.float64)
    if dtype in NARROW:
        rounds = dtype is uint16 and on_device
        whole = np.floor(wide + 0.5) if rounds else np.trunc(wide)
        return np.nan_to_num(whole, nan=0.0, posinf=0.0, neginf=0.0).astype(np.int64)
    return np.nan_to_num(wide, nan=np.inf) if dtype is int32 else wide


@traced
def bitcast(
    input_tensor: Tensor,
    dtype: Any,
    *,
    memory_config: Any = None,
    output_tensor: Tensor | None = None,
    sub_core_grids: Any = None,
) -> Tensor:
    """A copy with the same bits, read as another element type of the same size."""
    source = checked_tensor(input_tensor, "bitcast")
    wanted = as_dtype(dtype)
    if wanted is None:
        raise wrong_type("dtype", dtype, "an element type", "use for example ttnn.float32")
    if any(each.is_block_float for each in (wanted, source.dtype)) or (
        wanted.storage.itemsize != source.dtype.storage.itemsize
    ):
        raise wrong(
            f"bitcast() of {source.dtype} to {wanted}: their elements differ in size",
            "use ttnn.typecast() to convert numbers",
        )

    def cast(part: Tensor) -> Tensor:
        config = memory_config or part.config
        result = new_tensor(part.shape, wanted, part.layout, part.device(), config)
        bits = np.ascontiguousarray(part.storage.logical.astype(part.dtype.storage))
        result.storage.fill(bits.view(wanted.storage).reshape(part.storage.logical.shape))
        return result

    result: Tensor = per_device(cast, source)
    if output_tensor is None:
        return result
    return fill_from(result, checked_tensor(output_tensor, "bitcast"))


def to_dtype(tensor: Tensor, dtype: Any) -> Tensor:
    """A host tensor with another element type, in the layout it has."""
    source = checked_tensor(tensor, "to_dtype")
    if source.device() is not None:
        raise wrong("to_dtype() of a tensor on a device", "use ttnn.typecast(tensor, dtype)")
    return typecast(source, dtype)


def clone(
    input: Tensor,
    *,
    dtype: DType | None = None,
    memory_config: Any = None,
    compute_kernel_config: Any = None,
) -> Tensor:
    """A copy of the tensor."""
    return _copy(_on_device(input, "clone"), dtype=dtype, memory_config=memory_config)


def copy(input_a: Tensor, input_b: Tensor) -> Tensor:
    """Replace the elements of the second tensor by those of the first; both are on a device."""
    return fill_from(_on_device(input_a, "copy"), _on_device(input_b, "copy"))


def _on_device(tensor: Any, function: str) -> Tensor:
    found = checked_tensor(tensor, function)
    if found.device() is None:
        raise not_on_device(f"{function}()")
    return found


@traced
def fill_from(source: Tensor, target: Tensor) -> Tensor:
    """Replace the elements of `target` by those of `source`."""
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
    source = checked_tensor(host_tensor, "copy_host_to_device_tensor")
    fill_from(source, _on_device(device_tensor, "copy_host_to_device_tensor"))


def copy_device_to_host_tensor(
    device_tensor: Tensor, host_tensor: Tensor, blocking: bool = True, cq_id: int | None = None
) -> None:
    """Replace the elements of a host tensor by those of one on a device."""
    source = _on_device(device_tensor, "copy_device_to_host_tensor")
    fill_from(source, checked_tensor(host_tensor, "copy_device_to_host_tensor"))


def to_memory_config(
    tensor: Tensor,
    memory_config: Any,
    dtype: DType | None = None,
    output_tensor: Tensor | None = None,
) -> Tensor:
    """The tensor in another memory, or cut into other shards."""
    source = _on_device(tensor, "to_memory_config")
    if not isinstance(memory_config, MemoryConfig):
        raise wrong_type("memory_config", memory_config, "a memory config")
    moved = _moved(source, dtype=dtype, memory_config=memory_config)
    return moved if output_tensor is None else fill_from(moved, output_tensor)


def reallocate(tensor: Tensor, memory_config: Any = None) -> Tensor:
    """The tensor in other memory; its own is given back."""
    moved = _copy(_on_device(tensor, "reallocate"), memory_config=memory_config)
    deallocate(tensor)
    return moved


def move(input_tensor: Tensor, *, memory_config: Any = None) -> Tensor:
    """As reallocate()."""
    return reallocate(input_tensor, memory_config)


def get_memory_config(tensor: Tensor) -> MemoryConfig:
    return checked_tensor(tensor, "get_memory_config").memory_config()


def is_sharded(tensor: Tensor) -> bool:
    """Is it cut into shards that each lie on one core?"""
    return checked_tensor(tensor, "is_sharded").is_sharded()


def is_tensor_storage_on_device(tensor: Tensor) -> bool:
    return checked_tensor(tensor, "is_tensor_storage_on_device").device() is not None


def to_device(
    tensor: Tensor,
    device: Any,
    memory_config: Any = None,
    *,
    queue_id: int | None = None,
    cq_id: int | None = None,
) -> Tensor:
    """The tensor on a device, or on each device of a mesh."""
    source = checked_tensor(tensor, "to_device")
    place = checked_device(device)
    if place is None:
        raise wrong_type("device", device, "a device", "use ttnn.from_device() for the host")
    if isinstance(source, MeshTensor):
        if not isinstance(place, MeshDevice) or place.num_devices != len(source.shards):
            raise wrong(f"{source} does not fit on {place}", "use a mesh of as many devices")
        parts = [
            _moved(part, device=found, memory_config=memory_config)
            for part, found in zip(source.shards, place.devices, strict=True)
        ]
        return MeshTensor(place, parts)
    moved = _moved(source, device=place, memory_config=memory_config)
    moved.is_layout_chosen = source.is_layout_chosen
    return moved


def from_device(
    tensor: Tensor, blocking: bool = True, *, queue_id: int | None = None, cq_id: int | None = None
) -> Tensor:
    """A copy of the tensor in the memory of the host."""
    return _copy(checked_tensor(tensor, "from_device"), device=None)


def deallocate(tensor: Tensor, force: bool = True) -> None:
    """Give the memory of a tensor back; using it, or one in the same memory, is an error then.

    Tensors in the memory of the host stay. A trace that is being captured keeps its tensors.
    """
    if TRACE.get() is not None:
        return
    help_text = "call ttnn.deallocate() after the last use of a tensor"
    for shard in checked_tensor(tensor, "deallocate").shards:
        if isinstance(shard.storage, NoStorage) or shard.device() is None:
            continue
        for user in [found() for found in shard.storage.users]:
            if user is not None:
                user.storage = NoStorage(f"{user} was deallocated", help_text)


def make_tiles(tensor: Tensor) -> None:
    """Convert a tensor whose program has not chosen a layout to tiles, which kernels expect."""
    values = tensor.storage.logical
    tensor.layout, tensor.is_layout_chosen = TILE_LAYOUT, True
    storage = make_storage(tuple(tensor.shape), tensor.dtype, TILE_LAYOUT)
    storage.fill(values)
    tensor.hold(storage)


def _moved(
    tensor: Tensor,
    *,
    layout: Any = None,
    dtype: Any = None,
    device: Any = _SAME,
    memory_config: Any = None,
) -> Tensor:
    """Return a tensor with the given changes; in the same memory if nothing changes."""
    changes = (
        (layout, tensor.layout),
        (as_dtype(dtype), tensor.dtype),
        (memory_config, tensor.config),
        (None if device is _SAME else device, tensor.device()),
    )
    if all(wanted in (None, is_now) for wanted, is_now in changes) and tensor.is_allocated():
        same: Tensor = per_device(alias, tensor)
        return same
    return _copy(tensor, layout=layout, dtype=dtype, device=device, memory_config=memory_config)


@traced
def _copy(
    tensor: Tensor,
    *,
    layout: Any = None,
    dtype: Any = None,
    device: Any = _SAME,
    memory_config: Any = None,
) -> Tensor:
    """Return a copy with the given changes."""

    def copied(part: Tensor) -> Tensor:
        result = new_tensor(
            part.shape,
            dtype or part.dtype,
            layout or part.layout,
            part.device() if device is _SAME else device,
            memory_config or part.config,
        )
        for filled in result.shards:
            filled.storage.fill(part.storage.logical)
        return result

    copies: Tensor = per_device(copied, tensor)
    return copies

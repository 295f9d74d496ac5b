"""Creates tensors from values."""

from __future__ import annotations

from typing import Any

import numpy as np

from ttl.semantics.dtypes import Array, DType, as_dtype, bfloat16
from ttl.semantics.layout import ROW_MAJOR_LAYOUT, TILE_LAYOUT, Layout

from .allocation import layout_for, new_tensor
from .device import AnyDevice
from .faults import wrong, wrong_call, wrong_type
from .mesh_tensor import checked_tensor
from .shape import checked_sizes
from .tensor import Tensor
from .tensor_spec import TensorSpec

__all__ = [
    "allocate_tensor_on_device",
    "allocate_tensor_on_host",
    "arange",
    "empty",
    "empty_like",
    "full",
    "full_like",
    "ones",
    "ones_like",
    "rand",
    "randn",
    "zeros",
    "zeros_like",
]


def full(
    shape: Any,
    fill_value: float,
    dtype: DType | None = None,
    layout: Layout | None = None,
    device: Any = None,
    memory_config: Any = None,
    optional_tensor: Tensor | None = None,
) -> Tensor:
    """A tensor with the same value everywhere; bfloat16 in rows by default."""
    if not isinstance(fill_value, (int, float, np.number)):
        raise wrong_type("fill_value", fill_value, "a number")
    result = filled(shape, np.asarray(fill_value), dtype, layout, device, memory_config)
    if optional_tensor is None:
        return result
    from .moves import fill_from

    return fill_from(result, checked_tensor(optional_tensor, "full"))


def zeros(
    shape: Any,
    dtype: DType | None = None,
    layout: Layout | None = None,
    device: Any = None,
    memory_config: Any = None,
) -> Tensor:
    return full(shape, 0, dtype, layout, device, memory_config)


def ones(
    shape: Any,
    dtype: DType | None = None,
    layout: Layout | None = None,
    device: Any = None,
    memory_config: Any = None,
) -> Tensor:
    return full(shape, 1, dtype, layout, device, memory_config)


def empty(
    shape: Any,
    dtype: DType | None = None,
    layout: Layout | None = None,
    device: Any = None,
    memory_config: Any = None,
) -> Tensor:
    """A tensor nobody has written: NaN, or a pattern of integers, so that reading it shows."""
    if device is None:
        raise wrong_call("ttnn.empty() needs a device", "give it device=")
    kind = as_dtype(dtype)
    poison = np.nan if kind is None else kind.poison
    return full(shape, poison, dtype, layout, device, memory_config)


def rand(
    shape: Any,
    device: Any = None,
    *,
    dtype: DType = bfloat16,
    layout: Layout = TILE_LAYOUT,
    memory_config: Any = None,
    low: float = 0.0,
    high: float = 1.0,
    seed: int = 0,
    mesh_mapper: Any = None,
) -> Tensor:
    """Numbers from `low` to `high`, all as likely; the same in every run if there is a seed.

    On every device of a mesh the same.
    """
    _check_second(device, "rand")
    values = np.random.default_rng(seed or None).uniform(low, high, checked_sizes(shape))
    return filled(shape, values.astype(np.float32), dtype, layout, device, memory_config)


def randn(
    shape: Any,
    device: Any = None,
    *,
    dtype: DType = bfloat16,
    layout: Layout = TILE_LAYOUT,
    memory_config: Any = None,
    compute_kernel_config: Any = None,
    seed: int | None = None,
) -> Tensor:
    """Numbers of the normal distribution; the same in every run if there is a seed."""
    _check_second(device, "randn")
    values = np.random.default_rng(seed).standard_normal(checked_sizes(shape), np.float32)
    return filled(shape, values, dtype, layout, device, memory_config)


def _check_second(device: Any, function: str) -> None:
    if device is not None and not isinstance(device, AnyDevice):
        raise wrong_type(
            "device",
            device,
            "a device",
            f"write ttnn.{function}(shape, device, dtype=..., layout=...)",
        )


def arange(
    start: int,
    end: int | None = None,
    step: int = 1,
    *,
    dtype: DType = bfloat16,
    device: Any = None,
    memory_config: Any = None,
    layout: Layout = ROW_MAJOR_LAYOUT,
) -> Tensor:
    """Numbers from `start` to before `end`; with one number, from 0 to before it."""
    first, last = (0, start) if end is None else (start, end)
    if not all(isinstance(n, (int, np.integer)) for n in (first, last, step)):
        raise wrong_call(
            f"arange({first!r}, {last!r}, {step!r}): not whole numbers",
            "write ttnn.arange(start, end, step) with ints",
        )
    if step == 0:
        raise wrong("arange() with a step of zero", "write ttnn.arange(start, end, step)")
    values = np.arange(first, last, step)
    return filled(values.shape, values, dtype, layout, device, memory_config)


def full_like(
    tensor: Tensor,
    fill_value: float,
    dtype: DType | None = None,
    layout: Layout | None = None,
    device: Any = None,
    memory_config: Any = None,
    optional_tensor: Tensor | None = None,
) -> Tensor:
    """As full(); what is not said is as it is in `tensor`."""
    like = checked_tensor(tensor, "full_like")
    return full(
        like.shape,
        fill_value,
        dtype or like.dtype,
        layout or like.layout,
        like.device() if device is None else device,
        memory_config or like.memory_config(),
        optional_tensor,
    )


def zeros_like(
    tensor: Tensor,
    dtype: DType | None = None,
    layout: Layout | None = None,
    device: Any = None,
    memory_config: Any = None,
    optional_tensor: Tensor | None = None,
) -> Tensor:
    return full_like(tensor, 0, dtype, layout, device, memory_config, optional_tensor)


def ones_like(
    tensor: Tensor,
    dtype: DType | None = None,
    layout: Layout | None = None,
    device: Any = None,
    memory_config: Any = None,
    optional_tensor: Tensor | None = None,
) -> Tensor:
    return full_like(tensor, 1, dtype, layout, device, memory_config, optional_tensor)


def empty_like(
    tensor: Tensor,
    *,
    dtype: DType | None = None,
    layout: Layout | None = None,
    device: Any = None,
    memory_config: Any = None,
) -> Tensor:
    kind = as_dtype(dtype or checked_tensor(tensor, "empty_like").dtype)
    poison = 0 if kind is None else kind.poison
    return full_like(tensor, poison, dtype, layout, device, memory_config)


def allocate_tensor_on_device(
    shape: Any,
    dtype: Any = None,
    layout: Any = None,
    mesh_device: Any = None,
    memory_config: Any = None,
) -> Tensor:
    """As empty(), also of a ttnn.TensorSpec and a device."""
    if isinstance(shape, TensorSpec):
        place = dtype if mesh_device is None else mesh_device
        return empty(shape.shape, shape.dtype, shape.layout, place, shape.memory_config)
    return empty(shape, dtype, layout, mesh_device, memory_config)


def allocate_tensor_on_host(
    shape: Any,
    dtype: Any = None,
    layout: Any = None,
    mesh_device: Any = None,
    memory_config: Any = None,
) -> Tensor:
    """A host tensor of the kind, for the device that is named."""
    if isinstance(shape, TensorSpec):
        return zeros(shape.shape, shape.dtype, shape.layout, None, shape.memory_config)
    return zeros(shape, dtype, layout, None, memory_config)


def filled(
    shape: Any, values: Array, dtype: Any, layout: Any, device: Any, memory_config: Any
) -> Tensor:
    kind = bfloat16 if dtype is None else dtype
    tensor = new_tensor(shape, kind, layout_for(kind, layout), device, memory_config)
    tensor.is_layout_chosen = layout is not None
    for shard in tensor.shards:
        shard.storage.fill(values)
    return tensor

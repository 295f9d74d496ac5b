"""Tensors from values."""

from __future__ import annotations

from typing import Any

import numpy as np

from ttl.semantics.dtypes import Array, DType, as_dtype, bfloat16
from ttl.semantics.layout import ROW_MAJOR_LAYOUT, TILE_LAYOUT, Layout

from .allocation import new_tensor
from .faults import wrong, wrong_type
from .mesh_tensor import checked_tensor
from .shape import checked_sizes
from .tensor import Tensor

__all__ = [
    "arange", "empty", "empty_like", "full", "full_like", "ones", "ones_like", "rand", "randn",
    "zeros", "zeros_like",
]  # fmt: skip


def full(
    shape: Any,
    fill_value: float,
    dtype: DType | None = None,
    layout: Layout | None = None,
    device: Any = None,
    memory_config: Any = None,
) -> Tensor:
    """A tensor with the same value everywhere; bfloat16 in tiles by default."""
    if not isinstance(fill_value, (int, float, np.number)):
        raise wrong_type("fill_value", fill_value, "a number")
    return filled(shape, np.asarray(fill_value), dtype, layout, device, memory_config)


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
    kind = as_dtype(dtype)
    poison = np.nan if kind is None else kind.poison
    return full(shape, poison, dtype, layout, device, memory_config)


def rand(
    shape: Any,
    dtype: DType | None = None,
    layout: Layout | None = None,
    device: Any = None,
    memory_config: Any = None,
    low: float = 0.0,
    high: float = 1.0,
    seed: int = 0,
) -> Tensor:
    """Numbers from `low` to `high`, all as likely; the same in every run if there is a seed."""
    values = np.random.default_rng(seed or None).uniform(low, high, checked_sizes(shape))
    return filled(shape, values.astype(np.float32), dtype, layout, device, memory_config)


def randn(
    shape: Any,
    dtype: DType | None = None,
    layout: Layout | None = None,
    device: Any = None,
    memory_config: Any = None,
    seed: int = 0,
) -> Tensor:
    """Numbers of the normal distribution; the same in every run if there is a seed."""
    values = np.random.default_rng(seed or None).standard_normal(checked_sizes(shape), np.float32)
    return filled(shape, values, dtype, layout, device, memory_config)


def arange(
    start: float = 0,
    end: float | None = None,
    step: float = 1,
    dtype: DType | None = None,
    device: Any = None,
    memory_config: Any = None,
    layout: Layout = ROW_MAJOR_LAYOUT,
) -> Tensor:
    """Numbers from `start` to before `end`; with one number, from 0 to before it."""
    first, last = (0, start) if end is None else (start, end)
    if not all(isinstance(n, (int, float, np.number)) for n in (first, last, step)) or step == 0:
        raise wrong(
            f"arange({first!r}, {last!r}, {step!r}): not numbers, or a step of zero",
            "write ttnn.arange(start, end, step)",
        )
    values = np.arange(first, last, step)
    return filled(values.shape, values, dtype, layout, device, memory_config)


def full_like(
    tensor: Tensor,
    fill_value: float,
    dtype: DType | None = None,
    layout: Layout | None = None,
    device: Any = None,
    memory_config: Any = None,
) -> Tensor:
    """As full(); what is not said is as it is in `tensor`."""
    like = checked_tensor(tensor, "full_like")
    return full(
        like.shape,
        fill_value,
        dtype or like.dtype,
        layout or like.layout,
        like.device() if device is None else device,
        memory_config or like.memory_config,
    )


def zeros_like(
    tensor: Tensor,
    dtype: DType | None = None,
    layout: Layout | None = None,
    device: Any = None,
    memory_config: Any = None,
) -> Tensor:
    return full_like(tensor, 0, dtype, layout, device, memory_config)


def ones_like(
    tensor: Tensor,
    dtype: DType | None = None,
    layout: Layout | None = None,
    device: Any = None,
    memory_config: Any = None,
) -> Tensor:
    return full_like(tensor, 1, dtype, layout, device, memory_config)


def empty_like(
    tensor: Tensor,
    dtype: DType | None = None,
    layout: Layout | None = None,
    device: Any = None,
    memory_config: Any = None,
) -> Tensor:
    kind = as_dtype(dtype or checked_tensor(tensor, "empty_like").dtype)
    poison = 0 if kind is None else kind.poison
    return full_like(tensor, poison, dtype, layout, device, memory_config)


def filled(
    shape: Any, values: Array, dtype: Any, layout: Any, device: Any, memory_config: Any
) -> Tensor:
    kind = bfloat16 if dtype is None else dtype
    arranged = TILE_LAYOUT if layout is None else layout
    tensor = new_tensor(shape, kind, arranged, device, memory_config)
    for shard in tensor.shards:
        shard.storage.fill(values)
    return tensor

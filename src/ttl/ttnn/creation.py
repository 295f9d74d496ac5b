"""Tensors from numpy arrays and from values, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from ttl.diagnostics import RuleBroken, UsageError, codes
from ttl.diagnostics.frames import calling_span
from ttl.semantics.dtypes import DTYPES, Array, DType, bfloat16, float32
from ttl.semantics.types import Shape

from .device import Device
from .layout import TILE_LAYOUT, Layout
from .tensor import Tensor


def from_numpy(
    array: Any,
    dtype: DType | None = None,
    layout: Layout = TILE_LAYOUT,
    device: Device | None = None,
) -> Tensor:
    """A tensor with a copy of the array's elements, rounded to `dtype`."""
    values = np.asarray(array)
    tensor = _new(values.shape, dtype or _dtype_of(values), layout, device)
    with np.errstate(all="ignore"):  # out of range becomes infinity, as on the chip
        tensor.storage.logical[...] = values.astype(tensor.dtype.carrier, copy=False)
    return tensor


def to_numpy(tensor: Tensor) -> Array:
    """A fresh array of the tensor's elements, without padding, in the tensor's own type."""
    if not isinstance(tensor, Tensor):
        raise _wrong(f"to_numpy() takes a ttnn tensor, not a {type(tensor).__name__}", "")
    return tensor.storage.logical.copy()


def full(
    shape: Any,
    fill_value: float,
    dtype: DType = bfloat16,
    layout: Layout = TILE_LAYOUT,
    device: Device | None = None,
) -> Tensor:
    """A tensor with the same value everywhere."""
    if not isinstance(shape, (tuple, list)):
        raise _wrong(f"shape={shape!r}: not a tuple of sizes", "write for example shape=(64, 64)")
    tensor = _new(tuple(shape), dtype, layout, device)
    tensor.storage.logical[...] = fill_value
    return tensor


def zeros(
    shape: Any,
    dtype: DType = bfloat16,
    layout: Layout = TILE_LAYOUT,
    device: Device | None = None,
) -> Tensor:
    return full(shape, 0.0, dtype, layout, device)


def ones(
    shape: Any,
    dtype: DType = bfloat16,
    layout: Layout = TILE_LAYOUT,
    device: Device | None = None,
) -> Tensor:
    return full(shape, 1.0, dtype, layout, device)


def empty(
    shape: Any,
    dtype: DType = bfloat16,
    layout: Layout = TILE_LAYOUT,
    device: Device | None = None,
) -> Tensor:
    """A tensor nobody has written: its elements are NaN, so that reading them shows."""
    return full(shape, float("nan"), dtype, layout, device)


def zeros_like(tensor: Tensor) -> Tensor:
    return zeros(tensor.shape, tensor.dtype, tensor.layout, tensor.device())


def ones_like(tensor: Tensor) -> Tensor:
    return ones(tensor.shape, tensor.dtype, tensor.layout, tensor.device())


def empty_like(tensor: Tensor) -> Tensor:
    return empty(tensor.shape, tensor.dtype, tensor.layout, tensor.device())


def _new(shape: Shape, dtype: Any, layout: Any, device: Device | None) -> Tensor:
    if len(shape) < 2 or not all(_is_size(size) for size in shape):
        raise _wrong(
            f"a tensor of tiles cannot have the shape {shape}",
            "give it two or more dimensions, none of them empty",
        )
    if not isinstance(dtype, DType):
        choices = " or ".join(f"ttnn.{name}" for name in DTYPES)
        raise _wrong(f"dtype={dtype!r}: not an element type", f"use {choices}")
    if layout is not TILE_LAYOUT:
        raise _wrong(f"layout={layout!r}: not a layout", "use ttnn.TILE_LAYOUT")
    return Tensor(tuple(int(size) for size in shape), dtype, layout, device)


def _is_size(size: object) -> bool:
    return isinstance(size, (int, np.integer)) and bool(size > 0)


def _dtype_of(values: Array) -> DType:
    if values.dtype == bfloat16.storage:
        return bfloat16
    if values.dtype.kind == "f":
        return float32
    raise _wrong(
        f"an array of {values.dtype} does not say which element type the tensor should have",
        "pass dtype=ttnn.bfloat16 or dtype=ttnn.float32",
    )


def _wrong(message: str, help_text: str) -> UsageError:
    helps = (help_text,) if help_text else ()
    return UsageError(RuleBroken(codes.WRONG_ARGUMENT, message, helps=helps).at(calling_span()))

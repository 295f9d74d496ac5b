"""Tensors from arrays and values, and back; layouts and devices changed."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from ttl.diagnostics import RuleBroken, UsageError, codes
from ttl.diagnostics.frames import calling_span
from ttl.semantics.dtypes import DTYPES, Array, DType, bfloat16, float32
from ttl.semantics.types import Shape

from .device import Device
from .layout import ROW_MAJOR_LAYOUT, TILE_LAYOUT, Layout
from .tensor import Tensor


def from_numpy(
    array: Any,
    dtype: DType | None = None,
    layout: Layout = TILE_LAYOUT,
    device: Device | None = None,
) -> Tensor:
    """A tensor with a copy of the array's elements, rounded to `dtype`."""
    values = np.asarray(array)
    if not _is_number(values.dtype):
        raise _wrong(f"an array of {values.dtype} has no numbers", "pass an array of numbers")
    tensor = _new(values.shape, dtype or _dtype_of(values), layout, device)
    tensor.storage.fill(values)
    return tensor


def to_numpy(tensor: Tensor) -> Array:
    """A fresh array of the tensor's elements, without padding, in the tensor's own type.

    numpy has no block floats: they come as float32.
    """
    return _tensor(tensor, "to_numpy").storage.logical.copy()


def from_torch(
    tensor: Any,
    dtype: DType | None = None,
    layout: Layout = TILE_LAYOUT,
    device: Device | None = None,
) -> Tensor:
    """A tensor with a copy of a torch tensor's elements, rounded to `dtype`."""
    if type(tensor).__module__.partition(".")[0] != "torch":
        raise _wrong(
            f"from_torch() takes a torch tensor, not a {type(tensor).__name__}",
            "use ttnn.from_numpy() for arrays",
        )
    plain = tensor.detach().cpu()
    if str(plain.dtype) == "torch.bfloat16":  # torch does not hand these to numpy
        return from_numpy(plain.float().numpy(), dtype or bfloat16, layout, device)
    return from_numpy(plain.numpy(), dtype, layout, device)


def to_torch(tensor: Tensor) -> Any:
    """A torch tensor of the elements, without padding; block floats come as float32."""
    array = to_numpy(tensor)
    import torch  # type: ignore[import-not-found,unused-ignore]

    if array.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


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
    tensor.storage.fill(np.asarray(fill_value))
    return tensor


def zeros(
    shape: Any,
    dtype: DType = bfloat16,
    layout: Layout = TILE_LAYOUT,
    device: Device | None = None,
) -> Tensor:
    return full(shape, 0, dtype, layout, device)


def ones(
    shape: Any,
    dtype: DType = bfloat16,
    layout: Layout = TILE_LAYOUT,
    device: Device | None = None,
) -> Tensor:
    return full(shape, 1, dtype, layout, device)


def empty(
    shape: Any,
    dtype: DType = bfloat16,
    layout: Layout = TILE_LAYOUT,
    device: Device | None = None,
) -> Tensor:
    """A tensor nobody has written: NaN, or a pattern of integers, so that reading it shows."""
    poison = dtype.poison if isinstance(dtype, DType) else 0
    return full(shape, poison, dtype, layout, device)


def zeros_like(tensor: Tensor) -> Tensor:
    return zeros(tensor.shape, tensor.dtype, tensor.layout, tensor.device())


def ones_like(tensor: Tensor) -> Tensor:
    return ones(tensor.shape, tensor.dtype, tensor.layout, tensor.device())


def empty_like(tensor: Tensor) -> Tensor:
    return empty(tensor.shape, tensor.dtype, tensor.layout, tensor.device())


def to_layout(tensor: Tensor, layout: Layout) -> Tensor:
    """A copy of the tensor in tiles or in rows."""
    original = _tensor(tensor, "to_layout")
    return _copy(original, layout, original.device())


def to_device(tensor: Tensor, device: Device) -> Tensor:
    """A copy of the tensor on a device."""
    return _copy(_tensor(tensor, "to_device"), tensor.layout, device)


def from_device(tensor: Tensor) -> Tensor:
    """A copy of the tensor in the memory of the host."""
    return _copy(_tensor(tensor, "from_device"), tensor.layout, None)


def _copy(tensor: Tensor, layout: Any, device: Device | None) -> Tensor:
    copy = _new(tensor.shape, tensor.dtype, layout, device)
    copy.storage.fill(tensor.storage.logical)
    return copy


def _tensor(value: object, function: str) -> Tensor:
    if not isinstance(value, Tensor):
        raise _wrong(f"{function}() takes a ttnn tensor, not a {type(value).__name__}", "")
    return value


def _new(shape: Shape, dtype: Any, layout: Any, device: Device | None) -> Tensor:
    if not all(_is_size(size) for size in shape):
        raise _wrong(
            f"a tensor cannot have the shape {shape}", "give it sizes that are whole numbers"
        )
    if not isinstance(dtype, DType):
        choices = ", ".join(f"ttnn.{name}" for name in DTYPES)
        raise _wrong(f"dtype={dtype!r}: not an element type", f"use one of {choices}")
    if not isinstance(layout, Layout):
        raise _wrong(
            f"layout={layout!r}: not a layout", "use ttnn.TILE_LAYOUT or ttnn.ROW_MAJOR_LAYOUT"
        )
    if layout is ROW_MAJOR_LAYOUT and dtype.is_block_float:
        raise _wrong(
            f"{dtype} exists only in tiles: 16 elements of a row of a tile share an exponent",
            "use ttnn.TILE_LAYOUT, or another element type such as ttnn.bfloat16",
        )
    return Tensor(tuple(int(size) for size in shape), dtype, layout, device)


def _is_size(size: object) -> bool:
    return isinstance(size, (int, np.integer)) and bool(size >= 0)


def _is_number(dtype: np.dtype[Any]) -> bool:
    return dtype.kind in "fiub" or dtype == bfloat16.storage


def _dtype_of(values: Array) -> DType:
    for dtype in DTYPES.values():
        if values.dtype == dtype.storage and not dtype.is_block_float:
            return dtype
    if values.dtype == np.float64:
        return float32
    raise _wrong(
        f"an array of {values.dtype} does not say which element type the tensor should have",
        "pass dtype=, for example dtype=ttnn.bfloat16 or dtype=ttnn.int32",
    )


def _wrong(message: str, help_text: str) -> UsageError:
    helps = (help_text,) if help_text else ()
    return UsageError(RuleBroken(codes.WRONG_ARGUMENT, message, helps=helps).at(calling_span()))

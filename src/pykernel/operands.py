"""Tensors of a call for the device and back: collapsed, padded, in tiles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard

import ml_dtypes
import numpy as np

from ttl import ttnn
from ttl.diagnostics import codes
from ttl.diagnostics.frames import calling_span
from ttl.semantics.dtypes import Array, DType, bfloat16, dtype_of, float16, float32
from ttl.semantics.metal_layout import MetalLayout
from ttl.semantics.tensor_like import TensorLike
from ttl.semantics.types import Shape

from .mistakes import wrong_type, wrong_value

ELEMENTS: dict[str, DType] = {"float32": float32, "float16": float16, "bfloat16": bfloat16}


@dataclass(frozen=True, slots=True)
class Argument:
    """A tensor of the program, prepared for the device."""

    name: str
    argument: object  # from the user
    tensor: ttnn.Tensor  # collapsed and padded
    layout: MetalLayout
    grid: Shape  # the parts it is divided into

    @property
    def dtype(self) -> DType:
        return dtype_of(self.tensor)

    @property
    def block_shape(self) -> Shape:
        return self.layout.shard_shape(self.grid)

    @property
    def device_shape(self) -> Shape:
        return self.layout.device_shape(self.grid)

    def part(self, index: Sequence[Any]) -> tuple[slice, ...]:
        """Return the tiles of the part at a coordinate of the grid."""
        pairs = zip(index, self.block_shape, strict=True)
        return tuple(slice(i * size, (i + 1) * size) for i, size in pairs)


def is_tensor(value: object) -> TypeGuard[TensorLike]:
    return hasattr(value, "shape") and hasattr(value, "dtype")


def make_operands(
    given: tuple[object, ...],
    names: dict[str, object],
    grids: Sequence[Shape],
    memory_space: str,
    call: str,
) -> tuple[Argument, ...]:
    found, free = [], dict(names)
    for position, value in enumerate(given):
        # Use the parameter's name; a tensor may be passed twice.
        known = (name for name, tensor in free.items() if tensor is value)
        name = next(known, f"argument_{position}")
        free.pop(name, None)
        found.append(_operand(value, name, grids[position], memory_space, call))
    return tuple(found)


def _operand(value: object, name: str, grid: Shape, memory_space: str, call: str) -> Argument:
    if not is_tensor(value):
        raise wrong_type(
            f"argument `{name}` of {call} is a {type(value).__name__}",
            "give the program tensors of torch, arrays of numpy or tensors of ttnn",
            calling_span(),
        )
    layout = MetalLayout(tuple(value.shape), "l1" if memory_space == "L1" else "dram")
    layout.check(grid)
    return Argument(name, value, to_layout(value, name, layout), layout, grid)


def check_dtype(value: TensorLike, name: str) -> DType:
    text = str(value.dtype).rpartition(".")[2].lower()
    if text not in ELEMENTS:
        raise wrong_type(
            f"argument `{name}` has elements of {text}",
            f"use one of {', '.join(ELEMENTS)}",
            calling_span(),
        )
    return ELEMENTS[text]


def to_layout(value: TensorLike, name: str, layout: MetalLayout) -> ttnn.Tensor:
    """Convert a tensor to its layout on the device."""
    dtype = check_dtype(value, name)
    if isinstance(value, ttnn.Tensor):
        if tuple(value.shape) != layout.collapsed_shape or value.layout is not ttnn.TILE_LAYOUT:
            raise codes.WRONG_ARGUMENT.broken(
                f"`{name}` is a ttnn tensor of shape {tuple(value.shape)} in {value.layout} layout",
                "give ttnn tensors of two dimensions that are whole tiles",
            )
        return value
    memory = ttnn.L1_MEMORY_CONFIG if layout.memory_space == "l1" else ttnn.DRAM_MEMORY_CONFIG
    return ttnn.from_numpy(
        layout.collapse(array_of(value)),
        dtype=dtype,
        layout=ttnn.TILE_LAYOUT,
        device=ttnn.open_device(device_id=0),
        memory_config=memory,
    )


def array_of(value: object) -> Array:
    """Return the elements as a numpy array; torch cannot convert bfloat16 itself."""
    if isinstance(value, ttnn.Tensor):
        return ttnn.to_numpy(value)
    if not hasattr(value, "detach"):
        return np.asarray(value)
    values: Any = value.detach()
    values = values.float() if str(values.dtype) == "torch.bfloat16" else values
    return np.asarray(values.numpy())


def copy_back(output: Argument) -> None:
    """Copy the device's output into the user's tensor."""
    if output.tensor is output.argument:
        return
    values = output.layout.restore(ttnn.to_numpy(output.tensor))
    try:
        write_array(output.argument, values)
    except (ValueError, RuntimeError) as error:  # read-only, or a leaf of autograd
        text = f"`{output.name}`, the output, cannot be written: {error}"
        help_text = "give the program a tensor that it may write"
        raise wrong_value(text, help_text, calling_span()) from None


def write_array(argument: Any, values: Array) -> None:
    if isinstance(argument, ttnn.Tensor):
        given = ttnn.from_numpy(values, dtype=argument.dtype, layout=argument.layout)
        ttnn.copy_host_to_device_tensor(given, argument)
        return
    if not hasattr(argument, "detach"):
        argument[...] = values
        return
    import torch

    if values.dtype == ml_dtypes.bfloat16:
        values = values.astype(np.float32)
    argument.copy_(torch.from_numpy(np.ascontiguousarray(values)))

"""Elements in order, and elements that indices name."""

from __future__ import annotations

from typing import Any

import numpy as np

from ttl.semantics.dtypes import Array

from ..faults import wrong
from .arguments import dimension, shapes_differ
from .run import operation

_GATHERED = ("memory_config", "sub_core_grids")

_LARGEST_UINT16 = 0xFFFF


@operation(options=("memory_config",))
def sort(input_tensor: Array, dim: int = -1, descending: bool = False, stable: bool = False) -> Any:
    """[values, indices]: the elements in order along a dimension; of equal ones the first first."""
    axis = dimension(dim, input_tensor.ndim)
    order = _order(input_tensor, axis, descending)
    return [np.take_along_axis(input_tensor, order, axis), _indices(order, input_tensor, axis)]


@operation(options=(*_GATHERED, "indices_tensor", "stable"))
def topk(
    input_tensor: Array, k: int = 32, dim: int = -1, largest: bool = True, sorted: bool = True
) -> Any:
    """[values, indices]: the k largest or smallest elements along a dimension, in order."""
    axis = dimension(dim, input_tensor.ndim)
    size = input_tensor.shape[axis]
    if not 0 < k <= size:
        raise wrong(f"k={k}: dimension {axis} has {size} elements", f"use 1 to {size}")
    first = np.take(_order(input_tensor, axis, largest), range(k), axis)
    return [np.take_along_axis(input_tensor, first, axis), _indices(first, input_tensor, axis)]


@operation(own_types=True, options=(*_GATHERED, "out", "sparse_grad"))
def gather(input: Array, dim: int, index: Array) -> Any:
    """The element of `input` that each index names along a dimension; shaped as `index`."""
    axis = dimension(dim, input.ndim)
    rows = _rows(input, index, axis, "ttnn.gather()")
    return np.take_along_axis(input[rows], np.asarray(index, np.int64), axis)


@operation(own_types=True, options=_GATHERED)
def scatter(input: Array, dim: int, index: Array, src: Array) -> Any:
    """`input` with the elements of `src` at the places that the indices name along a dimension."""
    axis = dimension(dim, input.ndim)
    result = input.copy()
    rows = _rows(input, index, axis, "ttnn.scatter()")
    if any(taken > size for taken, size in zip(index.shape, src.shape, strict=True)):
        raise shapes_differ(
            f"ttnn.scatter() of a source of shape {src.shape} with indices of shape {index.shape}",
            "give the source an element for each index",
        )
    taken = src[tuple(slice(size) for size in index.shape)]
    np.put_along_axis(result[rows], np.asarray(index, np.int64), taken.astype(input.dtype), axis)
    return result


def _order(x: Array, axis: int, descending: bool) -> Any:
    """Return the sorted positions, stable in both directions."""
    if not descending:
        return np.argsort(x, axis, kind="stable")
    backwards = np.argsort(np.flip(x, axis), axis, kind="stable")
    return x.shape[axis] - 1 - np.flip(backwards, axis)


def _indices(order: Any, x: Array, axis: int) -> Any:
    return order.astype(np.uint16 if x.shape[axis] - 1 <= _LARGEST_UINT16 else np.uint32)


def _rows(x: Array, index: Any, axis: int, call: str) -> tuple[slice, ...]:
    """Return the slices of `x` with the indices' sizes in the other dimensions."""
    if index.dtype.kind != "i":
        raise wrong(f"{call} with indices of {index.dtype.name}", "give integers as indices")
    others = [n for n in range(x.ndim) if n != axis]
    if index.ndim != x.ndim or any(index.shape[n] > x.shape[n] for n in others):
        raise shapes_differ(
            f"{call} of a tensor of shape {x.shape} with indices of shape {index.shape}",
            f"in all dimensions but {axis} the indices are at most as many as the elements",
        )
    outside = index[(index < 0) | (index >= x.shape[axis])]
    if outside.size:
        raise wrong(f"{call}: index {outside[0]} of the {x.shape[axis]} of dimension {axis}")
    return tuple(slice(None if n == axis else index.shape[n]) for n in range(x.ndim))

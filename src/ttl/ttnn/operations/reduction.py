"""Sums, means, extremes and spreads over dimensions; padding never counts."""

from __future__ import annotations

from typing import Any

import numpy as np

from ttl.semantics.dtypes import Array, uint32

from ..faults import wrong
from .arguments import Dims, Number, dimension, dimensions
from .run import operation


def _sum(x: Array, dims: Dims, keepdim: bool) -> Any:
    """In float64, so that the order of the sum does not show."""
    return np.sum(_wide(x), axis=dimensions(dims, x.ndim), keepdims=bool(keepdim))


def _wide(x: Array) -> Any:
    return x if x.dtype.kind == "i" else x.astype(np.float64)


@operation()
def sum(input_tensor: Array, dim: Dims = None, keepdim: bool = False, scalar: Number = 1) -> Any:
    """The sum over dimensions, all of them if `dim` is missing, times `scalar`."""
    return _sum(input_tensor, dim, keepdim) * scalar


@operation(floats=True)
def mean(input_tensor: Array, dim: Dims = None, keepdim: bool = False, scalar: Number = 1) -> Any:
    """The mean over dimensions, times `scalar`."""
    count = _count(input_tensor, dim)
    return _sum(input_tensor, dim, keepdim) / np.float64(count) * scalar


@operation()
def prod(input_tensor: Array, dim: Dims = None, keepdim: bool = False) -> Any:
    """The product over dimensions."""
    dims = dimensions(dim, input_tensor.ndim)
    return np.prod(_wide(input_tensor), axis=dims, keepdims=bool(keepdim))


@operation()
def max(input_tensor: Array, dim: Dims = None, keepdim: bool = False, scalar: Number = 1) -> Any:
    """The largest element over dimensions, times `scalar`."""
    dims = _dims_with_elements(input_tensor, dim)
    return np.max(input_tensor, axis=dims, keepdims=bool(keepdim)) * scalar


@operation()
def min(input_tensor: Array, dim: Dims = None, keepdim: bool = False, scalar: Number = 1) -> Any:
    """The smallest element over dimensions, times `scalar`."""
    dims = _dims_with_elements(input_tensor, dim)
    return np.min(input_tensor, axis=dims, keepdims=bool(keepdim)) * scalar


@operation(floats=True)
def var(
    input_tensor: Array,
    dim: Dims = None,
    keepdim: bool = False,
    scalar: Number = 1,
    correction: Number = 1,
) -> Any:
    """The variance over dimensions, divided by the count less `correction`."""
    return _variance(input_tensor, dim, keepdim, correction) * scalar


@operation(floats=True)
def std(
    input_tensor: Array,
    dim: Dims = None,
    keepdim: bool = False,
    scalar: Number = 1,
    correction: Number = 1,
) -> Any:
    """The standard deviation over dimensions: the root of var()."""
    return np.sqrt(_variance(input_tensor, dim, keepdim, correction)) * scalar


def _variance(x: Array, dims: Dims, keepdim: bool, correction: Number) -> Any:
    centred = _wide(x) - _sum(x, dims, True) / np.float64(_count(x, dims))
    divisor = np.float64(_count(x, dims) - correction)
    return _sum(np.square(centred), dims, keepdim) / divisor


@operation(dtype=uint32)
def argmax(input_tensor: Array, dim: int | None = None, keepdim: bool = False) -> Any:
    """The index of the first largest element along a dimension, or among all elements."""
    dims = None if dim is None else dimension(dim, input_tensor.ndim)
    _dims_with_elements(input_tensor, dim)
    return np.asarray(np.argmax(input_tensor, axis=dims, keepdims=bool(keepdim)))


@operation()
def cumsum(input_tensor: Array, dim: int) -> Any:
    """The sums of the elements so far along a dimension."""
    return np.cumsum(_wide(input_tensor), axis=dimension(dim, input_tensor.ndim))


def _count(x: Array, dims: Dims) -> int:
    return int(np.prod([x.shape[dim] for dim in dimensions(dims, x.ndim)]))


def _dims_with_elements(x: Array, dims: Dims) -> tuple[int, ...]:
    if _count(x, dims) == 0:
        raise wrong(
            f"there is no largest or smallest among the 0 elements of a tensor of shape {x.shape}",
            "give the tensor elements first",
        )
    return dimensions(dims, x.ndim)

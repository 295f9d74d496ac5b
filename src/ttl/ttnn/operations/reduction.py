"""Sums, means, extremes and spreads over dimensions; padding never counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ttl.semantics.dtypes import Array, uint32
from ttl.semantics.layout import ROW_MAJOR_LAYOUT, TILE_LAYOUT

from ..faults import wrong, wrong_call
from .arguments import Dims, Number, dimension, dimensions
from .run import PLACED, REDUCING, RESULT, Function, operation


def _sum(x: Array, dims: Dims, keepdim: bool) -> Any:
    """Sum in float64, so that the order does not change the result."""
    return np.sum(_wide(x), axis=dimensions(dims, x.ndim), keepdims=bool(keepdim))


def _scaled(values: Any, scalar: Number) -> Any:
    """Scale values; integers stay integers without a scale."""
    return values if scalar == 1 else values * scalar


def _wide(x: Array) -> Any:
    return x if x.dtype.kind == "i" else x.astype(np.float64)


_APPROXIMATE = (*REDUCING, "fast_and_approximate_mode", "correction")
_ARRANGED = (*_APPROXIMATE, "output_layout")


@operation(options=_ARRANGED)
def sum(
    input_tensor: Array, dim: Dims = None, keepdim: bool = False, *, scalar: Number = 1.0
) -> Any:
    """The sum over dimensions, all of them if `dim` is missing, times `scalar`."""
    return _scaled(_sum(input_tensor, dim, keepdim), scalar)


@operation(floats=True, options=_ARRANGED)
def mean(
    input_tensor: Array, dim: Dims = None, keepdim: bool = False, *, scalar: Number = 1.0
) -> Any:
    """The mean over dimensions, times `scalar`."""
    count = _count(input_tensor, dim)
    return _sum(input_tensor, dim, keepdim) / np.float64(count) * scalar


def _check_one_dim(arguments: dict[str, Any]) -> None:
    if isinstance(arguments["dim"], Sequence):
        raise wrong_call(f"ttnn.prod() takes an int as `dim`, not {arguments['dim']!r}")


@operation(options=PLACED, check=_check_one_dim)
def prod(input_tensor: Array, dim: Dims = None, keepdim: bool = False) -> Any:
    """The product over a dimension, or over all."""
    dims = dimensions(dim, input_tensor.ndim)
    return np.prod(_wide(input_tensor), axis=dims, keepdims=bool(keepdim))


def _extreme(name: str, which: str, function: Any) -> Function:
    doc = f"The {which} element over dimensions, times `scalar`."

    @operation(name, doc, options=_APPROXIMATE, layout=TILE_LAYOUT)
    def extreme(
        input_tensor: Array, dim: Dims = None, keepdim: bool = False, *, scalar: Number = 1.0
    ) -> Any:
        dims = _dims_with_elements(input_tensor, dim)
        return _scaled(function(input_tensor, axis=dims, keepdims=bool(keepdim)), scalar)

    return extreme


max = _extreme("max", "largest", np.max)
min = _extreme("min", "smallest", np.min)


def _spread(name: str, doc: str, function: Any) -> Function:
    @operation(name, doc, floats=True, options=REDUCING)
    def spread(
        input_tensor: Array,
        dim: Dims = None,
        keepdim: bool = False,
        *,
        scalar: Number = 1.0,
        correction: bool = True,
    ) -> Any:
        x, count = input_tensor, _count(input_tensor, dim)
        centred = _wide(x) - _sum(x, dim, True) / np.float64(count)
        variance = _sum(np.square(centred), dim, keepdim) / np.float64(count - correction)
        return function(variance) * scalar

    return spread


var = _spread(
    "var",
    "The variance over dimensions, divided by the count, with `correction` by one less.",
    np.asarray,
)
std = _spread("std", "The standard deviation over dimensions: the root of var().", np.sqrt)


def _check_rows(arguments: dict[str, Any]) -> None:
    if arguments["dim"] is None and arguments["input_tensor"].layout is TILE_LAYOUT:
        raise wrong(
            "ttnn.argmax() among all elements of a tensor in tiles",
            "give dim=, or convert it with ttnn.to_layout(tensor, ttnn.ROW_MAJOR_LAYOUT)",
        )


@operation(
    check=_check_rows,
    dtype=uint32,
    layout=ROW_MAJOR_LAYOUT,
    options=(*RESULT, "sub_core_grids", "enable_secondary_dm"),
)
def argmax(input_tensor: Array, dim: int | None = None, keepdim: bool = False) -> Any:
    """The index of the first largest element along a dimension, or among all elements."""
    dims = None if dim is None else dimension(dim, input_tensor.ndim)
    _dims_with_elements(input_tensor, dim)
    return np.asarray(np.argmax(input_tensor, axis=dims, keepdims=bool(keepdim)))


@operation(options=("memory_config", "dtype", "out", "disable_compensated_sum"))
def cumsum(input: Array, dim: int, *, reverse_order: bool = False) -> Any:
    """The sums of the elements so far along a dimension."""
    return _accumulated(np.cumsum, input, dim, reverse_order)


@operation(options=("memory_config", "dtype", "out"))
def cumprod(input_tensor: Array, dim: int, *, reverse_order: bool = False) -> Any:
    """The products of the elements so far along a dimension."""
    return _accumulated(np.cumprod, input_tensor, dim, reverse_order)


def _accumulated(function: Any, x: Array, dim: int, reverse_order: bool) -> Any:
    axis = dimension(dim, x.ndim)
    values = np.flip(_wide(x), axis) if reverse_order else _wide(x)
    result = function(values, axis=axis)
    return np.flip(result, axis) if reverse_order else result


def _count(x: Array, dims: Dims) -> int:
    return int(np.prod([x.shape[dim] for dim in dimensions(dims, x.ndim)]))


def _dims_with_elements(x: Array, dims: Dims) -> tuple[int, ...]:
    if _count(x, dims) == 0:
        raise wrong(
            f"there is no largest or smallest among the 0 elements of a tensor of shape {x.shape}",
            "give the tensor elements first",
        )
    return dimensions(dims, x.ndim)

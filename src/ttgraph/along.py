"""Arrays along one dimension: in order, at places that are computed, and summed up so far.

Follows PyTorch: NaNs come after all numbers, equal elements keep their order, and an index that is
out of range is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ttgraph.graph_shapes import REDUCES
from ttl.diagnostics import UsageError, codes

# For arithmetic: numpy gives the operators of Array no types.
Numbers: TypeAlias = NDArray[Any]


def argsort(x: Numbers, dim: int, descending: bool) -> Numbers:
    """Return the positions of the elements in sorted order."""
    x = _widen(x)
    if not descending:
        return np.argsort(x, dim, kind="stable")
    backwards = np.argsort(np.flip(x, dim), dim, kind="stable")
    found: Numbers = x.shape[dim] - 1 - np.flip(backwards, dim)
    return found


def gather(x: Numbers, index: Numbers, dim: int) -> Numbers:
    beside = x[tuple(slice(None if d == dim else n) for d, n in enumerate(index.shape))]
    return np.take_along_axis(beside, _check_index(index, x.shape[dim]), dim)


_UFUNCS: dict[str, np.ufunc] = {
    "add": np.add,
    "multiply": np.multiply,
    "maximum": np.maximum,
    "minimum": np.minimum,
}


def scatter(x: Numbers, index: Numbers, source: Numbers, dim: int, reduce: int) -> Numbers:
    """Write `source` at `index`; if two go to one place, the last stays, or `reduce` joins all."""
    found = _widen(x).copy()
    beside = found[tuple(slice(None if d == dim else n) for d, n in enumerate(index.shape))]
    index = _check_index(index, x.shape[dim])
    if REDUCES[reduce] == "replace":
        np.put_along_axis(beside, index, source.astype(found.dtype), dim)
        return found
    places: list[Numbers] = list(np.indices(index.shape, sparse=True))
    places[dim] = index
    _UFUNCS[REDUCES[reduce]].at(beside, tuple(places), source.astype(found.dtype))
    return found


def cumsum(x: Numbers, dim: int) -> Numbers:
    return np.cumsum(_widen(x), dim, dtype=_sum_dtype(x))


def cumprod(x: Numbers, dim: int) -> Numbers:
    return np.cumprod(_widen(x), dim, dtype=_sum_dtype(x))


def _widen(x: Numbers) -> Numbers:
    """Widen short floats, which numpy sorts slowly."""
    return x if x.dtype.kind in "iub" or x.dtype.itemsize >= 4 else x.astype(np.float32)


def _sum_dtype(x: Numbers) -> type[np.generic]:
    return np.int64 if x.dtype.kind in "iub" else np.float64


def _check_index(index: Numbers, size: int) -> Numbers:
    index = np.asarray(index, np.int64)
    if index.size and (index.min() < 0 or index.max() >= size):
        wrong = index[(index < 0) | (index >= size)].flat[0]
        message = f"index {wrong} of the {size} elements of a dimension"
        raise UsageError(codes.TTNN_ARGUMENT.broken(message).at(None))
    return index


ALONG: dict[str, Callable[..., Numbers]] = {
    "argsort": argsort,
    "gather": gather,
    "scatter": scatter,
    "cumsum": cumsum,
    "cumprod": cumprod,
}

"""Arrays along one dimension: in order, at places that are computed, and summed up so far.

Follows PyTorch: NaNs come after all numbers, equal elements keep their order, and an index that is
out of range is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ttgraph.graph_shapes import REDUCES
from ttl.diagnostics import UsageError, codes


def argsort(x: Any, dim: int, descending: bool) -> Any:
    """Return the positions of the elements in sorted order."""
    x = _comparable(x)
    if not descending:
        return np.argsort(x, dim, kind="stable")
    backwards = np.argsort(np.flip(x, dim), dim, kind="stable")
    return x.shape[dim] - 1 - np.flip(backwards, dim)


def gather(x: Any, index: Any, dim: int) -> Any:
    beside = x[tuple(slice(None if d == dim else n) for d, n in enumerate(index.shape))]
    return np.take_along_axis(beside, _checked(index, x.shape[dim]), dim)


_UFUNCS: dict[str, Any] = {
    "add": np.add, "multiply": np.multiply, "maximum": np.maximum, "minimum": np.minimum,
}  # fmt: skip


def scatter(x: Any, index: Any, source: Any, dim: int, reduce: int) -> Any:
    """Write `source` at `index`; if two go to one place, the last stays, or `reduce` joins all."""
    found = _comparable(x).copy()
    beside = found[tuple(slice(None if d == dim else n) for d, n in enumerate(index.shape))]
    index = _checked(index, x.shape[dim])
    if REDUCES[reduce] == "replace":
        np.put_along_axis(beside, index, source.astype(found.dtype), dim)
        return found
    places: list[Any] = list(np.indices(index.shape, sparse=True))
    places[dim] = index
    _UFUNCS[REDUCES[reduce]].at(beside, tuple(places), source.astype(found.dtype))
    return found


def cumsum(x: object, dim: int) -> Any:
    return np.cumsum(_comparable(x), dim, dtype=_wide(x))


def cumprod(x: object, dim: int) -> Any:
    return np.cumprod(_comparable(x), dim, dtype=_wide(x))


def _comparable(x: Any) -> Any:
    """Widen short floats, which numpy sorts slowly."""
    return x if x.dtype.kind in "iub" or x.dtype.itemsize >= 4 else x.astype(np.float32)


def _wide(x: Any) -> Any:
    return np.int64 if x.dtype.kind in "iub" else np.float64


def _checked(index: Any, size: int) -> Any:
    index = np.asarray(index, np.int64)
    if index.size and (index.min() < 0 or index.max() >= size):
        wrong = index[(index < 0) | (index >= size)].flat[0]
        message = f"index {wrong} of the {size} elements of a dimension"
        raise UsageError(codes.TTNN_ARGUMENT.broken(message).at(None))
    return index


ALONG: dict[str, Callable[..., object]] = {
    "argsort": argsort, "gather": gather, "scatter": scatter, "cumsum": cumsum,
    "cumprod": cumprod,
}  # fmt: skip

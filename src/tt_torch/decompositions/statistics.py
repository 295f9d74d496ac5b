"""Decomposes order statistics, counts, and other operations into sorting and scattering."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from .arithmetic import wide
from .indexing import positions

aten = torch.ops.aten

# Order statistics ---------------------------------------------------------------------------------


def kthvalue(x: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    if not x.ndim:
        return x, torch.zeros_like(x, dtype=torch.int64)
    values, places = (each.narrow(dim, k - 1, 1) for each in x.sort(stable=True, dim=dim))
    return (values, places) if keepdim else (values.squeeze(dim), places.squeeze(dim))


def median(x: Tensor, dim: int, keepdim: bool = False) -> Any:
    """Return the median: the lower one of two in the middle, or NaN if there is one."""
    if not x.ndim:
        return x, torch.zeros_like(x, dtype=torch.int64)
    value, place = kthvalue(x, (x.shape[dim] + 1) // 2, dim, True)
    if x.is_floating_point():
        is_none = x.isnan()
        has_none, first = is_none.any(dim, True), is_none.to(torch.int64).argmax(dim, True)
        value, place = torch.where(has_none, math.nan, value), torch.where(has_none, first, place)
    return (value, place) if keepdim else (value.squeeze(dim), place.squeeze(dim))


def nanmedian(x: Tensor, dim: int, keepdim: bool = False) -> Any:
    """Return the median of the numbers, which are sorted before NaNs."""
    if not x.ndim or not x.is_floating_point():
        return median(x, dim, keepdim)
    values, places = x.sort(stable=True, dim=dim)
    middle = (((~x.isnan()).sum(dim, True) + 1) // 2 - 1).clamp(min=0)
    found = values.gather(dim, middle), places.gather(dim, middle)
    return found if keepdim else tuple(each.squeeze(dim) for each in found)


def _of_all(function: Callable[..., Any]) -> Callable[[Tensor], Tensor]:
    return lambda x: function(x.flatten(), 0)[0]


def mode(x: Tensor, dim: int = -1, keepdim: bool = False) -> Any:
    """Return the most frequent element, the smallest of several, and its last position."""
    if not x.ndim:
        return x, torch.zeros_like(x, dtype=torch.int64)
    here = x.movedim(dim, -1)
    counts = (here[..., None, :] == here[..., :, None]).sum(-1)
    is_most = counts == counts.amax(-1, True)
    value = here.masked_fill(~is_most, _highest(x)).amin(-1, True)
    place = torch.where(here == value, positions(here, here.ndim - 1), -1).amax(-1, True)
    found = value.movedim(-1, dim), place.movedim(-1, dim)
    return found if keepdim else tuple(each.squeeze(dim) for each in found)


def _highest(x: Tensor) -> Any:
    return math.inf if x.is_floating_point() else min(torch.iinfo(x.dtype).max, 2**31 - 1)


def _extreme_so_far(largest: bool) -> Callable[..., Any]:
    """Make a cumulative max or min, in steps of 1, 2, 4, ...; the later of two equal ones."""

    def running(x: Tensor, dim: int) -> Any:
        if not x.ndim:
            return x, torch.zeros_like(x, dtype=torch.int64)
        dim %= x.ndim
        size, step = x.shape[dim], 1
        value, place = x, positions(x, dim).expand(x.shape)
        while step < size:
            before, where = (each.narrow(dim, 0, size - step) for each in (value, place))
            now, here = (each.narrow(dim, step, size - step) for each in (value, place))
            is_new = now >= before if largest else now <= before
            if x.is_floating_point():
                is_new = (is_new & ~before.isnan()) | now.isnan()
            found = torch.where(is_new, now, before), torch.where(is_new, here, where)
            value, place = (
                torch.cat([old.narrow(dim, 0, step), new], dim)
                for old, new in zip((value, place), found, strict=True)
            )
            step *= 2
        return value, place

    return running


def logcumsumexp(x: Tensor, dim: int) -> Tensor:
    if not x.ndim:
        return x
    y = x.to(wide(x.dtype))
    top = y.amax(dim, True)
    top = torch.where(top.abs() == math.inf, 0, top)
    return ((y - top).exp().cumsum(dim).log() + top).to(x.dtype)


# Positions in sorted lists ------------------------------------------------------------------------


def searchsorted(
    edges: Tensor,
    values: Any,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Tensor | None = None,
) -> Any:
    """Count the edges before each value."""
    if sorter is not None:
        edges = edges.gather(-1, sorter)
    values = values if isinstance(values, Tensor) else torch.tensor(values, device=edges.device)
    lines = edges[..., None, :] if edges.ndim > 1 else edges
    one = values[..., None]
    is_before = lines <= one if right or side == "right" else lines < one
    return is_before.sum(-1, dtype=torch.int32 if out_int32 else torch.int64)


def bucketize(values: Any, edges: Tensor, *, out_int32: bool = False, right: bool = False) -> Any:
    return searchsorted(edges, values, out_int32=out_int32, right=right)


def histc(x: Tensor, bins: int = 100, low: Any = 0, high: Any = 0) -> Any:
    """Count the elements in each of `bins` intervals between the limits."""
    flat = x.flatten()
    bottom, top = (torch.as_tensor(each, dtype=x.dtype, device=x.device) for each in (low, high))
    if low == high == 0:
        bottom, top = flat.amin(), flat.amax()
    is_inside = (flat >= bottom) & (flat <= top)
    place = ((flat - bottom) * (bins / (top - bottom))).floor().clamp(0, bins - 1)
    place = torch.where(is_inside, place, 0).to(torch.int64)
    return x.new_zeros(bins).scatter_add(0, place, is_inside.to(x.dtype))


# Scattering ---------------------------------------------------------------------------------------


def scatter_reduce(
    x: Tensor, dim: int, index: Tensor, source: Tensor, reduce: str, *, include_self: bool = True
) -> Any:
    """Reduce with averages, or without the existing elements."""
    if include_self and reduce != "mean":
        return NotImplemented
    ones = torch.ones_like(source)
    start = x
    if not include_self:
        neutral = {"prod": 1, "amax": -_highest(x), "amin": _highest(x)}.get(reduce, 0)
        start = x.scatter(dim, index, neutral)
    if reduce != "mean":
        return start.scatter_reduce(dim, index, source, reduce)
    counts = torch.full_like(x, int(include_self)).scatter_add(dim, index, ones)
    total = start.scatter_add(dim, index, source)
    counts = counts.clamp(min=1)
    if x.is_floating_point():
        return total / counts
    return torch.div(total, counts, rounding_mode="floor")


def masked_scatter(x: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """Write the next element of the source where the mask is true."""
    mask = mask.expand(x.shape)
    order = (mask.flatten().cumsum(0) - 1).clamp(min=0)
    taken = source.flatten().index_select(0, order).reshape(x.shape)
    return torch.where(mask, taken.to(x.dtype), x)


def repeat_interleave(repeats: Tensor, *, output_size: int | None = None) -> Any:
    if output_size is None:
        return NotImplemented
    ends = repeats.cumsum(0)
    return searchsorted(ends, torch.arange(output_size, device=ends.device), right=True)


def embedding_bag(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int = -1,
) -> Any:
    """Reduce the rows of each bag: the sum (0), the average (1) or the largest (2)."""
    bags = offsets.shape[0] - int(include_last_offset)
    counted = torch.arange(indices.shape[0], device=indices.device)
    bag = searchsorted(offsets[:bags], counted, right=True) - 1
    rows, is_counted = weight.index_select(0, indices.long()), indices != padding_idx
    if weights is not None:
        rows = rows * weights[:, None]
    place = bag[:, None].expand(rows.shape)
    size = torch.zeros_like(offsets[:bags]).scatter_add(0, bag, is_counted.to(offsets.dtype))
    found = weight.new_zeros(bags, weight.shape[1])
    largest = torch.zeros_like(size)
    if mode == 2:
        lowest = torch.full_like(found, -math.inf)
        rows = torch.where(is_counted[:, None], rows, -math.inf)
        found = lowest.scatter_reduce(0, place, rows, "amax")
        found = torch.where(size[:, None] == 0, 0, found)
        largest = torch.zeros_like(found, dtype=torch.int64)
    else:
        rows = torch.where(is_counted[:, None], rows, 0)
        found = found.scatter_add(0, place, rows)
        if mode == 1:
            found = found / size.clamp(min=1)[:, None].to(found.dtype)
    return found, bag, size, largest


# Distances, views ---------------------------------------------------------------------------------


def cdist(x: Tensor, y: Tensor, p: float, mode: int | None = None) -> Tensor:
    apart = (x[..., :, None, :] - y[..., None, :, :]).abs()
    if p == 0:
        return (apart != 0).to(x.dtype).sum(-1)
    if p == math.inf:
        return apart.amax(-1)
    return apart.sum(-1) if p == 1 else (apart**p).sum(-1) ** (1 / p)


def as_strided(x: Tensor, size: Any, stride: Any, storage_offset: int | None = None) -> Any:
    """Take the elements from a contiguous tensor."""
    if not x.is_contiguous() or x.storage_offset():
        return NotImplemented
    place: Any = torch.zeros([1] * len(size), dtype=torch.int64, device=x.device)
    place = place + (storage_offset or 0)
    for dim, (count, step) in enumerate(zip(size, stride, strict=True)):
        shape = [1] * len(size)
        shape[dim] = count
        place = place + (torch.arange(count, device=x.device) * step).reshape(shape)
    return x.flatten().index_select(0, place.flatten()).reshape(size)


DECOMPOSITIONS: dict[Any, Callable[..., Any]] = {
    aten.kthvalue.default: kthvalue,
    aten.median.dim: median,
    aten.median.default: _of_all(median),
    aten.nanmedian.dim: nanmedian,
    aten.nanmedian.default: _of_all(nanmedian),
    aten.mode.default: mode,
    aten.cummax.default: _extreme_so_far(largest=True),
    aten.cummin.default: _extreme_so_far(largest=False),
    aten.logcumsumexp.default: logcumsumexp,
    aten.searchsorted.Tensor: searchsorted,
    aten.searchsorted.Scalar: searchsorted,
    aten.bucketize.Tensor: bucketize,
    aten.bucketize.Scalar: bucketize,
    aten.histc.default: histc,
    aten.scatter_reduce.two: scatter_reduce,
    aten.masked_scatter.default: masked_scatter,
    aten.repeat_interleave.Tensor: repeat_interleave,
    aten._embedding_bag.default: embedding_bag,
    aten._embedding_bag_forward_only.default: embedding_bag,
    aten._cdist_forward.default: cdist,
    aten.as_strided.default: as_strided,
}
LIMITS: dict[Any, str] = {
    aten.repeat_interleave.Tensor: "whose size is not known: give output_size=",
    aten.as_strided.default: "of a tensor that is itself a view",
}

"""Decomposes operations that move elements, or take or write them at computed positions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor

aten = torch.ops.aten
# The most operations made one by one, which make graphs larger.
MOST_STEPS = 128


def positions(x: Tensor, dim: int = 0, size: int | None = None) -> Tensor:
    """Return each element's position along a dimension, for a tensor like `x`."""
    shape = [1] * max(1, x.ndim)
    shape[dim] = -1
    return torch.arange(x.shape[dim] if size is None else size, device=x.device).view(shape)


# Shapes -------------------------------------------------------------------------------------------


def padded(x: Tensor, dim: int, before: int, after: int, value: Any = 0) -> Tensor:
    """Pad along a dimension; a negative width crops."""
    first = max(0, -before)
    x = x.narrow(dim, first, x.shape[dim] - first - max(0, -after))

    def full(width: int) -> Tensor:
        shape = list(x.shape)
        shape[dim] = max(0, width)
        return x.new_full(shape, value)

    return torch.cat([full(before), x, full(after)], dim)


def constant_pad_nd(x: Tensor, widths: Sequence[int], value: Any = 0) -> Tensor:
    """Pad by (before, after) of the last dimension, then of the one before it, and so on."""
    pairs = zip(widths[::2], widths[1::2], strict=True)
    for dim, pair in zip(reversed(range(x.ndim)), pairs, strict=False):
        x = padded(x, dim, *pair, value)
    return x


def slice_scatter(
    x: Tensor,
    source: Tensor,
    dim: int = 0,
    start: int | None = None,
    stop: int | None = None,
    step: int = 1,
) -> Any:
    """Replace a slice of `x` by `source`: concatenate the parts before it, it, and after it."""
    if step != 1:
        return NotImplemented
    size = x.shape[dim]
    first, last, _ = slice(start, stop).indices(size)
    last = max(first, last)
    after = x.narrow(dim, last, size - last)
    return torch.cat([x.narrow(dim, 0, first), source.to(x.dtype), after], dim)


def repeat(x: Tensor, counts: Sequence[int]) -> Tensor:
    """Repeat: add a dimension of copies before each dimension, and merge the two."""
    own = [1] * (len(counts) - x.ndim) + list(x.shape)
    apart = [part for size in own for part in (1, size)]
    copies = [part for pair in zip(counts, own, strict=True) for part in pair]
    result = [count * size for count, size in zip(counts, own, strict=True)]
    return x.reshape(apart).expand(copies).reshape(result)


def split_with_sizes(x: Tensor, sizes: Sequence[int], dim: int = 0) -> list[Tensor]:
    return [x.narrow(dim, sum(sizes[:index]), size) for index, size in enumerate(sizes)]


def flip(x: Tensor, dims: Sequence[int]) -> Tensor:
    for dim in dims if x.ndim else ():
        backwards = torch.arange(x.shape[dim] - 1, -1, -1, device=x.device)
        x = x.index_select(dim, backwards)
    return x


def diagonal(x: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """Take a diagonal: flatten the two dimensions, in which it has a constant step."""
    rows, columns = x.shape[dim1], x.shape[dim2]
    flat = x.movedim((dim1, dim2), (-2, -1)).flatten(-2)
    down, right = max(0, -offset), max(0, offset)
    count, step = max(0, min(rows - down, columns - right)), columns + 1
    start = down * columns + right
    return flat[..., start : start + (count - 1) * step + 1 : step] if count else flat[..., :0]


def unfold(x: Tensor, dim: int, size: int, step: int) -> Tensor:
    """Take windows along a dimension as a new last dimension."""
    if not x.ndim:
        return x.reshape(size)
    dim %= x.ndim
    count = (x.shape[dim] - size) // step + 1
    starts = torch.arange(0, count * step, step, device=x.device)
    places = (starts[:, None] + torch.arange(size, device=x.device)).flatten()
    return x.index_select(dim, places).unflatten(dim, (count, size)).movedim(dim + 1, -1)


# Taking -------------------------------------------------------------------------------------------


def _joined(places: Iterable[tuple[Tensor, int]]) -> Tensor:
    """Return the index into flattened dimensions, from (index, size) of each dimension."""
    flat: Tensor | None = None
    for own, size in places:
        flat = own if flat is None else flat * size + own
    assert flat is not None
    return flat


def _taken(x: Tensor, dim: int, index: Tensor) -> Tensor:
    """Take elements along `dim`, which the index's dimensions replace."""
    shape = (*x.shape[:dim], *index.shape, *x.shape[dim + 1 :])
    return x.index_select(dim, index.flatten()).reshape(shape)


def index(x: Tensor, indices: Sequence[Tensor | None]) -> Any:
    """Index; the indexed dimensions are flattened to one, at the position of the first."""
    dims = [dim for dim, each in enumerate(indices) if each is not None]
    if any(each is not None and each.dtype in (torch.bool, torch.uint8) for each in indices):
        return NotImplemented
    x, flat = _flattened(x, indices)
    taken = _taken(x, dims[0], flat)
    return taken if _are_side_by_side(dims) else _to_front(taken, dims[0], flat.ndim)


def _to_front(x: Tensor, first: int, count: int) -> Tensor:
    return x.movedim(list(range(first, first + count)), list(range(count)))


def _are_side_by_side(dims: Sequence[int]) -> bool:
    return list(dims) == list(range(dims[0], dims[0] + len(dims)))


def _flattened(x: Tensor, indices: Sequence[Tensor | None]) -> tuple[Tensor, Tensor]:
    """Flatten the indexed dimensions, to the first one's position; return the tensor and index."""
    given = {dim: each.long() for dim, each in enumerate(indices) if each is not None}
    first, *_ = given
    after = [dim for dim in range(first, x.ndim) if dim not in given]
    moved = x.permute([*range(first), *given, *after])
    counted = [(torch.where(i < 0, i + x.shape[d], i), x.shape[d]) for d, i in given.items()]
    return moved.flatten(first, first + len(given) - 1), _joined(counted)


# Writing ------------------------------------------------------------------------------------------


def index_put(
    x: Tensor,
    indices: Sequence[Tensor | None],
    values: Tensor,
    accumulate: bool = False,
    unsafe: bool = False,
) -> Any:
    """Write rows of the tensor, whose indexed dimensions are flattened and moved to the front."""
    given = [dim for dim, each in enumerate(indices) if each is not None]
    chosen = [each for each in indices if each is not None]
    if any(each.dtype in (torch.bool, torch.uint8) for each in chosen):
        return _masked(x, indices, values, accumulate)
    others = [dim for dim in range(x.ndim) if dim not in given]
    order = [*given, *others]
    table, flat = _flattened(x.permute(order), chosen)
    left, places = table.shape[1:], flat.shape
    front = (
        given[0] if _are_side_by_side(given) else 0
    )  # dimensions of the values before the indexed ones
    rows = values.expand(*left[:front], *places, *left[front:]).to(x.dtype)
    rows = _to_front(rows, front, len(places))
    count = places.numel()
    flat = flat.reshape(count, *[1] * len(left)).expand(count, *left)
    source = rows.reshape(count, *left)
    written = (table.scatter_add if accumulate else table.scatter)(0, flat, source)
    back = [order.index(dim) for dim in range(x.ndim)]
    return written.reshape([x.shape[dim] for dim in order]).permute(back)


def _masked(x: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: bool) -> Any:
    """Write one value where the mask is true; the number of positions need not be known."""
    mask = indices[0]
    if len(indices) != 1 or mask is None or mask.dtype is not torch.bool or values.numel() != 1:
        return NotImplemented
    chosen = mask.reshape(*mask.shape, *[1] * (x.ndim - mask.ndim))
    value = values.reshape(()).to(x.dtype)
    return torch.where(chosen, x + value if accumulate else value, x)


def embedding_dense_backward(
    grad: Tensor, indices: Tensor, rows: int, padding_idx: int, scale_grad_by_freq: bool
) -> Any:
    """Sum the gradients of each row."""
    if scale_grad_by_freq:
        return NotImplemented
    flat, named = grad.reshape(-1, grad.shape[-1]), indices.reshape(-1, 1)
    if padding_idx >= 0:  # its row gets no gradient
        flat = torch.where(named == padding_idx, 0, flat)
    return grad.new_zeros(rows, flat.shape[1]).scatter_add(0, named.expand(flat.shape), flat)


DECOMPOSITIONS: dict[Any, Callable[..., Any]] = {
    aten.constant_pad_nd.default: constant_pad_nd,
    aten.slice_scatter.default: slice_scatter,
    aten.repeat.default: repeat,
    aten.split_with_sizes.default: split_with_sizes,
    aten.flip.default: flip,
    aten.diagonal.default: diagonal,
    aten.unfold.default: unfold,
    aten.index.Tensor: index,
    aten.index_put.default: index_put,
    aten._index_put_impl.default: index_put,
    aten.embedding_dense_backward.default: embedding_dense_backward,
}
# Limits of the lowerings, for the message that rejects an operation.
LIMITS: dict[Any, str] = {
    aten.slice_scatter.default: "with a step",
    aten.index.Tensor: "with a mask: its size is not known",
    **dict.fromkeys(
        (aten.index_put.default, aten._index_put_impl.default), "of several values with a mask"
    ),
    aten.embedding_dense_backward.default: "that is scaled by frequency",
}

"""What takes or writes elements at places that are computed."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import torch
from torch import fx
from xdsl.ir import SSAValue

from ttl.dialects import stablehlo
from ttl.dialects.stablehlo import shape_of

from .emitter import Emitter, Lowering, dtype_of, lowers, unsupported
from .matrix import matrix_product

aten = torch.ops.aten
INDEX = torch.int64
# Graphs grow with what is done one by one.
MOST_STEPS = 128


def take(emitter: Emitter, x: SSAValue, dim: int, indices: SSAValue) -> SSAValue:
    """The elements along `dim` that the indices name: their dimensions take its place."""
    return emitter.add(stablehlo.GatherOp.of(x, dim, indices))


def _counted(emitter: Emitter, index: SSAValue, size: int) -> SSAValue:
    """Indices from the end are counted from the beginning."""
    shape, dtype = shape_of(index), dtype_of(index)
    is_below = emitter.compare("LT", index, emitter.full(shape, 0, dtype))
    moved = emitter.binary("add", index, emitter.full(shape, size, dtype))
    return emitter.select(is_below, moved, index)


# Taking -------------------------------------------------------------------------------------------


@lowers(aten.embedding.default)
def embedding(
    emitter: Emitter, node: fx.Node, weight: SSAValue, indices: SSAValue, *_: Any
) -> SSAValue:
    return take(emitter, weight, 0, indices)


@lowers(aten.index_select.default)
def index_select(
    emitter: Emitter, node: fx.Node, x: SSAValue, dim: int, index: SSAValue
) -> SSAValue:
    rank = len(shape_of(x))
    taken = take(emitter, emitter.reshape(x, shape_of(x) or (1,)), dim % max(1, rank), index)
    return emitter.reshape(taken, node.meta["val"].shape)


@lowers(aten.gather.default)
def gather(
    emitter: Emitter, node: fx.Node, x: SSAValue, dim: int, index: SSAValue, **_: Any
) -> SSAValue:
    """Every index is one of the flattened tensor: of it, and of where it stands."""
    shape, places = shape_of(x), shape_of(index)
    if not shape:
        return emitter.broadcast(x, places)
    dim %= len(shape)
    index = emitter.convert(index, INDEX)
    flat = None
    for each, size in enumerate(shape):
        own = index if each == dim else emitter.positions(places, each, INDEX)
        flat = own if flat is None else _joined(emitter, flat, own, size)
    assert flat is not None
    return take(emitter, emitter.reshape(x, (prod(shape),)), 0, flat)


def _joined(emitter: Emitter, outer: SSAValue, inner: SSAValue, size: int) -> SSAValue:
    scale = emitter.full(shape_of(outer), size, INDEX)
    return emitter.binary("add", emitter.binary("multiply", outer, scale), inner)


@lowers(aten.index.Tensor)
def index(
    emitter: Emitter, node: fx.Node, x: SSAValue, indices: Sequence[SSAValue | None]
) -> SSAValue:
    """The dimensions that are indexed become one, at the place of the first of them."""
    x, dims, flat = _flattened(emitter, node, x, indices)
    taken = take(emitter, x, dims[0], flat)
    if dims != list(range(dims[0], dims[0] + len(dims))):  # not side by side: then they go first
        rank, places = len(shape_of(taken)), len(shape_of(flat))
        moved = list(range(dims[0], dims[0] + places))
        taken = emitter.transpose(taken, [*moved, *(d for d in range(rank) if d not in moved)])
    return taken


def _flattened(
    emitter: Emitter, node: fx.Node, x: SSAValue, indices: Sequence[SSAValue | None]
) -> tuple[SSAValue, list[int], SSAValue]:
    """The tensor with its indexed dimensions as one, where they were, and the index of that one."""
    given = {dim: each for dim, each in enumerate(indices) if each is not None}
    if any(dtype_of(each) in (torch.bool, torch.uint8) for each in given.values()):
        raise unsupported(f"no lowering for {node.target} with a mask: its size is not known", node)
    shape, dims = shape_of(x), list(given)
    others = [dim for dim in range(len(shape)) if dim not in dims]
    before = [dim for dim in others if dim < dims[0]]
    behind = [dim for dim in others if dim > dims[0]]
    moved = emitter.transpose(x, [*before, *dims, *behind])
    sizes = [shape[dim] for dim in dims]
    joined = [*(shape[d] for d in before), prod(sizes), *(shape[d] for d in behind)]
    common = torch.broadcast_shapes(*(shape_of(each) for each in given.values()))
    flat = None
    for each, size in zip(given.values(), sizes, strict=True):
        own = _counted(emitter, emitter.convert(each, INDEX), size)
        own = emitter.broadcast(own, common)
        flat = own if flat is None else _joined(emitter, flat, own, size)
    assert flat is not None
    return emitter.reshape(moved, joined), dims, flat


@lowers(aten.flip.default)
def flip(emitter: Emitter, node: fx.Node, x: SSAValue, dims: Sequence[int]) -> SSAValue:
    rank = len(shape_of(x))
    for dim in {dim % rank for dim in dims} if rank else ():
        size = shape_of(x)[dim]
        last = emitter.full((size,), size - 1, INDEX)
        places = emitter.binary("subtract", last, emitter.positions((size,), 0, INDEX))
        x = take(emitter, x, dim, places)
    return x


@lowers(aten.diagonal.default)
def diagonal(
    emitter: Emitter, node: fx.Node, x: SSAValue, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> SSAValue:
    """The two dimensions are one, in which a diagonal has steps of one length."""
    shape = shape_of(x)
    first, second = dim1 % len(shape), dim2 % len(shape)
    others = [dim for dim in range(len(shape)) if dim not in (first, second)]
    flat = emitter.transpose(x, [*others, first, second])
    flat = emitter.reshape(flat, [*(shape[dim] for dim in others), shape[first] * shape[second]])
    count, step = node.meta["val"].shape[-1], shape[second] + 1
    start = offset if offset >= 0 else -offset * shape[second]
    if not count:
        return emitter.cut(flat, len(others), 0, 0)
    return emitter.cut(flat, len(others), start, start + (count - 1) * step + 1, step)


@lowers(aten.unfold.default)
def unfold(
    emitter: Emitter, node: fx.Node, x: SSAValue, dim: int, size: int, step: int
) -> SSAValue:
    """Windows along a dimension, each of which becomes one more at the end."""
    rank = len(shape_of(x))
    if not rank:
        return emitter.reshape(x, node.meta["val"].shape)
    dim %= rank
    starts = torch.arange(node.meta["val"].shape[dim])[:, None] * step
    taken = take(emitter, x, dim, emitter.constant(starts + torch.arange(size)))
    order = [each for each in range(rank + 1) if each != dim + 1]
    return emitter.transpose(taken, [*order, dim + 1])


# Writing ------------------------------------------------------------------------------------------


def _scatter(adds: bool) -> Lowering:
    """The elements of `source` one by one along `dim`, where the index is the position there."""

    def lower(
        emitter: Emitter, node: fx.Node, x: SSAValue, dim: int, index: SSAValue, source: Any
    ) -> SSAValue:
        shape, places, dtype = shape_of(x), shape_of(index), dtype_of(x)
        dim %= max(1, len(shape))
        if not shape or any(shape[d] != places[d] for d in range(len(shape)) if d != dim):
            raise unsupported(f"no lowering for {node.target} into a part of a tensor", node)
        check_steps(node, places[dim])
        if not isinstance(source, SSAValue):
            source = emitter.full(places, source, dtype)
        source = emitter.slice(source, [(0, size, 1) for size in places])
        index = _checked(emitter, emitter.convert(index, INDEX), shape[dim])
        counted = emitter.positions(shape, dim, INDEX)
        for step in range(places[dim]):
            here = emitter.broadcast(emitter.cut(index, dim, step, step + 1), shape)
            value = emitter.broadcast(emitter.cut(source, dim, step, step + 1), shape)
            value = emitter.binary("add", x, value) if adds else value
            x = emitter.select(emitter.compare("EQ", here, counted), value, x)
        return x

    return lower


def _checked(emitter: Emitter, index: SSAValue, size: int) -> SSAValue:
    """The same indices; one that is not below `size` is refused where its number is taken."""
    return take(emitter, emitter.positions((size,), 0, INDEX), 0, index)


lowers(aten.scatter.src, aten.scatter.value)(_scatter(adds=False))
lowers(aten.scatter_add.default)(_scatter(adds=True))


def check_steps(node: fx.Node, count: int) -> None:
    if count > MOST_STEPS:
        raise unsupported(f"no lowering for {node.target} for {count} elements one by one", node)


@lowers(aten.index_put.default, aten._index_put_impl.default)
def index_put(
    emitter: Emitter,
    node: fx.Node,
    x: SSAValue,
    indices: Sequence[SSAValue | None],
    values: SSAValue,
    accumulate: bool = False,
    unsafe: bool = False,
) -> SSAValue:
    """Row by row of the tensor whose indexed dimensions are one, and that the first."""
    given = [dim for dim, each in enumerate(indices) if each is not None]
    shape = shape_of(x)
    if len(given) == 1 and dtype_of(indices[given[0]]) is torch.bool:  # type: ignore[arg-type]
        return _masked(emitter, node, x, indices, values, accumulate)
    others = [dim for dim in range(len(shape)) if dim not in given]
    order = [*given, *others]
    chosen = [each for each in indices if each is not None]
    table, _, flat = _flattened(emitter, node, emitter.transpose(x, order), chosen)
    places, left = shape_of(flat), shape_of(table)[1:]
    check_steps(node, prod(places))
    side_by_side = given == list(range(given[0], given[-1] + 1))
    front = given[0] if side_by_side else 0  # what stands before the indexed dimensions of values
    rows = emitter.broadcast(values, (*left[:front], *places, *left[front:]))
    moved = [*range(front, front + len(places)), *range(front)]
    rest = range(front + len(places), len(places) + len(left))
    rows = emitter.transpose(rows, [*moved, *rest])
    rows = emitter.reshape(emitter.convert(rows, dtype_of(x)), (prod(places), *left))
    flat = emitter.reshape(flat, (prod(places), *[1] * len(left)))
    flat = emitter.broadcast(flat, (prod(places), *left))
    written = _scatter(accumulate)(emitter, node, table, 0, flat, rows)
    assert isinstance(written, SSAValue)
    back = [order.index(dim) for dim in range(len(shape))]
    return emitter.transpose(emitter.reshape(written, [shape[dim] for dim in order]), back)


def _masked(
    emitter: Emitter,
    node: fx.Node,
    x: SSAValue,
    indices: Sequence[SSAValue | None],
    values: SSAValue,
    accumulate: bool,
) -> SSAValue:
    """One value wherever the mask is: how many there are need not be known."""
    mask = indices[0]
    if mask is None or prod(shape_of(values)) != 1:
        raise unsupported(f"no lowering for {node.target} of several values with a mask", node)
    shape = shape_of(x)
    behind = len(shape) - len(shape_of(mask))
    chosen = emitter.broadcast(emitter.reshape(mask, (*shape_of(mask), *[1] * behind)), shape)
    value = emitter.convert(emitter.reshape(values, ()), dtype_of(x))
    value = emitter.broadcast(value, shape)
    value = emitter.binary("add", x, value) if accumulate else value
    return emitter.select(chosen, value, x)


@lowers(aten.embedding_dense_backward.default)
def embedding_dense_backward(
    emitter: Emitter,
    node: fx.Node,
    grad: SSAValue,
    indices: SSAValue,
    rows: int,
    padding_idx: int,
    scale_grad_by_freq: bool,
) -> SSAValue:
    """The gradients of each row together: a product with 1 where an index names the row."""
    if scale_grad_by_freq:
        raise unsupported(f"no lowering for {node.target} that is scaled by frequency", node)
    count, columns = prod(shape_of(indices)), shape_of(grad)[-1]
    dtype = dtype_of(grad)
    flat = emitter.reshape(emitter.convert(indices, INDEX), (1, count))
    named = emitter.compare(
        "EQ", emitter.broadcast(flat, (rows, count)), emitter.positions((rows, count), 0, INDEX)
    )
    if padding_idx >= 0:  # its row is not learned
        others = emitter.positions((rows, count), 0, INDEX)
        padding = emitter.full((rows, count), padding_idx, INDEX)
        named = emitter.binary("and", named, emitter.compare("NE", others, padding))
    ones = emitter.convert(named, dtype)
    return matrix_product(emitter, ones, emitter.reshape(grad, (count, columns)), (rows, columns))

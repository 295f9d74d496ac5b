"""What moves elements or converts them, and counting."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import fx
from xdsl.ir import SSAValue

from ttl.dialects import stablehlo

from .emitter import Emitter, dtype_of, lowers, unsupported

aten = torch.ops.aten


def _result_shape(node: fx.Node) -> list[int]:
    return [int(size) for size in node.meta["val"].shape]


@lowers(aten.view.default, aten.unsqueeze.default, aten.squeeze.dims)
def reshape(emitter: Emitter, node: fx.Node, x: SSAValue, *_: Any) -> SSAValue:
    return emitter.reshape(x, _result_shape(node))


@lowers(aten.permute.default)
def permute(emitter: Emitter, node: fx.Node, x: SSAValue, order: Sequence[int]) -> SSAValue:
    rank = len(stablehlo.shape_of(x))
    return emitter.transpose(x, [dim % rank for dim in order])


@lowers(aten.expand.default)
def expand(emitter: Emitter, node: fx.Node, x: SSAValue, *_: Any, **__: Any) -> SSAValue:
    return emitter.broadcast(x, _result_shape(node))


@lowers(aten.cat.default)
def cat(emitter: Emitter, node: fx.Node, parts: Sequence[SSAValue], dim: int = 0) -> SSAValue:
    shape = _result_shape(node)
    dtype = node.meta["val"].dtype
    # torch joins tensors of shape (0,) with anything
    used = [emitter.convert(each, dtype) for each in parts if stablehlo.shape_of(each) != (0,)]
    return emitter.concatenate(used, dim % len(shape))


@lowers(aten.slice.Tensor)
def slice_tensor(
    emitter: Emitter,
    node: fx.Node,
    x: SSAValue,
    dim: int = 0,
    start: int | None = None,
    stop: int | None = None,
    step: int = 1,
) -> SSAValue:
    size = stablehlo.shape_of(x)[dim]
    first, last, _ = slice(start, stop).indices(size)
    return emitter.cut(x, dim, first, max(first, last), step)


@lowers(aten.select.int)
def select(emitter: Emitter, node: fx.Node, x: SSAValue, dim: int, index: int) -> SSAValue:
    index %= stablehlo.shape_of(x)[dim]
    return emitter.reshape(emitter.cut(x, dim, index, index + 1), _result_shape(node))


@lowers(aten.slice_scatter.default)
def slice_scatter(
    emitter: Emitter,
    node: fx.Node,
    x: SSAValue,
    source: SSAValue,
    dim: int = 0,
    start: int | None = None,
    stop: int | None = None,
    step: int = 1,
) -> SSAValue:
    """`x` with `source` in the place of a slice: what is before it, it, and what is behind it."""
    if step != 1:
        raise unsupported(f"no lowering for {node.target} with a step", node)
    shape = stablehlo.shape_of(x)
    first, last, _ = slice(start, stop).indices(shape[dim])
    before = emitter.cut(x, dim, 0, first)
    behind = emitter.cut(x, dim, max(first, last), shape[dim])
    parts = [before, emitter.convert(source, dtype_of(x)), behind]
    used = [each for each in parts if stablehlo.shape_of(each)[dim]]
    return emitter.concatenate(used or [x], dim)


@lowers(aten.constant_pad_nd.default)
def constant_pad_nd(
    emitter: Emitter, node: fx.Node, x: SSAValue, widths: Sequence[int], value: Any = 0
) -> SSAValue:
    """(before, behind) of the last dimension, then of that before it; below 0 it is cut off."""
    rank = len(stablehlo.shape_of(x))
    for dim, pair in zip(range(rank - 1, -1, -1), _pairs(widths), strict=False):
        x = pad(emitter, x, dim, *pair, value)
    return x


def _pairs(widths: Sequence[int]) -> Iterator[tuple[int, int]]:
    return zip(widths[::2], widths[1::2], strict=True)


def pad(
    emitter: Emitter, x: SSAValue, dim: int, before: int, behind: int, value: Any = 0
) -> SSAValue:
    size = stablehlo.shape_of(x)[dim]
    x = emitter.cut(x, dim, max(0, -before), size - max(0, -behind))

    def full(width: int) -> list[SSAValue]:
        shape = list(stablehlo.shape_of(x))
        shape[dim] = width
        return [emitter.full(shape, value, dtype_of(x))] if width > 0 else []

    return emitter.concatenate([*full(before), x, *full(behind)], dim)


@lowers(aten.repeat.default)
def repeat(emitter: Emitter, node: fx.Node, x: SSAValue, counts: Sequence[int]) -> SSAValue:
    """Every dimension gets one of copies before it, and takes it in."""
    given = stablehlo.shape_of(x)
    own = [1] * (len(counts) - len(given)) + list(given)
    apart = [part for size in own for part in (1, size)]
    wide = [part for pair in zip(counts, own, strict=True) for part in pair]
    copies = emitter.broadcast(emitter.reshape(x, apart), wide)
    return emitter.reshape(copies, _result_shape(node))


@lowers(aten.split_with_sizes.default)
def split_with_sizes(
    emitter: Emitter, node: fx.Node, x: SSAValue, sizes: Sequence[int], dim: int = 0
) -> list[SSAValue]:
    stops = [sum(sizes[: index + 1]) for index in range(len(sizes))]
    pairs = zip(stops, sizes, strict=True)
    return [emitter.cut(x, dim, stop - size, stop) for stop, size in pairs]


@lowers(operator.getitem)
def getitem(emitter: Emitter, node: fx.Node, values: Sequence[SSAValue], index: int) -> SSAValue:
    return values[index]


# Copies and conversions ---------------------------------------------------------------------------


@lowers(
    aten.clone.default, aten.alias.default, aten.lift_fresh_copy.default, aten._to_copy.default,
    torch.ops.prims.convert_element_type.default,
)  # fmt: skip
def convert(emitter: Emitter, node: fx.Node, x: SSAValue, *_: Any, **__: Any) -> SSAValue:
    return emitter.convert(x, node.meta["val"].dtype)


@lowers(aten.copy.default)
def copy(emitter: Emitter, node: fx.Node, into: SSAValue, source: SSAValue, *_: Any) -> SSAValue:
    """What `into` becomes: `source` in its shape and type."""
    return emitter.broadcast(emitter.convert(source, dtype_of(into)), stablehlo.shape_of(into))


@lowers(aten.arange.start_step)
def arange(
    emitter: Emitter, node: fx.Node, start: Any, stop: Any, step: Any = 1, **_: Any
) -> SSAValue:
    value = node.meta["val"]
    counted = emitter.positions(value.shape, 0, value.dtype)
    if step != 1:
        factor = emitter.full(value.shape, step, value.dtype)
        counted = emitter.binary("multiply", counted, factor)
    if start != 0:
        first = emitter.full(value.shape, start, value.dtype)
        counted = emitter.binary("add", counted, first)
    return counted


@lowers(
    aten._assert_tensor_metadata.default, aten._assert_async.msg,
    aten._functional_assert_async.msg,
)  # fmt: skip
def assertion(emitter: Emitter, node: fx.Node, *_: Any, **__: Any) -> list[SSAValue]:
    """What export notes about a type was true when it was captured; what is asserted about
    elements nobody checks while a graph runs.
    """
    return []

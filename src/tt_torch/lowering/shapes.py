"""What moves elements, takes them or converts them."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import torch
from torch import fx
from xdsl.ir import SSAValue

from ttl.dialects import stablehlo
from ttl.dialects.stablehlo import shape_of

from .emitter import Emitter, dtype_of, lowers, overloads

aten = torch.ops.aten


def _result_shape(node: fx.Node) -> list[int]:
    return [int(size) for size in node.meta["val"].shape]


@lowers(*overloads("reshape"))
def reshape(emitter: Emitter, node: fx.Node, x: SSAValue, *_: Any) -> SSAValue:
    return emitter.reshape(x, _result_shape(node))


@lowers(*overloads("permute"))
def permute(emitter: Emitter, node: fx.Node, x: SSAValue, order: Sequence[int]) -> SSAValue:
    rank = len(shape_of(x))
    return emitter.transpose(x, [dim % rank for dim in order])


@lowers(*overloads("expand"))
def expand(emitter: Emitter, node: fx.Node, x: SSAValue, *_: Any, **__: Any) -> SSAValue:
    return emitter.broadcast(x, _result_shape(node))


@lowers(*overloads("concat"))
def cat(emitter: Emitter, node: fx.Node, parts: Sequence[SSAValue], dim: int = 0) -> SSAValue:
    """torch joins tensors of shape (0,) with anything."""
    rank, dtype = len(_result_shape(node)), node.meta["val"].dtype
    whole = [each for each in parts if len(shape_of(each)) == rank]
    used = [each for each in whole if shape_of(each)[dim]] or whole[:1]
    return emitter.concatenate([emitter.convert(each, dtype) for each in used], dim % rank)


@lowers(*overloads("slice"))
def slice_tensor(
    emitter: Emitter,
    node: fx.Node,
    x: SSAValue,
    dim: int = 0,
    start: int | None = None,
    stop: int | None = None,
    step: int = 1,
) -> SSAValue:
    first, last, _ = slice(start, stop).indices(shape_of(x)[dim])
    return emitter.cut(x, dim, first, max(first, last), step)


@lowers(aten.select.int)
def select(emitter: Emitter, node: fx.Node, x: SSAValue, dim: int, index: int) -> SSAValue:
    index %= shape_of(x)[dim]
    return emitter.reshape(emitter.cut(x, dim, index, index + 1), _result_shape(node))


@lowers(operator.getitem)
def getitem(emitter: Emitter, node: fx.Node, values: Sequence[SSAValue], index: int) -> SSAValue:
    return values[index]


@lowers(*overloads("embedding"))
def embedding(
    emitter: Emitter, node: fx.Node, weight: SSAValue, indices: SSAValue, *_: Any
) -> SSAValue:
    return emitter.add(stablehlo.GatherOp.of(weight, 0, indices))


@lowers(aten.index_select.default)
def index_select(
    emitter: Emitter, node: fx.Node, x: SSAValue, dim: int, index: SSAValue
) -> SSAValue:
    rank = len(shape_of(x))
    whole = emitter.reshape(x, shape_of(x) or (1,))
    taken = emitter.add(stablehlo.GatherOp.of(whole, dim % max(1, rank), index))
    return emitter.reshape(taken, _result_shape(node))


# Copies and conversions ---------------------------------------------------------------------------


@lowers(*overloads("typecast"), torch.ops.prims.convert_element_type.default)
def convert(emitter: Emitter, node: fx.Node, x: SSAValue, *_: Any, **__: Any) -> SSAValue:
    return emitter.convert(x, node.meta["val"].dtype)


@lowers(aten.copy.default)
def copy(emitter: Emitter, node: fx.Node, into: SSAValue, source: SSAValue, *_: Any) -> SSAValue:
    """What `into` becomes: `source` in its shape and type."""
    return emitter.broadcast(emitter.convert(source, dtype_of(into)), shape_of(into))


@lowers(
    aten._assert_tensor_metadata.default, aten._assert_async.msg,
    aten._functional_assert_async.msg,
)  # fmt: skip
def assertion(emitter: Emitter, node: fx.Node, *_: Any, **__: Any) -> list[SSAValue]:
    """What export notes about a type was true when it was captured; what is asserted about
    elements nobody checks while a graph runs.
    """
    return []

"""Lowers operations that move, take or convert elements.

Dimensions are torch's: if elements are pairs, values have one more dimension after them.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import torch
from xdsl.ir import SSAValue

from ttgraph.dialects import stablehlo
from ttgraph.dialects.stablehlo import shape_of

from .emitter import Emitter, dtype_of, lowers, overloads

aten = torch.ops.aten


@lowers(*overloads("reshape"), pairs=True)
def reshape(emitter: Emitter, x: SSAValue, *_: Any) -> SSAValue:
    return emitter.reshape(x, emitter.shape)


@lowers(*overloads("permute"), pairs=True)
def permute(emitter: Emitter, x: SSAValue, order: Sequence[int]) -> SSAValue:
    rest = range(len(order), len(shape_of(x)))
    return emitter.transpose(x, [*(dim % len(order) for dim in order), *rest])


@lowers(*overloads("expand"), pairs=True)
def expand(emitter: Emitter, x: SSAValue, *_: Any, **__: Any) -> SSAValue:
    return emitter.broadcast(x, emitter.shape)


@lowers(*overloads("concat"), pairs=True)
def cat(emitter: Emitter, parts: Sequence[SSAValue], dim: int = 0) -> SSAValue:
    """Concatenate; torch joins tensors of shape (0,) with any shape."""
    dim, rank = dim % emitter.rank, len(emitter.shape)
    whole = [each for each in parts if len(shape_of(each)) == rank]
    used = [each for each in whole if shape_of(each)[dim]] or whole[:1]
    return emitter.concatenate([emitter.convert(each, emitter.dtype) for each in used], dim)


@lowers(*overloads("slice"), pairs=True)
def slice_tensor(
    emitter: Emitter,
    x: SSAValue,
    dim: int = 0,
    start: int | None = None,
    stop: int | None = None,
    step: int = 1,
) -> SSAValue:
    dim %= emitter.rank
    first, last, _ = slice(start, stop).indices(shape_of(x)[dim])
    return emitter.cut(x, dim, first, max(first, last), step)


@lowers(aten.select.int, pairs=True)
def select(emitter: Emitter, x: SSAValue, dim: int, index: int) -> SSAValue:
    dim %= emitter.rank + 1
    index %= shape_of(x)[dim]
    return emitter.reshape(emitter.cut(x, dim, index, index + 1), emitter.shape)


@lowers(operator.getitem, pairs=True)
def getitem(emitter: Emitter, values: Sequence[SSAValue], index: int) -> SSAValue:
    return values[index]


@lowers(*overloads("embedding"), pairs=True)
def embedding(emitter: Emitter, weight: SSAValue, indices: SSAValue, *_: Any) -> SSAValue:
    return emitter.add(stablehlo.GatherOp.of(weight, 0, indices))


@lowers(aten.index_select.default, pairs=True)
def index_select(emitter: Emitter, x: SSAValue, dim: int, index: SSAValue) -> SSAValue:
    whole = x if emitter.rank else emitter.reshape(x, (1, *shape_of(x)))
    taken = emitter.add(stablehlo.GatherOp.of(whole, dim % max(1, emitter.rank), index))
    return emitter.reshape(taken, emitter.shape)


# Copies and conversions ---------------------------------------------------------------------------


@lowers(*overloads("typecast"), torch.ops.prims.convert_element_type.default)
def convert(emitter: Emitter, x: SSAValue, *_: Any, **__: Any) -> SSAValue:
    return emitter.convert(x, emitter.dtype)


@lowers(aten.copy.default)
def copy(emitter: Emitter, into: SSAValue, source: SSAValue, *_: Any) -> SSAValue:
    """Return the new value of `into`: `source` in its shape and type."""
    return emitter.broadcast(emitter.convert(source, dtype_of(into)), shape_of(into))


@lowers(
    aten._assert_tensor_metadata.default,
    aten._assert_async.msg,
    aten._functional_assert_async.msg,
)
def assertion(emitter: Emitter, *_: Any, **__: Any) -> list[SSAValue]:
    """Drop assertions: export's about types were true at the capture, and those about elements are
    not checked while a graph runs.
    """
    return []

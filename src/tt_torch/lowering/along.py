"""Lowers operations along one dimension: sorting, gather and scatter, cumulative sums."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from xdsl.dialects.builtin import BoolAttr, DenseIntOrFPElementsAttr, IntegerAttr, TensorType, i64
from xdsl.ir import SSAValue

from tt_torch.decompositions.arithmetic import wide
from ttgraph.dialects import stablehlo
from ttgraph.dialects.stablehlo import ScatterDimensions, element_of, shape_of
from ttgraph.dialects.stablehlo.regions import ScatterNumbers
from ttgraph.dialects.stablehlo.shapes import GatherNumbers
from ttgraph.dialects.stablehlo.text import dims

from .emitter import Emitter, Lowering, computation, dtype_of, lowers

aten = torch.ops.aten

# Order --------------------------------------------------------------------------------------------


def sorted_with_places(
    emitter: Emitter, x: SSAValue, dim: int, descending: bool
) -> tuple[SSAValue, SSAValue]:
    """Return sorted elements and positions; NaNs are largest, equal elements keep their order."""
    if not shape_of(x):
        return x, emitter.full((), 0, torch.int64)
    dim %= len(shape_of(x))
    places = emitter.positions(shape_of(x), dim, torch.int64)

    def is_before(inner: Emitter, one: SSAValue, other: SSAValue, *_: SSAValue) -> SSAValue:
        found = inner.compare("GT" if descending else "LT", one, other)
        if not dtype_of(x).is_floating_point:
            return found
        first, second = (other, one) if descending else (one, other)
        is_last = inner.compare("NE", second, second)
        is_number = inner.compare("EQ", first, first)
        return inner.binary("or", found, inner.binary("and", is_last, is_number))

    scalars = [TensorType(element_of(each), []) for each in (x, x, places, places)]
    made = stablehlo.SortOp.create(
        operands=[x, places],
        result_types=[x.type, places.type],
        properties={"dimension": IntegerAttr(dim, i64), "is_stable": BoolAttr.from_bool(True)},
        regions=[computation(scalars, is_before)],
    )
    emitter.add(made)
    return made.outputs[0], made.outputs[1]


@lowers(aten.sort.default, aten.sort.stable)
def sort(
    emitter: Emitter, x: SSAValue, dim: int = -1, descending: bool = False, **_: Any
) -> list[SSAValue]:
    return [*sorted_with_places(emitter, x, dim, descending)]


@lowers(aten.topk.default)
def topk(
    emitter: Emitter, x: SSAValue, count: int, dim: int = -1, largest: bool = True, *_: Any
) -> list[SSAValue]:
    """Return the first elements of all in order."""
    if not shape_of(x):
        return [*sorted_with_places(emitter, x, 0, largest)]
    found = sorted_with_places(emitter, x, dim, largest)
    return [emitter.cut(each, dim % len(shape_of(x)), 0, count) for each in found]


# Gather and scatter -------------------------------------------------------------------------------


def _beside(emitter: Emitter, x: SSAValue, index: SSAValue, dim: int) -> SSAValue:
    """Return the part of `x` with the indices' sizes in the other dimensions."""
    sizes = zip(shape_of(x), shape_of(index), strict=True)
    return emitter.slice(
        x, [(0, size if d == dim else mine, 1) for d, (size, mine) in enumerate(sizes)]
    )


@lowers(aten.gather.default)
def gather(emitter: Emitter, x: SSAValue, dim: int, index: SSAValue, **_: Any) -> SSAValue:
    rank = len(shape_of(x))
    dim %= rank
    x = _beside(emitter, x, index, dim)
    others = tuple(d for d in range(rank) if d != dim)
    numbers = GatherNumbers(
        collapsed_slice_dims=(dim,),
        operand_batching_dims=others,
        start_indices_batching_dims=others,
        start_index_map=(dim,),
        index_vector_dim=rank,
    )
    made = stablehlo.GatherOp.create(
        operands=[x, index],
        result_types=[TensorType(element_of(x), shape_of(index))],
        properties={
            "dimension_numbers": stablehlo.GatherDimensions(numbers),
            "slice_sizes": dims([1] * rank),
        },
        attributes=stablehlo.CHECKED_INDICES,
    )
    return emitter.add(made)


def scattered(
    emitter: Emitter, x: SSAValue, dim: int, index: SSAValue, source: SSAValue, reducer: str
) -> SSAValue:
    """Scatter `source` at the indices, which have the sizes of `x` in all other dimensions."""
    rank, scalar = len(shape_of(x)), TensorType(element_of(x), [])
    others = tuple(d for d in range(rank) if d != dim)
    numbers = ScatterNumbers(
        inserted_window_dims=(dim,),
        input_batching_dims=others,
        scatter_indices_batching_dims=others,
        scatter_dims_to_operand_dims=(dim,),
        index_vector_dim=rank,
    )

    def reduced(inner: Emitter, old: SSAValue, new: SSAValue) -> SSAValue:
        return inner.binary(reducer, old, new) if reducer else new

    made = stablehlo.ScatterOp.create(
        operands=[x, index, source],
        result_types=[x.type],
        properties={
            "scatter_dimension_numbers": ScatterDimensions(numbers),
            "indices_are_sorted": BoolAttr.from_bool(False),
            "unique_indices": BoolAttr.from_bool(False),
        },
        attributes=stablehlo.CHECKED_INDICES,
        regions=[computation([scalar, scalar], reduced)],
    )
    return emitter.add(made)


def _scatter(
    emitter: Emitter, x: SSAValue, dim: int, index: SSAValue, source: Any, reducer: str
) -> SSAValue:
    """Scatter; torch allows smaller indices in other dimensions, where `x` is unchanged."""
    given = shape_of(x)
    if not given:
        x, index = emitter.reshape(x, (1,)), emitter.reshape(index, (1,))
        source = emitter.reshape(source, (1,)) if isinstance(source, SSAValue) else source
    rank, dtype = len(shape_of(x)), dtype_of(x)
    dim %= rank
    if isinstance(source, SSAValue):
        parts = [(0, size, 1) for size in shape_of(index)]
        source = emitter.convert(emitter.slice(source, parts), dtype)
    else:
        source = emitter.full(shape_of(index), source, dtype)
    if 0 in shape_of(index):
        return emitter.reshape(x, given)
    part = _beside(emitter, x, index, dim)
    found = scattered(emitter, part, dim, index, source, reducer)
    return emitter.reshape(_put_back(emitter, x, found), given)


def _put_back(emitter: Emitter, x: SSAValue, part: SSAValue) -> SSAValue:
    """Replace the leading part of `x`."""
    for dim, size in reversed(list(enumerate(shape_of(x)))):
        mine = shape_of(part)[dim]
        if mine < size:
            ranges = [(0, n, 1) for n in shape_of(part)]
            ranges[dim] = (mine, size, 1)
            part = emitter.concatenate([part, emitter.slice(x, ranges)], dim)
    return part


@lowers(aten.scatter.src, aten.scatter.value)
def scatter(emitter: Emitter, x: SSAValue, dim: int, index: SSAValue, source: Any) -> SSAValue:
    return _scatter(emitter, x, dim, index, source, "")


@lowers(aten.scatter_add.default)
def scatter_add(
    emitter: Emitter, x: SSAValue, dim: int, index: SSAValue, source: SSAValue
) -> SSAValue:
    return _scatter(emitter, x, dim, index, source, "add")


_REDUCERS = {
    "sum": "add",
    "add": "add",
    "prod": "multiply",
    "multiply": "multiply",
    "amax": "maximum",
    "amin": "minimum",
}


@lowers(aten.scatter.reduce, aten.scatter.value_reduce, aten.scatter_reduce.two)
def scatter_reduce(
    emitter: Emitter, x: SSAValue, dim: int, index: SSAValue, source: Any, reduce: str, **_: Any
) -> SSAValue:
    return _scatter(emitter, x, dim, index, source, _REDUCERS[reduce])


# Cumulative sums ----------------------------------------------------------------------------------


def _running(reducer: str, neutral: int) -> Lowering:
    def lower(emitter: Emitter, x: SSAValue, dim: int, *, dtype: Any = None) -> SSAValue:
        wanted = emitter.dtype
        inner = emitter.convert(x, wide(wanted))
        if not shape_of(x) or 0 in shape_of(x):
            return emitter.convert(inner, wanted)
        found = _windows(emitter, inner, dim % len(shape_of(x)), reducer, neutral)
        return emitter.convert(found, wanted)

    return lower


def _windows(emitter: Emitter, x: SSAValue, dim: int, reducer: str, neutral: int) -> SSAValue:
    """Reduce a window as long as the dimension that ends at each element."""
    rank, size = len(shape_of(x)), shape_of(x)[dim]
    scalar = TensorType(element_of(x), [])
    edges: Sequence[int] = [
        edge for d in range(rank) for edge in ((size - 1, 0) if d == dim else (0, 0))
    ]
    made = stablehlo.ReduceWindowOp.create(
        operands=[x, emitter.scalar(neutral, dtype_of(x))],
        result_types=[x.type],
        properties={
            "window_dimensions": dims([size if d == dim else 1 for d in range(rank)]),
            "padding": DenseIntOrFPElementsAttr.from_list(TensorType(i64, [rank, 2]), edges),
        },
        regions=[computation([scalar, scalar], lambda inner, *two: inner.binary(reducer, *two))],
    )
    return emitter.add(made)


lowers(aten.cumsum.default)(_running("add", 0))
lowers(aten.cumprod.default)(_running("multiply", 1))

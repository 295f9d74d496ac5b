"""Reductions: dimensions become 1, inside the tile too.

The result is in column 0 of the tile (innermost dimension reduced), in row 0 (the next one), or in
element (0, 0) (both); the rest of the tile is zero. The scaler is applied once. The matrix unit
reduces inside the tile, and its sources cut f32 off to TF32; with `exact_f32` the vector unit does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from math import prod
from typing import Any

import numpy as np

from ttl.diagnostics import RuleBroken, codes

from ..block_math import LANES, ROW_REDUCTIONS, row_sum
from ..dtypes import Array, to_tf32
from ..rounding import factor_in_a, factor_in_b
from ..types import TILE_SIZE, BlockType, Shape
from . import compositions
from .meanings import MATH, cut_off, is_integer_array
from .rules import check_result_shape, normal_dims, same_type, whole_shape
from .special_values import clear_nan_signs, largest, smallest
from .table import Arguments, BlockOp, Domain, Parameter, ParameterKind, TileCall, TileForms
from .tiles import API, COPY, Tiles, composed, whole_composed, with_integers


def _type_rule(call: str) -> Callable[..., BlockType]:
    def rule(x: BlockType, scaler: BlockType, dims: Shape, shape: Shape | None) -> BlockType:
        given = whole_shape(x, call)
        reduced = normal_dims(dims, len(given), call)
        if scaler.shape not in (None, (1,), (1, 1)):
            raise RuleBroken(
                codes.SHAPE_MISMATCH,
                f"the scaler of {call} is a number or a block of shape (1, 1), not of shape "
                f"{scaler.shape}",
                helps=("element (0, 0) of the scaler is what counts",),
            )
        result = tuple(1 if dim in reduced else size for dim, size in enumerate(given))
        check_result_shape(shape, result, call)
        dtype = same_type(BlockType(None, x.dtype), BlockType(None, scaler.dtype)).dtype
        return BlockType(result, dtype)

    return rule


def _meaning(reduction: Callable[..., Array], in_sources: bool = False) -> Callable[..., Array]:
    def meaning(
        x: Array,
        scaler: Array,
        dims: Shape,
        shape: Shape | None,
        exact_f32: bool = False,
        phases: int = 4,
    ) -> Array:
        reduced = normal_dims(dims, x.ndim, "")
        if in_sources and not exact_f32 and _is_inside(reduced, x.ndim):
            x = _in_source(x, reduction, reduced, phases)
        factor = scaler[(0,) * scaler.ndim] if isinstance(scaler, np.ndarray) else scaler
        values = _set_zero_signs(reduction(x, reduced), x, reduction, reduced, exact_f32)
        if factor == 1:
            return _in_tiles(values, reduced, x.dtype)
        values, rest = clear_nan_signs(values * factor), values.dtype.type(0) * factor
        if not exact_f32 and _is_by_matrix_unit(factor, x, reduction, reduced):
            values, rest = values + values.dtype.type(0), 0
        return _in_tiles(values, reduced, x.dtype, rest)

    return meaning


def _is_by_matrix_unit(
    factor: Array, x: Array, reduction: Callable[..., Array], reduced: Shape
) -> bool:
    """Return whether the matrix unit applies the scaler. Otherwise all of the tile is multiplied
    afterwards, where a negative number turns 0 into -0."""
    inner = sum(dim >= x.ndim - 2 for dim in reduced)
    is_sum = reduction is _sum and not is_integer_array(x)
    return is_sum and inner > 0 and compositions.fits_scaler_tile(float(factor), inner)


def _set_zero_signs(
    values: Array, x: Array, reduction: Callable[..., Array], reduced: Shape, exact_f32: bool
) -> Array:
    """Set the sign of zeros: the matrix unit makes no -0, nor does a minimum, which is a difference
    from 0; the vector unit's sum of only -0 is -0."""
    if reduction is smallest or (not exact_f32 and _is_inside(reduced, x.ndim)):
        unsigned: Array = values + values.dtype.type(0)
        return unsigned
    if reduction is largest or values.dtype.kind != "f" or values.all():
        return values
    is_minus_zero = np.signbit(x) & (x == 0)
    is_all: Array = is_minus_zero.all(axis=reduced, keepdims=True)
    return np.where(is_all, -0.0, values)


def _in_tiles(
    values: Array, reduced: Shape, dtype: np.dtype[np.generic], rest: Array | int = 0
) -> Array:
    """Put the values at the edge of otherwise empty tiles, along the reduced tile dimensions."""
    extent, edge = _edge(values.shape, reduced)
    tiles = np.full(extent, rest, dtype) if rest or np.signbit(rest) else np.zeros(extent, dtype)
    tiles[edge] = values
    return tiles


@lru_cache
def _edge(shape: Shape, reduced: Shape) -> tuple[Shape, tuple[slice, ...]]:
    """Return the extent of these tiles, and the values' place in them."""
    inner = {dim for dim in reduced if dim >= len(shape) - 2}
    extent = tuple(TILE_SIZE if dim in inner else size for dim, size in enumerate(shape))
    return extent, tuple(slice(0, size) for size in shape)


def _sum(x: Array, dims: Shape) -> Array:
    """Sum in float64, so that the order of the sum does not show."""
    if is_integer_array(x):
        return np.add.reduce(x, axis=dims, dtype=np.int64, keepdims=True)
    if dims == (x.ndim - 1,) and x.shape[-1] % LANES == 0:
        return row_sum(x)
    return np.add.reduce(x, axis=dims, dtype=np.float64, keepdims=True)


def _mean(x: Array, dims: Shape) -> Array:
    return _sum(x, dims) / _count(x, dims)


def _count(x: Array, dims: Shape) -> int:
    return prod(x.shape[dim] for dim in dims)


def _is_inside(reduced: Shape, rank: int) -> bool:
    """Return whether a tile dimension is reduced; the vector unit combines whole tiles."""
    return max(reduced) >= rank - 2


def _in_source(x: Array, reduction: Callable[..., object], reduced: Shape, phases: int) -> Array:
    """Cut x off to its source. A sum is a product with the scaler, and over columns alone it has x
    in source B; a maximum multiplies nothing."""
    if reduction not in (_sum, _mean):
        return to_tf32(x)
    return factor_in_a(x, phases) if x.ndim - 2 in reduced else factor_in_b(x, phases)


LOST_DIGITS = 2  # measured: 0.08 % of sums over columns (source B), 0.16 % over rows (A)


def _find_loss(x: Array, dims: Shape, exact_f32: bool) -> float:
    is_inside = _is_inside(normal_dims(dims, x.ndim, ""), x.ndim)
    return cut_off(LOST_DIGITS, x) if is_inside and not exact_f32 else 0.0


def _bound(reduction: Callable[..., Array], adds: bool = False) -> Callable[..., Array]:
    """Return the bound of one unit in the last place of the DST format plus the cut-off digits.

    The order of a sum is free: each addition may round differently.
    """

    def bound(
        spacing: float, x: Array, scaler: Array, dims: Shape, shape: object, exact_f32: bool = False
    ) -> Array:
        roundings = _count(x, normal_dims(dims, x.ndim, "")) + 1 if adds else 1
        given = (np.abs(x), np.abs(scaler)) if adds else (x, scaler)
        magnitude: Array = np.abs(_meaning(reduction)(*given, dims, shape))
        found: Array = (roundings * spacing + _find_loss(x, dims, exact_f32)) * magnitude
        return found

    return bound


def _arguments(args: tuple[object, ...], kwargs: dict[str, object]) -> Arguments:
    """Accept later versions' calls without a scaler: `reduce_sum(x, dims, shape)`."""
    if len(args) > 1 and isinstance(args[1], (list, tuple)):
        names = dict(zip(("dims", "shape"), args[1:], strict=False))
        if not names.keys() & kwargs.keys() and len(args) <= 3:
            return args[:1], {**kwargs, **names}
    return args, kwargs


def _tile(pool: str) -> dict[str, TileForms]:
    """Return the tile column; outer dimensions alone copy tiles and combine them elementwise."""

    def call(dim: str) -> TileCall:
        template = f"<PoolType::{pool}, ReduceDim::{dim}>"
        is_swapped = (pool, dim) == ("SUM", "REDUCE_ROW")
        return TileCall(
            f"reduce_tile{template}",
            f"reduce_init{template}",
            "reduce.h",
            accumulates=True,
            sources=(1, 0) if is_swapped else (0, 1),
        )

    by_dims = {
        (): COPY,
        (-1,): call("REDUCE_ROW"),
        (-2,): call("REDUCE_COL"),
        (-2, -1): call("REDUCE_SCALAR"),
    }
    exact = partial(compositions.exact_reduction, how=pool.lower())
    return with_integers({API: TileForms(by_dims=by_dims, exact=exact)}, _whole(pool.lower()))


def _whole(how: str) -> dict[str, TileForms]:
    return whole_composed(partial(compositions.whole_reduction, how=how))


def _reduction(
    name: str, what: str, reduction: Callable[..., Array], tile: Tiles, **columns: Any
) -> BlockOp:
    return BlockOp(
        name,
        2,
        _type_rule(f"ttl.math.{name}()"),
        _meaning(reduction),
        f"the {what} over dimensions of x, times scaler",
        namespaces=MATH,
        tile=tile,
        operand_names=("x", "scaler"),
        operand_defaults={"scaler": 1},
        scalars=("scaler",),
        parameters=(
            Parameter("dims", ParameterKind.DIMS),
            Parameter("shape", ParameterKind.SHAPE, None),
            Parameter("exact_f32", ParameterKind.FLAG, False),
        ),
        bound=_bound(reduction, adds=reduction in (_sum, _mean)),
        in_sources=_meaning(reduction, in_sources=True),
        elementwise=False,
        rearrange=_arguments,
        forms=(f"ttl.math.{name}(x, scaler, dims=[-1])", f"ttl.math.{name}(x, dims=[-1])"),
        aliases={"dim": "dims"},
        **columns,
    )


OPS = (
    _reduction("reduce_sum", "sum", _sum, _tile("SUM"), multiplies=True),
    _reduction("reduce_max", "largest element", largest, _tile("MAX"), computes=False),
    _reduction(
        "reduce_min",
        "smallest element",
        smallest,
        with_integers(composed(compositions.reduce_min), _whole("min")),
    ),
    _reduction(
        "reduce_mean",
        "mean",
        _mean,
        composed(compositions.reduce_mean),
        domain=Domain.FLOATS,
    ),
)
REDUCTIONS = tuple(op.name for op in OPS)
_NATIVE: dict[object, int] = {
    op.meaning: ROW_REDUCTIONS.index(op.name) for op in OPS if op.name in ROW_REDUCTIONS
}


def native_reduction(meaning: Callable[..., object], parameters: Mapping[str, object]) -> int:
    """Return the number of a meaning in block_math.row_reduced(), or -1."""
    if parameters.get("dims") != (-1,) or parameters.get("exact_f32"):
        return -1
    return _NATIVE.get(meaning, -1)

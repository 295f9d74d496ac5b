"""Operations that rearrange elements.

Dimensions are counted in shape units: the two innermost count tiles. A broadcast over one of these
starts inside the tile, from the column, row or element that holds the result of a reduction.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial

import numpy as np

from ttl.diagnostics import RuleBroken, codes, wrong_argument

from ..dtypes import Array
from ..types import BlockType, Shape
from .arguments import shape_of_block
from .meanings import BOTH
from .rules import OPEN, meet, normal_dims, whole_shape
from .table import BlockOp, Parameter, ParameterKind, TileCall, TileForms
from .tiles import COPY, for_integers_too

_BROADCAST, _TRANSPOSE = "ttl.math.broadcast()", "ttl.math.transpose()"
_SQUEEZE, _UNSQUEEZE = "ttl.math.squeeze()", "ttl.math.unsqueeze()"
AS_MATRIX = "make a matrix of the row: ttl.math.unsqueeze(x, 0)"


def _broadcast_type(x: BlockType, dims: Shape, shape: Shape | None) -> BlockType:
    given = whole_shape(x, _BROADCAST)
    expanded = normal_dims(dims, len(given), _BROADCAST)
    if any(given[dim] != 1 for dim in expanded):
        raise RuleBroken(
            codes.SHAPE_MISMATCH,
            f"{_BROADCAST} over {list(dims)} of a block of shape {given} (in tiles): only "
            "dimensions of size 1 are expanded",
            helps=("reduce the dimension first, or leave it out of dims",),
        )
    result = tuple(OPEN if dim in expanded else size for dim, size in enumerate(given))
    if shape is None:
        return BlockType(result, x.dtype)
    if meet(result, shape) != shape:
        raise RuleBroken(
            codes.SHAPE_MISMATCH,
            f"{_BROADCAST} over {list(dims)} of a block of shape {given} cannot give shape {shape} "
            "(in tiles)",
            helps=("name every dimension that grows in dims, and no other",),
        )
    return BlockType(shape, x.dtype)


def _broadcast(x: Array, dims: Shape, shape: Shape | None) -> Array:
    """Return the first column, row or element, which stands for all the others."""
    return x[_first(dims, x.ndim)]


@lru_cache
def _first(dims: Shape, rank: int) -> tuple[slice, ...]:
    expanded = normal_dims(dims, rank, _BROADCAST)
    return tuple(slice(0, 1) if dim in expanded else slice(None) for dim in range(rank))


def _transpose_type(x: BlockType) -> BlockType:
    shape = whole_shape(x, _TRANSPOSE)
    if len(shape) != 2:
        leading = "take away leading ones with ttl.math.squeeze(x, dim)"
        raise RuleBroken(
            codes.SHAPE_MISMATCH,
            f"{_TRANSPOSE} works on blocks of two dimensions, not on one of shape {shape}",
            helps=(leading if len(shape) > 1 else AS_MATRIX,),
        )
    return BlockType((shape[1], shape[0]), x.dtype)


def _squeeze_type(x: BlockType, dim: Shape) -> BlockType:
    if x.shape is None:
        return x
    shape = x.shape
    dims = _outer_dims(dim, len(shape), len(shape) - len(dim), _SQUEEZE)
    if any(shape[d] != 1 for d in dims):
        raise RuleBroken(
            codes.SHAPE_MISMATCH,
            f"{_SQUEEZE} of dimension {list(dim)} of a block of shape {shape}: its size is not 1",
            helps=("only dimensions of size 1 can be taken away",),
        )
    return BlockType(tuple(s for d, s in enumerate(shape) if d not in dims), x.dtype)


def _unsqueeze_type(x: BlockType, dim: Shape) -> BlockType:
    if x.shape is None:
        return x
    rank = len(x.shape) + len(dim)
    dims = _outer_dims(dim, rank, len(x.shape), _UNSQUEEZE)
    sizes = iter(x.shape)
    return BlockType(tuple(1 if d in dims else next(sizes) for d in range(rank)), x.dtype)


def _outer_dims(dim: Shape, rank: int, rank_without: int, call: str) -> Shape:
    """Return dimensions in front of the tiles' rows and columns, or raise RuleBroken.

    A block of one dimension is a row of tiles, so only its columns are excluded.
    """
    dims = normal_dims(dim, rank, call)
    inner = 1 if rank_without == 1 else 2
    if any(d >= rank - inner for d in dims):
        raise wrong_argument(
            f"{call} of dimension {list(dim)}: the two innermost dimensions are rows and columns "
            "of tiles",
            "name a dimension in front of these",
        )
    return dims


def _in_array(dims: Shape) -> Shape:
    """Drop dimension -2, the rows of tiles, which arrays of blocks always have."""
    return tuple(dim for dim in dims if dim != -2)


def _broadcast_call(type: str) -> TileCall:
    """Return the call; the tile comes through source B, or A if it is unpacked to DST."""
    template = f"<BroadcastType::{type}>"
    return TileCall(
        f"unary_bcast{template}", f"unary_bcast_init{template}", "bcast.h", sources=(0, 0)
    )


_BROADCAST_TILES = TileForms(
    by_dims={
        (): COPY,
        (-1,): _broadcast_call("COL"),
        (-2,): _broadcast_call("ROW"),
        (-2, -1): _broadcast_call("SCALAR"),
    }
)
_TRANSPOSE_TILES = TileForms(
    by_dims={(-2, -1): TileCall("transpose_tile", "transpose_init", "transpose.h")}
)
_VIEWS: tuple[tuple[str, Callable[..., BlockType], Callable[..., Array], str], ...] = (
    ("squeeze", _squeeze_type, np.squeeze, "x without a leading dimension of size 1"),
    (
        "unsqueeze",
        _unsqueeze_type,
        np.expand_dims,
        "x with a leading dimension of size 1 more, at `dim` of the result",
    ),
)


OPS = (
    BlockOp(
        "broadcast",
        1,
        _broadcast_type,
        _broadcast,
        "x expanded in dimensions of size 1, inside the tile too",
        namespaces=BOTH,
        computes=False,
        tile=for_integers_too(_BROADCAST_TILES),
        parameters=(
            Parameter("dims", ParameterKind.DIMS),
            Parameter("shape", ParameterKind.SHAPE, None),
        ),
        elementwise=False,
        rearrange=partial(shape_of_block, 1),
        forms=(
            "ttl.math.broadcast(x, dims=[-1], shape=(2, 2))",
            "ttl.math.broadcast(x, out_blk, dims=[-1])",
        ),
    ),
    BlockOp(
        "transpose",
        1,
        _transpose_type,
        np.transpose,
        "rows and columns of x exchanged",
        namespaces=BOTH,
        computes=False,
        tile=for_integers_too(_TRANSPOSE_TILES),
        elementwise=False,
    ),
    *(
        BlockOp(
            name,
            1,
            type_rule,
            lambda x, dim, arrange=arrange: x if x.ndim == 0 else arrange(x, _in_array(dim)),
            summary,
            namespaces=BOTH,
            computes=False,
            tile=for_integers_too(TileForms(is_view=True)),
            parameters=(Parameter("dim", ParameterKind.DIMS),),
            aliases={"dims": "dim"},
        )
        for name, type_rule, arrange, summary in _VIEWS
    ),
)

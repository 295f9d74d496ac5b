"""Fill, masks and selection."""

from __future__ import annotations

from typing import Any

import numpy as np

from ttl.diagnostics import RuleBroken, codes

from ..dtypes import DType
from ..layout import TILE_LAYOUT, as_layout
from ..ttnn_values import as_sizes
from ..types import TILE_SHAPE, BlockType, Shape
from . import compositions
from .arguments import shape_of_block
from .meanings import BOTH
from .rules import same_type
from .table import Arguments, BlockOp, Domain, Kind, Parameter
from .tiles import composed, whole_composed, with_integers


def _fill_type(shape: Shape | None, dtype: DType | None) -> BlockType:
    """Without an element type it takes that of the first operand or store it meets."""
    return BlockType(shape, dtype)


def _fill(value: float, shape: Shape | None, dtype: DType | None) -> Any:
    return np.array(value, np.float64)


def _fill_arguments(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments:
    """`layout=` and `tile=` name what every value has."""
    kwargs = dict(kwargs)
    for name, names_it in (("layout", _is_tiled), ("tile", _is_whole_tile)):
        given = kwargs.pop(name, None)
        if given is not None and not names_it(given):
            raise RuleBroken(
                codes.WRONG_ARGUMENT,
                f"{name}={given!r}: values of expressions consist of tiles of "
                f"{' by '.join(map(str, TILE_SHAPE))} elements",
                helps=(f"leave {name}= out",),
            )
    return shape_of_block(0, args, kwargs)


def _is_tiled(layout: Any) -> bool:
    return as_layout(layout) is TILE_LAYOUT


def _is_whole_tile(tile: Any) -> bool:
    shape = getattr(tile, "tile_shape", tile)
    return as_sizes(shape) == TILE_SHAPE


def _where(c: Any, a: Any, b: Any) -> Any:
    return np.where(c != 0, a, b)


FILL_BLOCK = BlockOp(
    "fill",
    0,
    _fill_type,
    _fill,
    "a block full of value; without a shape it takes that of the first operand or store it meets",
    namespaces=BOTH,
    parameters=(
        Parameter("value", Kind.NUMBER),
        Parameter("shape", Kind.SHAPE, None),
        Parameter("dtype", Kind.DTYPE, None),
    ),
    rearrange=_fill_arguments,
    forms=(
        "ttl.math.fill(value, shape=(2, 2), dtype=ttnn.float32)",
        "ttl.math.fill(out_blk, value)",
    ),
)

OPS = (
    FILL_BLOCK,
    BlockOp(
        "mask",
        2,
        same_type,
        lambda x, m: np.where(m == 1, np.zeros_like(x, shape=()), x),
        "x, or 0 where m is 1",
        namespaces=BOTH,
        tile=with_integers(composed(compositions.mask), whole_composed(compositions.whole_mask)),
        operand_names=("x", "m"),
        aliases={"mask": "m", "mask_blk": "m"},
    ),
    BlockOp(
        "mask_posinf",
        2,
        same_type,
        lambda x, m: np.where(m == 1, np.float32(np.inf), x),
        "x, or infinity where m is 1",
        namespaces=BOTH,
        tile=composed(compositions.mask_posinf),
        operand_names=("x", "m"),
        aliases={"mask": "m", "mask_blk": "m"},
        domain=Domain.FLOATS,
    ),
    BlockOp(
        "where",
        3,
        same_type,
        _where,
        "a, or b where c is 0",
        namespaces=BOTH,
        tile=with_integers(
            composed(compositions.where), whole_composed(lambda do, c, a, b: do("select", c, a, b))
        ),
        operand_names=("c", "a", "b"),
        aliases={"condition": "c", "true_value": "a", "false_value": "b"},
    ),
)

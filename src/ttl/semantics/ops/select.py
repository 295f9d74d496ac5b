"""Fill, masks and selection."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ttl.diagnostics import wrong_argument

from ..dtypes import Array, DType
from ..layout import TILE_LAYOUT, as_layout
from ..ttnn_values import as_sizes
from ..types import TILE_SHAPE, BlockType, Shape
from . import compositions
from .arguments import shape_of_block
from .meanings import BOTH, Meaning
from .rules import same_type
from .table import Arguments, BlockOp, Domain, Parameter, ParameterKind
from .tiles import composed, whole_composed, with_integers


def _fill(value: float, shape: Shape | None, dtype: DType | None) -> Array:
    return np.array(value, np.float64)


def _fill_arguments(args: tuple[object, ...], kwargs: dict[str, object]) -> Arguments:
    """Drop `layout=` and `tile=`; raise RuleBroken if they name what values do not have."""
    kwargs = dict(kwargs)
    for name, names_it in (("layout", _is_tiled), ("tile", _is_whole_tile)):
        given = kwargs.pop(name, None)
        if given is not None and not names_it(given):
            raise wrong_argument(
                f"{name}={given!r}: values of expressions consist of tiles of "
                f"{' by '.join(map(str, TILE_SHAPE))} elements",
                f"leave {name}= out",
            )
    return shape_of_block(0, args, kwargs)


def _is_tiled(layout: object) -> bool:
    return as_layout(layout) is TILE_LAYOUT


def _is_whole_tile(tile: object) -> bool:
    shape = getattr(tile, "tile_shape", tile)
    return as_sizes(shape) == TILE_SHAPE


def _where(c: Array, a: Array, b: Array) -> Array:
    return np.where(c != 0, a, b)


def _selection(name: str, meaning: Meaning, summary: str, **columns: Any) -> BlockOp:
    count = len(columns["operand_names"])
    return BlockOp(
        name, count, same_type, meaning, summary, namespaces=BOTH, computes=False, **columns
    )


_MASK: dict[str, object] = {"operand_names": ("x", "m"), "aliases": {"mask": "m", "mask_blk": "m"}}


FILL_BLOCK = BlockOp(
    "fill",
    0,
    BlockType,  # without an element type it takes that of the first operand or store it meets
    _fill,
    "a block full of value; without a shape it takes that of the first operand or store it meets",
    namespaces=BOTH,
    computes=False,
    parameters=(
        Parameter("value", ParameterKind.NUMBER),
        Parameter("shape", ParameterKind.SHAPE, None),
        Parameter("dtype", ParameterKind.DTYPE, None),
    ),
    rearrange=_fill_arguments,
    forms=(
        "ttl.math.fill(value, shape=(2, 2), dtype=ttnn.float32)",
        "ttl.math.fill(out_blk, value)",
    ),
)

OPS = (
    FILL_BLOCK,
    _selection(
        "mask",
        lambda x, m: np.where(m == 1, np.zeros_like(x, shape=()), x),
        "x, or 0 where m is 1",
        tile=with_integers(composed(compositions.mask), whole_composed(compositions.mask)),
        **_MASK,
    ),
    _selection(
        "mask_posinf",
        lambda x, m: np.where(m == 1, np.float32(np.inf), x),
        "x, or infinity where m is 1",
        tile=composed(partial(compositions.mask, instead=np.inf)),
        domain=Domain.FLOATS,
        **_MASK,
    ),
    _selection(
        "where",
        _where,
        "a, or b where c is 0",
        tile=with_integers(
            composed(compositions.where), whole_composed(lambda do, c, a, b: do("select", c, a, b))
        ),
        operand_names=("c", "a", "b"),
        aliases={"condition": "c", "true_value": "a", "false_value": "b"},
    ),
)

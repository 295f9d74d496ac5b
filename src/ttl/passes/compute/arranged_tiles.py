"""Operations that read their operand's tiles in another order than they make result tiles:
reductions, broadcasts, transposition.

Their operand is in a buffer. The `parameters` of such a tile operation describe its reads:

`dims`     the affected dimensions inside the tile, from -2 and -1
`strides`  for each dimension of the result, the distance of the tiles its neighbors read
`offset`   the tile that the first tile of the result reads
`steps`    for each dimension of a reduction: how many tiles are combined, and their distance
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod

from xdsl.dialects.builtin import DictionaryAttr
from xdsl.ir import Operation, SSAValue

from ttl.dialects import ttl
from ttl.semantics.ops import MATMUL, REDUCTIONS, TileCall, TileForms
from ttl.semantics.ops.rules import normal_dims
from ttl.semantics.types import Shape

from ..module_pass import integers, numbers_in
from .compiler_buffers import shape_of

# Operations that combine tiles, for reductions that leave the inside of the tile alone.
COMBINING = {
    "reduce_sum": "add",
    "reduce_max": "max",
    "sum_of_tiles": "add",
    "max_of_tiles": "max",
}
OF_TILES = ("sum_of_tiles", "max_of_tiles")


def is_arranged(op: object) -> bool:
    return isinstance(op, (ttl.BlockMathOp, ttl.TileMathOp)) and any(
        forms.by_dims for forms in op.ENTRY.tile.values()
    )


def is_broadcasting(op: object) -> bool:
    """Does it expand its second operand while reading it?"""
    return (
        isinstance(op, ttl.TileMathOp)
        and not is_arranged(op)
        and op.parameters is not None
        and "strides" in op.parameters.data
    )


def is_view(op: object) -> bool:
    """Does the result have the operand's tiles, under another shape?"""
    return isinstance(op, ttl.BlockMathOp) and any(
        forms.is_view for forms in op.ENTRY.tile.values()
    )


def is_masked(op: object) -> bool:
    """Is only a part of each result tile correct until the packer has cleared the rest?"""
    return is_arranged(op) and op.ENTRY.name in COMBINING and bool(inner_dims(op))  # type: ignore[attr-defined, arg-type]


def is_matmul(op: object) -> bool:
    return isinstance(op, (ttl.BlockMathOp, ttl.TileMathOp)) and op.ENTRY is MATMUL


def is_reduction(op: object) -> bool:
    return isinstance(op, (ttl.BlockMathOp, ttl.TileMathOp)) and op.ENTRY.name in REDUCTIONS


def reads_by_matrix_unit(op: object) -> bool:
    return is_matmul(op) or is_masked(op)


def operands_in_buffers(op: ttl.BlockMathOp) -> list[SSAValue]:
    """Return the operands that must be in a buffer."""
    if op.ENTRY is MATMUL or is_masked(op):
        return list(op.inputs)
    return [op.inputs[0]] if is_arranged(op) else []


# The dimensions -----------------------------------------------------------------------------------


def inner_dims(op: ttl.BlockMathOp | ttl.TileMathOp) -> Shape:
    """Return the affected dimensions among -2 and -1."""
    if isinstance(op, ttl.TileMathOp):
        return numbers_of(op, "dims")
    if op.ENTRY.name == "transpose":
        return (-2, -1)
    if op.ENTRY.name in OF_TILES:
        return ()
    rank = len(shape_of(op.inputs[0]))
    return tuple(dim - rank for dim in _dims(op) if dim >= rank - 2)


def _dims(op: ttl.BlockMathOp) -> Shape:
    return normal_dims(numbers_of(op, "dims"), len(shape_of(op.inputs[0])), op.name)


def numbers_of(op: Operation, name: str) -> Shape:
    parameters = op.properties["parameters"]
    assert isinstance(parameters, DictionaryAttr)
    return tuple(numbers_in(parameters.data.get(name)))


def form_of(forms: TileForms, parameters: DictionaryAttr | None) -> TileCall | None:
    """Return the call of a tile operation that is arranged or expands an operand."""
    found = forms.by_dims or forms.with_broadcast
    if not found or parameters is None:
        return None
    return found[tuple(numbers_in(parameters.data["dims"]))]


# Where it reads -----------------------------------------------------------------------------------


def arrangements(op: ttl.BlockMathOp) -> list[DictionaryAttr]:
    """Return the parameters for each value to combine; most operations have one."""
    source = shape_of(op.inputs[0])
    strides = [prod(source[dim + 1 :]) for dim in range(len(source))]
    inner = inner_dims(op)
    if op.ENTRY.name == "transpose":
        return [_parameters(inner, [1, strides[0]])]
    dims = _dims(op)
    kept = [0 if dim in dims else stride for dim, stride in enumerate(strides)]
    if op.ENTRY.name not in COMBINING:
        return [_parameters(inner, kept)]
    steps = [(source[dim], strides[dim]) for dim in dims]
    if inner:
        return [_parameters(inner, kept, steps=steps)]
    places = product(*(range(0, count * stride, stride) for count, stride in steps))
    return [_parameters(inner, kept, sum(place)) for place in places]


def _parameters(
    dims: Shape, strides: Sequence[int], offset: int = 0, steps: Sequence[tuple[int, int]] = ()
) -> DictionaryAttr:
    flat = [number for step in steps for number in step]
    lists = {"dims": dims, "strides": strides, "offset": [offset], "steps": flat}
    return DictionaryAttr({name: integers(found) for name, found in lists.items()})

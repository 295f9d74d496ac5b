"""The rules for single elements of a block, which data movement kernels read and write.

Coordinates count elements, one for each dimension of the block.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import index
from typing import Any

from ttl.diagnostics import RuleBroken, codes, wrong_argument

from .dtypes import bfloat16, float32
from .types import BlockType, Shape, block_elements

READ, WRITE = "ttl.raw_element_read()", "ttl.raw_element_write()"
DTYPES = (float32, bfloat16)


def raw_extent(block: BlockType) -> Shape:
    """Return the elements of each dimension; a row of tiles has one dimension."""
    assert block.shape is not None
    return block_elements(block.shape, block.layout)[-len(block.shape) :]


def check_raw_block(call: str, block: BlockType, count: int) -> None:
    """Raise RuleBroken for a wrong element type or a wrong number of coordinates."""
    if block.dtype not in DTYPES:
        raise codes.NO_MEANING.broken(
            f"{call} works on float32 and bfloat16 blocks, not on {block.dtype}",
            "convert the tensor before the operation is called, with ttnn.typecast()",
        )
    extent = raw_extent(block)
    if count != len(extent):
        given = "1 coordinate" if count == 1 else f"{count} coordinates"
        value = ", then the value" if call == WRITE else ""
        raise codes.SLICE_OUT_OF_RANGE.broken(
            f"{given} for a block of {len(extent)} dimensions",
            f"give one for each dimension{value}: they count elements, not tiles",
        )


def outside_block(place: int | None, dimension: int, block: BlockType) -> RuleBroken:
    """Describe an element outside its block; `place` is None if it is known only at run time."""
    size = raw_extent(block)[dimension]
    element = "an element" if place is None else f"element {place}"
    return codes.SLICE_OUT_OF_RANGE.broken(
        f"{element} of dimension {dimension} is not in 0:{size}",
        f"the block has {_times(raw_extent(block))} elements, counted from 0",
    )


def coordinate(call: str, given: Any, described: Callable[[object], str]) -> int:
    """Return a coordinate as an int, also from numpy's ints."""
    try:
        if isinstance(given, bool):
            raise TypeError
        return index(given)
    except TypeError:
        raise wrong_argument(
            f"{call} takes ints as coordinates, not {described(given)}",
            "give the position of the element, one int for each dimension of the block",
        ) from None


def not_an_element(given: str) -> RuleBroken:
    return wrong_argument(
        f"{WRITE} writes a float, not {given}",
        "write a float, or what ttl.raw_element_read() returns",
    )


def not_a_raw_block(call: str, given: str) -> RuleBroken:
    return wrong_argument(
        f"{call} works on a block that reserve() or wait() gives, not on {given}",
        "give the block first, then the coordinates",
    )


def split_written(given: Sequence[object], value: object) -> tuple[tuple[object, ...], Any]:
    """Return the coordinates and the value, which is the last argument or `value=`."""
    if value is not None:
        return tuple(given), value
    if not given:
        raise wrong_argument(
            f"{WRITE} has no value to write",
            "write ttl.raw_element_write(block, row, column, value)",
        )
    return tuple(given[:-1]), given[-1]


def _times(extent: Shape) -> str:
    return " x ".join(str(size) for size in extent)

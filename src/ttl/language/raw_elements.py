"""Single elements of a block, by their coordinates. Data movement kernels only."""

from __future__ import annotations

from ttl.semantics.ops import is_number
from ttl.semantics.raw_elements import (
    READ,
    WRITE,
    check_raw_block,
    coordinate,
    not_a_raw_block,
    not_an_element,
    outside_block,
    raw_extent,
    split_written,
)
from ttl.semantics.types import Shape

from .block import Block
from .engine import engine


def raw_element_read(block: Block, *coords: int) -> float:
    """Data movement kernels: return an element of a float32 or bfloat16 block.

    The coordinates count elements, one for each dimension of the block.
    """
    running = engine(READ)
    running.require_data_movement(READ)
    return running.read_element(block, _check_coordinates(READ, block, coords))


def raw_element_write(block: Block, *coords: object, value: object = None) -> None:
    """Data movement kernels: write one element of a float32 or bfloat16 block.

    The coordinates count elements. The value comes last, or as `value=`.
    """
    running = engine(WRITE)
    running.require_data_movement(WRITE)
    places, number = split_written(coords, value)
    coordinates = _check_coordinates(WRITE, block, places)
    if not is_number(number):
        raise not_an_element(_describe(number))
    running.write_element(block, coordinates, float(number))


def _check_coordinates(call: str, block: object, given: tuple[object, ...]) -> Shape:
    if not isinstance(block, Block):
        raise not_a_raw_block(call, _describe(block))
    check_raw_block(call, block.type, len(given))
    coordinates = tuple([coordinate(call, each, _describe) for each in given])
    for dimension, size in enumerate(raw_extent(block.type)):
        if not 0 <= coordinates[dimension] < size:
            raise outside_block(coordinates[dimension], dimension, block.type)
    return coordinates


def _describe(value: object) -> str:
    from .described import described  # imports the modules of the language

    return described(value)

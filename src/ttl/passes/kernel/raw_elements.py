"""Single elements of blocks: a load or a store through a pointer to L1."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import f64
from xdsl.ir import SSAValue

from ttl.dialects import ttkernel, ttl
from ttl.dialects.ttcore import block_type
from ttl.semantics.layout import TILE_LAYOUT
from ttl.semantics.types import FACE_SIZE, TILE_SIZE, Shape, at_least_matrix
from ttl.target.data_formats import TILE_ELEMENTS

from ..arithmetic import add, divide, times
from ..module_pass import Maker
from .kernel_calls import KernelConverter, block_address, call, value_call

FACES = TILE_SIZE // FACE_SIZE  # faces along a side of a tile


def read_element(converter: KernelConverter, op: ttl.ReadElementOp, make: Maker) -> None:
    name = ttkernel.READ_ELEMENT[_data_format(op.block)]
    address = _address(converter, op, make)
    value = value_call(make, name, address, type=f64, hint=op.result.name_hint)
    op.result.replace_all_uses_with(value)


def write_element(converter: KernelConverter, op: ttl.WriteElementOp, make: Maker) -> None:
    name = ttkernel.WRITE_ELEMENT[_data_format(op.block)]
    call(make, name, _address(converter, op, make), op.value)


def _data_format(block: SSAValue) -> str:
    dtype = block_type(block.type).dtype
    assert dtype is not None
    return dtype.data_format


def _address(
    converter: KernelConverter, op: ttl.ReadElementOp | ttl.WriteElementOp, make: Maker
) -> SSAValue:
    block, start = block_type(op.block.type), block_address(converter, op, op.block, make)
    assert block.shape is not None and block.dtype is not None
    element_bytes, coordinates = block.dtype.element_bytes, list(op.coordinates)
    if block.layout is TILE_LAYOUT:
        before = _elements_before(make, coordinates, block.shape)
        return add(make, start, times(make, before, make.index(element_bytes)), "element")
    row_bytes = ttl.page_bytes_of(ttl.buffer_of(op.block))
    strides = [prod(block.shape[d + 1 : -1]) * row_bytes for d in range(len(coordinates) - 1)]
    offset = _sum(make, coordinates, [*strides, element_bytes])
    return add(make, start, offset, "element")


def _elements_before(make: Maker, coordinates: list[SSAValue], shape: Shape) -> SSAValue:
    """Count the elements before one: tiles, four faces in each and elements lie row by row."""
    sizes, missing = at_least_matrix(shape), 2 - len(shape)  # a row of tiles: its first row
    *leading, row, column = [make.index(0)] * missing + coordinates
    parts = list(leading)
    strides = [prod(sizes[d + 1 :]) * TILE_ELEMENTS for d in range(len(leading))]
    area = FACE_SIZE * FACE_SIZE
    for value, in_tiles, in_faces, in_face in (
        (row, sizes[-1] * TILE_ELEMENTS, FACES * area, FACE_SIZE),
        (column, TILE_ELEMENTS, area, 1),
    ):
        tile, inside = divide(make, value, TILE_SIZE)
        face, inside = divide(make, inside, FACE_SIZE)
        parts += [tile, face, inside]
        strides += [in_tiles, in_faces, in_face]
    return _sum(make, parts, strides)


def _sum(make: Maker, values: Sequence[SSAValue], factors: Sequence[int]) -> SSAValue:
    total = make.index(0)
    for value, factor in zip(values, factors, strict=True):
        total = add(make, total, times(make, value, make.index(factor)))
    return total

"""Single elements of blocks in a data movement kernel."""

from __future__ import annotations

import ast
from operator import index
from typing import Any

from xdsl.dialects.builtin import f64

from ttl.dialects import ttl
from ttl.dialects.ttcore import block_type
from ttl.semantics.kernel_kinds import KernelKind
from ttl.semantics.raw_elements import (
    READ,
    WRITE,
    check_raw_block,
    not_a_coordinate,
    not_a_raw_block,
    not_an_element,
    outside_block,
    raw_extent,
    split_written,
)
from ttl.semantics.types import BlockType

from .builder import KernelBuilder
from .hir import HeldBlock, RunTime, Scalar, Value, kind_of
from .problems import describe
from .scalars import as_kind, check, compare


def raw_element_read(builder: KernelBuilder, block: Value, *coords: Value) -> Value:
    builder.require(KernelKind.DATAMOVEMENT, READ)
    return builder.scalar(ttl.ReadElementOp, _place(builder, READ, block, coords), f64)


def raw_element_write(
    builder: KernelBuilder, block: Value, *coords: Value, value: Value = None
) -> None:
    builder.require(KernelKind.DATAMOVEMENT, WRITE)
    places, written = split_written(coords, value)
    operands = _place(builder, WRITE, block, places)
    if kind_of(written) not in (int, float):
        raise not_an_element(describe(written))
    builder.emit(ttl.WriteElementOp, [*operands, as_kind(builder, written, float)])


def _place(
    builder: KernelBuilder, call: str, block: Value, coords: tuple[Value, ...]
) -> list[RunTime]:
    if not isinstance(block, HeldBlock):
        raise not_a_raw_block(call, describe(block))
    type = block_type(block.type)
    check_raw_block(call, type, len(coords))
    given = [_coordinate(call, each) for each in coords]
    for dimension, coordinate in enumerate(given):
        _check_inside(builder, coordinate, dimension, type)
    return [block, *(builder.index(each) for each in given)]


def _coordinate(call: str, given: Any) -> int | Scalar:
    """A run-time integer, or an int; numpy has such too."""
    if isinstance(given, Scalar) and given.kind is int:
        return given
    try:
        if isinstance(given, bool):
            raise TypeError
        return index(given)
    except TypeError:
        raise not_a_coordinate(call, describe(given)) from None


def _check_inside(
    builder: KernelBuilder, coordinate: int | Scalar, dimension: int, block: BlockType
) -> None:
    size = raw_extent(block)[dimension]
    if not isinstance(coordinate, Scalar):
        if not 0 <= coordinate < size:
            raise outside_block(coordinate, dimension, block)
        return
    broken = outside_block(None, dimension, block)
    rule = {"code": broken.code.code, "help": broken.helps[0]}
    for sign, end in ((ast.GtE(), 0), (ast.Lt(), size)):
        check(builder, compare(builder, sign, coordinate, end), broken.message, **rule)

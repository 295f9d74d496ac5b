"""Single elements of blocks in a data movement kernel."""

from __future__ import annotations

from typing import TypeGuard

from xdsl.dialects.builtin import f64

from ttl.dialects import ttl
from ttl.dialects.ttcore import block_type
from ttl.semantics import raw_elements as rules
from ttl.semantics.kernel_kinds import KernelKind
from ttl.semantics.types import BlockType

from .builder import KernelBuilder
from .hir import HeldBlock, RunTime, Scalar, Value, kind_of
from .problems import describe
from .scalars import as_kind, check, compare


def raw_element_read(builder: KernelBuilder, block: Value, *coords: Value) -> Value:
    builder.require(KernelKind.DATAMOVEMENT, rules.READ)
    return builder.scalar(ttl.ReadElementOp, _place(builder, rules.READ, block, coords), f64)


def raw_element_write(
    builder: KernelBuilder, block: Value, *coords: Value, value: Value = None
) -> None:
    builder.require(KernelKind.DATAMOVEMENT, rules.WRITE)
    places, written = rules.split_written(coords, value)
    operands = _place(builder, rules.WRITE, block, places)
    if kind_of(written) not in (int, float):
        raise rules.not_an_element(describe(written))
    builder.emit(ttl.WriteElementOp, [*operands, as_kind(builder, written, float)])


def _place(
    builder: KernelBuilder, call: str, block: Value, coords: tuple[Value, ...]
) -> list[RunTime]:
    if not isinstance(block, HeldBlock):
        raise rules.not_a_raw_block(call, describe(block))
    type = block_type(block.type)
    rules.check_raw_block(call, type, len(coords))
    given = [
        each if _is_run_time(each) else rules.coordinate(call, each, describe) for each in coords
    ]
    for dimension, each in enumerate(given):
        _check_inside(builder, each, dimension, type)
    return [block, *(builder.index(each) for each in given)]


def _is_run_time(given: Value) -> TypeGuard[Scalar]:
    return isinstance(given, Scalar) and given.kind is int


def _check_inside(
    builder: KernelBuilder, given: int | Scalar, dimension: int, block: BlockType
) -> None:
    size = rules.raw_extent(block)[dimension]
    if not isinstance(given, Scalar):
        if not 0 <= given < size:
            raise rules.outside_block(given, dimension, block)
        return
    broken = rules.outside_block(None, dimension, block)
    rule = {"code": broken.code.code, "help": broken.helps[0]}
    for sign, end in ((">=", 0), ("<", size)):
        check(builder, compare(builder, sign, given, end), broken.message, **rule)

"""Slices at positions computed at run time, padding, and reversal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from xdsl.dialects.builtin import I64, DenseArrayBase, TensorType
from xdsl.ir import SSAValue
from xdsl.irdl import operand_def, prop_def, result_def, traits_def, var_operand_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ttl.dialects.building import DefinedOperation

from .text import (
    SIGNATURE,
    PlainOp,
    dims,
    element_of,
    ints,
    parse_dims,
    parse_names,
    parse_word,
    print_dims,
    print_operands,
    print_signature,
    print_type,
    read_op,
    shape_of,
)


class PadOp(DefinedOperation):
    """`stablehlo.pad %0, %1, low = [1], high = [2], interior = [0] : (types) -> type`."""

    name = "stablehlo.pad"
    edge_padding_low = prop_def(DenseArrayBase[I64])
    edge_padding_high = prop_def(DenseArrayBase[I64])
    interior_padding = prop_def(DenseArrayBase[I64])
    operand = operand_def(TensorType)
    padding_value = operand_def(TensorType)
    result = result_def(TensorType)
    assembly_format = (
        "$operand `,` $padding_value `,` `low` `=` $edge_padding_low `,` "
        f"`high` `=` $edge_padding_high `,` `interior` `=` $interior_padding {SIGNATURE}"
    )
    traits = traits_def(Pure())

    @property
    def widths(self) -> list[tuple[int, ...]]:
        lists = (self.edge_padding_low, self.edge_padding_high, self.interior_padding)
        return [ints(each) for each in lists]

    @property
    def borders(self) -> list[tuple[int, ...]]:
        """Padding of each dimension: before, after, and between two elements."""
        return list(zip(*self.widths, strict=True))

    def verify_(self) -> None:
        given = shape_of(self.operand)
        if any(len(each) != len(given) for each in self.widths):
            raise VerifyException(f"{self.name} has a border for each dimension")
        wanted = tuple(
            size + max(size - 1, 0) * between + before + after
            for size, (before, after, between) in zip(given, self.borders, strict=True)
        )
        if shape_of(self.result) != wanted or shape_of(self.padding_value) != ():
            raise VerifyException(f"{self.name} of {given} gives {wanted}")


class ReverseOp(DefinedOperation):
    """`stablehlo.reverse %0, dims = [0] : type`."""

    name = "stablehlo.reverse"
    dimensions = prop_def(DenseArrayBase)
    operand = operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(Pure())

    def print(self, printer: Printer) -> None:
        print_operands(printer, self)
        printer.print_string(", dims = ")
        print_dims(printer, ints(self.dimensions))
        print_type(printer, self, self.result.type)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        names = parse_names(parser)
        parse_word(parser, "dims")
        return read_op(cls, parser, names, {"dimensions": dims(parse_dims(parser))})

    def verify_(self) -> None:
        if self.operand.type != self.result.type:
            raise VerifyException(f"{self.name} keeps the type of its operand")
        _check_dims(self, ints(self.dimensions), len(shape_of(self.operand)))


class DynamicSliceOp(DefinedOperation):
    """`stablehlo.dynamic_slice %0, %1, %2, sizes = [1, 4] : (types) -> type`."""

    name = "stablehlo.dynamic_slice"
    slice_sizes = prop_def(DenseArrayBase)
    operand = operand_def(TensorType)
    start_indices = var_operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(Pure())

    def print(self, printer: Printer) -> None:
        print_operands(printer, self)
        printer.print_string(", sizes = ")
        print_dims(printer, ints(self.slice_sizes))
        print_signature(printer, self)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        names = parse_names(parser)
        parse_word(parser, "sizes")
        return read_op(cls, parser, names, {"slice_sizes": dims(parse_dims(parser))})

    def verify_(self) -> None:
        _check_starts(self, self.start_indices, shape_of(self.operand), ints(self.slice_sizes))
        if shape_of(self.result) != ints(self.slice_sizes):
            raise VerifyException(f"{self.name} gives {ints(self.slice_sizes)}")


class DynamicUpdateSliceOp(PlainOp):
    """`stablehlo.dynamic_update_slice %0, %1, %2, %3 : (types) -> type`."""

    name = "stablehlo.dynamic_update_slice"
    operand = operand_def(TensorType)
    update = operand_def(TensorType)
    start_indices = var_operand_def(TensorType)
    result = result_def(TensorType)

    def verify_(self) -> None:
        _check_starts(self, self.start_indices, shape_of(self.operand), shape_of(self.update))
        if self.operand.type != self.result.type or element_of(self.update) != element_of(
            self.operand
        ):
            raise VerifyException(f"{self.name} keeps the type of its operand")


def _check_starts(
    op: DefinedOperation, starts: Sequence[SSAValue], given: Sequence[int], part: Sequence[int]
) -> None:
    if len(starts) != len(given) or len(part) != len(given):
        raise VerifyException(f"{op.name} has a start and a size for each dimension")
    if any(size > whole for size, whole in zip(part, given, strict=True)):
        raise VerifyException(f"{op.name}: {tuple(part)} is no part of {tuple(given)}")
    if any(shape_of(start) != () for start in starts):
        raise VerifyException(f"{op.name} has one number for each start")


def _check_dims(op: DefinedOperation, found: Sequence[int], rank: int) -> None:
    if len(set(found)) != len(found) or any(not 0 <= dim < rank for dim in found):
        raise VerifyException(f"{op.name}: {list(found)} are not dimensions of its operand")

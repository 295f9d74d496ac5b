"""What moves elements, and counting."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, ClassVar

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, TensorType, i64
from xdsl.ir import Attribute
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from .text import (
    DimsOp,
    PlainOp,
    dims,
    element_of,
    ints,
    parse_names,
    parse_word,
    print_operands,
    print_signature,
    read_op,
    shape_of,
    tensor_type,
)


@irdl_op_definition
class BroadcastInDimOp(DimsOp):
    """Dimension i of the operand becomes dimension dims[i] of the result."""

    name = "stablehlo.broadcast_in_dim"
    broadcast_dimensions = prop_def(DenseArrayBase)
    PROPERTY: ClassVar[str] = "broadcast_dimensions"

    def verify_(self) -> None:
        given, wanted = shape_of(self.operand), shape_of(self.result)
        placed = self.dims
        if len(placed) != len(given) or len(set(placed)) != len(placed):
            raise VerifyException(f"{self.name} has one dimension for each of its operand")
        if any(not 0 <= d < len(wanted) for d in placed):
            raise VerifyException(f"{self.name}: a dimension that the result does not have")
        if any(size not in (1, wanted[d]) for size, d in zip(given, placed, strict=True)):
            raise VerifyException(f"{self.name} of {given} to {wanted} along {placed}")
        if element_of(self.operand) != element_of(self.result):
            raise VerifyException(f"{self.name} keeps the element type")


@irdl_op_definition
class TransposeOp(DimsOp):
    name = "stablehlo.transpose"
    permutation = prop_def(DenseArrayBase)
    PROPERTY: ClassVar[str] = "permutation"

    def verify_(self) -> None:
        given = tensor_type(self.operand)
        if sorted(self.dims) != list(range(len(given.get_shape()))):
            raise VerifyException(f"{self.name}: {self.dims} is no permutation of its dimensions")
        shape = [given.get_shape()[d] for d in self.dims]
        if self.result.type != TensorType(given.element_type, shape):
            raise VerifyException(f"{self.name} of {given} along {self.dims}")


@irdl_op_definition
class ReshapeOp(PlainOp):
    name = "stablehlo.reshape"
    operand = operand_def(TensorType)
    result = result_def(TensorType)

    def verify_(self) -> None:
        if prod(shape_of(self.operand)) != prod(shape_of(self.result)):
            raise VerifyException(f"{self.name} keeps the number of elements")
        if element_of(self.operand) != element_of(self.result):
            raise VerifyException(f"{self.name} keeps the element type")


@irdl_op_definition
class ConcatenateOp(IRDLOperation):
    """`stablehlo.concatenate %0, %1, dim = 0 : (types) -> type`."""

    name = "stablehlo.concatenate"
    dimension = prop_def(IntegerAttr)
    inputs = var_operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(Pure())

    def print(self, printer: Printer) -> None:
        print_operands(printer, self)
        printer.print_string(f", dim = {self.dimension.value.data}")
        print_signature(printer, self)

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        names = parse_names(parser)
        parse_word(parser, "dim")
        dimension = IntegerAttr(parser.parse_integer(), i64)
        return read_op(cls, parser, names, {"dimension": dimension})

    def verify_(self) -> None:
        dimension = self.dimension.value.data
        shapes = [shape_of(each) for each in self.inputs]
        wanted = list(shape_of(self.result))
        if not shapes or not 0 <= dimension < len(wanted):
            raise VerifyException(f"{self.name} joins tensors along one of their dimensions")
        joined = list(shapes[0])
        joined[dimension] = sum(shape[dimension] for shape in shapes)
        if joined != wanted:
            raise VerifyException(f"{self.name} of {shapes} gives {joined}")


@irdl_op_definition
class SliceOp(IRDLOperation):
    """`stablehlo.slice %0 [0:2, 0:8:2] : (type) -> type`."""

    name = "stablehlo.slice"
    start_indices = prop_def(DenseArrayBase)
    limit_indices = prop_def(DenseArrayBase)
    strides = prop_def(DenseArrayBase)
    operand = operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(Pure())

    @property
    def ranges(self) -> list[tuple[int, int, int]]:
        return list(
            zip(ints(self.start_indices), ints(self.limit_indices), ints(self.strides), strict=True)
        )

    @classmethod
    def properties_of(cls, ranges: Sequence[tuple[int, int, int]]) -> dict[str, Attribute]:
        names = ("start_indices", "limit_indices", "strides")
        columns = zip(*ranges, strict=True) if ranges else ((), (), ())
        return {name: dims(column) for name, column in zip(names, columns, strict=True)}

    def print(self, printer: Printer) -> None:
        print_operands(printer, self)
        parts = [f"{a}:{b}" if step == 1 else f"{a}:{b}:{step}" for a, b, step in self.ranges]
        printer.print_string(f" [{', '.join(parts)}]")
        print_signature(printer, self)

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        names = [parser.parse_unresolved_operand()]

        def one() -> tuple[int, int, int]:
            start = parser.parse_integer()
            parser.parse_punctuation(":")
            limit = parser.parse_integer()
            has_step = parser.parse_optional_punctuation(":") is not None
            return start, limit, parser.parse_integer() if has_step else 1

        ranges = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, one)
        return read_op(cls, parser, names, cls.properties_of(ranges))

    def verify_(self) -> None:
        given = shape_of(self.operand)
        ranges = self.ranges
        if len(ranges) != len(given):
            raise VerifyException(f"{self.name} has one range for each dimension")
        for (start, limit, step), size in zip(ranges, given, strict=True):
            if not (0 <= start <= limit <= size and step >= 1):
                raise VerifyException(f"{self.name}: {start}:{limit}:{step} of {size}")
        if shape_of(self.result) != tuple(-(-(b - a) // step) for a, b, step in ranges):
            raise VerifyException(f"{self.name} of {given} gives another shape")


@irdl_op_definition
class IotaOp(IRDLOperation):
    """`stablehlo.iota dim = 0 : type`: each element is its position along one dimension."""

    name = "stablehlo.iota"
    iota_dimension = prop_def(IntegerAttr)
    result = result_def(TensorType)
    traits = traits_def(Pure())

    def print(self, printer: Printer) -> None:
        printer.print_string(f" dim = {self.iota_dimension.value.data}")
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.result.type)

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        parse_word(parser, "dim")
        dimension = IntegerAttr(parser.parse_integer(), i64)
        return read_op(cls, parser, (), {"iota_dimension": dimension})

    def verify_(self) -> None:
        if not 0 <= self.iota_dimension.value.data < len(shape_of(self.result)):
            raise VerifyException(f"{self.name}: a dimension that the result does not have")

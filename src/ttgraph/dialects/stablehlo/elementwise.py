"""Elementwise operations; chlo has the functions that stablehlo lacks."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from typing import Self, TypeVar

from xdsl.dialects.builtin import I1, ComplexType, IntegerType, StringAttr, TensorType
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ttgraph import graph_ops
from ttgraph.graph_ops import BY_STABLEHLO, GRAPH_OPS
from ttl.dialects.building import DefinedOperation
from ttl.dialects.definitions import define_operation

from .text import (
    PlainOp,
    element_of,
    parse_names,
    print_operands,
    print_signature,
    print_type,
    read_op,
    shape_of,
)

Op = TypeVar("Op", bound=DefinedOperation)


class KeepsTypeOp(DefinedOperation, ABC):
    operand = operand_def(TensorType)
    result = result_def(TensorType)

    def verify_(self) -> None:
        if isinstance(element_of(self.operand), ComplexType):  # the lowering rejects it by name
            return
        if self.operand.type != self.result.type:
            raise VerifyException(f"{self.name} keeps the type of its operand")


class UnaryOp(KeepsTypeOp, PlainOp, ABC):
    """`stablehlo.abs %0 : type`."""


class BinaryOp(PlainOp, ABC):
    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    result = result_def(TensorType)

    def verify_(self) -> None:
        if not self.lhs.type == self.rhs.type == self.result.type:
            raise VerifyException(f"{self.name} has one type for its operands and its result")


def _classes(base: type[Op], dialect: str, rows: Sequence[str]) -> dict[str, type[Op]]:
    """Make operations by name, for the rows of the table that are one operation of the dialect."""
    names = (GRAPH_OPS[row].stablehlo for row in rows)
    own = [name for name in names if name.startswith(f"{dialect}.") and " " not in name]
    return {name.removeprefix(f"{dialect}."): define_operation(name, base) for name in own}


UNARY = _classes(UnaryOp, "stablehlo", graph_ops.UNARY)
BINARY = _classes(BinaryOp, "stablehlo", graph_ops.BINARY)


class ConvertOp(PlainOp):
    name = "stablehlo.convert"
    operand = operand_def(TensorType)
    result = result_def(TensorType)

    def verify_(self) -> None:
        if shape_of(self.operand) != shape_of(self.result):
            raise VerifyException(f"{self.name} keeps the shape of its operand")


class ClampOp(PlainOp):
    """`stablehlo.clamp %min, %operand, %max`; the limits may be scalars."""

    name = "stablehlo.clamp"
    min = operand_def(TensorType)
    operand = operand_def(TensorType)
    max = operand_def(TensorType)
    result = result_def(TensorType)

    def verify_(self) -> None:
        if self.operand.type != self.result.type:
            raise VerifyException(f"{self.name} keeps the type of its operand")


_COMPARE = "stablehlo.compare "
DIRECTIONS = tuple(name.removeprefix(_COMPARE) for name in BY_STABLEHLO if _COMPARE in name)
COMPARE_TYPES = ("FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED")


class CompareOp(DefinedOperation):
    """`stablehlo.compare LT, %0, %1, FLOAT : (types) -> type`."""

    name = "stablehlo.compare"
    comparison_direction = prop_def(StringAttr)
    compare_type = opt_prop_def(StringAttr)
    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(Pure())

    @classmethod
    def of(cls, direction: str, lhs: SSAValue, rhs: SSAValue, kind: str = "FLOAT") -> CompareOp:
        return cls.create(
            operands=[lhs, rhs],
            result_types=[TensorType(IntegerType(1), shape_of(lhs))],
            properties={
                "comparison_direction": StringAttr(direction),
                "compare_type": StringAttr(kind),
            },
        )

    def print(self, printer: Printer) -> None:
        printer.print_string(f" {self.comparison_direction.data},")
        print_operands(printer, self)
        if self.compare_type is not None:
            printer.print_string(f", {self.compare_type.data}")
        print_signature(printer, self)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        direction = parser.parse_identifier()
        parser.parse_punctuation(",")
        lhs = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        names = [lhs, parser.parse_unresolved_operand()]
        properties: dict[str, Attribute] = {"comparison_direction": StringAttr(direction)}
        if parser.parse_optional_punctuation(",") is not None:
            properties["compare_type"] = StringAttr(parser.parse_identifier())
        return read_op(cls, parser, names, properties)

    def verify_(self) -> None:
        if self.comparison_direction.data not in DIRECTIONS:
            raise VerifyException(f"{self.name}: {self.comparison_direction.data} is no direction")
        if self.compare_type is not None and self.compare_type.data not in COMPARE_TYPES:
            raise VerifyException(f"{self.name}: {self.compare_type.data} is no comparison type")
        if self.lhs.type != self.rhs.type:
            raise VerifyException(f"{self.name} has operands of one type")
        if self.result.type != TensorType(IntegerType(1), shape_of(self.lhs)):
            raise VerifyException(f"{self.name} gives an i1 for each element")


class SelectOp(DefinedOperation):
    """`stablehlo.select %pred, %true, %false : type of pred, type`."""

    name = "stablehlo.select"
    pred = operand_def(TensorType)
    on_true = operand_def(TensorType)
    on_false = operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(Pure())

    def print(self, printer: Printer) -> None:
        print_operands(printer, self)
        print_type(printer, self, self.pred.type, self.result.type)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        def of_types(types: list[Attribute]) -> tuple[list[Attribute], list[Attribute]]:
            return [*types, *types[1:]], types[1:]

        return read_op(cls, parser, parse_names(parser), of_types=of_types)

    def verify_(self) -> None:
        if not self.on_true.type == self.on_false.type == self.result.type:
            raise VerifyException(f"{self.name} chooses between values of its result's type")
        if element_of(self.pred) != I1(1) or shape_of(self.pred) not in ((), shape_of(self.result)):
            raise VerifyException(f"{self.name} has an i1 for each element, or one for all")


# chlo ---------------------------------------------------------------------------------------------


class ChloUnaryOp(KeepsTypeOp, ABC):
    """`chlo.erf %0 : type -> type`."""

    assembly_format = "$operand attr-dict `:` type($operand) `->` type($result)"
    traits = traits_def(Pure())


CHLO = _classes(ChloUnaryOp, "chlo", graph_ops.UNARY)

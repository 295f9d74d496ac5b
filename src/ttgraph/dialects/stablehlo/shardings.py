"""sdy: the dialect in which jax writes where the parts of a tensor lie."""

from __future__ import annotations

from abc import ABC
from typing import Self

from xdsl.dialects.builtin import StringAttr, SymbolNameConstraint, TensorType
from xdsl.ir import Data, Dialect
from xdsl.irdl import irdl_attr_definition, operand_def, prop_def, result_def, traits_def
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.traits import Pure, SymbolOpInterface

from ttl.dialects.building import DefinedOperation

from .text import print_type, read_op


class WrittenAttr(Data[str], ABC):
    """Keeps an attribute's text, which nothing here interprets."""

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{self.data}>")

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> str:
        return parser._parse_dialect_symbol_body()


@irdl_attr_definition
class ShardingAttr(WrittenAttr):
    """`#sdy.sharding<@mesh, [{}]>`."""

    name = "sdy.sharding"


@irdl_attr_definition
class ShardingRuleAttr(WrittenAttr):
    """`#sdy.op_sharding_rule<...>`."""

    name = "sdy.op_sharding_rule"


@irdl_attr_definition
class OutputAliasAttr(WrittenAttr):
    """`#stablehlo.output_operand_alias<...>`, on calls of functions that write to an operand."""

    name = "stablehlo.output_operand_alias"


class MeshOp(DefinedOperation):
    """`sdy.mesh @mesh = <["x"=2]>`: devices with a name."""

    name = "sdy.mesh"
    sym_name = prop_def(SymbolNameConstraint())
    axes = prop_def(ShardingAttr)
    traits = traits_def(SymbolOpInterface())

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.sym_name.data)
        printer.print_string(f" = <{self.axes.data}>")
        printer.print_op_attributes(self.attributes)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        name = parser.parse_symbol_name()
        parser.parse_punctuation("=")
        axes = ShardingAttr(parser._parse_dialect_symbol_body())
        attributes = parser.parse_optional_attr_dict()
        properties = {"sym_name": StringAttr(name.data), "axes": axes}
        return cls.create(properties=properties, attributes=attributes)


class ShardingConstraintOp(DefinedOperation):
    """`sdy.sharding_constraint %0 <@mesh, [{}]> : type`: its operand in that sharding."""

    name = "sdy.sharding_constraint"
    sharding = prop_def(ShardingAttr)
    operand = operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(Pure())

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_ssa_value(self.operand)
        printer.print_string(f" <{self.sharding.data}>")
        print_type(printer, self, self.result.type)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        names = [parser.parse_unresolved_operand()]
        sharding = ShardingAttr(parser._parse_dialect_symbol_body())
        return read_op(cls, parser, names, {"sharding": sharding})


def make_sdy() -> Dialect:
    return Dialect("sdy", [MeshOp, ShardingConstraintOp], [ShardingAttr, ShardingRuleAttr])

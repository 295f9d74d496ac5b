"""Loops, branches, and barriers."""

from __future__ import annotations

from typing import Self

from xdsl.dialects.builtin import TensorType
from xdsl.irdl import (
    operand_def,
    region_def,
    traits_def,
    var_operand_def,
    var_region_def,
    var_result_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import IsTerminator
from xdsl.utils.exceptions import VerifyException

from ttl.dialects.building import DefinedOperation

from .text import PlainOp, parse_names, print_operands, print_type, read_op


class ReturnOp(PlainOp):
    """`stablehlo.return %0, %1 : types`: the results of a region."""

    name = "stablehlo.return"
    values = var_operand_def()
    traits = traits_def(IsTerminator())

    def print(self, printer: Printer) -> None:
        if self.operands:
            print_operands(printer, self)
            print_type(printer, self, *(value.type for value in self.operands))

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        first = parser.parse_optional_unresolved_operand()
        if first is None:
            return cls.create()
        names = [first]
        while parser.parse_optional_punctuation(",") is not None:
            names.append(parser.parse_unresolved_operand())
        return read_op(cls, parser, names, of_types=lambda types: (types, []))


class OptimizationBarrierOp(DefinedOperation):
    """`stablehlo.optimization_barrier %0, %1 : types`: its operands, all of them computed."""

    name = "stablehlo.optimization_barrier"
    inputs = var_operand_def()
    outputs = var_result_def()

    def print(self, printer: Printer) -> None:
        print_operands(printer, self)
        print_type(printer, self, *(value.type for value in self.operands))

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        return read_op(cls, parser, parse_names(parser), of_types=lambda types: (types, types))


class WhileOp(DefinedOperation):
    """`stablehlo.while(%i = %0) : types cond {...} do {...}`."""

    name = "stablehlo.while"
    inits = var_operand_def(TensorType)
    outputs = var_result_def(TensorType)
    cond = region_def()
    body = region_def()

    def print(self, printer: Printer) -> None:
        printer.print_string("(")
        arguments = list(zip(self.cond.block.args, self.inits, strict=True))
        for position, (argument, init) in enumerate(arguments):
            printer.print_string(", " if position else "")
            printer.print_ssa_value(argument)
            printer.print_string(" = ")
            printer.print_ssa_value(init)
        printer.print_string(")")
        print_type(printer, self, *(value.type for value in self.inits))
        printer.print_string(" cond ")
        printer.print_region(self.cond, print_entry_block_args=False)
        printer.print_string(" do ")
        for own, shown in zip(self.body.block.args, self.cond.block.args, strict=True):
            printer._ssa_values[own] = printer._ssa_values[shown]  # one name for both regions
        printer.print_region(self.body, print_entry_block_args=False)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        def pair() -> tuple[Parser.UnresolvedArgument, UnresolvedOperand]:
            argument = parser.parse_argument(expect_type=False)
            parser.parse_punctuation("=")
            return argument, parser.parse_unresolved_operand()

        pairs = parser.parse_comma_separated_list(parser.Delimiter.PAREN, pair)
        types = []
        if pairs:
            parser.parse_punctuation(":")
            none = parser.Delimiter.NONE
            types = parser.parse_comma_separated_list(none, parser.parse_type)
        found = parser.parse_optional_attr_dict_with_keyword()
        arguments = [name.resolve(type) for (name, _), type in zip(pairs, types, strict=True)]
        parser.parse_keyword("cond")
        cond = parser.parse_region(arguments)
        parser.parse_keyword("do")
        body = parser.parse_region(arguments)
        operands = [
            parser.resolve_operand(init, type) for (_, init), type in zip(pairs, types, strict=True)
        ]
        return cls.create(
            operands=operands,
            result_types=types,
            regions=[cond, body],
            attributes=found.data if found else {},
        )

    def verify_(self) -> None:
        types = [value.type for value in self.inits]
        if types != [value.type for value in self.outputs]:
            raise VerifyException(f"{self.name} gives what it was given, changed")
        for region in (self.cond, self.body):
            if [argument.type for argument in region.block.args] != types:
                raise VerifyException(f"{self.name} has an argument for each operand")


class CaseOp(DefinedOperation):
    """`"stablehlo.case"(%0) ({...}, {...}) : (type) -> types`: the branch of that number."""

    name = "stablehlo.case"
    index = operand_def(TensorType)
    outputs = var_result_def(TensorType)
    branches = var_region_def()

    def verify_(self) -> None:
        if not self.branches:
            raise VerifyException(f"{self.name} has one branch or more")


class IfOp(DefinedOperation):
    """`"stablehlo.if"(%0) ({...}, {...}) : (type) -> types`: the true branch comes first."""

    name = "stablehlo.if"
    pred = operand_def(TensorType)
    outputs = var_result_def(TensorType)
    true_branch = region_def()
    false_branch = region_def()

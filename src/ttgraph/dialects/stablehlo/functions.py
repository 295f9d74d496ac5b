"""Elementwise functions without a row in the table: the lowering composes them from others."""

from __future__ import annotations

from abc import ABC
from typing import Self

from xdsl.dialects.builtin import IntegerType, Signedness, StringAttr, TensorType, i1
from xdsl.ir import SSAValue
from xdsl.irdl import operand_def, prop_def, result_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ttl.dialects.building import DefinedOperation
from ttl.dialects.definitions import define_operation

from .elementwise import ChloUnaryOp, UnaryOp
from .text import (
    PlainOp,
    element_of,
    parse_names,
    parse_word,
    print_operands,
    print_signature,
    read_op,
    shape_of,
)

_WORD, _LONG_WORD = (IntegerType(bits, Signedness.UNSIGNED) for bits in (32, 64))


class _Truth(DefinedOperation, ABC):
    """Gives a boolean for each element."""

    operand = operand_def(TensorType)
    result = result_def(TensorType)

    def verify_(self) -> None:
        if self.result.type != TensorType(i1, shape_of(self.operand)):
            raise VerifyException(f"{self.name} gives an i1 for each element")


class TruthOp(_Truth, PlainOp, ABC):
    """`stablehlo.is_finite %0 : (type) -> type`."""


class ChloTruthOp(_Truth, ABC):
    """`chlo.is_inf %0 : type -> type`."""

    assembly_format = "$operand attr-dict `:` type($operand) `->` type($result)"
    traits = traits_def(Pure())


FUNCTIONS: dict[str, type[DefinedOperation]] = {
    name: define_operation(name, base)
    for base, names in {
        UnaryOp: ("cbrt", "round_nearest_afz", "popcnt", "count_leading_zeros"),
        TruthOp: ("is_finite",),
        ChloUnaryOp: ("square", "lgamma", "digamma"),
        ChloTruthOp: ("is_inf", "is_pos_inf", "is_neg_inf"),
    }.items()
    for name in (f"{'chlo' if 'Chlo' in base.__name__ else 'stablehlo'}.{each}" for each in names)
}


class BitcastConvertOp(PlainOp):
    """`stablehlo.bitcast_convert %0 : (type) -> type`: the same bits, read as another type."""

    name = "stablehlo.bitcast_convert"
    operand = operand_def(TensorType)
    result = result_def(TensorType)

    @property
    def joins_words(self) -> bool:
        """Does it read pairs of 32 bits as 64?"""
        is_pairs = element_of(self.operand) == _WORD and element_of(self.result) == _LONG_WORD
        return is_pairs and shape_of(self.operand) == (*shape_of(self.result), 2)

    def verify_(self) -> None:
        if shape_of(self.operand) != shape_of(self.result) and not self.joins_words:
            raise VerifyException(f"{self.name} of elements of another size is not in the subset")


class RngBitGeneratorOp(DefinedOperation):
    """`stablehlo.rng_bit_generator %0, algorithm = THREE_FRY : (type) -> (type, type)`: the next
    state, and bits. DEFAULT and PHILOX are read, but only THREE_FRY is lowered.
    """

    name = "stablehlo.rng_bit_generator"
    rng_algorithm = prop_def(StringAttr)
    initial_state = operand_def(TensorType)
    output_state = result_def(TensorType)
    output = result_def(TensorType)
    traits = traits_def(Pure())

    @classmethod
    def of(cls, state: SSAValue, count: int) -> RngBitGeneratorOp:
        return cls.create(
            operands=[state],
            result_types=[state.type, TensorType(_WORD, [count])],
            properties={"rng_algorithm": StringAttr("THREE_FRY")},
        )

    def print(self, printer: Printer) -> None:
        print_operands(printer, self)
        printer.print_string(f", algorithm = {self.rng_algorithm.data}")
        print_signature(printer, self)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        names = parse_names(parser)
        parse_word(parser, "algorithm")
        return read_op(cls, parser, names, {"rng_algorithm": StringAttr(parser.parse_identifier())})

    def verify_(self) -> None:
        if self.rng_algorithm.data not in ("DEFAULT", "THREE_FRY", "PHILOX"):
            raise VerifyException(f"{self.name}: {self.rng_algorithm.data} is no algorithm")
        if self.output_state.type != self.initial_state.type:
            raise VerifyException(f"{self.name} gives a state like the one it is given")

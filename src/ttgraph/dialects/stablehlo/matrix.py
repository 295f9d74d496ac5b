"""Constants, products and reductions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import prod
from typing import Self, cast

from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    StringAttr,
    TensorType,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import operand_def, opt_prop_def, prop_def, result_def, traits_def
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import ConstantLike, Pure
from xdsl.utils.exceptions import VerifyException

from ttgraph.dialects.graph import Dense
from ttl.dialects.building import DefinedOperation

from .elementwise import BINARY
from .regions import RegionReduceOp, match_plain_reduction
from .text import (
    Dims,
    Tensor,
    dims,
    ints,
    parse_dims,
    parse_names,
    parse_word,
    print_dims,
    print_operands,
    print_signature,
    read_op,
    shape_of,
)


def _parse_dense(parser: Parser) -> Dense:
    """Parse `dense<...> : type`. xDSL's own parser takes a float's bits, 0xFF80, for its value."""
    start = parser.pos
    value = parser.parse_attribute()
    if not isinstance(value, DenseIntOrFPElementsAttr) or not isinstance(value.type, TensorType):
        parser.raise_error("a constant is a tensor", start, parser.pos)
    element = value.get_element_type()
    written = parser.lexer.input.slice(start, parser.pos) or ""
    elements = written.partition("<")[2].partition(">")[0]
    if not isinstance(element, AnyFloat) or '"' in elements:
        return value
    numbers = [_float(parser, text, element) for text in re.findall(r"[^\s,\[\]]+", elements)]
    if len(numbers) == 1:
        numbers *= prod(value.type.get_shape())
    return DenseIntOrFPElementsAttr.from_list(value.type, numbers)


def _float(parser: Parser, text: str, type: AnyFloat) -> float:
    """Parse a float; a whole number without a point gives its bits."""
    if "." in text:
        return float(text)
    bits = int(text, 0) if text not in ("true", "false") else -1
    if not 0 <= bits < 1 << 8 * type.compile_time_size:
        parser.raise_error(f"{text} is not the bits of a {type}")
    return float(type.unpack(bits.to_bytes(type.compile_time_size, "little"), 1)[0])


class ConstantOp(DefinedOperation):
    """`stablehlo.constant dense<0.0> : type`."""

    name = "stablehlo.constant"
    value = prop_def(DenseIntOrFPElementsAttr)
    result = result_def(TensorType)
    traits = traits_def(Pure(), ConstantLike())

    @classmethod
    def of(cls, value: DenseIntOrFPElementsAttr) -> ConstantOp:
        return cls.create(properties={"value": value}, result_types=[value.type])

    def print(self, printer: Printer) -> None:
        printer.print_op_attributes(self.attributes)
        printer.print_string(" ")
        printer.print_attribute(self.value)

    @classmethod
    def parse(cls, parser: Parser) -> ConstantOp:
        attributes = parser.parse_optional_attr_dict()
        value = _parse_dense(parser)
        return cls.create(
            properties={"value": value}, result_types=[value.type], attributes=attributes
        )

    def verify_(self) -> None:
        if self.value.type != self.result.type:
            raise VerifyException(f"{self.name} has the type of its value")


_DOT_DIMS = (
    ("batching_dims", "lhs_batching_dimensions", "rhs_batching_dimensions"),
    ("contracting_dims", "lhs_contracting_dimensions", "rhs_contracting_dimensions"),
)


class DotGeneralOp(DefinedOperation):
    """Product whose result has batch dimensions first, then free ones of lhs, then of rhs."""

    name = "stablehlo.dot_general"
    lhs_batching_dimensions = prop_def(DenseArrayBase)
    rhs_batching_dimensions = prop_def(DenseArrayBase)
    lhs_contracting_dimensions = prop_def(DenseArrayBase)
    rhs_contracting_dimensions = prop_def(DenseArrayBase)
    precision = opt_prop_def(ArrayAttr)
    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(Pure())

    @classmethod
    def of(
        cls,
        lhs: SSAValue,
        rhs: SSAValue,
        batching: tuple[Sequence[int], Sequence[int]],
        contracting: tuple[Sequence[int], Sequence[int]],
        result: Tensor,
    ) -> DotGeneralOp:
        properties: dict[str, Attribute] = {}
        for (_, left, right), pair in zip(_DOT_DIMS, (batching, contracting), strict=True):
            properties |= {left: dims(pair[0]), right: dims(pair[1])}
        return cls.create(operands=[lhs, rhs], result_types=[result], properties=properties)

    def pair(self, left: str, right: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
        return ints(cast(Dims, self.properties[left])), ints(cast(Dims, self.properties[right]))

    @property
    def batching(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        return self.pair(*_DOT_DIMS[0][1:])

    @property
    def contracting(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        return self.pair(*_DOT_DIMS[1][1:])

    def print(self, printer: Printer) -> None:
        print_operands(printer, self)
        for word, left, right in _DOT_DIMS:
            of_lhs, of_rhs = self.pair(left, right)
            if word == "contracting_dims" or of_lhs or of_rhs:
                printer.print_string(f", {word} = {list(of_lhs)} x {list(of_rhs)}")
        if self.precision is not None:
            printer.print_string(f", precision = [{', '.join(p.data for p in self.precision)}]")
        print_signature(printer, self)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        names = parse_names(parser)
        properties: dict[str, Attribute] = {
            name: dims(()) for _, left, right in _DOT_DIMS for name in (left, right)
        }
        word = parser.parse_identifier()
        while True:
            properties |= cls._parse_property(parser, word)
            if parser.parse_optional_punctuation(",") is None:
                break
            word = parser.parse_identifier()
        return read_op(cls, parser, names, properties)

    @classmethod
    def _parse_property(cls, parser: Parser, word: str) -> dict[str, Attribute]:
        parser.parse_punctuation("=")
        if word == "precision":
            square = parser.Delimiter.SQUARE
            found = parser.parse_comma_separated_list(square, parser.parse_identifier)
            return {word: ArrayAttr([StringAttr(each) for each in found])}
        for name, left, right in _DOT_DIMS:
            if name == word:
                of_lhs = parse_dims(parser)
                parser.parse_keyword("x")
                return {left: dims(of_lhs), right: dims(parse_dims(parser))}
        parser.raise_error(f"`{word}` of a dot_general is not known here")

    @property
    def free(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Dimensions of lhs and of rhs that are neither batched nor contracted."""

        def rest(value: SSAValue, *used: tuple[int, ...]) -> tuple[int, ...]:
            return tuple(d for d in range(len(shape_of(value))) if not any(d in u for u in used))

        (lb, rb), (lc, rc) = self.batching, self.contracting
        return rest(self.lhs, lb, lc), rest(self.rhs, rb, rc)

    def verify_(self) -> None:
        lhs, rhs = shape_of(self.lhs), shape_of(self.rhs)
        for left, right in (self.batching, self.contracting):
            if len(left) != len(right):
                raise VerifyException(f"{self.name} pairs dimensions of lhs and rhs")
            if any(not 0 <= d < len(lhs) for d in left) or any(
                not 0 <= d < len(rhs) for d in right
            ):
                raise VerifyException(f"{self.name}: a dimension that an operand does not have")
            if any(lhs[a] != rhs[b] for a, b in zip(left, right, strict=True)):
                raise VerifyException(f"{self.name}: paired dimensions of {lhs} and {rhs} differ")
        of_lhs, of_rhs = self.free
        wanted = [lhs[d] for d in (*self.batching[0], *of_lhs)] + [rhs[d] for d in of_rhs]
        if list(shape_of(self.result)) != wanted:
            raise VerifyException(f"{self.name} of {lhs} and {rhs} gives {wanted}")


def _parse_pair(parser: Parser) -> tuple[UnresolvedOperand, UnresolvedOperand]:
    """`(%0 init: %1)`"""
    parser.parse_punctuation("(")
    operand = parser.parse_unresolved_operand()
    parser.parse_keyword("init")
    parser.parse_punctuation(":")
    init = parser.parse_unresolved_operand()
    parser.parse_punctuation(")")
    return operand, init


class ReduceOp(DefinedOperation):
    """`stablehlo.reduce(%0 init: %1) applies stablehlo.add across dimensions = [1] : ...`.

    The reducer is one operation of this dialect. Other reductions (argmax) have a region.
    """

    name = "stablehlo.reduce"
    reducer = prop_def(StringAttr)
    dimensions = prop_def(DenseArrayBase)
    input = operand_def(TensorType)
    init = operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(Pure())

    @classmethod
    def of(
        cls,
        input: SSAValue,
        init: SSAValue,
        reducer: str,
        dimensions: Sequence[int],
        result: Tensor,
    ) -> ReduceOp:
        return cls.create(
            operands=[input, init],
            result_types=[result],
            properties={"reducer": StringAttr(reducer), "dimensions": dims(dimensions)},
        )

    def print(self, printer: Printer) -> None:
        printer.print_string("(")
        printer.print_ssa_value(self.input)
        printer.print_string(" init: ")
        printer.print_ssa_value(self.init)
        printer.print_string(f") applies {self.reducer.data} across dimensions = ")
        print_dims(printer, ints(self.dimensions))
        print_signature(printer, self)

    @classmethod
    def parse(cls, parser: Parser) -> ReduceOp | RegionReduceOp:  # type: ignore[override]
        pairs = [_parse_pair(parser)]
        while parser.parse_optional_punctuation(",") is not None:
            pairs.append(_parse_pair(parser))
        if parser.parse_optional_keyword("applies") is None:
            return cls._of_region(RegionReduceOp.parse_rest(parser, pairs))
        names = list(pairs[0])
        reducer = parser.parse_identifier()
        parser.parse_keyword("across")
        parse_word(parser, "dimensions")
        properties = {"reducer": StringAttr(reducer), "dimensions": dims(parse_dims(parser))}
        return read_op(cls, parser, names, properties)

    @classmethod
    def _of_region(cls, op: RegionReduceOp) -> ReduceOp | RegionReduceOp:
        found = match_plain_reduction(op)
        if found is None:
            return op
        (result,) = op.outputs
        assert isinstance(result.type, TensorType)
        return cls.of(*found, ints(op.dimensions), result.type)

    def verify_(self) -> None:
        if self.reducer.data.removeprefix("stablehlo.") not in BINARY:
            raise VerifyException(f"{self.name}: `{self.reducer.data}` is no reducer")
        given, gone = shape_of(self.input), ints(self.dimensions)
        if any(not 0 <= d < len(given) for d in gone):
            raise VerifyException(f"{self.name}: a dimension that the operand does not have")
        wanted = tuple(size for d, size in enumerate(given) if d not in gone)
        if shape_of(self.result) != wanted or shape_of(self.init) != ():
            raise VerifyException(f"{self.name} of {given} along {gone} gives {wanted}")

"""Convolutions: a window of weights that moves over a tensor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    IntegerAttr,
    TensorType,
    i1,
    i64,
)
from xdsl.ir import Attribute, Data, SSAValue
from xdsl.irdl import (
    irdl_attr_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ttl.dialects.building import DefinedOperation

from .text import dims, element_of, ints, parse_word, print_signature, read_op, shape_of

Places = tuple[str, ...]  # for each dimension, its letter or the number of its axis


@dataclass(frozen=True, slots=True)
class ConvolutionNumbers:
    """Meaning of each dimension of the input, the weights and the result."""

    input: Places
    kernel: Places
    output: Places

    @classmethod
    def channels_first(cls, axes: int) -> ConvolutionNumbers:
        """Make the numbers of torch's layout."""
        counted = tuple(map(str, range(axes)))
        return cls(("b", "f", *counted), ("o", "i", *counted), ("b", "f", *counted))

    def __str__(self) -> str:
        lists = (f"[{', '.join(each)}]" for each in (self.input, self.kernel, self.output))
        return "{}x{}->{}".format(*lists)


def _places(parser: AttrParser) -> Places:
    def place() -> str:
        number = parser.parse_optional_integer()
        return parser.parse_identifier() if number is None else str(number)

    return tuple(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, place))


def parse_numbers(parser: AttrParser) -> ConvolutionNumbers:
    """`[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]`"""
    given = _places(parser)
    parser.parse_keyword("x")
    kernel = _places(parser)
    parser.parse_punctuation("->")
    return ConvolutionNumbers(given, kernel, _places(parser))


@irdl_attr_definition
class ConvolutionDimensions(Data[ConvolutionNumbers]):
    """`#stablehlo.conv<[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]>`"""

    name = "stablehlo.conv"

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f"<{self.data}>")

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> ConvolutionNumbers:
        parser.parse_punctuation("<")
        numbers = parse_numbers(parser)
        parser.parse_punctuation(">")
        return numbers


@dataclass(frozen=True, slots=True)
class Axis:
    """How the window moves along one axis."""

    size: int
    stride: int = 1
    before: int = 0
    after: int = 0
    spread: int = 1  # of the input: 2 puts a zero between two elements
    dilation: int = 1  # of the window
    is_reversed: bool = False

    def places(self, given: int) -> int:
        """Count the positions of the window over `given` elements."""
        room = (given - 1) * self.spread + 1 + self.before + self.after
        return max(0, (room - self.dilation * (self.size - 1) - 1) // self.stride + 1)


class ConvolutionOp(DefinedOperation):
    """`stablehlo.convolution(%0, %1) dim_numbers = ..., window = {stride = [1, 1]} {...} : ...`"""

    name = "stablehlo.convolution"
    dimension_numbers = prop_def(ConvolutionDimensions)
    window_strides = opt_prop_def(DenseArrayBase)
    padding = opt_prop_def(DenseIntOrFPElementsAttr)
    lhs_dilation = opt_prop_def(DenseArrayBase)
    rhs_dilation = opt_prop_def(DenseArrayBase)
    window_reversal = opt_prop_def(DenseArrayBase)
    feature_group_count = prop_def(IntegerAttr)
    batch_group_count = prop_def(IntegerAttr)
    precision_config = opt_prop_def(ArrayAttr)
    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(Pure())

    @classmethod
    def of(
        cls,
        lhs: SSAValue,
        rhs: SSAValue,
        numbers: ConvolutionNumbers,
        axes: Sequence[Axis],
        groups: int,
    ) -> ConvolutionOp:
        given, kernel = shape_of(lhs), shape_of(rhs)
        sizes = {
            str(n): axis.places(given[numbers.input.index(str(n))]) for n, axis in enumerate(axes)
        }
        sizes |= {"b": given[numbers.input.index("b")], "f": kernel[numbers.kernel.index("o")]}
        result = TensorType(element_of(lhs), [sizes[each] for each in numbers.output])
        edges = [edge for axis in axes for edge in (axis.before, axis.after)]
        properties: dict[str, Attribute] = {
            "dimension_numbers": ConvolutionDimensions(numbers),
            "window_strides": dims([axis.stride for axis in axes]),
            "padding": DenseIntOrFPElementsAttr.from_list(TensorType(i64, [len(axes), 2]), edges),
            "lhs_dilation": dims([axis.spread for axis in axes]),
            "rhs_dilation": dims([axis.dilation for axis in axes]),
            "window_reversal": DenseArrayBase.from_list(i1, [axis.is_reversed for axis in axes]),
            "feature_group_count": IntegerAttr(groups, i64),
            "batch_group_count": IntegerAttr(1, i64),
        }
        return cls.create(operands=[lhs, rhs], result_types=[result], properties=properties)

    @property
    def numbers(self) -> ConvolutionNumbers:
        return self.dimension_numbers.data

    @property
    def groups(self) -> int:
        return self.feature_group_count.value.data

    @property
    def axes(self) -> list[Axis]:
        kernel = shape_of(self.rhs)
        count = len(kernel) - 2
        edges = [0] * 2 * count if self.padding is None else list(self.padding.get_values())

        def of(name: str, default: int) -> list[int]:
            found: Any = self.properties.get(name)
            return [default] * count if found is None else [int(n) for n in ints(found)]

        lists = (
            of("window_strides", 1),
            edges[::2],
            edges[1::2],
            of("lhs_dilation", 1),
            of("rhs_dilation", 1),
        )
        reversal = [bool(each) for each in of("window_reversal", 0)]
        sizes = [kernel[self.numbers.kernel.index(str(n))] for n in range(count)]
        return [Axis(*each) for each in zip(sizes, *lists, reversal, strict=True)]

    def print(self, printer: Printer) -> None:
        printer.print_string("(")
        printer.print_list(self.operands, printer.print_ssa_value)
        printer.print_string(f") dim_numbers = {self.numbers}, window = {{")
        printer.print_string(", ".join(self._window()))
        groups = (self.batch_group_count.value.data, self.groups)
        printer.print_string(
            "}} {{batch_group_count = {} : i64, feature_group_count = {} : i64}}".format(*groups)
        )
        print_signature(printer, self)

    def _window(self) -> list[str]:
        axes = self.axes
        return [
            f"stride = {[axis.stride for axis in axes]}",
            f"pad = {[[axis.before, axis.after] for axis in axes]}",
            f"lhs_dilate = {[axis.spread for axis in axes]}",
            f"rhs_dilate = {[axis.dilation for axis in axes]}",
            f"reverse = {str([axis.is_reversed for axis in axes]).lower()}",
        ]

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        names = parser.parse_comma_separated_list(
            parser.Delimiter.PAREN, parser.parse_unresolved_operand
        )
        parse_word(parser, "dim_numbers")
        numbers = parse_numbers(parser)
        parser.parse_punctuation(",")
        parse_word(parser, "window")
        properties: dict[str, Attribute] = {"dimension_numbers": ConvolutionDimensions(numbers)}
        brace = parser.Delimiter.BRACES
        for name, attribute in parser.parse_comma_separated_list(brace, lambda: _part(parser)):
            properties[name] = attribute
        groups = ("feature_group_count", "batch_group_count", "precision_config")
        return read_op(cls, parser, names, properties, written=groups)

    def verify_(self) -> None:
        numbers, count = self.numbers, len(shape_of(self.rhs)) - 2
        letters = [sorted(each) for each in (numbers.input, numbers.kernel, numbers.output)]
        counted = list(map(str, range(count)))
        if letters != [sorted([*counted, *two]) for two in ("bf", "io", "bf")]:
            raise VerifyException(f"{self.name}: {numbers} do not name every dimension once")
        given, kernel = shape_of(self.lhs), shape_of(self.rhs)
        sizes = {
            n: axis.places(given[numbers.input.index(n)])
            for n, axis in zip(counted, self.axes, strict=True)
        }
        groups = self.batch_group_count.value.data
        sizes |= {"b": given[numbers.input.index("b")] // groups}
        sizes |= {"f": kernel[numbers.kernel.index("o")]}
        wanted = tuple(sizes[each] for each in numbers.output)
        if shape_of(self.result) != wanted:
            raise VerifyException(f"{self.name} of {given} and {kernel} gives {wanted}")
        inputs = kernel[numbers.kernel.index("i")] * self.groups
        if given[numbers.input.index("f")] != inputs:
            raise VerifyException(f"{self.name}: weights for {inputs} channels")


_LISTS = {"stride": "window_strides", "lhs_dilate": "lhs_dilation", "rhs_dilate": "rhs_dilation"}


def _part(parser: Parser) -> tuple[str, Attribute]:
    """Parse `stride = [1, 1]` and other parts of a window."""
    word = parser.parse_identifier()
    parser.parse_punctuation("=")
    square = parser.Delimiter.SQUARE
    if word in _LISTS:
        found = parser.parse_comma_separated_list(square, parser.parse_integer)
        return _LISTS[word], dims(found)
    if word == "reverse":
        flags = parser.parse_comma_separated_list(square, parser.parse_boolean)
        return "window_reversal", DenseArrayBase.from_list(i1, flags)
    if word != "pad":
        parser.raise_error(f"`{word}` of a window is not known here")

    def pair() -> list[int]:
        return parser.parse_comma_separated_list(square, parser.parse_integer)

    pairs = parser.parse_comma_separated_list(square, pair)
    flat = [edge for each in pairs for edge in each]
    return "padding", DenseIntOrFPElementsAttr.from_list(TensorType(i64, [len(pairs), 2]), flat)

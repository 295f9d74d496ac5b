"""Printing and parsing that the dialect's operations share."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any, ClassVar, Self, TypeAlias, TypeVar, cast

from xdsl.dialects.builtin import (
    DenseArrayBase,
    FunctionType,
    IntegerAttr,
    IntegerType,
    TensorType,
    i64,
)
from xdsl.ir import Attribute, Data, Operation, SSAValue
from xdsl.irdl import irdl_attr_definition, operand_def, result_def, traits_def
from xdsl.parser import AttrParser, Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ttgraph.graph_ops import BY_STABLEHLO
from ttl.dialects.building import DefinedOperation
from ttl.dialects.definitions import element_of as element_of
from ttl.dialects.definitions import shape_of as shape_of

Dims = DenseArrayBase[IntegerType]
Tensor: TypeAlias = TensorType[Attribute]
Op = TypeVar("Op", bound=DefinedOperation)
SIGNATURE = "attr-dict `:` functional-type(operands, results)"  # in assembly formats


def dims(values: Sequence[int]) -> Dims:
    return cast(Dims, DenseArrayBase.from_list(i64, list(values)))


def ints(values: Dims) -> tuple[int, ...]:
    return tuple(int(value) for value in values.get_values())


def tensor_type(value: SSAValue) -> Tensor:
    assert isinstance(value.type, TensorType)
    return value.type


def print_operands(printer: Printer, op: Operation) -> None:
    printer.print_string(" ")
    printer.print_list(op.operands, printer.print_ssa_value)


def print_signature(printer: Printer, op: Operation) -> None:
    printer.print_op_attributes(op.attributes)
    printer.print_string(" : ")
    printer.print_operation_type(op)


def print_type(printer: Printer, op: Operation, *types: Attribute) -> None:
    """Print attributes, and fewer types than a signature has."""
    printer.print_op_attributes(op.attributes)
    printer.print_string(" : ")
    printer.print_list(types, printer.print_attribute)


def print_dims(printer: Printer, values: Sequence[int]) -> None:
    printer.print_string(f"[{', '.join(map(str, values))}]")


def parse_dims(parser: AttrParser) -> tuple[int, ...]:
    square = parser.Delimiter.SQUARE
    return tuple(parser.parse_comma_separated_list(square, parser.parse_integer))


def format_lists(numbers: Any) -> list[str]:
    """Print the lists of dimension numbers that are not empty, as `offset_dims = [1]`."""
    lists = {field.name: getattr(numbers, field.name) for field in fields(numbers)}
    return [
        f"{name} = {list(found)}"
        for name, found in lists.items()
        if found and isinstance(found, tuple)
    ]


def parse_numbers(parser: AttrParser, kind: type[Any], what: str) -> dict[str, Any]:
    """Parse `<offset_dims = [1], ..., index_vector_dim = 1>`: the fields of `kind`."""
    names = {field.name for field in fields(kind)}
    found: dict[str, int | tuple[int, ...]] = {}

    def part() -> None:
        name = parser.parse_identifier()
        parser.parse_punctuation("=")
        if name not in names:
            parser.raise_error(f"`{name}` of a {what} is not known here")
        is_number = name == "index_vector_dim"
        found[name] = parser.parse_integer() if is_number else parse_dims(parser)

    parser.parse_comma_separated_list(parser.Delimiter.ANGLE, part)
    return found


def parse_word(parser: Parser, word: str) -> None:
    """Parse `word =`."""
    parser.parse_keyword(word)
    parser.parse_punctuation("=")


def parse_names(parser: Parser) -> list[UnresolvedOperand]:
    """Parse operands up to the first word that is none, as in `%0, %1, dim = 0`."""
    found = [parser.parse_unresolved_operand()]
    while parser.parse_optional_punctuation(",") is not None:
        operand = parser.parse_optional_unresolved_operand()
        if operand is None:
            return found
        found.append(operand)
    return found


OfTypes = Callable[[list[Attribute]], tuple[list[Attribute], list[Attribute]]]


def parse_signature(
    parser: Parser, names: Sequence[UnresolvedOperand], of_types: OfTypes | None = None
) -> tuple[dict[str, Attribute], list[SSAValue], list[Attribute]]:
    """Parse `{...} : (types) -> types`, or fewer types, which `of_types` maps to types of operands
    and results; by default one type is for all.
    """
    attributes = parser.parse_optional_attr_dict()
    parser.parse_punctuation(":")
    start = parser.pos
    none = parser.Delimiter.NONE
    written: list[Attribute] = [*parser.parse_comma_separated_list(none, parser.parse_type)]
    if isinstance(written[0], FunctionType):
        inputs, outputs = list(written[0].inputs), list(written[0].outputs)
    elif of_types is not None:
        inputs, outputs = of_types(written)
    else:
        inputs, outputs = written * len(names), written
    if len(inputs) != len(names):
        parser.raise_error(f"{len(names)} operands have {len(inputs)} types", start, parser.pos)
    return (
        attributes,
        [parser.resolve_operand(n, t) for n, t in zip(names, inputs, strict=True)],
        outputs,
    )


def read_op(
    cls: type[Op],
    parser: Parser,
    names: Sequence[UnresolvedOperand],
    properties: Mapping[str, Attribute] | None = None,
    of_types: OfTypes | None = None,
    written: Sequence[str] = (),
) -> Op:
    """Parse an operation's attributes and types, the rest of its text, and make it.

    `written` are properties that the text has among the attributes.
    """
    attributes, operands, results = parse_signature(parser, names, of_types)
    among = {name: attributes.pop(name) for name in written if name in attributes}
    return cls.create(
        operands=operands,
        result_types=results,
        properties={**(properties or {}), **among},
        attributes=attributes,
    )


@irdl_attr_definition
class PrecisionAttr(Data[str]):
    """`#stablehlo<precision DEFAULT>`: the loss allowed in a product; nothing is lost here."""

    name = "stablehlo.precision"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> str:
        return parser.parse_identifier()

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(f" {self.data}")


class PlainOp(DefinedOperation, ABC):
    """`stablehlo.add %0, %1 : type`, or with `(types) -> type` where they differ."""

    traits = traits_def(Pure())

    def print(self, printer: Printer) -> None:
        print_operands(printer, self)
        types = {value.type for value in (*self.operands, *self.results)}
        if len(types) == 1:
            print_type(printer, self, types.pop())
        else:
            print_signature(printer, self)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        return read_op(cls, parser, parse_names(parser))


class RowOp(DefinedOperation, ABC):
    """Operation in the table of graph operations; the row's rule gives its shape."""

    traits = traits_def(Pure())

    @property
    def row_attributes(self) -> dict[str, object]:
        """Return the row's attributes."""
        return {}

    def verify_(self) -> None:
        shapes = [shape_of(each) for each in self.operands]
        try:
            wanted = BY_STABLEHLO[self.name].shape(shapes, self.row_attributes)
        except ValueError as error:
            raise VerifyException(f"{self.name}: {error}") from None
        (result,) = self.results
        elements = {element_of(each) for each in (*self.operands, result)}
        if shape_of(result) != wanted or len(elements) != 1:
            raise VerifyException(f"{self.name} gives {wanted} and keeps the element type")


class DimOp(RowOp, ABC):
    """Operation along one dimension."""

    PROPERTY: ClassVar[str]

    @classmethod
    def of(cls, operands: Sequence[SSAValue], dim: int, result: Tensor) -> Self:
        properties = {cls.PROPERTY: IntegerAttr(dim, i64)}
        return cls.create(operands=operands, result_types=[result], properties=properties)

    @property
    def dim(self) -> int:
        return cast(IntegerAttr, self.properties[self.PROPERTY]).value.data

    @property
    def row_attributes(self) -> dict[str, object]:
        return {"dim": self.dim}


class DimsOp(RowOp, ABC):
    """Operation with one number for each dimension of the operand."""

    operand = operand_def(TensorType)
    result = result_def(TensorType)
    PROPERTY: ClassVar[str]

    @classmethod
    def of(cls, operand: SSAValue, values: Sequence[int], result: Tensor) -> Self:
        properties = {cls.PROPERTY: dims(values)}
        return cls.create(operands=[operand], result_types=[result], properties=properties)

    @property
    def dims(self) -> tuple[int, ...]:
        return ints(cast(Dims, self.properties[self.PROPERTY]))

"""stablehlo: the part of OpenXLA's dialect that PyTorch models need, under the same names.

The text is that of the real dialect, so MLIR reads what is printed here and the other way round.
`chlo.erf` and `chlo.erfc` are here too: the dialect itself has no error function.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from math import prod
from typing import Any, ClassVar, cast

from xdsl.dialects.builtin import (
    I1,
    AnyFloat,
    ArrayAttr,
    BoolAttr,
    BytesAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FunctionType,
    IntegerAttr,
    IntegerType,
    StringAttr,
    TensorType,
    TupleType,
    i64,
)
from xdsl.ir import Attribute, Dialect, Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import ConstantLike, Pure
from xdsl.utils.exceptions import VerifyException

Dims = DenseArrayBase[IntegerType]

TT_LANG_TARGET = "tt.tt_lang_op"
FRONTEND_ATTRIBUTES = "mhlo.frontend_attributes"


def dims(values: Sequence[int]) -> Dims:
    return cast(Dims, DenseArrayBase.from_list(i64, list(values)))


def ints(values: Dims) -> tuple[int, ...]:
    return tuple(int(value) for value in values.get_values())


def tensor_type(value: SSAValue) -> TensorType[Any]:
    assert isinstance(value.type, TensorType)
    return value.type


def shape_of(value: SSAValue) -> tuple[int, ...]:
    return tuple(tensor_type(value).get_shape())


def element_of(value: SSAValue) -> Attribute:
    return cast(Attribute, tensor_type(value).element_type)


# Text ---------------------------------------------------------------------------------------------


def _print_operands(printer: Printer, op: Operation) -> None:
    printer.print_string(" ")
    printer.print_list(op.operands, printer.print_ssa_value)


def _print_signature(printer: Printer, op: Operation) -> None:
    printer.print_op_attributes(op.attributes)
    printer.print_string(" : ")
    printer.print_operation_type(op)


def _print_dims(printer: Printer, values: Sequence[int]) -> None:
    printer.print_string(f"[{', '.join(map(str, values))}]")


def _parse_dims(parser: Parser) -> tuple[int, ...]:
    square = parser.Delimiter.SQUARE
    return tuple(parser.parse_comma_separated_list(square, parser.parse_integer))


def _parse_names(parser: Parser) -> list[UnresolvedOperand]:
    """Operands up to what is no operand, as in `%0, %1, dims = [0]`."""
    found = [parser.parse_unresolved_operand()]
    while parser.parse_optional_punctuation(",") is not None:
        operand = parser.parse_optional_unresolved_operand()
        if operand is None:
            return found
        found.append(operand)
    return found


def _parse_signature(
    parser: Parser, names: Sequence[UnresolvedOperand]
) -> tuple[dict[str, Attribute], list[SSAValue], list[Attribute]]:
    """`{...} : type` with one type for all operands and the result, or `: (types) -> types`."""
    attributes = parser.parse_optional_attr_dict()
    parser.parse_punctuation(":")
    start = parser.pos
    written = parser.parse_type()
    if isinstance(written, FunctionType):
        inputs, outputs = list(written.inputs), list(written.outputs)
    else:
        inputs, outputs = [written] * len(names), [written]
    if len(inputs) != len(names):
        parser.raise_error(f"{len(names)} operands have {len(inputs)} types", start, parser.pos)
    return (
        attributes,
        [parser.resolve_operand(n, t) for n, t in zip(names, inputs, strict=True)],
        outputs,
    )


class PlainOp(IRDLOperation, ABC):
    """`stablehlo.add %0, %1 : type`, or with `(types) -> type` where they differ."""

    traits = traits_def(Pure())

    def print(self, printer: Printer) -> None:
        _print_operands(printer, self)
        types = {value.type for value in (*self.operands, *self.results)}
        if len(types) == 1:
            printer.print_op_attributes(self.attributes)
            printer.print_string(" : ")
            printer.print_attribute(types.pop())
        else:
            _print_signature(printer, self)

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        names = _parse_names(parser)
        attributes, operands, results = _parse_signature(parser, names)
        return cls.create(operands=operands, result_types=results, attributes=attributes)


class DimsOp(IRDLOperation, ABC):
    """`stablehlo.transpose %0, dims = [1, 0] : (type) -> type`."""

    traits = traits_def(Pure())
    operand = operand_def(TensorType)
    result = result_def(TensorType)
    PROPERTY: ClassVar[str]

    @classmethod
    def of(cls, operand: SSAValue, values: Sequence[int], result: TensorType[Any]) -> Any:
        properties = {cls.PROPERTY: dims(values)}
        return cls.create(operands=[operand], result_types=[result], properties=properties)

    @property
    def dims(self) -> tuple[int, ...]:
        return ints(cast(Dims, self.properties[self.PROPERTY]))

    def print(self, printer: Printer) -> None:
        _print_operands(printer, self)
        printer.print_string(", dims = ")
        _print_dims(printer, self.dims)
        _print_signature(printer, self)

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        names = _parse_names(parser)
        parser.parse_keyword("dims")
        parser.parse_punctuation("=")
        values = _parse_dims(parser)
        attributes, operands, results = _parse_signature(parser, names)
        properties = {cls.PROPERTY: dims(values)}
        return cls.create(
            operands=operands, result_types=results, properties=properties, attributes=attributes
        )


# Elementwise --------------------------------------------------------------------------------------


class UnaryOp(PlainOp, ABC):
    operand = operand_def(TensorType)
    result = result_def(TensorType)

    def verify_(self) -> None:
        if self.operand.type != self.result.type:
            raise VerifyException(f"{self.name} keeps the type of its operand")


class BinaryOp(PlainOp, ABC):
    lhs = operand_def(TensorType)
    rhs = operand_def(TensorType)
    result = result_def(TensorType)

    def verify_(self) -> None:
        if not self.lhs.type == self.rhs.type == self.result.type:
            raise VerifyException(f"{self.name} has one type for its operands and its result")


UNARY_NAMES = (
    "abs", "ceil", "cosine", "exponential", "exponential_minus_one", "floor", "log",
    "log_plus_one", "logistic", "negate", "not", "round_nearest_even", "rsqrt", "sign", "sine",
    "sqrt", "tan", "tanh",
)  # fmt: skip
BINARY_NAMES = (
    "add", "and", "divide", "maximum", "minimum", "multiply", "or", "power", "remainder",
    "subtract", "xor",
)  # fmt: skip


def _classes(base: type[IRDLOperation], names: Sequence[str]) -> dict[str, Any]:
    """Operation classes by name; nothing but the name differs."""

    def made(name: str) -> Any:
        title = "".join(word.capitalize() for word in name.split("_"))
        return irdl_op_definition(type(f"{title}Op", (base,), {"name": f"stablehlo.{name}"}))

    return {name: made(name) for name in names}


UNARY: dict[str, type[UnaryOp]] = _classes(UnaryOp, UNARY_NAMES)
BINARY: dict[str, type[BinaryOp]] = _classes(BinaryOp, BINARY_NAMES)


@irdl_op_definition
class ConvertOp(PlainOp):
    name = "stablehlo.convert"
    operand = operand_def(TensorType)
    result = result_def(TensorType)

    def verify_(self) -> None:
        if shape_of(self.operand) != shape_of(self.result):
            raise VerifyException(f"{self.name} keeps the shape of its operand")


@irdl_op_definition
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


DIRECTIONS = ("EQ", "NE", "GE", "GT", "LE", "LT")
COMPARE_TYPES = ("FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED")


@irdl_op_definition
class CompareOp(IRDLOperation):
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
        _print_operands(printer, self)
        if self.compare_type is not None:
            printer.print_string(f", {self.compare_type.data}")
        _print_signature(printer, self)

    @classmethod
    def parse(cls, parser: Parser) -> CompareOp:
        direction = parser.parse_identifier()
        parser.parse_punctuation(",")
        lhs = parser.parse_unresolved_operand()
        parser.parse_punctuation(",")
        names = [lhs, parser.parse_unresolved_operand()]
        properties: dict[str, Attribute] = {"comparison_direction": StringAttr(direction)}
        if parser.parse_optional_punctuation(",") is not None:
            properties["compare_type"] = StringAttr(parser.parse_identifier())
        attributes, operands, results = _parse_signature(parser, names)
        return cls.create(
            operands=operands, result_types=results, properties=properties, attributes=attributes
        )

    def verify_(self) -> None:
        if self.comparison_direction.data not in DIRECTIONS:
            raise VerifyException(f"{self.name}: {self.comparison_direction.data} is no direction")
        if self.compare_type is not None and self.compare_type.data not in COMPARE_TYPES:
            raise VerifyException(f"{self.name}: {self.compare_type.data} is no comparison type")
        if self.lhs.type != self.rhs.type:
            raise VerifyException(f"{self.name} has operands of one type")
        if self.result.type != TensorType(IntegerType(1), shape_of(self.lhs)):
            raise VerifyException(f"{self.name} gives an i1 for each element")


@irdl_op_definition
class SelectOp(IRDLOperation):
    """`stablehlo.select %pred, %true, %false : type of pred, type`."""

    name = "stablehlo.select"
    pred = operand_def(TensorType)
    on_true = operand_def(TensorType)
    on_false = operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(Pure())

    def print(self, printer: Printer) -> None:
        _print_operands(printer, self)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_list((self.pred.type, self.result.type), printer.print_attribute)

    @classmethod
    def parse(cls, parser: Parser) -> SelectOp:
        names = _parse_names(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        first = parser.parse_type()
        if isinstance(first, FunctionType):
            types, result = list(first.inputs), first.outputs.data[0]
        else:
            parser.parse_punctuation(",")
            result = parser.parse_type()
            types = [first, result, result]
        operands = [parser.resolve_operand(n, t) for n, t in zip(names, types, strict=True)]
        return cls.create(operands=operands, result_types=[result], attributes=attributes)

    def verify_(self) -> None:
        if not self.on_true.type == self.on_false.type == self.result.type:
            raise VerifyException(f"{self.name} chooses between values of its result's type")
        if element_of(self.pred) != I1(1) or shape_of(self.pred) not in ((), shape_of(self.result)):
            raise VerifyException(f"{self.name} has an i1 for each element, or one for all")


# Shapes -------------------------------------------------------------------------------------------


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
        _print_operands(printer, self)
        printer.print_string(f", dim = {self.dimension.value.data}")
        _print_signature(printer, self)

    @classmethod
    def parse(cls, parser: Parser) -> ConcatenateOp:
        names = _parse_names(parser)
        parser.parse_keyword("dim")
        parser.parse_punctuation("=")
        dimension = IntegerAttr(parser.parse_integer(), i64)
        attributes, operands, results = _parse_signature(parser, names)
        return cls.create(
            operands=operands,
            result_types=results,
            properties={"dimension": dimension},
            attributes=attributes,
        )

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
        _print_operands(printer, self)
        parts = [f"{a}:{b}" if step == 1 else f"{a}:{b}:{step}" for a, b, step in self.ranges]
        printer.print_string(f" [{', '.join(parts)}]")
        _print_signature(printer, self)

    @classmethod
    def parse(cls, parser: Parser) -> SliceOp:
        names = [parser.parse_unresolved_operand()]

        def one() -> tuple[int, int, int]:
            start = parser.parse_integer()
            parser.parse_punctuation(":")
            limit = parser.parse_integer()
            has_step = parser.parse_optional_punctuation(":") is not None
            return start, limit, parser.parse_integer() if has_step else 1

        ranges = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, one)
        attributes, operands, results = _parse_signature(parser, names)
        return cls.create(
            operands=operands,
            result_types=results,
            properties=cls.properties_of(ranges),
            attributes=attributes,
        )

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
    def parse(cls, parser: Parser) -> IotaOp:
        parser.parse_keyword("dim")
        parser.parse_punctuation("=")
        dimension = IntegerAttr(parser.parse_integer(), i64)
        attributes, _, results = _parse_signature(parser, ())
        return cls.create(
            result_types=results, properties={"iota_dimension": dimension}, attributes=attributes
        )

    def verify_(self) -> None:
        if not 0 <= self.iota_dimension.value.data < len(shape_of(self.result)):
            raise VerifyException(f"{self.name}: a dimension that the result does not have")


# Constants, products, reductions ------------------------------------------------------------------


def _parse_dense(parser: Parser) -> DenseIntOrFPElementsAttr[Any]:
    """`dense<...> : type`. xDSL's own reader takes the bits of a float, 0xFF80, for its value."""
    parser.parse_keyword("dense")
    values: list[int | float] = []
    raw: str | None = None
    with parser.in_angle_brackets():
        raw = parser.parse_optional_str_literal()
        shape = _parse_elements(parser, values) if raw is None else ()
    parser.parse_punctuation(":")
    type = parser.parse_type()
    if not isinstance(type, TensorType):
        parser.raise_error("a constant is a tensor")
    if raw is not None:
        size = prod(type.get_shape()) * type.element_type.compile_time_size
        data = bytes.fromhex(raw.removeprefix("0x"))
        splat = len(data) == type.element_type.compile_time_size
        return _checked(parser, type, data * prod(type.get_shape()) if splat else data, size)
    if isinstance(type.element_type, AnyFloat):
        values = [_float(value, type.element_type) for value in values]
    if shape == () and len(values) == 1:
        values *= prod(type.get_shape())
    elif shape != tuple(type.get_shape()):
        parser.raise_error(f"elements of shape {shape} in {type}")
    return DenseIntOrFPElementsAttr.from_list(type, values)


def _checked(
    parser: Parser, type: TensorType[Any], data: bytes, size: int
) -> DenseIntOrFPElementsAttr[Any]:
    if len(data) != size:
        parser.raise_error(f"{len(data)} bytes for {type}")
    return DenseIntOrFPElementsAttr(type, BytesAttr(data))


def _float(value: int | float, type: AnyFloat) -> float:
    """A whole number without a point is the bits of the float."""
    if isinstance(value, float):
        return value
    return float(type.unpack(value.to_bytes(type.compile_time_size, "little"), 1)[0])


def _parse_elements(parser: Parser, values: list[int | float]) -> tuple[int, ...]:
    """Read nested lists; the shape of what was read."""
    if parser.parse_optional_punctuation("[") is None:
        if parser.parse_optional_punctuation("-") is not None:
            values.append(-parser.parse_number())
        else:
            values.append(parser.parse_number(allow_boolean=True))
        return ()
    shapes: list[tuple[int, ...]] = []
    if parser.parse_optional_punctuation("]") is None:
        shapes.append(_parse_elements(parser, values))
        while parser.parse_optional_punctuation(",") is not None:
            shapes.append(_parse_elements(parser, values))
        parser.parse_punctuation("]")
    if len(set(shapes)) > 1:
        parser.raise_error("lists of different shapes in one constant")
    return (len(shapes), *(shapes[0] if shapes else ()))


@irdl_op_definition
class ConstantOp(IRDLOperation):
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


@irdl_op_definition
class DotGeneralOp(IRDLOperation):
    """Batch dimensions come first in the result, then the free ones of lhs, then those of rhs."""

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
        result: TensorType[Any],
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
        _print_operands(printer, self)
        for word, left, right in _DOT_DIMS:
            of_lhs, of_rhs = self.pair(left, right)
            if word == "contracting_dims" or of_lhs or of_rhs:
                printer.print_string(f", {word} = {list(of_lhs)} x {list(of_rhs)}")
        if self.precision is not None:
            printer.print_string(f", precision = [{', '.join(p.data for p in self.precision)}]")
        _print_signature(printer, self)

    @classmethod
    def parse(cls, parser: Parser) -> DotGeneralOp:
        names = _parse_names(parser)
        properties: dict[str, Attribute] = {
            name: dims(()) for _, left, right in _DOT_DIMS for name in (left, right)
        }
        word = parser.parse_identifier()
        while True:
            properties |= cls._parse_property(parser, word)
            if parser.parse_optional_punctuation(",") is None:
                break
            word = parser.parse_identifier()
        attributes, operands, results = _parse_signature(parser, names)
        return cls.create(
            operands=operands, result_types=results, properties=properties, attributes=attributes
        )

    @classmethod
    def _parse_property(cls, parser: Parser, word: str) -> dict[str, Attribute]:
        parser.parse_punctuation("=")
        if word == "precision":
            square = parser.Delimiter.SQUARE
            found = parser.parse_comma_separated_list(square, parser.parse_identifier)
            return {word: ArrayAttr([StringAttr(each) for each in found])}
        for name, left, right in _DOT_DIMS:
            if name == word:
                of_lhs = _parse_dims(parser)
                parser.parse_keyword("x")
                return {left: dims(of_lhs), right: dims(_parse_dims(parser))}
        parser.raise_error(f"`{word}` of a dot_general is not known here")

    @property
    def free(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The dimensions of lhs and of rhs that are neither batched nor contracted."""

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


@irdl_op_definition
class ReduceOp(IRDLOperation):
    """`stablehlo.reduce(%0 init: %1) applies stablehlo.add across dimensions = [1] : ...`.

    The form in which one operation of this dialect is the reducer; MLIR prints every such
    reduction so. Others (argmax) have a region and are not in the subset.
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
        result: TensorType[Any],
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
        _print_dims(printer, ints(self.dimensions))
        _print_signature(printer, self)

    @classmethod
    def parse(cls, parser: Parser) -> ReduceOp:
        parser.parse_punctuation("(")
        names = [parser.parse_unresolved_operand()]
        parser.parse_keyword("init")
        parser.parse_punctuation(":")
        names.append(parser.parse_unresolved_operand())
        parser.parse_punctuation(")")
        if parser.parse_optional_keyword("applies") is None:
            parser.raise_error("only a reduction that applies one operation is read")
        reducer = parser.parse_identifier()
        parser.parse_keyword("across")
        parser.parse_keyword("dimensions")
        parser.parse_punctuation("=")
        dimensions = _parse_dims(parser)
        attributes, operands, results = _parse_signature(parser, names)
        return cls.create(
            operands=operands,
            result_types=results,
            properties={"reducer": StringAttr(reducer), "dimensions": dims(dimensions)},
            attributes=attributes,
        )

    def verify_(self) -> None:
        if self.reducer.data.removeprefix("stablehlo.") not in BINARY:
            raise VerifyException(f"{self.name}: `{self.reducer.data}` is no reducer")
        given, gone = shape_of(self.input), ints(self.dimensions)
        if any(not 0 <= d < len(given) for d in gone):
            raise VerifyException(f"{self.name}: a dimension that the operand does not have")
        wanted = tuple(size for d, size in enumerate(given) if d not in gone)
        if shape_of(self.result) != wanted or shape_of(self.init) != ():
            raise VerifyException(f"{self.name} of {given} along {gone} gives {wanted}")


# Calls and tuples ---------------------------------------------------------------------------------

_CALL_PROPERTIES = (
    "api_version", "backend_config", "called_computations", "has_side_effect", "operand_layouts",
    "output_operand_aliases", "result_layouts",
)  # fmt: skip


@irdl_op_definition
class CustomCallOp(IRDLOperation):
    """`stablehlo.custom_call @target(%0, %1) {...} : (types) -> types`."""

    name = "stablehlo.custom_call"
    call_target_name = prop_def(StringAttr)
    api_version = opt_prop_def(IntegerAttr)
    backend_config = opt_prop_def()
    called_computations = opt_prop_def(ArrayAttr)
    has_side_effect = opt_prop_def(BoolAttr)
    operand_layouts = opt_prop_def(ArrayAttr)
    output_operand_aliases = opt_prop_def(ArrayAttr)
    result_layouts = opt_prop_def(ArrayAttr)
    inputs = var_operand_def()
    outputs = var_result_def()

    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_symbol_name(self.call_target_name.data)
        with printer.in_parens():
            printer.print_list(self.operands, printer.print_ssa_value)
        given = {n: self.properties[n] for n in _CALL_PROPERTIES if n in self.properties}
        printer.print_op_attributes(dict(sorted((given | self.attributes).items())))
        printer.print_string(" : ")
        printer.print_operation_type(self)

    @classmethod
    def parse(cls, parser: Parser) -> CustomCallOp:
        target = parser.parse_symbol_name()
        paren = parser.Delimiter.PAREN
        names = parser.parse_comma_separated_list(paren, parser.parse_unresolved_operand)
        attributes, operands, results = _parse_signature(parser, names)
        properties = {n: attributes.pop(n) for n in _CALL_PROPERTIES if n in attributes}
        return cls.create(
            operands=operands,
            result_types=results,
            properties={"call_target_name": target, **properties},
            attributes=attributes,
        )


@irdl_op_definition
class TupleOp(IRDLOperation):
    """`stablehlo.tuple %0, %1 : tuple<types>`."""

    name = "stablehlo.tuple"
    val = var_operand_def()
    result = result_def(TupleType)
    traits = traits_def(Pure())

    def print(self, printer: Printer) -> None:
        _print_operands(printer, self)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.result.type)

    @classmethod
    def parse(cls, parser: Parser) -> TupleOp:
        names = _parse_names(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        result = parser.parse_type()
        if not isinstance(result, TupleType) or len(result.types) != len(names):
            parser.raise_error("a tuple has one type for each operand")
        operands = [parser.resolve_operand(n, t) for n, t in zip(names, result.types, strict=True)]
        return cls.create(operands=operands, result_types=[result], attributes=attributes)

    def verify_(self) -> None:
        if [v.type for v in self.val] != list(self.result.type.types):
            raise VerifyException(f"{self.name} has the types of its operands")


@irdl_op_definition
class GetTupleElementOp(IRDLOperation):
    """`stablehlo.get_tuple_element %0[1] : (tuple<types>) -> type`."""

    name = "stablehlo.get_tuple_element"
    index = prop_def(IntegerAttr)
    operand = operand_def(TupleType)
    result = result_def()
    traits = traits_def(Pure())

    def print(self, printer: Printer) -> None:
        _print_operands(printer, self)
        printer.print_string(f"[{self.index.value.data}]")
        _print_signature(printer, self)

    @classmethod
    def parse(cls, parser: Parser) -> GetTupleElementOp:
        names = [parser.parse_unresolved_operand()]
        with parser.in_square_brackets():
            index = IntegerAttr(parser.parse_integer(), 32)
        attributes, operands, results = _parse_signature(parser, names)
        return cls.create(
            operands=operands,
            result_types=results,
            properties={"index": index},
            attributes=attributes,
        )

    def verify_(self) -> None:
        types = list(cast(TupleType, self.operand.type).types)
        index = self.index.value.data
        if not 0 <= index < len(types):
            raise VerifyException(f"{self.name}: there is no element {index} in {len(types)}")
        if self.result.type != types[index]:
            raise VerifyException(f"{self.name} has the type of element {index}")


# chlo ---------------------------------------------------------------------------------------------


class ChloUnaryOp(IRDLOperation, ABC):
    """`chlo.erf %0 : type -> type`."""

    operand = operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(Pure())

    def print(self, printer: Printer) -> None:
        _print_operands(printer, self)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.operand.type)
        printer.print_string(" -> ")
        printer.print_attribute(self.result.type)

    @classmethod
    def parse(cls, parser: Parser) -> Any:
        name = parser.parse_unresolved_operand()
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        operand = parser.resolve_operand(name, parser.parse_type())
        parser.parse_punctuation("->")
        result = parser.parse_type()
        return cls.create(operands=[operand], result_types=[result], attributes=attributes)

    def verify_(self) -> None:
        if self.operand.type != self.result.type:
            raise VerifyException(f"{self.name} keeps the type of its operand")


@irdl_op_definition
class ErfOp(ChloUnaryOp):
    name = "chlo.erf"


@irdl_op_definition
class ErfcOp(ChloUnaryOp):
    name = "chlo.erfc"


def make_dialects() -> list[Dialect]:
    operations: list[type[Operation]] = [
        *UNARY.values(), *BINARY.values(), ConvertOp, ClampOp, CompareOp, SelectOp,
        BroadcastInDimOp, TransposeOp, ReshapeOp, ConcatenateOp, SliceOp, IotaOp, ConstantOp,
        DotGeneralOp, ReduceOp, CustomCallOp, TupleOp, GetTupleElementOp,
    ]  # fmt: skip
    return [Dialect("stablehlo", operations, []), Dialect("chlo", [ErfOp, ErfcOp], [])]

"""Operations whose region combines or compares two elements: sort, scatter, windows."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import (
    BoolAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    IntegerAttr,
    TensorType,
    i32,
)
from xdsl.ir import Data, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_attr_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import AttrParser, Parser, UnresolvedOperand
from xdsl.printer import Printer
from xdsl.traits import Pure

from ttgraph.dialects.graph import Dense
from ttl.dialects.building import DefinedOperation

from .control import ReturnOp
from .elementwise import BinaryOp
from .text import dims, format_lists, ints, parse_dims, parse_numbers, shape_of

OperandPair = tuple[UnresolvedOperand, UnresolvedOperand]


def reducer_of(region: Region) -> str | None:
    """Name the operation that a region applies to its two arguments; `second` if it returns the
    second; None for anything else.
    """
    block = region.block
    end = block.last_op
    if not isinstance(end, ReturnOp) or len(end.operands) != 1 or len(block.args) != 2:
        return None
    value = end.operands[0]
    if value is block.args[1]:
        return "second"
    made = value.owner
    if isinstance(made, BinaryOp) and {*made.operands} == {*block.args}:
        return made.name.removeprefix("stablehlo.")
    return None


class RegionReduceOp(DefinedOperation):
    """A reduction of several tensors at once, or by more than one operation.

    `stablehlo.reduce(%0 init: %1), (%2 init: %3) across dimensions = [1] : ... reducer(...) {...}`
    """

    name = "stablehlo.reduce"
    dimensions = prop_def(DenseArrayBase)
    inputs = var_operand_def(TensorType)
    inits = var_operand_def(TensorType)
    outputs = var_result_def(TensorType)
    body = region_def()
    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    @classmethod
    def parse_rest(cls, parser: Parser, pairs: list[OperandPair]) -> RegionReduceOp:
        """Parse the text from `across` on."""
        parser.parse_keyword("across")
        parser.parse_keyword("dimensions")
        parser.parse_punctuation("=")
        gone = parse_dims(parser)
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        types = parser.parse_function_type()
        parser.parse_keyword("reducer")
        arguments = []
        for _ in pairs:
            arguments.append(
                parser.parse_comma_separated_list(parser.Delimiter.PAREN, lambda: _argument(parser))
            )
        firsts, seconds = ([pair[n] for pair in arguments] for n in (0, 1))
        body = parser.parse_region([*firsts, *seconds])
        names = [name for name, _ in pairs] + [init for _, init in pairs]
        resolved = zip(names, types.inputs, strict=True)
        return cls.create(
            operands=[parser.resolve_operand(name, type) for name, type in resolved],
            result_types=list(types.outputs),
            properties={
                "dimensions": dims(gone),
                "operandSegmentSizes": DenseArrayBase.from_list(i32, [len(pairs)] * 2),
            },
            attributes=attributes,
            regions=[body],
        )

    def print(self, printer: Printer) -> None:
        for position, (value, init) in enumerate(zip(self.inputs, self.inits, strict=True)):
            printer.print_string(", (" if position else "(")
            printer.print_ssa_value(value)
            printer.print_string(" init: ")
            printer.print_ssa_value(init)
            printer.print_string(")")
        printer.print_string(f" across dimensions = {list(ints(self.dimensions))} : ")
        printer.print_operation_type(self)
        printer.print_string(" reducer")
        arguments, count = self.body.block.args, len(self.inputs)
        for first, second in zip(arguments[:count], arguments[count:], strict=True):
            with printer.in_parens():
                printer.print_list((first, second), printer.print_block_argument)
        printer.print_string(" ")
        printer.print_region(self.body, print_entry_block_args=False)


def _argument(parser: Parser) -> Parser.Argument:
    argument = parser.parse_argument()
    parser.parse_optional_location()
    return argument


class SortOp(DefinedOperation):
    """Sorts tensors by a comparison; in the generic form."""

    name = "stablehlo.sort"
    dimension = opt_prop_def(IntegerAttr)
    is_stable = opt_prop_def(BoolAttr)
    inputs = var_operand_def(TensorType)
    outputs = var_result_def(TensorType)
    comparator = region_def()

    @property
    def dim(self) -> int:
        number = self.dimension.value.data if self.dimension is not None else -1
        return number % len(shape_of(self.inputs[0]))


class TopKOp(DefinedOperation):
    """`chlo.top_k(%0, k = 6) : type -> (type, type)`: the largest elements and their indices."""

    name = "chlo.top_k"
    k = prop_def(IntegerAttr)
    operand = operand_def(TensorType)
    values = result_def(TensorType)
    indices = result_def(TensorType)
    traits = traits_def(Pure())
    assembly_format = (
        "`(` $operand `,` `k` `=` $k `)` attr-dict `:` type($operand) `->` "
        "`(` type($values) `,` type($indices) `)`"
    )


@dataclass(frozen=True, slots=True)
class ScatterNumbers:
    update_window_dims: tuple[int, ...] = ()
    inserted_window_dims: tuple[int, ...] = ()
    input_batching_dims: tuple[int, ...] = ()
    scatter_indices_batching_dims: tuple[int, ...] = ()
    scatter_dims_to_operand_dims: tuple[int, ...] = ()
    index_vector_dim: int = 0


@irdl_attr_definition
class ScatterDimensions(Data[ScatterNumbers]):
    """`#stablehlo.scatter<update_window_dims = [1], ..., index_vector_dim = 1>`."""

    name = "stablehlo.scatter"

    def print_parameter(self, printer: Printer) -> None:
        parts = format_lists(self.data)
        if self.data.index_vector_dim:
            parts.append(f"index_vector_dim = {self.data.index_vector_dim}")
        printer.print_string(f"<{', '.join(parts)}>")

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> ScatterNumbers:
        return ScatterNumbers(**parse_numbers(parser, ScatterNumbers, "scatter"))


class ScatterOp(DefinedOperation):
    """Updates the slices of a tensor at `scatter_indices`."""

    name = "stablehlo.scatter"
    scatter_dimension_numbers = prop_def(ScatterDimensions)
    indices_are_sorted = opt_prop_def(BoolAttr)
    unique_indices = opt_prop_def(BoolAttr)
    input = operand_def(TensorType)
    scatter_indices = operand_def(TensorType)
    updates = operand_def(TensorType)
    result = result_def(TensorType)
    update_computation = region_def()


Pairs = list[tuple[int, int]]


def _pairs(given: Dense | None, rank: int) -> Pairs:
    if given is None:
        return [(0, 0)] * rank
    values = [int(each) for each in given.get_values()]
    if len(values) == 1:
        values *= 2 * rank
    return list(zip(values[::2], values[1::2], strict=True))


class WindowOp(DefinedOperation):
    """Base of window operations: sizes, strides, padding."""

    window_dimensions = prop_def(DenseArrayBase)
    window_strides = opt_prop_def(DenseArrayBase)
    padding = opt_prop_def(DenseIntOrFPElementsAttr)

    @property
    def sizes(self) -> tuple[int, ...]:
        return ints(self.window_dimensions)

    @property
    def strides(self) -> tuple[int, ...]:
        return self.numbers("window_strides")

    @property
    def borders(self) -> Pairs:
        return _pairs(self.padding, len(self.sizes))

    def numbers(self, name: str) -> tuple[int, ...]:
        given = self.properties.get(name)
        return ints(given) if isinstance(given, DenseArrayBase) else (1,) * len(self.sizes)


class ReduceWindowOp(WindowOp):
    """Reduces each window; in the generic form."""

    name = "stablehlo.reduce_window"
    base_dilations = opt_prop_def(DenseArrayBase)
    window_dilations = opt_prop_def(DenseArrayBase)
    inputs = var_operand_def(TensorType)
    outputs = var_result_def(TensorType)
    body = region_def()


class SelectAndScatterOp(WindowOp):
    """Gradient of max pooling: each source is added where its window's element was chosen."""

    name = "stablehlo.select_and_scatter"
    operand = operand_def(TensorType)
    source = operand_def(TensorType)
    init_value = operand_def(TensorType)
    result = result_def(TensorType)
    select = region_def()
    scatter = region_def()


def match_plain_reduction(op: RegionReduceOp) -> tuple[SSAValue, SSAValue, str] | None:
    """Return operand, start and reducer if one operation reduces one tensor, else None."""
    reducer = reducer_of(op.body)
    if len(op.inputs) != 1 or reducer in (None, "second"):
        return None
    return op.inputs[0], op.inits[0], f"stablehlo.{reducer}"

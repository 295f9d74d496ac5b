"""Operations that move elements, and iota."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from xdsl.dialects.builtin import I64, BoolAttr, DenseArrayBase, IntegerAttr, TensorType, i64
from xdsl.ir import Attribute, Data, SSAValue
from xdsl.irdl import (
    irdl_attr_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import AttrParser, Parser
from xdsl.printer import Printer
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ttl.dialects.building import DefinedOperation

from .calls import CHECKED_INDICES
from .text import (
    SIGNATURE,
    DimOp,
    DimsOp,
    PlainOp,
    RowOp,
    dims,
    element_of,
    format_lists,
    ints,
    parse_names,
    parse_numbers,
    parse_word,
    print_operands,
    print_signature,
    read_op,
    shape_of,
)


class BroadcastInDimOp(DimsOp):
    """Broadcasts: dimension i of the operand becomes dimension dims[i] of the result."""

    name = "stablehlo.broadcast_in_dim"
    broadcast_dimensions = prop_def(DenseArrayBase[I64])
    assembly_format = f"$operand `,` `dims` `=` $broadcast_dimensions {SIGNATURE}"
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


class TransposeOp(DimsOp):
    name = "stablehlo.transpose"
    permutation = prop_def(DenseArrayBase[I64])
    assembly_format = f"$operand `,` `dims` `=` $permutation {SIGNATURE}"
    PROPERTY: ClassVar[str] = "permutation"

    @property
    def row_attributes(self) -> dict[str, object]:
        return {"permutation": list(self.dims)}


class ReshapeOp(PlainOp, RowOp):
    name = "stablehlo.reshape"
    operand = operand_def(TensorType)
    result = result_def(TensorType)

    @property
    def row_attributes(self) -> dict[str, object]:
        return {"shape": list(shape_of(self.result))}


class ConcatenateOp(DimOp):
    """`stablehlo.concatenate %0, %1, dim = 0 : (types) -> type`."""

    name = "stablehlo.concatenate"
    dimension = prop_def(IntegerAttr)
    inputs = var_operand_def(TensorType)
    result = result_def(TensorType)
    PROPERTY: ClassVar[str] = "dimension"

    def print(self, printer: Printer) -> None:
        print_operands(printer, self)
        printer.print_string(f", dim = {self.dim}")
        print_signature(printer, self)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        names = parse_names(parser)
        parse_word(parser, "dim")
        return read_op(cls, parser, names, {"dimension": IntegerAttr(parser.parse_integer(), i64)})


class SliceOp(RowOp):
    """`stablehlo.slice %0 [0:2, 0:8:2] : (type) -> type`."""

    name = "stablehlo.slice"
    start_indices = prop_def(DenseArrayBase)
    limit_indices = prop_def(DenseArrayBase)
    strides = prop_def(DenseArrayBase)
    operand = operand_def(TensorType)
    result = result_def(TensorType)

    @property
    def row_attributes(self) -> dict[str, object]:
        lists = (self.start_indices, self.limit_indices, self.strides)
        return dict(zip(("begins", "ends", "step"), map(list, map(ints, lists)), strict=True))

    @classmethod
    def properties_of(cls, ranges: Sequence[tuple[int, int, int]]) -> dict[str, Attribute]:
        names = ("start_indices", "limit_indices", "strides")
        columns = zip(*ranges, strict=True) if ranges else ((), (), ())
        return {name: dims(column) for name, column in zip(names, columns, strict=True)}

    def print(self, printer: Printer) -> None:
        print_operands(printer, self)
        ranges = zip(*self.row_attributes.values(), strict=True)
        parts = [f"{a}:{b}" if step == 1 else f"{a}:{b}:{step}" for a, b, step in ranges]
        printer.print_string(f" [{', '.join(parts)}]")
        print_signature(printer, self)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        names = [parser.parse_unresolved_operand()]

        def one() -> tuple[int, int, int]:
            start = parser.parse_integer()
            parser.parse_punctuation(":")
            limit = parser.parse_integer()
            has_step = parser.parse_optional_punctuation(":") is not None
            return start, limit, parser.parse_integer() if has_step else 1

        ranges = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, one)
        return read_op(cls, parser, names, cls.properties_of(ranges))


@dataclass(frozen=True, slots=True)
class GatherNumbers:
    offset_dims: tuple[int, ...] = ()
    collapsed_slice_dims: tuple[int, ...] = ()
    operand_batching_dims: tuple[int, ...] = ()
    start_indices_batching_dims: tuple[int, ...] = ()
    start_index_map: tuple[int, ...] = ()
    index_vector_dim: int = 0


@irdl_attr_definition
class GatherDimensions(Data[GatherNumbers]):
    """`#stablehlo.gather<offset_dims = [1], ..., index_vector_dim = 1>`, without empty lists."""

    name = "stablehlo.gather"

    def print_parameter(self, printer: Printer) -> None:
        parts = [*format_lists(self.data), f"index_vector_dim = {self.data.index_vector_dim}"]
        printer.print_string(f"<{', '.join(parts)}>")

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> GatherNumbers:
        return GatherNumbers(**parse_numbers(parser, GatherNumbers, "gather"))


class GatherOp(DefinedOperation):
    """Takes slices of the operand at `start_indices`; in the generic form.

    The subset has gathers of elements along one dimension, `taken`.
    """

    name = "stablehlo.gather"
    dimension_numbers = prop_def(GatherDimensions)
    slice_sizes = prop_def(DenseArrayBase)
    indices_are_sorted = opt_prop_def(BoolAttr)
    operand = operand_def(TensorType)
    start_indices = operand_def(TensorType)
    result = result_def(TensorType)
    traits = traits_def(Pure())

    @classmethod
    def of(cls, operand: SSAValue, dim: int, indices: SSAValue) -> GatherOp:
        """Make a gather of elements along `dim`, which the dimensions of `indices` replace."""
        shape, rank = shape_of(operand), len(shape_of(indices))
        sizes = [1 if d == dim else size for d, size in enumerate(shape)]
        result = (*shape[:dim], *shape_of(indices), *shape[dim + 1 :])
        numbers = GatherNumbers(
            offset_dims=(*range(dim), *range(dim + rank, len(result))),
            collapsed_slice_dims=(dim,),
            start_index_map=(dim,),
            index_vector_dim=rank,
        )
        return cls.create(
            operands=[operand, indices],
            result_types=[TensorType(element_of(operand), result)],
            properties={"dimension_numbers": GatherDimensions(numbers), "slice_sizes": dims(sizes)},
            attributes=CHECKED_INDICES,
        )

    @property
    def taken(self) -> int | None:
        """Dimension along which it takes elements; None for another kind of gather."""
        numbers, shape = self.dimension_numbers.data, shape_of(self.operand)
        if len(numbers.start_index_map) != 1 or numbers.operand_batching_dims:
            return None
        (dim,) = numbers.start_index_map
        wanted = tuple(1 if d == dim else size for d, size in enumerate(shape))
        alike = numbers.collapsed_slice_dims == (dim,) and ints(self.slice_sizes) == wanted
        return dim if alike and 0 <= dim < len(shape) else None

    @property
    def indices_shape(self) -> tuple[int, ...]:
        """Shape of the indices without the dimension of their parts: `taken` needs one part."""
        shape, place = shape_of(self.start_indices), self.dimension_numbers.data.index_vector_dim
        return (*shape[:place], *shape[place + 1 :])

    def verify_(self) -> None:
        if self.taken is None:
            return  # the lowering rejects it
        shape, offsets = shape_of(self.operand), self.dimension_numbers.data.offset_dims
        left = [size for d, size in enumerate(shape) if d != self.taken]
        rank = len(self.indices_shape) + len(left)
        if len(offsets) != len(left) or any(not 0 <= d < rank for d in offsets):
            raise VerifyException(f"{self.name}: {list(offsets)} are not the places of its slices")
        sizes = dict(zip(offsets, left, strict=True))
        others = iter(self.indices_shape)
        wanted = tuple(sizes[d] if d in sizes else next(others) for d in range(rank))
        if shape_of(self.result) != wanted:
            raise VerifyException(f"{self.name} of {shape} gives {wanted}")


class IotaOp(DimOp):
    """Gives each element its position along one dimension."""

    name = "stablehlo.iota"
    iota_dimension = prop_def(IntegerAttr[I64])
    assembly_format = "`dim` `=` $iota_dimension attr-dict `:` type($result)"
    result = result_def(TensorType)
    PROPERTY: ClassVar[str] = "iota_dimension"

    @property
    def row_attributes(self) -> dict[str, object]:
        return {"shape": list(shape_of(self.result)), "dim": self.dim}

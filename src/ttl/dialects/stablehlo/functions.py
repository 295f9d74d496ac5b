"""Functions of each element that have no row of their own: they are put together from others."""

from __future__ import annotations

from abc import ABC

from xdsl.dialects.builtin import TensorType, i1
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from ..definitions import define_operation
from .elementwise import ChloUnaryOp, UnaryOp
from .text import PlainOp, shape_of


class _Truth(IRDLOperation, ABC):
    """A truth for each element."""

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


FUNCTIONS: dict[str, type[IRDLOperation]] = {
    name: define_operation(name, base)
    for base, names in {
        UnaryOp: ("cbrt", "round_nearest_afz", "popcnt", "count_leading_zeros"),
        TruthOp: ("is_finite",),
        ChloUnaryOp: ("square", "lgamma", "digamma"),
        ChloTruthOp: ("is_inf", "is_pos_inf", "is_neg_inf"),
    }.items()
    for name in (f"{'chlo' if 'Chlo' in base.__name__ else 'stablehlo'}.{each}" for each in names)
}


@irdl_op_definition
class BitcastConvertOp(PlainOp):
    """`stablehlo.bitcast_convert %0 : (type) -> type`: the same bits, read as another type."""

    name = "stablehlo.bitcast_convert"
    operand = operand_def(TensorType)
    result = result_def(TensorType)

    def verify_(self) -> None:
        if shape_of(self.operand) != shape_of(self.result):
            raise VerifyException(f"{self.name} of elements of another size is not in the subset")

"""stablehlo: the part of OpenXLA's dialect that PyTorch models need, under the same names.

The text is that of the real dialect, so MLIR reads what is printed here and the other way round.
Functions of `chlo` are here too: the dialect itself has no error function, for example.
"""

from __future__ import annotations

from xdsl.ir import Dialect, Operation

from .calls import FRONTEND_ATTRIBUTES, TT_LANG_TARGET, CustomCallOp, GetTupleElementOp, TupleOp
from .elementwise import (
    BINARY,
    CHLO,
    DIRECTIONS,
    UNARY,
    BinaryOp,
    ClampOp,
    CompareOp,
    ConvertOp,
    SelectOp,
    UnaryOp,
)
from .matrix import ConstantOp, DotGeneralOp, ReduceOp
from .shapes import (
    BroadcastInDimOp,
    ConcatenateOp,
    GatherDimensions,
    GatherOp,
    IotaOp,
    ReshapeOp,
    SliceOp,
    TransposeOp,
)
from .convolution import Axis, ConvolutionDimensions, ConvolutionNumbers, ConvolutionOp
from .text import RowOp, element_of, ints, shape_of, tensor_type

__all__ = [
    "Axis", "ConvolutionDimensions", "ConvolutionNumbers", "ConvolutionOp",
    "BINARY", "CHLO", "DIRECTIONS", "FRONTEND_ATTRIBUTES", "TT_LANG_TARGET", "UNARY", "BinaryOp",
    "BroadcastInDimOp", "ClampOp", "CompareOp", "ConcatenateOp", "ConstantOp", "ConvertOp",
    "CustomCallOp", "DotGeneralOp", "GatherDimensions", "GatherOp", "GetTupleElementOp", "IotaOp",
    "ReduceOp", "ReshapeOp", "RowOp", "SelectOp", "SliceOp", "TransposeOp", "TupleOp", "UnaryOp",
    "element_of", "ints", "make_dialects", "shape_of", "tensor_type",
]  # fmt: skip


def make_dialects() -> list[Dialect]:
    operations: list[type[Operation]] = [
        *UNARY.values(), *BINARY.values(), ConvertOp, ClampOp, CompareOp, SelectOp,
        BroadcastInDimOp, TransposeOp, ReshapeOp, ConcatenateOp, SliceOp, GatherOp, IotaOp,
        ConstantOp, DotGeneralOp, ReduceOp, CustomCallOp, TupleOp, GetTupleElementOp,
        ConvolutionOp,
    ]  # fmt: skip
    return [
        Dialect("stablehlo", operations, [GatherDimensions, ConvolutionDimensions]),
        Dialect("chlo", [*CHLO.values()], []),
    ]

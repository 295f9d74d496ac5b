"""stablehlo: the part of OpenXLA's dialect that PyTorch models need, under the same names.

Uses the real dialect's text, so MLIR reads what is printed here, and the reverse.
Functions of `chlo` are here too: the dialect itself has no error function, for example.
"""

from __future__ import annotations

from xdsl.ir import Attribute, Dialect, Operation

from .calls import (
    CHECKED_INDICES,
    FRONTEND_ATTRIBUTES,
    TT_LANG_TARGET,
    CompositeOp,
    CustomCallOp,
    GetTupleElementOp,
    TupleOp,
    has_checked_indices,
)
from .control import CaseOp, IfOp, OptimizationBarrierOp, ReturnOp, WhileOp
from .convolution import Axis, ConvolutionDimensions, ConvolutionNumbers, ConvolutionOp
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
from .functions import FUNCTIONS, BitcastConvertOp, RngBitGeneratorOp
from .matrix import ConstantOp, DotGeneralOp, ReduceOp
from .places import DynamicSliceOp, DynamicUpdateSliceOp, PadOp, ReverseOp
from .regions import (
    ReduceWindowOp,
    RegionReduceOp,
    ScatterDimensions,
    ScatterOp,
    SelectAndScatterOp,
    SortOp,
    TopKOp,
    reducer_of,
)
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
from .shardings import MeshOp, OutputAliasAttr, ShardingConstraintOp, make_sdy
from .text import PrecisionAttr, RowOp, element_of, ints, shape_of, tensor_type

__all__ = [
    "BINARY",
    "CHECKED_INDICES",
    "CHLO",
    "DIRECTIONS",
    "FRONTEND_ATTRIBUTES",
    "FUNCTIONS",
    "TT_LANG_TARGET",
    "UNARY",
    "Axis",
    "BinaryOp",
    "BitcastConvertOp",
    "BroadcastInDimOp",
    "CaseOp",
    "ClampOp",
    "CompareOp",
    "CompositeOp",
    "ConcatenateOp",
    "ConstantOp",
    "ConvertOp",
    "ConvolutionDimensions",
    "ConvolutionNumbers",
    "ConvolutionOp",
    "CustomCallOp",
    "DotGeneralOp",
    "DynamicSliceOp",
    "DynamicUpdateSliceOp",
    "GatherDimensions",
    "GatherOp",
    "GetTupleElementOp",
    "IfOp",
    "IotaOp",
    "MeshOp",
    "OptimizationBarrierOp",
    "PadOp",
    "ReduceOp",
    "ReduceWindowOp",
    "RegionReduceOp",
    "ReshapeOp",
    "ReturnOp",
    "ReverseOp",
    "RngBitGeneratorOp",
    "RowOp",
    "ScatterDimensions",
    "ScatterOp",
    "SelectAndScatterOp",
    "SelectOp",
    "ShardingConstraintOp",
    "SliceOp",
    "SortOp",
    "TopKOp",
    "TransposeOp",
    "TupleOp",
    "UnaryOp",
    "WhileOp",
    "chlo_operations",
    "element_of",
    "has_checked_indices",
    "ints",
    "make_dialects",
    "reducer_of",
    "shape_of",
    "tensor_type",
]


def chlo_operations() -> dict[str, type[Operation]]:
    """Return chlo's operations by full name."""
    functions = [op for op in FUNCTIONS.values() if op.dialect_name() == "chlo"]
    found: list[type[Operation]] = [*CHLO.values(), *functions, TopKOp]
    return {op.name: op for op in found}


def make_dialects() -> list[Dialect]:
    operations: list[type[Operation]] = [
        *UNARY.values(),
        *BINARY.values(),
        ConvertOp,
        ClampOp,
        CompareOp,
        SelectOp,
        BroadcastInDimOp,
        TransposeOp,
        ReshapeOp,
        ConcatenateOp,
        SliceOp,
        GatherOp,
        IotaOp,
        ConstantOp,
        DotGeneralOp,
        ReduceOp,
        CustomCallOp,
        TupleOp,
        GetTupleElementOp,
        CompositeOp,
        ConvolutionOp,
        PadOp,
        ReverseOp,
        DynamicSliceOp,
        DynamicUpdateSliceOp,
        WhileOp,
        CaseOp,
        IfOp,
        ReturnOp,
        OptimizationBarrierOp,
        BitcastConvertOp,
        SortOp,
        ScatterOp,
        ReduceWindowOp,
        SelectAndScatterOp,
        RngBitGeneratorOp,
    ]
    operations += [op for op in FUNCTIONS.values() if op.dialect_name() == "stablehlo"]
    attributes: list[type[Attribute]] = [
        GatherDimensions,
        ScatterDimensions,
        ConvolutionDimensions,
        PrecisionAttr,
        OutputAliasAttr,
    ]
    return [
        Dialect("stablehlo", operations, attributes),
        Dialect("chlo", [*chlo_operations().values()], []),
        make_sdy(),
    ]

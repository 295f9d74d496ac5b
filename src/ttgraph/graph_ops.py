"""Table of the operations on whole tensors: one row each, from PyTorch to the file.

tt_torch uses it to lower aten to StableHLO, shlo-to-ttir and ttir-to-ttnn to lower that further;
the dialects stablehlo, ttir and ttnn make their operations from it, the flatbuffer is written and
read by it, and the runtime calls the embedded ttnn's function of the same name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ttl.semantics.types import Shape

from . import graph_shapes as shapes
from .graph_shapes import Attributes

ShapeRule = Callable[[Sequence[Shape], Attributes], Shape]


@dataclass(frozen=True, slots=True)
class WireTable:
    """Table of the flatbuffer. `operands` are its fields for operands: `inputs` is a list.

    If operations share a table, `kinds` is the enum of its field `type`, which distinguishes them.
    """

    name: str
    tag: int  # of the table of operations: files contain it, so it never changes
    operands: tuple[str, ...]
    kinds: str = ""


@dataclass(frozen=True, slots=True)
class GraphOp:
    """Operation with one result.

    `attributes` are names with their kinds: int, ints, bool or float. In a file they are fields of
    these names, except `shape`, which is the result's shape.
    """

    name: str  # in ttnn
    table: WireTable
    wire: int  # in the file: the kind's number, or the table's tag; it never changes
    shape: ShapeRule
    stablehlo: str  # the source of this operation, with its direction or reducer
    aten: tuple[str, ...]  # overloads that this operation implements
    attributes: tuple[tuple[str, str], ...]
    ttir: str

    @property
    def wire_attributes(self) -> tuple[tuple[str, str], ...]:
        return tuple(each for each in self.attributes if each[0] != "shape")

    def result_shape(self, given: Sequence[Shape], attributes: Attributes) -> Shape:
        """Return the result's shape; raise ValueError if there is none."""
        is_list, count = self.table.operands == ("inputs",), len(self.table.operands)
        if not given if is_list else len(given) != count:
            raise ValueError(f"{len(given)} operands, not {'one or more' if is_list else count}")
        return self.shape(given, attributes)


# Operations with another name in ttir.
_TTIR = {"divide": "div", "fmod": "remainder", "expand": "broadcast"}


def _row(
    name: str,
    table: WireTable,
    wire: int,
    shape: ShapeRule,
    stablehlo: str = "",
    aten: str = "",
    attributes: str = "",
) -> GraphOp:
    """Make a row. `aten` are overloads without `.default`; `attributes` look like `dim: int`."""
    overloads = tuple(each if "." in each else f"{each}.default" for each in aten.split())
    pairs = (each.split(": ") for each in attributes.split(", ") if each)
    named = tuple((key, kind) for key, kind in pairs)
    return GraphOp(name, table, wire, shape, stablehlo, overloads, named, _TTIR.get(name, name))


_UNARY = WireTable("EltwiseUnaryOp", 40, ("in",), "UnaryKind")
_BINARY = WireTable("EltwiseBinaryOp", 36, ("lhs", "rhs"), "BinaryKind")
_REDUCTION = WireTable("ReductionOp", 201, ("in",), "ReductionKind")


def _unary(name: str, kind: int, stablehlo: str, aten: str) -> GraphOp:
    return _row(name, _UNARY, kind, shapes.broadcast_shape, stablehlo, aten)


def _binary(name: str, kind: int, stablehlo: str, aten: str) -> GraphOp:
    source = f"stablehlo.{stablehlo}" if stablehlo else ""
    return _row(name, _BINARY, kind, shapes.broadcast_shape, source, aten)


def _reduction(name: str, kind: int, reducer: str, aten: str) -> GraphOp:
    source = f"stablehlo.reduce {reducer}"
    attributes = "dim_arg: ints, keep_dim: bool"
    return _row(name, _REDUCTION, kind, shapes.reduce_shape, source, aten, attributes)


def _own(
    name: str,
    tag: int,
    operands: str,
    shape: ShapeRule,
    stablehlo: str = "",
    aten: str = "",
    attributes: str = "",
) -> GraphOp:
    """Make a row with its own table."""
    title = "".join(word.capitalize() for word in name.split("_"))
    table = WireTable(f"{title}Op", tag, tuple(operands.split()))
    return _row(name, table, tag, shape, stablehlo, aten, attributes)


# A window's strides, padding (top, bottom, left, right), and the distance of its elements.
_WINDOW = "stride: ints, padding: ints, dilation: ints, groups: int"

_ROWS = (
    # name in ttnn, wire number, StableHLO, aten
    _unary("abs", 0, "stablehlo.abs", "abs"),
    _unary("neg", 1, "stablehlo.negate", "neg"),
    _unary("exp", 2, "stablehlo.exponential", "exp"),
    _unary("expm1", 3, "stablehlo.exponential_minus_one", "expm1"),
    _unary("log", 4, "stablehlo.log", "log"),
    _unary("log1p", 5, "stablehlo.log_plus_one", "log1p"),
    _unary("tanh", 6, "stablehlo.tanh", "tanh"),
    _unary("sigmoid", 7, "stablehlo.logistic", "sigmoid"),
    _unary("rsqrt", 8, "stablehlo.rsqrt", "rsqrt"),
    _unary("sqrt", 9, "stablehlo.sqrt", "sqrt"),
    _unary("sin", 10, "stablehlo.sine", "sin"),
    _unary("cos", 11, "stablehlo.cosine", "cos"),
    _unary("tan", 12, "stablehlo.tan", "tan"),
    _unary("floor", 13, "stablehlo.floor", "floor"),
    _unary("ceil", 14, "stablehlo.ceil", "ceil"),
    _unary("round", 15, "stablehlo.round_nearest_even", "round"),
    _unary("sign", 16, "stablehlo.sign", ""),  # torch returns 0 for NaN
    _unary("erf", 17, "chlo.erf", "erf"),
    _unary("erfc", 18, "chlo.erfc", "erfc"),
    _unary("logical_not", 19, "stablehlo.not", "logical_not bitwise_not"),
    _unary("acos", 20, "chlo.acos", "acos"),
    _unary("acosh", 21, "chlo.acosh", "acosh"),
    _unary("asin", 22, "chlo.asin", "asin"),
    _unary("asinh", 23, "chlo.asinh", "asinh"),
    _unary("atan", 24, "chlo.atan", "atan"),
    _unary("atanh", 25, "chlo.atanh", "atanh"),
    _unary("cosh", 26, "chlo.cosh", "cosh"),
    _unary("sinh", 27, "chlo.sinh", "sinh"),
    _unary("bitwise_not", 28, "", ""),  # of integers, in StableHLO the same as logical_not
    _unary("erfinv", 29, "chlo.erf_inv", "erfinv"),
    _unary("gelu", 40, "", ""),  # patterns of ttir-fuse-activations
    _unary("silu", 41, "", ""),
    _unary("gelu_tanh", 42, "", ""),
    _binary("add", 0, "add", "add.Tensor add.Scalar"),
    _binary("subtract", 1, "subtract", "sub.Tensor sub.Scalar"),
    _binary("multiply", 2, "multiply", "mul.Tensor mul.Scalar"),
    _binary("divide", 3, "divide", "div.Tensor div.Scalar"),
    _binary("maximum", 4, "maximum", "maximum"),
    _binary("minimum", 5, "minimum", "minimum"),
    _binary("pow", 6, "power", "pow.Tensor_Tensor pow.Scalar"),
    _binary("fmod", 7, "remainder", "fmod.Tensor fmod.Scalar"),
    _binary("logical_and", 8, "and", "logical_and bitwise_and.Tensor bitwise_and.Scalar"),
    _binary("logical_or", 9, "or", "logical_or bitwise_or.Tensor bitwise_or.Scalar"),
    _binary("logical_xor", 10, "xor", "logical_xor bitwise_xor.Tensor bitwise_xor.Scalar"),
    _binary("eq", 11, "compare EQ", "eq.Tensor eq.Scalar"),
    _binary("ne", 12, "compare NE", "ne.Tensor ne.Scalar"),
    _binary("gt", 13, "compare GT", "gt.Tensor gt.Scalar"),
    _binary("ge", 14, "compare GE", "ge.Tensor ge.Scalar"),
    _binary("lt", 15, "compare LT", "lt.Tensor lt.Scalar"),
    _binary("le", 16, "compare LE", "le.Tensor le.Scalar"),
    _binary("bitwise_and", 17, "", ""),  # of integers: in StableHLO the same as logical_and
    _binary("bitwise_or", 18, "", ""),
    _binary("bitwise_xor", 19, "", ""),
    _binary(
        "bitwise_left_shift",
        20,
        "shift_left",
        "bitwise_left_shift.Tensor bitwise_left_shift.Tensor_Scalar "
        "__lshift__.Tensor __lshift__.Scalar",
    ),
    _binary(
        "bitwise_right_shift",
        21,
        "shift_right_arithmetic",
        "bitwise_right_shift.Tensor bitwise_right_shift.Tensor_Scalar "
        "__rshift__.Tensor __rshift__.Scalar",
    ),
    _binary("logical_right_shift", 22, "shift_right_logical", ""),
    _binary("atan2", 23, "atan2", "atan2"),
    _reduction("sum", 0, "add", "sum.dim_IntList"),
    _reduction("max", 1, "maximum", "amax max"),
    _reduction("min", 2, "minimum", "amin min"),
    _reduction("prod", 3, "multiply", "prod.dim_int prod"),
    # name in ttnn, wire number, operands, shape, StableHLO, aten, attributes
    _own(
        "where",
        200,
        "predicate on_true on_false",
        shapes.broadcast_shape,
        "stablehlo.select",
        "where.self",
    ),
    _own("matmul", 62, "a b", shapes.matmul_shape, "stablehlo.dot_general", "mm bmm"),
    _own(
        "reshape",
        202,
        "in",
        shapes.reshape_shape,
        "stablehlo.reshape",
        "view unsqueeze squeeze.dims",
        "shape: ints",
    ),
    _own(
        "expand",
        203,
        "in",
        shapes.expand_shape,
        "stablehlo.broadcast_in_dim",
        "expand",
        "shape: ints",
    ),
    _own(
        "permute",
        204,
        "in",
        shapes.permute_shape,
        "stablehlo.transpose",
        "permute",
        "permutation: ints",
    ),
    _own("concat", 205, "inputs", shapes.concat_shape, "stablehlo.concatenate", "cat", "dim: int"),
    _own(
        "slice",
        206,
        "in",
        shapes.slice_shape,
        "stablehlo.slice",
        "slice.Tensor",
        "begins: ints, ends: ints, step: ints",
    ),
    _own("embedding", 210, "in weight", shapes.embedding_shape, "stablehlo.gather", "embedding"),
    _own("conv2d", 220, "in weight", shapes.conv2d_shape, "stablehlo.convolution", "", _WINDOW),
    _own(
        "conv_transpose2d",
        221,
        "in weight",
        shapes.conv_transpose2d_shape,
        "",
        "",
        f"{_WINDOW}, output_padding: ints",
    ),
    # Sorting, and elements at positions computed at run time, along one dimension.
    _own("argsort", 222, "in", shapes.along_shape, "", "", "dim: int, descending: bool"),
    _own("gather", 223, "in index", shapes.gather_shape, "", "", "dim: int"),
    _own(
        "scatter", 224, "in index source", shapes.scatter_shape, "", "", "dim: int, reduce: int"
    ),  # reduce is an index into graph_shapes.REDUCES
    _own("cumsum", 225, "in", shapes.along_shape, "", "", "dim: int"),
    _own("cumprod", 226, "in", shapes.along_shape, "", "", "dim: int"),
    _own(
        "typecast",
        114,
        "in",
        shapes.broadcast_shape,
        "stablehlo.convert",
        "clone alias lift_fresh_copy _to_copy",
    ),
    _own("bitcast", 230, "in", shapes.broadcast_shape, "stablehlo.bitcast_convert"),
    _own(
        "random_bits",
        237,
        "in",
        shapes.random_bits_shape,
        "stablehlo.rng_bit_generator",
        "",
        "shape: ints",
    ),
    # Patterns of the passes ttir-fuse-*; optional operands come last.
    _own("softmax", 231, "in", shapes.along_shape, "", "", "dim: int"),
    _own("rms_norm", 232, "inputs", shapes.norm_shape, "", "", "epsilon: float"),
    _own("layer_norm", 233, "inputs", shapes.norm_shape, "", "", "epsilon: float"),
    _own("linear", 234, "inputs", shapes.linear_shape, "", "", "transpose_b: bool"),
    _own(
        "scaled_dot_product_attention",
        235,
        "inputs",
        shapes.attention_shape,
        "",
        "",
        "is_causal: bool, scale: float",
    ),
    _own("rotary_embedding", 236, "in cos sin", shapes.rotary_shape),
    _own("assign", 207, "in", shapes.broadcast_shape),
    _own("to_layout", 111, "in", shapes.broadcast_shape),
    _own(
        "full",
        49,
        "",
        shapes.given_shape,
        "stablehlo.constant",
        "full full_like",
        "shape: ints, fill_value: float",
    ),
    _own(
        "arange",
        208,
        "",
        shapes.arange_shape,
        "stablehlo.iota",
        "arange.start_step",
        "shape: ints, dim: int",
    ),
    _own(
        "empty",
        43,
        "",
        shapes.given_shape,
        "",
        "empty.memory_format empty_strided empty_permuted new_empty_strided",
        "shape: ints",
    ),
)

GRAPH_OPS: dict[str, GraphOp] = {row.name: row for row in _ROWS}
BY_STABLEHLO: dict[str, GraphOp] = {row.stablehlo: row for row in _ROWS if row.stablehlo}
UNARY = tuple(row.name for row in _ROWS if row.table is _UNARY)
BINARY = tuple(row.name for row in _ROWS if row.table is _BINARY)
REDUCTIONS = tuple(row.name for row in _ROWS if row.table is _REDUCTION)

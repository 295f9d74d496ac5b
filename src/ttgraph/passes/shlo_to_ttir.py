"""shlo-to-ttir: StableHLO becomes ttir, with one ttir.tt_lang_op for each call of one.

Composes operations without a counterpart from others: a general product from permutations, reshapes
and a matrix product, a reduction with a start value from one without, and so on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf, prod
from typing import Any

from xdsl.dialects import func
from xdsl.dialects.builtin import (
    AnyFloat,
    ComplexType,
    DictionaryAttr,
    FunctionType,
    IntegerType,
    ModuleOp,
    Signedness,
    StringAttr,
    TensorType,
    TupleType,
    f32,
    i1,
)
from xdsl.ir import Attribute, Operation, SSAValue

from ttgraph.dialects import stablehlo, ttir
from ttgraph.dialects.graph import Tensor, as_text
from ttgraph.dialects.stablehlo import element_of, ints, shape_of, tensor_type
from ttgraph.graph_ops import BY_STABLEHLO
from ttl.diagnostics import CompileError, codes
from ttl.passes.module_pass import Maker, cannot_compile, erase

from . import shlo_along, shlo_convolutions
from .graph_maker import REDUCERS, Graph, no_counterpart, tensor_like
from .shardings import refuse_shardings
from .shlo_functions import bitcast, function, random_bits
from .shlo_orders import place_of_extreme, sort, top_k
from .shlo_places import dynamic_slice, dynamic_update_slice, pad, reverse
from .shlo_windows import select_and_scatter


def apply(op: ModuleOp) -> None:
    refuse_shardings(op)
    for each in [each for each in op.body.walk() if isinstance(each, func.FuncOp)]:
        _Conversion(each).run()


@dataclass
class _Conversion:
    """Converts one function. `tuples` has the elements of each tuple."""

    function: func.FuncOp
    tuples: dict[SSAValue, list[SSAValue]] = field(default_factory=dict)

    def run(self) -> None:
        if self.function.is_declaration:
            return
        for op in list(self.function.body.block.ops):
            if isinstance(op, func.ReturnOp):
                self._return(op)
            elif op.dialect_name() in ("stablehlo", "chlo"):
                self._convert(op)
            elif op.dialect_name() not in ("ttir", "builtin"):
                raise no_counterpart(op)
        for op in reversed(list(self.function.body.block.ops)):
            if op.dialect_name() in ("stablehlo", "chlo"):
                erase(op)

    def _convert(self, op: Operation) -> None:
        if isinstance(op, stablehlo.TupleOp):
            self.tuples[op.result] = list(op.val)
        elif isinstance(op, stablehlo.GetTupleElementOp):
            if op.operand not in self.tuples:
                raise no_counterpart(op, "a tuple that is an argument, or one in another")
            op.result.replace_all_uses_with(self.tuples[op.operand][op.index.value.data])
        elif isinstance(op, stablehlo.CustomCallOp):
            self._call(op)
        elif any(isinstance(_element(each), ComplexType) for each in (*op.operands, *op.results)):
            raise no_counterpart(op, f"{op.name} of complex numbers")
        else:
            graph = Graph(Maker.before(op))
            found = _CONVERTERS.get(type(op), _convert_row)(graph, op)
            values = found if isinstance(found, list) else [_wrap(graph, op, found)]
            for old, new in zip(op.results, values, strict=True):
                old.replace_all_uses_with(new)

    def _call(self, op: stablehlo.CustomCallOp) -> None:
        made = _tt_lang_op(op)
        results: list[SSAValue] = list(made.results)
        if len(op.outputs) == 1 and isinstance(op.outputs[0].type, TupleType):
            self.tuples[op.outputs[0]] = results
        else:
            for old, new in zip(op.outputs, results, strict=True):
                old.replace_all_uses_with(new)

    def _return(self, op: func.ReturnOp) -> None:
        """Return the elements of a tuple as several results."""
        values = [part for value in op.operands for part in self.tuples.get(value, [value])]
        if len(values) != len(op.operands):
            Maker.before(op).add(func.ReturnOp(*values))
            erase(op)
        inputs = list(self.function.function_type.inputs)
        self.function.function_type = FunctionType.from_lists(inputs, [v.type for v in values])


def _element(value: SSAValue) -> Attribute | None:
    return value.type.get_element_type() if isinstance(value.type, TensorType) else None


Converter = Callable[[Graph, Any], SSAValue | list[SSAValue]]


def _convert_row(graph: Graph, op: Operation) -> SSAValue:
    """Convert an operation that is one row of the table."""
    key = op.name
    if isinstance(op, stablehlo.CompareOp):
        key += f" {op.comparison_direction.data}"
    row = BY_STABLEHLO.get(key)
    if row is None:
        raise no_counterpart(op)
    name = row.name
    if key in _OF_BITS and element_of(op.results[0]) != i1:
        name = name.replace("logical_", "bitwise_")
    attributes = op.row_attributes if isinstance(op, stablehlo.RowOp) else {}
    return graph.add(name, list(op.operands), tensor_type(op.results[0]), **attributes)


# Logical for booleans, bitwise for integers.
_OF_BITS = ("stablehlo.not", "stablehlo.and", "stablehlo.or", "stablehlo.xor")


# The chip has no signed 8 or 16 bits: such numbers are 32 bits there, and only these operations
# can overflow the narrower type.
_GROWING = (
    "abs",
    "add",
    "convert",
    "divide",
    "dot_general",
    "multiply",
    "negate",
    "power",
    "reduce",
    "shift_left",
    "subtract",
)


def _wrap(graph: Graph, op: Operation, value: SSAValue) -> SSAValue:
    """Wrap around numbers that do not fit an integer's bits."""
    element, type = element_of(value), tensor_type(value)
    if not isinstance(element, IntegerType) or element.signedness.data is Signedness.UNSIGNED:
        return value
    if element.width.data not in (8, 16) or op.name.partition(".")[2] not in _GROWING:
        return value
    span = float(2**element.width.data)

    def number(amount: float) -> SSAValue:
        return graph.full(amount, tensor_like(value, ()))

    moved = graph.add("add", [value, number(span / 2)], type)
    rest = graph.add("fmod", [moved, number(span)], type)
    is_below = graph.add("lt", [rest, number(0)], TensorType(i1, shape_of(value)))
    rest = graph.add("where", [is_below, graph.add("add", [rest, number(span)], type), rest], type)
    return graph.add("subtract", [rest, number(span / 2)], type)


# Operations with their own form -------------------------------------------------------------------


def _convert_type(graph: Graph, op: stablehlo.ConvertOp) -> SSAValue:
    if op.operand.type == op.result.type:
        return op.operand
    if element_of(op.result) == i1:  # true unless zero, not the last bit
        zero = graph.full(0, tensor_like(op.operand, ()))
        return graph.add("ne", [op.operand, zero], op.result.type)
    value, element = op.operand, element_of(op.result)
    is_float = isinstance(element_of(value), AnyFloat)
    if is_float and isinstance(element, IntegerType) and element.width.data in (8, 16):
        value = _saturate(graph, value, element)
    return graph.add("typecast", [value], op.result.type)


def _saturate(graph: Graph, value: SSAValue, element: IntegerType) -> SSAValue:
    """Saturate numbers that do not fit, and turn NaN into zero, like XLA."""
    type = TensorType(f32, shape_of(value))
    value = value if value.type == type else graph.add("typecast", [value], type)
    is_unsigned = element.signedness.data is Signedness.UNSIGNED
    span = 2**element.width.data
    low = 0 if is_unsigned else -span // 2
    number = tensor_like(value, ())
    is_none = graph.add("ne", [value, value], TensorType(i1, shape_of(value)))
    value = graph.add("where", [is_none, graph.full(0, number), value], type)
    value = graph.add("maximum", [value, graph.full(low, number)], type)
    return graph.add("minimum", [value, graph.full(low + span - 1, number)], type)


def _clamp(graph: Graph, op: stablehlo.ClampOp) -> SSAValue:
    low = graph.add("maximum", [op.operand, op.min], op.result.type)
    return graph.add("minimum", [low, op.max], op.result.type)


def _broadcast(graph: Graph, op: stablehlo.BroadcastInDimOp) -> SSAValue:
    """Insert sizes of 1 for missing dimensions, then expand."""
    given, wanted = shape_of(op.operand), shape_of(op.result)
    order = tuple(sorted(range(len(op.dims)), key=lambda dim: op.dims[dim]))
    value = graph.permute(op.operand, order)
    sizes = [1] * len(wanted)
    for dim, place in enumerate(op.dims):
        sizes[place] = given[dim]
    value = graph.reshape(value, tuple(sizes))
    if shape_of(value) == wanted:
        return value
    return graph.add("expand", [value], op.result.type, shape=list(wanted))


def _divide(graph: Graph, op: stablehlo.BinaryOp) -> SSAValue:
    """Divide; for integers, towards 0, by subtracting the remainder first."""
    value = op.lhs
    if not isinstance(element_of(op.result), AnyFloat):
        rest = graph.add("fmod", [op.lhs, op.rhs], op.result.type)
        value = graph.add("subtract", [op.lhs, rest], op.result.type)
    return graph.add("divide", [value, op.rhs], op.result.type)


def _constant(graph: Graph, op: stablehlo.ConstantOp) -> SSAValue:
    if prod(shape_of(op.result)) and op.value.is_splat():
        value = op.value.get_values()[0]
        is_truth = element_of(op.result) == i1  # whose bits may be -1
        return graph.full(float(bool(value) if is_truth else value), op.result.type)
    made = ttir.ConstantOp.create(result_types=[op.result.type], attributes={"value": op.value})
    return graph.maker.value(made)


def _dot_general(graph: Graph, op: stablehlo.DotGeneralOp) -> SSAValue:
    (left_batch, right_batch), (left_gone, right_gone) = op.batching, op.contracting
    left_free, right_free = op.free
    left, right = shape_of(op.lhs), shape_of(op.rhs)
    batch = (prod(left[dim] for dim in left_batch),) if left_batch else ()
    rows = prod(left[dim] for dim in left_free)
    columns = prod(right[dim] for dim in right_free)
    inner = prod(left[dim] for dim in left_gone)
    a = graph.permute(op.lhs, (*left_batch, *left_free, *left_gone))
    b = graph.permute(op.rhs, (*right_batch, *right_gone, *right_free))
    a = graph.reshape(a, (*batch, rows, inner))
    b = graph.reshape(b, (*batch, inner, columns))
    product = graph.add("matmul", [a, b], tensor_like(op.result, (*batch, rows, columns)))
    return graph.reshape(product, shape_of(op.result))


def _reduce(graph: Graph, op: stablehlo.ReduceOp) -> SSAValue:
    reducer = op.reducer.data.removeprefix("stablehlo.")
    if reducer not in REDUCERS or (reducer in ("and", "or") and element_of(op.result) != i1):
        raise no_counterpart(op, f"a reduction that applies {op.reducer.data}")
    pair, neutral = REDUCERS[reducer]
    dims, value = list(ints(op.dimensions)), op.input
    if dims:
        name = BY_STABLEHLO[f"stablehlo.reduce {pair}"].name
        value = graph.add(name, [value], op.result.type, dim_arg=dims, keep_dim=False)
    if _is_neutral(op.init, neutral):
        return value
    return graph.add(pair, [value, op.init], op.result.type)


def _is_neutral(init: SSAValue, neutral: float) -> bool:
    made = init.owner
    if not isinstance(made, ttir.MATH["full"]):
        return False
    value = made.values()["fill_value"]
    element = element_of(init)
    if isinstance(element, IntegerType) and abs(neutral) == inf:
        bits = element.width.data
        return bool(value == (-(2.0 ** (bits - 1)) if neutral < 0 else float(2 ** (bits - 1) - 1)))
    return bool(value == neutral)


_CONVERTERS: dict[type[Operation], Converter] = {
    stablehlo.ConvertOp: _convert_type,
    stablehlo.ClampOp: _clamp,
    stablehlo.BroadcastInDimOp: _broadcast,
    stablehlo.TransposeOp: lambda graph, op: graph.permute(op.operand, op.dims),
    stablehlo.ReshapeOp: lambda graph, op: graph.reshape(op.operand, shape_of(op.result)),
    stablehlo.PadOp: pad,
    stablehlo.ReverseOp: reverse,
    stablehlo.DynamicSliceOp: dynamic_slice,
    stablehlo.DynamicUpdateSliceOp: dynamic_update_slice,
    stablehlo.BitcastConvertOp: bitcast,
    stablehlo.RngBitGeneratorOp: random_bits,
    stablehlo.SelectAndScatterOp: select_and_scatter,
    stablehlo.SortOp: sort,
    stablehlo.TopKOp: top_k,
    stablehlo.RegionReduceOp: place_of_extreme,
    **dict.fromkeys(stablehlo.FUNCTIONS.values(), function),
    stablehlo.BINARY["divide"]: _divide,
    stablehlo.ConstantOp: _constant,
    stablehlo.DotGeneralOp: _dot_general,
    stablehlo.ReduceOp: _reduce,
    **shlo_convolutions.CONVERTERS,
    **shlo_along.CONVERTERS,
}


# Calls --------------------------------------------------------------------------------------------

_REQUIRED = ("kernel_id", "version_tag", "arg_roles")


def _tt_lang_op(op: stablehlo.CustomCallOp) -> ttir.TTLangOp:
    if op.call_target_name.data != stablehlo.TT_LANG_TARGET:
        raise no_counterpart(op, f"a call of @{op.call_target_name.data}")
    attributes = _frontend_attributes(op)
    roles = [role.strip() for role in attributes["arg_roles"].data.split(",")]
    types = _result_types(op)
    ins, outs = roles.count("in"), roles.count("out")
    if not outs or outs != len(types):
        raise _wrong_call(op, f"{outs} operands are `out`, and it has {len(types)} results")
    inputs = list(op.inputs)
    if len(inputs) == ins:  # outputs are missing: make them
        graph = Graph(Maker.before(op))
        inputs += [graph.add("empty", [], t, shape=list(t.get_shape())) for t in types]
    elif len(inputs) != ins + outs:
        raise _wrong_call(
            op, f"it has {len(inputs)} operands, and its roles are {', '.join(roles)}"
        )
    made = ttir.TTLangOp.create(operands=inputs, result_types=types, attributes=attributes)
    Maker.before(op).add(made)
    return made


def _frontend_attributes(op: stablehlo.CustomCallOp) -> dict[str, Any]:
    given = op.attributes.get(stablehlo.FRONTEND_ATTRIBUTES)
    pairs = given.data.items() if isinstance(given, DictionaryAttr) else ()
    found = {name: as_text(value) for name, value in pairs}
    for name in _REQUIRED:
        value = found.get(name)
        if not isinstance(value, StringAttr) or not value.data:
            raise _wrong_call(op, f"it has no `{name}` in {stablehlo.FRONTEND_ATTRIBUTES}")
    spec = found.get("shard_spec", StringAttr(""))
    return {**{name: found[name] for name in _REQUIRED}, "shard_spec": spec}


def _result_types(op: stablehlo.CustomCallOp) -> list[Tensor]:
    types: list[Attribute] = [result.type for result in op.outputs]
    if len(types) == 1 and isinstance(types[0], TupleType):
        types = list(types[0].types)
    tensors = [type for type in types if isinstance(type, TensorType)]
    if len(tensors) != len(types):
        raise _wrong_call(op, "its results are not tensors")
    return tensors


def _wrong_call(op: Operation, problem: str) -> CompileError:
    message = f"this call of @{stablehlo.TT_LANG_TARGET} is wrong: {problem}"
    return cannot_compile(codes.WRONG_TT_LANG_CALL.broken(message), op)

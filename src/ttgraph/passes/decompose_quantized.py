"""Part of ttir-to-ttir-decomposition: numbers in steps of a scale, from a zero point on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from xdsl.dialects import func
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    FunctionType,
    ModuleOp,
    TensorType,
    f32,
    i32,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import Rewriter

from ttgraph.dialects import ttir
from ttgraph.dialects.graph import shape_of
from ttgraph.dialects.quantized import steps_of, stored

from .decompose_call import FormCall, in_range
from .decompose_elementwise import Rule
from .graph_maker import Graph

# Operations that only move elements keep the steps.
_MOVES = (
    "reshape",
    "transpose",
    "permute",
    "squeeze",
    "unsqueeze",
    "concat",
    "slice_static",
)


def refuse_quantized(call: FormCall) -> None:
    """Raise ValueError if an operation would have to compute with different steps."""
    types = (*call.types, *(result.type for result in call.op.results))
    if call.name not in (*_MOVES, *RULES) and any(map(steps_of, types)):
        raise ValueError("it calculates with quantized numbers")


def store_results(op: Operation, types: tuple[Attribute, ...]) -> None:
    """Set stored types of an operation that is kept; raise ValueError like refuse_quantized()."""
    refuse_quantized(FormCall(op, (), {}, types))
    for result in list(op.results):
        if (type := stored(result.type)) != result.type:
            Rewriter.replace_value_with_new_type(result, type)


def store_quantized(module: ModuleOp) -> None:
    """Set stored types of function arguments and signatures."""
    for op in list(module.walk()):
        if not isinstance(op, func.FuncOp):
            continue
        given = op.function_type
        lists = [[stored(each) for each in part] for part in (given.inputs, given.outputs)]
        op.properties["function_type"] = FunctionType.from_lists(*lists)
        for argument in () if op.is_declaration else op.body.blocks[0].args:
            if (type := stored(argument.type)) != argument.type:
                Rewriter.replace_value_with_new_type(argument, type)


# Rules --------------------------------------------------------------------------------------------


def _numbers(graph: Graph, values: Sequence[float], rank: int, axis: int | None) -> SSAValue:
    """Make a constant that broadcasts to a tensor along its axis."""
    type = TensorType(f32, (len(values),))
    value = DenseIntOrFPElementsAttr.from_list(type, [float(each) for each in values])
    op = ttir.ConstantOp.create(attributes={"value": value}, result_types=[type])
    return _along(graph, graph.maker.value(op), rank, axis)


def _along(graph: Graph, values: SSAValue, rank: int, axis: int | None) -> SSAValue:
    sizes = [1] * rank
    (count,) = shape_of(values) or (1,)
    if axis is not None:
        sizes[in_range(axis, rank)] = count
    elif count != 1:
        raise ValueError(f"{count} scales without an axis")
    return graph.reshape(graph.cast(values, f32), tuple(sizes))


@dataclass(frozen=True, slots=True)
class _Scale:
    step: SSAValue
    zero: SSAValue


def _scale_of(graph: Graph, call: FormCall, type: Attribute) -> _Scale:
    steps = steps_of(type)
    if steps is None:
        raise ValueError(f"{type} has no scale")
    lists: Any = (steps.scales, steps.zeros)
    return _Scale(*(_numbers(graph, each, call.rank, steps.axis) for each in lists))


def _scale_given(graph: Graph, call: FormCall, position: int) -> _Scale:
    pair = (call.given(position), call.given(position + 1))
    return _Scale(*(_along(graph, each, call.rank, call.values["axis"]) for each in pair))


def _to_steps(graph: Graph, call: FormCall, value: SSAValue, scale: _Scale) -> SSAValue:
    found = graph.unary("round", graph.binary("divide", value, scale.step))
    found = graph.binary("add", found, scale.zero)
    steps = steps_of(call.op.results[0].type)
    if steps is not None and steps.high < 1 << 24:  # float32 is exact up to there
        found = graph.binary("maximum", found, float(steps.low))
        found = graph.binary("minimum", found, float(steps.high))
    return graph.cast(found, i32)


def _from_steps(graph: Graph, value: SSAValue, scale: _Scale) -> SSAValue:
    numbers = graph.binary("subtract", graph.cast(value, f32), scale.zero)
    return graph.binary("multiply", numbers, scale.step)


def _quantize(graph: Graph, call: FormCall) -> SSAValue:
    is_given = call.name.endswith("_unrolled")
    type = call.op.results[0].type
    scale = _scale_given(graph, call, 1) if is_given else _scale_of(graph, call, type)
    return _to_steps(graph, call, graph.cast(call.first, f32), scale)


def _dequantize(graph: Graph, call: FormCall) -> SSAValue:
    is_given = call.name.endswith("_unrolled")
    scale = _scale_given(graph, call, 1) if is_given else _scale_of(graph, call, call.types[0])
    return _from_steps(graph, call.first, scale)


def _requantize(graph: Graph, call: FormCall) -> SSAValue:
    if call.name.endswith("_unrolled"):
        before, after = _scale_given(graph, call, 1), _scale_given(graph, call, 3)
    else:
        before = _scale_of(graph, call, call.types[0])
        after = _scale_of(graph, call, call.op.results[0].type)
    return _to_steps(graph, call, _from_steps(graph, call.first, before), after)


RULES: dict[str, Rule] = {
    "quantize": _quantize,
    "quantize_unrolled": _quantize,
    "dequantize": _dequantize,
    "dequantize_unrolled": _dequantize,
    "requantize": _requantize,
    "requantize_unrolled": _requantize,
}

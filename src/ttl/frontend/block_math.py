"""Block values in a kernel: operators, functions and stores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any, TypeGuard

import numpy as np
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FloatAttr,
    IntegerAttr,
    UnitAttr,
    f32,
    f64,
    i64,
)
from xdsl.ir import Attribute

from ttl.diagnostics import RuleBroken, wrong_argument
from ttl.dialects import ttl
from ttl.dialects.ttcore import block_type, tensor_of
from ttl.language import BlockExpression
from ttl.language.described import described, help_with
from ttl.semantics.dtypes import DType, bfloat16
from ttl.semantics.kernel_kinds import KernelKind
from ttl.semantics.ops import (
    BLOCK_OPS,
    FILL_BLOCK,
    BlockOp,
    ParameterKind,
    bind,
    is_complete,
    is_number,
    operand_dtype,
    refuse_integers,
    result_type,
    store_type,
)
from ttl.semantics.ops.compositions import fits_scaler_tile
from ttl.semantics.ops.reduce import REDUCTIONS
from ttl.semantics.ops.rules import normal_dims, shapeless_value
from ttl.semantics.ops.wanted import fill_helps, helps_instead, takes_number
from ttl.semantics.types import BlockType, Shape, at_least_matrix

from .block_shapes import complete_shape
from .builder import KernelBuilder
from .hir import (
    BlockValue,
    HeldBlock,
    Number,
    Op,
    RunTime,
    Scalar,
    SliceValue,
    StandIn,
    Value,
    kind_of,
)
from .in_python import example
from .problems import describe, flow_broken, not_yet
from .scalars import as_kind
from .value_ranges import as_constant


class Fill(StandIn):
    """A fill whose shape or element type is still unknown.
    Its value is a number, or a scalar that is known when the kernel runs."""

    described = "a fill without a shape"
    python_class: type = BlockExpression

    def __init__(self, value: Number, shape: Shape | None, dtype: DType | None = None):
        self.value = value
        self.type = BlockType(shape, dtype)


class FillExpression(Fill):
    """An operation on fills alone, which is made when it meets a value with a shape."""

    def __init__(
        self, op: BlockOp, operands: list[Value], type: BlockType, parameters: dict[str, Value]
    ):
        self.op, self.operands, self.parameters = op, operands, parameters
        self.type = type


def is_block(value: Value) -> TypeGuard[Fill | BlockValue]:
    """Is it a block, a block expression or a fill?"""
    return isinstance(value, (Fill, BlockValue)) and not isinstance(value, SliceValue)


def store(builder: KernelBuilder, block: BlockValue, value: Value, *, acc: Value = False) -> None:
    builder.require(KernelKind.COMPUTE, "store()")
    if not as_constant(builder, acc, "a store whose `acc` is known only at run time"):
        _store(builder, block, value)
    elif isinstance(block, HeldBlock):
        accumulate(builder, block, value)
    else:
        raise flow_broken("a sum in a block that a loop or a condition carries")


def accumulate(builder: KernelBuilder, block: HeldBlock, value: Value) -> None:
    """Evaluate `block += value`: add into a reserved block, store the sum in a waited one."""
    builder.require(KernelKind.COMPUTE, "`+=` on a block")
    if block.is_waited:
        store(builder, block, block_math(builder, BLOCK_OPS["add"], [block, value]))
    else:
        value = _fill_of(value) or value
        _store(builder, block, value).properties["accumulate"] = UnitAttr()


def _store(builder: KernelBuilder, block: BlockValue, value: Value) -> Op:
    type = block_type(block.type)
    operand = block_operand(builder, value, type)
    store_type(block_type(operand.type), type)
    operand = _of_rank(builder, operand, len(type.shape or ()))
    if isinstance(block, HeldBlock):
        block.is_stored = True
    return builder.emit(ttl.StoreOp, [operand, block])


def block_math(
    builder: KernelBuilder,
    op: BlockOp,
    operands: list[Value],
    parameters: dict[str, Value] | None = None,
) -> Value:
    """Evaluate an operation of the op table by the table's type rule."""
    builder.require(KernelKind.COMPUTE, op.spelling)
    if builder.device_api not in op.tile:
        raise not_yet(f"`{op.operator or op.spelling}` of blocks")
    if len(operands) != op.operands:
        raise wrong_argument(f"{op.name} takes {op.operands} operands")
    operands = _with_numbers_as_fills(op, operands)
    types = [operand_type(operand) for operand in operands]
    result = result_type(op, types, parameters or {})
    dtype = operand_dtype(types) or result.dtype
    if dtype is not None and op.tile[builder.device_api].of(dtype) is None:
        raise refuse_integers(op, dtype)
    if result.shape is None or result.dtype is None:
        value: Value = FillExpression(op, operands, result, parameters or {})
    elif op.name in REDUCTIONS:
        value = _reduction(builder, op, operands, result, parameters or {})
    else:
        value = _emit(builder, op, operands, result, parameters)
    _follow_shapeless(builder, operands, value)
    return value


def _follow_shapeless(
    builder: KernelBuilder, operands: Sequence[Value], result: Value | None = None
) -> None:
    """Stop tracking operands without a shape; track the result if it has none either."""
    for operand in operands:
        if isinstance(operand, (Fill, RunTime)):
            builder.state.shapeless.pop(operand, None)
    if result is not None and not is_complete(operand_type(result).shape):
        builder.state.shapeless[result] = builder.place


def refuse_shapeless(builder: KernelBuilder) -> None:
    """Report values that met nothing with a shape by the end of the kernel."""
    for place in builder.state.shapeless.values():
        assert place is not None
        builder.frame, builder.node = place.frame, place.node
        builder.report(builder.mistake(shapeless_value()))


def _emit(
    builder: KernelBuilder,
    op: BlockOp,
    operands: list[Value],
    result: BlockType,
    parameters: dict[str, Value] | None = None,
) -> BlockValue:
    assert result.shape is not None and result.dtype is not None
    values = [block_operand(builder, operand, result) for operand in operands]
    if op.elementwise and len(values) > 1:
        values = [_of_rank(builder, value, len(result.shape)) for value in values]
    type = tensor_of(result.shape, result.dtype)
    attributes = _attributes(op, parameters or {}, block_type(values[0].type).dtype)
    properties = {"parameters": DictionaryAttr(attributes)} if attributes else {}
    return builder.block_value(ttl.BLOCK_MATH[op.name], values, type, properties)


def _of_rank(builder: KernelBuilder, value: BlockValue, rank: int) -> BlockValue:
    """Give a value leading dimensions up to this rank."""
    type = block_type(value.type)
    assert type.shape is not None
    missing = rank - len(type.shape)
    if missing <= 0:
        return value
    result = BlockType((1,) * missing + type.shape, type.dtype)
    return _emit(builder, BLOCK_OPS["unsqueeze"], [value], result, {"dim": tuple(range(missing))})


def _reduction(
    builder: KernelBuilder,
    op: BlockOp,
    operands: list[Value],
    result: BlockType,
    parameters: dict[str, Value],
) -> Value:
    """Reduce; multiply afterwards by a scaler that the reduction itself cannot apply."""
    x, scaler = operands
    assert result.shape is not None and result.dtype is not None
    number = _constant(scaler, result.dtype)
    rank = len(result.shape)
    inner_dims = [dim for dim in normal_dims(parameters["dims"], rank, op.name) if dim >= rank - 2]
    is_inside = number == 1 or (
        number is not None and op.name == "reduce_sum" and fits_scaler_tile(number, len(inner_dims))
    )
    in_tile: Value = Fill(number if is_inside and number is not None else 1.0, (1, 1))
    if number is None and _takes_scaler(op, scaler, len(inner_dims), parameters):
        is_inside, in_tile = True, _everywhere(builder, scaler, BlockType((1, 1), result.dtype))
    reduced = _emit(builder, op, [x, in_tile], result, parameters)
    if is_inside:
        return reduced
    if number is not None:
        factor: Value = Fill(number, None)
    elif _is_fill(scaler):
        factor = Fill(scaler.value, None)
    else:
        factor = _everywhere(builder, scaler, result)
    return block_math(builder, BLOCK_OPS["mul"], [reduced, factor])


def _takes_scaler(
    op: BlockOp, scaler: Value, inner_dims: int, parameters: Mapping[str, object]
) -> bool:
    """Can a sum multiply by the block itself? See fits_scaler_tile()."""
    is_narrow = not _is_fill(scaler) and operand_type(scaler).dtype == bfloat16
    is_exact = bool(parameters.get("exact_f32"))
    return op.name == "reduce_sum" and inner_dims == 1 and is_narrow and not is_exact


def _constant(scaler: Value, dtype: DType) -> float | None:
    """Return the scaler's number, if it is known."""
    if _is_fill(scaler) and not isinstance(scaler.value, RunTime):
        return float(_number(scaler.value, dtype).value.data)
    fill = scaler.owner if isinstance(scaler, RunTime) else None
    if not isinstance(fill, Op) or fill.becomes is not ttl.FillOp:
        return None
    number = fill.properties.get("value")
    return float(number.value.data) if isinstance(number, FloatAttr) else None


def _is_fill(value: Value) -> TypeGuard[Fill]:
    """Is it a fill of one number, not an operation on fills?"""
    return isinstance(value, Fill) and not isinstance(value, FillExpression)


def _everywhere(builder: KernelBuilder, scaler: Value, result: BlockType) -> Value:
    """Broadcast element (0, 0) of a scaler block to the shape of the result."""
    assert result.shape is not None
    shape = at_least_matrix(result.shape)
    outer = range(len(shape) - len(operand_type(scaler).shape or ()))
    if outer:
        scaler = block_math(builder, BLOCK_OPS["unsqueeze"], [scaler], {"dim": tuple(outer)})
    arguments: dict[str, Value] = {"dims": tuple(range(len(shape))), "shape": shape}
    spread = block_math(builder, BLOCK_OPS["broadcast"], [scaler], arguments)
    if len(result.shape) > 1:
        return spread
    return block_math(builder, BLOCK_OPS["squeeze"], [spread], {"dim": (0,)})


def _with_numbers_as_fills(op: BlockOp, operands: list[Value]) -> list[Value]:
    """Turn numbers beside a block into fills with the block's shape."""
    types = [operand_type(operand) if is_block(operand) else None for operand in operands]

    def as_block(position: int, operand: Value) -> Value:
        is_allowed = takes_number(op, position, types)
        if is_allowed and (filled := _fill_of(operand)) is not None:
            return filled
        if not is_block(operand):
            raise _not_a_block(op.spelling, operand, op, types, is_allowed)
        return operand

    return list(map(as_block, count(), operands))


def _fill_of(number: Value) -> Fill | None:
    if isinstance(number, Scalar) and kind_of(number) is not bool:
        return Fill(number, None)
    return Fill(float(number), None) if is_number(number) else None  # type: ignore[arg-type]


def _attributes(
    op: BlockOp, parameters: dict[str, Any], dtype: DType | None
) -> dict[str, Attribute]:
    found: dict[str, Attribute] = {}
    for parameter in op.parameters if parameters else ():
        value = parameters[parameter.name]
        if parameter.kind is ParameterKind.DIMS:
            found[parameter.name] = ArrayAttr([IntegerAttr(dim, i64) for dim in value])
            continue
        if parameter.kind in (ParameterKind.SHAPE, ParameterKind.DTYPE):
            continue  # the result has it
        if isinstance(value, RunTime) or parameter.kind.decides_types:
            raise not_yet(f"`{parameter.name}` of {op.spelling} given in this way")
        if parameter.kind is ParameterKind.FLAG:
            found |= {parameter.name: IntegerAttr(1, i64)} if value else {}
            continue
        is_float = parameter.kind is ParameterKind.NUMBER
        found[parameter.name] = _number(value, dtype) if is_float else IntegerAttr(value, i64)
    return found


def operand_type(operand: Value) -> BlockType:
    if isinstance(operand, Fill):
        return operand.type
    if isinstance(operand, BlockValue):
        return block_type(operand.type)
    raise _not_a_block("an operation", operand)


def block_operand(builder: KernelBuilder, operand: Value, context: BlockType) -> BlockValue:
    """Return the operand as a run-time value; a fill completes its type from its context."""
    _follow_shapeless(builder, [operand])
    if isinstance(operand, FillExpression):
        return _made_of_fills(builder, operand, context)
    if isinstance(operand, Fill):
        shape = operand.type.shape or context.shape
        dtype = operand.type.dtype or context.dtype
        assert shape is not None and dtype is not None
        type = tensor_of(shape, dtype)
        if isinstance(operand.value, Scalar):
            number = _run_time_number(builder, operand.value, dtype)
            return builder.block_value(ttl.FillOp, [number], type)
        return builder.block_value(ttl.FillOp, (), type, {"value": _number(operand.value, dtype)})
    if not isinstance(operand, BlockValue):
        raise _not_a_block("Block.store()", operand)
    if context.shape is not None and is_complete(context.shape):
        rank = len(block_type(operand.type).shape or ())
        return complete_shape(operand, context.shape[len(context.shape) - rank :])
    return operand


def _not_a_block(
    call: str,
    value: Value,
    op: BlockOp | None = None,
    operands: Sequence[BlockType | None] = (),
    is_number_allowed: bool = False,
) -> RuleBroken:
    helps = helps_instead(value, op, operands, is_number_allowed)
    if isinstance(value, Scalar):
        helps = fill_helps("value", op, operands)
    elif (known := help_with(value)) is not None:
        helps = (known,)
    is_plain = value is None or isinstance(value, (bool, int, float, str))
    found = described(value) if is_plain else describe(value)
    return wrong_argument(f"{call} works on blocks and block expressions, not on {found}", *helps)


def _made_of_fills(builder: KernelBuilder, fills: FillExpression, context: BlockType) -> BlockValue:
    """Make an expression of fills alone, whose numbers are floats."""
    if fills.type.dtype is None and context.dtype is not None and not context.dtype.is_float:
        raise not_yet(f"an expression of fills alone as {context.dtype}")
    type = BlockType(fills.type.shape or context.shape, fills.type.dtype or context.dtype)
    return _emit(builder, fills.op, fills.operands, type, fills.parameters)


def _run_time_number(builder: KernelBuilder, value: Scalar, dtype: DType) -> Scalar:
    if not dtype.is_float and kind_of(value) is float:
        raise wrong_argument(
            f"{describe(value)} is not a number of {dtype}",
            "calculate with integers, or convert with ttl.math.typecast(x, dtype)",
        )
    return as_kind(builder, value, float if dtype.is_float else int)


def _number(value: float, dtype: DType | None) -> FloatAttr:
    """Make a number of the element type; as a double, because that holds every integer type."""
    if dtype is None or dtype.is_float:
        return _float32(value)
    limits = np.iinfo(dtype.spelling)
    is_whole = float(value).is_integer()
    if not is_whole or not limits.min <= value <= limits.max:
        raise wrong_argument(
            f"{int(value) if is_whole else value} is not a number of {dtype}",
            f"write a number that {dtype} has, or convert with ttl.math.typecast(x, dtype)",
        )
    return FloatAttr(float(value), f64)


def _float32(value: float) -> FloatAttr:
    """Round to f32; beyond its range the number is infinity, as on the simulator."""
    with np.errstate(over="ignore"):
        return FloatAttr(float(np.float32(value)), f32)


def math_function(op: BlockOp, builder: KernelBuilder, *args: Value, **kwargs: Value) -> Value:
    op = op.called_with(kwargs)
    args = tuple(
        _parameter(builder, op, value) if position >= op.operands else value
        for position, value in enumerate(args)
    )
    kwargs = {
        name: value if op.keyword(name) in op.names else _parameter(builder, op, value)
        for name, value in kwargs.items()
    }
    operands, parameters = bind(op, args, kwargs)
    return block_math(builder, op, list(operands), dict(parameters))


def _typed(value: Value) -> object:
    """Return a language block with the value's type; other values return themselves."""
    if not isinstance(value, BlockValue) or not is_block(value):
        return value
    found = example(value)
    found.type = operand_type(value)
    return found


def _parameter(builder: KernelBuilder, op: BlockOp, value: Value) -> Value:
    """Make a parameter constant: each possible value gets a branch of the kernel."""
    if isinstance(value, (tuple, list)):
        return type(value)(_parameter(builder, op, item) for item in value)
    if isinstance(value, RunTime) and kind_of(value) is None:
        return _typed(value)
    what = f"a parameter of {op.spelling} that is known only at run time"
    return as_constant(builder, value, what)


def fill(builder: KernelBuilder, *args: Value, **kwargs: Value) -> Value:
    """Make a fill. If it has a shape but no element type, it takes the type that all of the
    kernel's buffers share."""
    builder.require(KernelKind.COMPUTE, "ttl.math.fill()")
    scalars = [v for v in (*args, *kwargs.values()) if isinstance(v, Scalar)]

    def checked(value: Value) -> object:
        """Stand in for a run-time number with an example, for the check of arguments."""
        return example(value) if isinstance(value, Scalar) else _typed(value)

    values = {name: checked(value) for name, value in kwargs.items()}
    _, given = bind(FILL_BLOCK, tuple(map(checked, args)), values)
    number = scalars[0] if scalars else float(given["value"])
    filled = Fill(number, given["shape"], given["dtype"])
    dtypes = {given["dtype"] or buffer.dtype for buffer in builder.kernel.buffers()}
    if filled.type.shape is None or len(dtypes) != 1:
        _follow_shapeless(builder, [], filled)
        return filled
    return block_operand(builder, filled, BlockType(None, dtypes.pop()))

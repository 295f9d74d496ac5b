"""Block values in a kernel: operators, functions and stores."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from xdsl.dialects.builtin import DictionaryAttr, FloatAttr, IntegerAttr, UnitAttr, f32, i64
from xdsl.ir import Attribute, SSAValue

from ttl.diagnostics import RuleBroken, codes
from ttl.dialects import ttl
from ttl.dialects.ttcore import block_type, tensor_of
from ttl.language import DataflowBuffer
from ttl.semantics.kernel_kinds import KernelKind
from ttl.semantics.ops import (
    BLOCK_OPS,
    FILL_BLOCK,
    BlockOp,
    Kind,
    bind,
    is_number,
    result_type,
    store_type,
)
from ttl.semantics.types import BlockType, Shape

from .builder import KernelBuilder, Value, describe, not_yet


class Fill:
    """A fill that has not met a shape yet, or not its element type."""

    def __init__(self, value: float, shape: Shape | None):
        self.value = value
        self.type = BlockType(shape, None)


def is_block(value: Value) -> bool:
    """A block, a block expression or a fill."""
    return isinstance(value, Fill) or (
        isinstance(value, SSAValue) and ttl.is_block_value(value.type)
    )


def store(builder: KernelBuilder, block: SSAValue, value: Value) -> Value:
    builder.require(KernelKind.COMPUTE, "store()")
    _store(builder, block, value)


def accumulate(builder: KernelBuilder, block: SSAValue, value: Value) -> None:
    """`block += value`: a running sum in a reserved block, the new value of a waited one."""
    builder.require(KernelKind.COMPUTE, "`+=` on a block")
    if isinstance(block.owner, ttl.WaitOp):
        store(builder, block, block_math(builder, BLOCK_OPS["add"], [block, value]))
    else:
        _store(builder, block, value).properties["accumulate"] = UnitAttr()


def _store(builder: KernelBuilder, block: SSAValue, value: Value) -> ttl.StoreOp:
    operand = block_operand(builder, value, block_type(block.type))
    store_type(block_type(operand.type), block_type(block.type))
    op = ttl.StoreOp.create(operands=[operand, block])
    builder.emit(op)
    return op


def block_math(
    builder: KernelBuilder,
    op: BlockOp,
    operands: list[Value],
    parameters: dict[str, Value] | None = None,
) -> SSAValue:
    """An operation of the op table; its type rule is the table's."""
    builder.require(KernelKind.COMPUTE, f"`{op.operator or op.name}` on blocks")
    if builder.device_api not in op.tile:
        raise not_yet(f"`{op.operator}` on blocks" if op.operator else f"`{op.spelling}`")
    if op.operator == "**":
        (*operands,), parameters = bind(op, tuple(operands), parameters or {})
    if len(operands) != op.operands:
        raise RuleBroken(codes.WRONG_ARGUMENT, f"{op.name} takes {op.operands} operands")
    operands = [_number_as_fill(op, *given) for given in zip(op.names, operands, strict=True)]
    result = result_type(op, [operand_type(operand) for operand in operands], parameters or {})
    if result.shape is None or result.dtype is None:
        raise not_yet("expressions of fills alone")
    values = [block_operand(builder, operand, result) for operand in operands]
    type = tensor_of(result.shape, result.dtype)
    properties = {"parameters": _attributes(op, parameters)} if parameters else {}
    return builder.value(
        ttl.BLOCK_MATH[op.name].create(
            operands=values, result_types=[type], properties=properties
        )
    )


def _number_as_fill(op: BlockOp, name: str, operand: Value) -> Value:
    """A number beside a block is a fill with the block's shape."""
    is_scalar = is_number(operand) and name in op.scalars
    return Fill(float(operand), None) if is_scalar else operand


def _attributes(op: BlockOp, parameters: dict[str, Value]) -> DictionaryAttr:
    found: dict[str, Attribute] = {}
    for parameter in op.parameters:
        value = parameters[parameter.name]
        if isinstance(value, SSAValue) or parameter.kind.decides_types:
            raise not_yet(f"`{parameter.name}` of {op.spelling} given in this way")
        is_float = parameter.kind is Kind.NUMBER
        found[parameter.name] = _float32(value) if is_float else IntegerAttr(value, i64)
    return DictionaryAttr(found)


def operand_type(operand: Value) -> BlockType:
    if isinstance(operand, Fill):
        return operand.type
    if isinstance(operand, SSAValue) and ttl.is_block_value(operand.type):
        return block_type(operand.type)
    raise not_yet(f"{describe(operand)} as an operand of a block operation")


def block_operand(builder: KernelBuilder, operand: Value, context: BlockType) -> SSAValue:
    """The operand as an IR value; a fill takes what it lacks from its context."""
    if isinstance(operand, Fill):
        shape, dtype = operand.type.shape or context.shape, context.dtype
        assert shape is not None and dtype is not None
        return builder.value(
            ttl.FillOp.create(
                properties={"value": _float32(operand.value)},
                result_types=[tensor_of(shape, dtype)],
            )
        )
    if not isinstance(operand, SSAValue) or not ttl.is_block_value(operand.type):
        raise not_yet(f"{describe(operand)} as a block value")
    return operand


def _float32(value: float) -> FloatAttr:
    """Beyond the range of f32 it is infinity, as on the simulator."""
    with np.errstate(over="ignore"):
        return FloatAttr(float(np.float32(value)), f32)


def math_function(op: BlockOp) -> Callable[..., Value]:
    def made(builder: KernelBuilder, *args: Value, **kwargs: Value) -> Value:
        if builder.device_api not in op.tile:
            raise not_yet(f"`ttl.{op.namespaces[0]}.{op.name}()`")
        operands, parameters = bind(op, args, kwargs)
        return block_math(builder, op, list(operands), dict(parameters))

    return made


def fill(builder: KernelBuilder, *args: Value, **kwargs: Value) -> Value:
    """A fill with a shape takes its element type from the kernel's buffers, which agree."""
    builder.require(KernelKind.COMPUTE, "ttl.math.fill()")
    if any(isinstance(given, SSAValue) for given in (*args, *kwargs.values())):
        raise not_yet("`ttl.math.fill()` of a block or of run-time values")
    _, given = bind(FILL_BLOCK, args, kwargs)
    value, shape = given["value"], given["shape"]
    made = Fill(float(value), shape)
    dtypes = {
        captured.dtype
        for captured in builder.kernel.captures().values()
        if isinstance(captured, DataflowBuffer)
    }
    if made.type.shape is None or len(dtypes) != 1:
        return made
    return block_operand(builder, made, BlockType(None, dtypes.pop()))

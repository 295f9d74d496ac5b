"""Calls of the language in a kernel: what each becomes in the ttl dialect."""

from __future__ import annotations

from collections.abc import Callable
from types import MethodType
from typing import Any

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, IndexType, IntegerAttr, StringAttr, f32, i64
from xdsl.ir import SSAValue

from ttl.diagnostics import RuleBroken, codes
from ttl.dialects import ttl
from ttl.dialects.ttcore import block_type, tensor_of
from ttl.language import DataflowBuffer, block_functions, math
from ttl.language import copy as language_copy
from ttl.language import grid_size as language_grid_size
from ttl.language import node as language_node
from ttl.language.operation import flatten_size
from ttl.semantics.kernel_kinds import KernelKind
from ttl.semantics.ops import FILL_BLOCK, NAMESPACES, BlockOp, bind, result_type, store_type
from ttl.semantics.tensors import TensorSlice, check_copy_shapes
from ttl.semantics.types import BlockType, Shape, tiles_of

from .builder import KernelBuilder, Value, describe, not_yet


class Fill:
    """A fill that has not met a shape yet, or not its element type."""

    def __init__(self, value: float, shape: Shape | None):
        self.value = value
        self.type = BlockType(shape, None)


def call_function(
    builder: KernelBuilder, function: Value, arguments: list[Value], keywords: dict[str, Value]
) -> Value:
    handler = CALLS.get(function) if callable(function) else None
    if handler is None:
        raise not_yet(f"calls of {_called(function)!r}")
    return handler(builder, *arguments, **keywords)


def _called(function: Value) -> str:
    name = str(getattr(function, "__name__", function))
    owner = getattr(function, "__self__", None)
    return f"{type(owner).__name__}.{name}" if isinstance(function, MethodType) else name


def call_method(owner: Value, name: str) -> Callable[..., Value] | None:
    """The handler of a method of the language; None if `owner` is not one of its objects."""
    if isinstance(owner, DataflowBuffer):
        return BUFFER_METHODS.get(name)
    if isinstance(owner, SSAValue):
        methods = TRANSFER_METHODS if isinstance(owner.type, ttl.TransferType) else BLOCK_METHODS
        if name not in methods:
            raise not_yet(f"`.{name}()` of {describe(owner)}")
        return methods[name]
    return None


# Buffers and blocks -------------------------------------------------------------------------------


def acquire(kind: type[ttl.AcquireOp]) -> Callable[..., Value]:
    def made(builder: KernelBuilder, buffer: DataflowBuffer, name: Value = None) -> Value:
        handle = builder.buffer(buffer)
        block = tensor_of(buffer.shape, buffer.dtype)
        return builder.value(kind.create(operands=[handle], result_types=[block]))

    return made


def release(kind: type[ttl.ReleaseOp]) -> Callable[..., Value]:
    def made(builder: KernelBuilder, block: SSAValue) -> Value:
        builder.emit(kind.create(operands=[ttl.buffer_of(block)]))

    return made


def store(builder: KernelBuilder, block: SSAValue, value: Value) -> Value:
    builder.require(KernelKind.COMPUTE, "store()")
    operand = block_operand(builder, value, block_type(block.type))
    store_type(block_type(operand.type), block_type(block.type))
    builder.emit(ttl.StoreOp.create(operands=[operand, block]))


BUFFER_METHODS = {"reserve": acquire(ttl.ReserveOp), "wait": acquire(ttl.WaitOp)}
BLOCK_METHODS = {"push": release(ttl.PushOp), "pop": release(ttl.PopOp), "store": store}


# Block math ---------------------------------------------------------------------------------------


def block_math(builder: KernelBuilder, op: BlockOp, operands: list[Value]) -> SSAValue:
    """An operation of the op table; its type rule is the table's."""
    builder.require(KernelKind.COMPUTE, f"`{op.operator or op.name}` on blocks")
    if builder.device_api not in op.tile:
        raise not_yet(f"`{op.operator}` on blocks" if op.operator else f"`{op.spelling}`")
    if len(operands) != op.operands:
        raise RuleBroken(codes.WRONG_ARGUMENT, f"{op.name} takes {op.operands} operands")
    result = result_type(op, [operand_type(operand) for operand in operands], {})
    if result.shape is None or result.dtype is None:
        raise not_yet("expressions of fills alone")
    values = [block_operand(builder, operand, result) for operand in operands]
    type = tensor_of(result.shape, result.dtype)
    return builder.value(ttl.BLOCK_MATH[op.name].create(operands=values, result_types=[type]))


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
        if parameters:
            raise not_yet(f"parameters of `ttl.{op.namespaces[0]}.{op.name}()`")
        return block_math(builder, op, list(operands))

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


# Grid ---------------------------------------------------------------------------------------------


def node(builder: KernelBuilder, dims: Value = 2) -> Value:
    if dims != 2 or len(builder.grid) != 2:
        raise not_yet("ttl.node() with other than two dimensions")
    return tuple(
        builder.value(
            ttl.NodeIndexOp.create(
                properties={"dimension": IntegerAttr(dimension, i64)},
                result_types=[IndexType()],
            )
        )
        for dimension in range(2)
    )


def grid_size(builder: KernelBuilder, dims: Value = 2) -> Value:
    return flatten_size(builder.grid, dims)


# Data movement ------------------------------------------------------------------------------------


def tensor_slice(builder: KernelBuilder, tensor: Any, index: Value) -> SSAValue:
    builder.require(KernelKind.DATAMOVEMENT, "slicing a tensor")
    items = index if isinstance(index, tuple) else (index,)
    sizes = tiles_of(tuple(tensor.shape))
    if len(items) != len(sizes):
        raise RuleBroken(
            codes.SLICE_OUT_OF_RANGE,
            f"{len(items)} indices for a tensor of {len(sizes)} dimensions",
            helps=("give one index or slice for each dimension",),
        )
    pairs = [_start_and_extent(*pair) for pair in zip(items, sizes, strict=True)]
    starts, extents = zip(*pairs, strict=True)
    return builder.value(
        ttl.TensorSliceOp.create(
            operands=[builder.tensors[id(tensor)], *(builder.index(start) for start in starts)],
            result_types=[tensor_of(extents, tensor.dtype)],
        )
    )


def _start_and_extent(item: Value, size: int) -> tuple[Value, int]:
    if not isinstance(item, slice):
        _check_extent(item, 1, size)
        return item, 1
    if item.step not in (None, 1):
        raise _slice_out_of_range("a slice of a tensor has no step")
    start = 0 if item.start is None else item.start
    stop = size if item.stop is None else item.stop
    extent = constant_difference(stop, start)
    _check_extent(start, extent, size)
    return start, extent


def _check_extent(start: Value, extent: int, size: int) -> None:
    """As far as it is known before the run."""
    first = start if isinstance(start, int) else 0
    if extent < 1 or first < 0 or first + extent > size:
        place = f" from {start} on" if isinstance(start, int) else ""
        raise _slice_out_of_range(f"a slice of {extent} tiles{place} is not in 0:{size}")


def _slice_out_of_range(message: str) -> RuleBroken:
    return RuleBroken(
        codes.SLICE_OUT_OF_RANGE,
        message,
        helps=("slices count tiles in the two innermost dimensions, start before stop",),
    )


def constant_difference(stop: Value, start: Value) -> int:
    """`stop - start` where it is a constant, as in `row * 2 : row * 2 + 2`."""
    stop_terms, stop_constant = _linear(stop)
    start_terms, start_constant = _linear(start)
    if stop_terms != start_terms:
        raise not_yet("slices whose extent is not a constant, as in `start : start + 2`")
    return stop_constant - start_constant


Terms = dict[SSAValue, int]


def _linear(value: Value) -> tuple[Terms, int]:
    """An integer as factors of run-time values, and a constant."""
    if isinstance(value, int):
        return {}, value
    if not isinstance(value, SSAValue):
        raise not_yet(f"{describe(value)} as a slice bound")
    op = value.owner
    if isinstance(op, arith.ConstantOp):
        constant = op.value
        assert isinstance(constant, IntegerAttr)
        return {}, constant.value.data
    if isinstance(op, (arith.AddiOp, arith.SubiOp)):
        sign = 1 if isinstance(op, arith.AddiOp) else -1
        return _combine(_linear(op.lhs), _linear(op.rhs), sign)
    if isinstance(op, arith.MuliOp):
        left, right = _linear(op.lhs), _linear(op.rhs)
        for factor, other in ((left, right), (right, left)):
            if not factor[0]:
                return _combine(({}, 0), other, factor[1])
    return {value: 1}, 0


def _combine(left: tuple[Terms, int], right: tuple[Terms, int], factor: int) -> tuple[Terms, int]:
    """left + right * factor"""
    terms = dict(left[0])
    for value, count in right[0].items():
        terms[value] = terms.get(value, 0) + count * factor
    present = {value: count for value, count in terms.items() if count}
    return present, left[1] + right[1] * factor


def copy(builder: KernelBuilder, source: Value, destination: Value) -> Value:
    builder.require(KernelKind.DATAMOVEMENT, "ttl.copy()")
    kinds = [_copy_end(source), _copy_end(destination)]
    if sorted(kinds) != ["block", "slice"]:
        raise not_yet(f"copies from {describe(source)} to {describe(destination)}")
    part, block = (source, destination) if kinds[0] == "slice" else (destination, source)
    _check_copy(block_type(part.type), block_type(block.type))
    kind = StringAttr("read" if part is source else "write")
    return builder.value(
        ttl.CopyOp.create(
            operands=[source, destination], result_types=[ttl.TransferType(kind)]
        )
    )


def _copy_end(value: Value) -> str:
    owner = value.owner if isinstance(value, SSAValue) else None
    if isinstance(owner, ttl.TensorSliceOp):
        return "slice"
    return "block" if isinstance(owner, ttl.AcquireOp) else "other"


def _check_copy(part: BlockType, block: BlockType) -> None:
    assert part.shape is not None and block.shape is not None
    items = tuple(0 if size == 1 else slice(None) for size in part.shape)
    starts = (0,) * len(part.shape)
    check_copy_shapes(TensorSlice(None, items, starts, part.shape), block.shape)
    if part.dtype != block.dtype:
        raise RuleBroken(
            codes.DTYPE_MISMATCH,
            f"a copy connects a {part.dtype} tensor with a {block.dtype} block",
            helps=("make the dataflow buffer like the tensor it is copied from or to",),
        )


def wait_transfer(builder: KernelBuilder, transfer: SSAValue) -> Value:
    builder.emit(ttl.WaitTransferOp.create(operands=[transfer]))


TRANSFER_METHODS = {"wait": wait_transfer}

CALLS: dict[Any, Callable[..., Value]] = {
    language_node: node,
    language_grid_size: grid_size,
    language_copy: copy,
} | {
    getattr(module, name): math_function(NAMESPACES[namespace][name])
    for module, namespace in ((math, "math"), (block_functions, "block"))
    for name in module.NAMES
}
CALLS[math.fill] = CALLS[block_functions.fill] = fill

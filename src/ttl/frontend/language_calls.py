"""Calls of the language in a kernel, and their operations in the ttl dialect."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr, UnitAttr, i1, i64

from ttl import language
from ttl.diagnostics import codes
from ttl.diagnostics.buffer_ends import not_backed
from ttl.dialects import ttl
from ttl.dialects.ttcore import tensor_of
from ttl.language import DataflowBuffer, Pipe, PipeNet, Semaphore, math
from ttl.language.functions import FLAT, block_functions
from ttl.language.grid import check_dims, flatten_size
from ttl.semantics.kernel_kinds import KernelKind
from ttl.semantics.ops import BLOCK_OPS

from .block_math import block_math, fill, math_function, store
from .builder import KernelBuilder
from .data_movement import add_to_group, copy, group, wait_group, wait_transfer
from .handlers import Handlers
from .hir import INDEX, BlockValue, HeldBlock, RunTime, Scalar, Value, is_run_time
from .pipes import NET_METHODS
from .printing import print_values
from .problems import flow_broken, not_in_kernels
from .raw_elements import raw_element_read, raw_element_write
from .scalars import integer
from .semaphores import MULTICAST_METHODS, SEMAPHORE_METHODS, UNICAST_METHODS, as_place
from .signposts import signpost
from .value_ranges import as_constant


def call_method(
    builder: KernelBuilder, owner: Value, name: str
) -> tuple[Callable[..., Value], Value] | None:
    """Find the handler of a language method, and the object to call it on.

    None if `owner` is not an object of the language.
    """
    handlers = builder.handlers
    methods: Mapping[str, Callable[..., Value]] | None
    if (remote := as_place(builder, owner)) is not None:
        owner, methods = remote, MULTICAST_METHODS if remote.is_range else UNICAST_METHODS
    elif isinstance(owner, BlockValue):
        methods = BLOCK_METHODS if builder.is_block(owner) else None
    elif isinstance(owner, RunTime):
        methods = handlers.methods.get(type(owner.type))
    else:
        methods = handlers.object_methods.get(type(owner))
    return (methods[name], owner) if methods and name in methods else None


# Buffers and blocks -------------------------------------------------------------------------------


def acquire(
    kind: type[ttl.AcquireOp], builder: KernelBuilder, buffer: DataflowBuffer, name: Value = None
) -> Value:
    handle = builder.handles.buffer(buffer)
    return builder.acquired(kind, handle, tensor_of(buffer.shape, buffer.dtype, buffer.layout))


def can_acquire(is_wait: bool, builder: KernelBuilder, buffer: DataflowBuffer) -> Value:
    properties = {"is_wait": UnitAttr()} if is_wait else {}
    return builder.value(ttl.CanAcquireOp, [builder.handles.buffer(buffer)], i1, properties)


def release(kind: type[ttl.ReleaseOp], builder: KernelBuilder, block: BlockValue) -> None:
    if block.is_popped:
        return
    if not isinstance(block, HeldBlock):
        raise flow_broken("the release of a block that a loop or a condition carries")
    builder.release(kind, block)
    builder.state.released |= {block}


def publish(builder: KernelBuilder, buffer: DataflowBuffer) -> None:
    """Reserve and push every block unchanged, because the tensor fills them all."""
    builder.require(KernelKind.DATAMOVEMENT, "DataflowBuffer.publish()")
    if buffer.backing is None:
        raise not_backed(buffer.name)
    for _ in range(buffer.block_count):
        block = acquire(ttl.ReserveOp, builder, buffer)
        assert isinstance(block, HeldBlock)
        builder.release(ttl.PushOp, block).attributes[ttl.PUBLISHED] = UnitAttr()
        builder.state.released |= {block}


def release_oldest(
    kind: type[ttl.ReleaseOp], builder: KernelBuilder, buffer: DataflowBuffer
) -> None:
    """Evaluate push() or pop() of a buffer, which releases the oldest held block."""
    end = builder.handles.buffer(buffer), kind is ttl.PopOp
    if any(end in loop.held for loop in builder.loops):
        # Each iteration releases another block: the loop would have to carry it.
        raise flow_broken(f"a loop that releases a block of `{buffer.name}` acquired before it")
    builder.emit(kind, [end[0]])
    oldest = [each for each in builder.state.held() if (each.buffer, each.is_waited) == end][:1]
    builder.state.released |= {*oldest}


BLOCK_METHODS: dict[str, Callable[..., Value]] = {
    "push": partial(release, ttl.PushOp),
    "pop": partial(release, ttl.PopOp),
    "store": store,
}


# Grid ---------------------------------------------------------------------------------------------


def node(builder: KernelBuilder, dims: int = 2) -> Value:
    check_dims(dims)
    column, row = (_coordinate(builder, dimension) for dimension in range(2))
    if dims > 1:
        return (column, row, *(0,) * (dims - 2))
    rows = builder.index(builder.grid[1])
    return integer(builder, arith.AddiOp, integer(builder, arith.MuliOp, column, rows), row)


def _coordinate(builder: KernelBuilder, dimension: int) -> Scalar:
    properties = {"dimension": IntegerAttr(dimension, i64)}
    found = builder.scalar(ttl.NodeIndexOp, (), INDEX, properties)
    found.is_natural = True
    return found


def grid_size(builder: KernelBuilder, dims: int = 2) -> Value:
    check_dims(dims)
    return flatten_size(builder.grid, dims)


def pipe(builder: KernelBuilder, src: Any, dst: Any) -> Value:
    if is_run_time((src, dst)):
        raise not_in_kernels("a pipe whose ends are known only at run time")
    return Pipe(src, dst)


def in_body_only(call: str, builder: KernelBuilder, *args: Value, **kwargs: Value) -> None:
    raise codes.OUTSIDE_OPERATION.broken(
        f"{call} works only in the body of an operation",
        "move the call into a function decorated with @ttl.operation(...)",
    )


def matmul(
    builder: KernelBuilder,
    a: Value,
    b: Value,
    transpose_b: Value = False,
    *,
    transpose_rhs: Value = False,
) -> Value:
    unknown = "a product whose `transpose_b` is known at run time"
    if any([as_constant(builder, each, unknown) for each in (transpose_b, transpose_rhs)]):
        b = math_function(BLOCK_OPS["transpose"], builder, b)
    return block_math(builder, BLOCK_OPS["matmul"], [a, b])


_MATH: dict[object, Callable[..., Value]] = {
    function: partial(math_function, BLOCK_OPS[name])
    for functions in (vars(math), vars(block_functions), FLAT)
    for name, function in functions.items()
    if name in BLOCK_OPS
}
LANGUAGE = Handlers(
    calls={
        **_MATH,
        math.fill: fill,
        block_functions.fill: fill,
        math.matmul: matmul,
        language.node: node,
        language.grid_size: grid_size,
        language.copy: copy,
        language.raw_element_read: raw_element_read,
        language.raw_element_write: raw_element_write,
        language.signpost: signpost,
        language.GroupTransfer: group,
        print: print_values,
        language.make_dataflow_buffer_like: partial(in_body_only, "make_dataflow_buffer_like()"),
        language.make_tensor_backed_dfb: partial(in_body_only, "make_tensor_backed_dfb()"),
        language.compute: partial(in_body_only, "@ttl.compute()"),
        language.datamovement: partial(in_body_only, "@ttl.datamovement()"),
        Pipe: pipe,
        PipeNet: partial(in_body_only, "ttl.PipeNet()"),
        Semaphore: partial(in_body_only, "ttl.Semaphore()"),
    },
    methods={
        ttl.TransferType: {"wait": wait_transfer},
        ttl.GroupType: {"add": add_to_group, "wait_all": wait_group},
    },
    object_methods={
        DataflowBuffer: {
            "reserve": partial(acquire, ttl.ReserveOp),
            "wait": partial(acquire, ttl.WaitOp),
            "push": partial(release_oldest, ttl.PushOp),
            "pop": partial(release_oldest, ttl.PopOp),
            "publish": publish,
            "can_reserve": partial(can_acquire, False),
            "can_wait": partial(can_acquire, True),
        },
        PipeNet: NET_METHODS,
        Semaphore: SEMAPHORE_METHODS,
    },
)

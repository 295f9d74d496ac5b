"""Calls of the language in a kernel: what each becomes in the ttl dialect."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr, i64
from xdsl.ir import Operation, SSAValue

from ttl.diagnostics import RuleBroken, codes
from ttl.dialects import ttl
from ttl.dialects.ttcore import tensor_of
from ttl.language import (
    DataflowBuffer,
    GroupTransfer,
    Pipe,
    PipeNet,
    Semaphore,
    block_functions,
    make_dataflow_buffer_like,
    math,
)
from ttl.language import copy as language_copy
from ttl.language import grid_size as language_grid_size
from ttl.language import node as language_node
from ttl.language import signpost as language_signpost
from ttl.language.grid import check_dims, flatten_size
from ttl.semantics.ops import NAMESPACES

from .block_math import fill, math_function, store
from .builder import KernelBuilder, Value, describe, flow_broken, not_in_kernels, not_yet
from .data_movement import add_to_group, copy, group, wait_group, wait_transfer
from .pipes import NET_METHODS
from .printing import print_values
from .scalars import is_run_time
from .semaphores import SEMAPHORE_METHODS, as_place, remote_method


def call_method(
    builder: KernelBuilder, owner: Value, name: str
) -> tuple[Callable[..., Value], Value] | None:
    """The handler of a method of the language, and what it is called on.

    None if `owner` is not one of the language's objects.
    """
    if (remote := as_place(builder, owner)) is not None:
        return remote_method(builder, remote, name), remote
    if (methods := OBJECT_METHODS.get(type(owner))) is not None:
        return (methods[name], owner) if name in methods else None
    if not isinstance(owner, SSAValue):
        return None
    if ttl.is_block_value(owner.type):
        found = BLOCK_METHODS.get(name)
    else:
        found = METHODS.get(type(owner.type), {}).get(name)
    return None if found is None else (found, owner)


# Buffers and blocks -------------------------------------------------------------------------------


def acquire(kind: type[ttl.AcquireOp]) -> Callable[..., Value]:
    def made(builder: KernelBuilder, buffer: DataflowBuffer, name: Value = None) -> Value:
        handle = builder.buffer(buffer)
        block = tensor_of(buffer.shape, buffer.dtype, buffer.layout)
        return builder.value(kind.create(operands=[handle], result_types=[block]))

    return made


def can_acquire(is_wait: bool) -> Callable[..., Value]:
    def made(builder: KernelBuilder, buffer: DataflowBuffer) -> Value:
        return builder.value(ttl.CanAcquireOp.of(builder.buffer(buffer), is_wait))

    return made


def release(kind: type[ttl.ReleaseOp]) -> Callable[..., Value]:
    def made(builder: KernelBuilder, block: SSAValue) -> Value:
        acquire = block.owner
        if block in builder.popped:
            return
        if not isinstance(acquire, ttl.AcquireOp):
            if isinstance(acquire, Operation) and not acquire.regions:
                raise RuleBroken(codes.WRONG_ARGUMENT, f"{describe(block)} cannot be released")
            raise flow_broken("the release of a block that a loop or a condition hands on")
        op = builder.emit(kind.create(operands=[acquire.buffer]))
        op.attributes["number"] = builder.number(acquire)
        builder.released |= {block}

    return made


BUFFER_METHODS = {
    "reserve": acquire(ttl.ReserveOp),
    "wait": acquire(ttl.WaitOp),
    "can_reserve": can_acquire(is_wait=False),
    "can_wait": can_acquire(is_wait=True),
}
BLOCK_METHODS: dict[str, Callable[..., Value]] = {
    "push": release(ttl.PushOp),
    "pop": release(ttl.PopOp),
    "store": store,
}
METHODS: dict[type, dict[str, Callable[..., Value]]] = {
    ttl.TransferType: {"wait": wait_transfer},
    ttl.GroupType: {"add": add_to_group, "wait_all": wait_group},
}
OBJECT_METHODS: dict[type, dict[str, Callable[..., Value]]] = {
    DataflowBuffer: BUFFER_METHODS,
    PipeNet: NET_METHODS,
    Semaphore: SEMAPHORE_METHODS,
}

# What else can be indexed, by the class of the object: `owner[index]`.
SUBSCRIPTS: dict[type, Callable[..., Value]] = {}


# Grid ---------------------------------------------------------------------------------------------


def node(builder: KernelBuilder, dims: Value = 2) -> Value:
    check_dims(dims)
    column, row = (
        builder.value(
            ttl.NodeIndexOp.create(
                properties={"dimension": IntegerAttr(dimension, i64)},
                result_types=[IndexType()],
            )
        )
        for dimension in range(2)
    )
    builder.naturals |= {column, row}
    if dims > 1:
        return (column, row, *(0,) * (dims - 2))
    columns = builder.index(builder.grid[0])
    above = builder.value(arith.MuliOp(row, columns))
    number = builder.value(arith.AddiOp(above, column))
    builder.naturals |= {above, number}
    return number


def grid_size(builder: KernelBuilder, dims: Value = 2) -> Value:
    check_dims(dims)
    return flatten_size(builder.grid, dims)


def signpost(builder: KernelBuilder, name: Value) -> Value:
    if is_run_time(name):
        raise not_yet("signposts named at run time")
    return language_signpost(name)


def pipe(builder: KernelBuilder, src: Value, dst: Value) -> Value:
    if is_run_time((src, dst)):
        raise not_in_kernels("a pipe whose ends are known only at run time")
    return Pipe(src, dst)


def in_body_only(call: str) -> Callable[..., Value]:
    def made(builder: KernelBuilder, *args: Value, **kwargs: Value) -> Value:
        raise RuleBroken(
            codes.OUTSIDE_OPERATION,
            f"{call} works only in the body of an operation",
            helps=("move the call into a function decorated with @ttl.operation(...)",),
        )

    return made


CALLS: dict[Any, Callable[..., Value]] = {
    getattr(module, name): math_function(NAMESPACES[namespace][name])
    for module, namespace in ((math, "math"), (block_functions, "block"))
    for name in module.NAMES
}
CALLS |= {
    language_node: node,
    language_grid_size: grid_size,
    language_copy: copy,
    language_signpost: signpost,
    GroupTransfer: group,
    print: print_values,
    make_dataflow_buffer_like: in_body_only("make_dataflow_buffer_like()"),
    Pipe: pipe,
    PipeNet: in_body_only("ttl.PipeNet()"),
    Semaphore: in_body_only("ttl.Semaphore()"),
}
CALLS[math.fill] = CALLS[block_functions.fill] = fill

"""Evaluate threads with the language's frontend and other handlers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import FunctionType
from typing import Any

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, SymbolRefAttr, i32, i64
from xdsl.ir import Attribute, Block, Operation

from pykernel.dialects import d2m
from ttl.diagnostics import Span, codes
from ttl.dialects.locations import location_of
from ttl.dialects.ttcore import tensor_of
from ttl.frontend import block_math
from ttl.frontend.builder import KernelBuilder
from ttl.frontend.emission import Emission
from ttl.frontend.environment import Environment
from ttl.frontend.hir import INDEX, BlockValue, Op, RunTime, Value
from ttl.frontend.language_calls import LANGUAGE
from ttl.frontend.nets import Nets
from ttl.frontend.node_values import MakeArgument
from ttl.frontend.problems import describe
from ttl.frontend.semaphores import semaphore_number
from ttl.frontend.translation import Translation
from ttl.language import math
from ttl.language.operation import KernelFunction, Program
from ttl.semantics.kernel_kinds import KernelKind
from ttl.semantics.ops import BLOCK_OPS
from ttl.source import tree
from ttl.target import Target

from . import functions, iteration
from .broadcasts import common_shape, spread
from .mistakes import refused
from .objects import (
    BlockScope,
    CircularBuffer,
    Semaphore,
    Stream,
    StreamBlock,
    check_cores,
    check_inc,
    check_index,
    check_remote,
    check_set,
    pair,
    rectangle,
)
from .program import Call
from .scopes import OpenBody, open_body, store, with_body
from .tensor_types import device_type, stream_type
from .threads import ThreadFunction


class _Names(Environment):
    """The environment with the additional names of a rewritten thread."""

    def __init__(self, functions: tuple[FunctionType, ...], names: Mapping[str, object]):
        super().__init__(functions)
        self.names = names

    def lookup(self, name: str, make: MakeArgument) -> object:
        return self.names[name] if name in self.names else super().lookup(name, make)


class ThreadBuilder(Translation):
    """The state of translating one thread; its parameters are the arguments of its region."""

    def __init__(self, call: Call, thread: ThreadFunction, program: Program, target: Target):
        kernel = KernelFunction(thread.kind, thread.function)
        environment = _Names((thread.function,), thread.names)
        nets = Nets((), program.grid)
        api = target.device_api
        super().__init__(kernel, environment, program.grid, {}, api, nets, THREADS)
        self.generic, self.thread = call, thread
        self.frame.scope = thread.definition.scope
        self.arguments: dict[int, RunTime] = {}
        self.argument_spans: list[Span] = []

    def bind(self, name: str, handle: object, type: Attribute, span: Span) -> None:
        argument = self.entry.add_arg(type)
        argument.hint = name
        self.arguments[id(handle)] = argument
        self.argument_spans.append(span)
        self.state.values[self.frame.variable(self.frame.scope.variables[name])] = handle

    def block(self) -> Block:
        block = Emission(self.entry, self.handles).block()
        for argument, span in zip(block.args, self.argument_spans, strict=True):
            argument.location = location_of(span)
        return block

    def is_block(self, value: BlockValue) -> bool:
        owner = value.owner
        return not isinstance(owner, Op) or issubclass(owner.becomes, d2m.AcquireOp)

    def is_held(self, cb: CircularBuffer, is_wait: bool) -> bool:
        """Does the output's block stay held? A taken one goes at the thread's pop()."""
        if self.handle(cb) is not self.entry.args[len(self.generic.operands) - 1]:
            return False
        return not self.generic.takers or (is_wait and self.thread in self.generic.writers)

    def handle(self, of: object) -> RunTime:
        return self.arguments[id(of)]


# Handlers -----------------------------------------------------------------------------------------


def _require(builder: KernelBuilder, call: str) -> ThreadBuilder:
    assert isinstance(builder, ThreadBuilder)
    builder.require(KernelKind.DATAMOVEMENT, call)
    return builder


def acquire(
    kind: type[d2m.AcquireOp], builder: ThreadBuilder, cb: CircularBuffer, body: OpenBody
) -> Value:
    buffer = cb.buffer
    block = builder.value(kind, [builder.handle(cb)], tensor_of(buffer.shape, buffer.dtype))
    if not builder.is_held(cb, kind is d2m.WaitOp):
        body.acquired.append(block)
    return block


def core_index(builder: KernelBuilder, dim: Value) -> Value:
    return _counter(builder, d2m.CoreIndexOp, dim, functions.check_dim)


def iter_index(builder: KernelBuilder, dim: Value) -> Value:
    assert isinstance(builder, ThreadBuilder)
    given = builder.generic.iteration
    count = len(given.iterators) if given else 0
    return _counter(builder, d2m.IterIndexOp, dim, partial(iteration.check_counter, count))


def _counter(
    builder: KernelBuilder, kind: type[Operation], dim: Any, check: Callable[[object], None]
) -> Value:
    if isinstance(dim, RunTime):
        name = "core_index" if kind is d2m.CoreIndexOp else "iter_index"
        raise refused(
            f"{name}() of a dimension that is known only when the kernel runs",
            f"write it as a number: {name}(0)",
        )
    check(dim)
    value = builder.scalar(kind, (), INDEX, {"dim": IntegerAttr(dim, i64)})
    value.is_natural = True
    return value


def dma(
    builder: KernelBuilder, src: Value, dst: Value, core: Value = None, mcast: Value = None
) -> Value:
    thread = _require(builder, "dma()")
    check_cores(core, mcast)
    check_remote(isinstance(src, StreamBlock), isinstance(dst, StreamBlock), core)
    parts = [*_end(thread, src), *_end(thread, dst), *_places(thread, core, mcast)]
    _check_shapes(parts[0][0], parts[2][0])
    return _add(builder, d2m.DmaOp, parts, d2m.MemTxType()).results[0]


def _add(
    builder: KernelBuilder, kind: type[Operation], parts: list[list[RunTime]], *types: Attribute
) -> Op:
    """Add an operation with the number of operands of each part."""
    sizes = DenseArrayBase.from_list(i32, [len(part) for part in parts])
    operands = [operand for part in parts for operand in part]
    return builder.add(Op(kind, operands, types, {"operandSegmentSizes": sizes}))


def _check_shapes(*ends: Any) -> None:
    shapes = [
        shape[2:] if d2m.is_remote(end.type) else shape
        for end in ends
        for shape in (tuple(end.type.get_shape()),)
    ]
    if shapes[0] != shapes[1]:
        raise refused(
            f"dma() connects {shapes[0]} tiles with {shapes[1]} tiles",
            "both ends have the shape of a block",
            codes.SHAPE_MISMATCH,
        )


def _end(builder: ThreadBuilder, end: Value) -> tuple[list[RunTime], list[RunTime]]:
    if isinstance(end, StreamBlock):
        return [_get_global(builder, end.stream)], [builder.index(i) for i in end.index]
    if isinstance(end, RunTime) and issubclass(end.made_by or object, d2m.AcquireOp):
        return [end], []
    raise functions.no_end(describe(end))


def _get_global(builder: ThreadBuilder, stream: Stream) -> RunTime:
    call = builder.generic
    operand = next(
        each
        for position, each in enumerate(call.operands)
        if each.argument is stream.argument and call.is_streamed(position)
    )
    name = {"global_name": SymbolRefAttr(operand.name)}
    type = stream_type(device_type(operand))
    return builder.value(d2m.GetGlobalOp, (), type, name, operand.name)


def _places(builder: ThreadBuilder, core: Value, mcast: Value) -> list[list[RunTime]]:
    """Return the rectangle of receivers, checked as far as it is known."""
    pairs = [() if core is None else pair(core, "core")]
    pairs.append(() if mcast is None else pair(mcast, "mcast"))
    known = [*pairs[0], *(pairs[1] or (1, 1))]
    if core is not None and all(isinstance(each, int) for each in known):
        rectangle(known[:2], known[2:], builder.generic.grid[::-1])
    return [[builder.index(each) for each in places] for places in pairs]


def dma_wait(builder: KernelBuilder, tx: RunTime) -> None:
    builder.emit(d2m.DmaWaitOp, [tx])


def change_semaphore(
    kind: type[d2m.SemaphoreChangeOp],
    call: str,
    check: Callable[[Value, Value], None],
    builder: KernelBuilder,
    semaphore: Semaphore,
    value: Value,
    core: Value = None,
    mcast: Value = None,
) -> None:
    check(core, mcast)
    thread = _require(builder, call)
    places = _places(thread, core, mcast)
    number = semaphore_number(builder, value, call)
    _add(builder, kind, [[thread.handle(semaphore)], [number], *places])


def semaphore_wait(
    builder: KernelBuilder, semaphore: Semaphore, value: Value, reset: Value = None
) -> None:
    call = "Semaphore.wait()"
    thread = _require(builder, call)
    again: list[RunTime] = [] if reset is None else [semaphore_number(builder, reset, call)]
    number = semaphore_number(builder, value, call)
    _add(builder, d2m.SemaphoreWaitOp, [[thread.handle(semaphore)], [number], again])


def square_root(builder: KernelBuilder, x: Value) -> Value:
    if not block_math.is_block(x):
        return functions.sqrt(x)
    return block_math.block_math(builder, BLOCK_OPS["sqrt"], [x])


def fill(builder: KernelBuilder, value: Value, shape: Any) -> Value:
    return block_math.fill(builder, value, shape=tuple(shape))


def row_maximum(builder: KernelBuilder, x: Value, other: Value = None) -> Value:
    largest = LANGUAGE.calls[math.reduce_max](builder, x, dims=[-1])
    if other is None:
        return largest
    return block_math.block_math(builder, BLOCK_OPS["max"], [largest, other])


def broadcast(builder: KernelBuilder, x: Value, like: Any) -> Value:
    shape = block_math.operand_type(like).shape if block_math.is_block(like) else tuple(like)
    return LANGUAGE.calls[math.broadcast](builder, x, dims=[-1], shape=shape)


def spread_block(builder: KernelBuilder, x: Value, like: Value, dims: Any) -> Value:
    if not dims:
        return x
    shape = common_shape(*(block_math.operand_type(each).shape or () for each in (x, like)))
    return LANGUAGE.calls[math.broadcast](builder, x, dims=list(dims), shape=shape)


THREADS = LANGUAGE.extended(
    calls={
        BlockScope: open_body,
        spread: spread_block,
        functions.core_index: core_index,
        iteration.iter_index: iter_index,
        functions.dma: dma,
        functions.sqrt: square_root,
        functions.fill: fill,
        functions.rowmax: row_maximum,
        functions.rowsum: partial(LANGUAGE.calls[math.reduce_sum], dims=[-1]),
        functions.bcast: broadcast,
    },
    methods={d2m.MemTxType: {"wait": dma_wait}},
    object_methods={
        OpenBody: {"store": store},
        CircularBuffer: {
            "pop": partial(acquire, d2m.WaitOp),
            "reserve": partial(acquire, d2m.ReserveOp),
        },
        Semaphore: {
            "set": partial(change_semaphore, d2m.SemaphoreSetOp, "Semaphore.set()", check_set),
            "inc": partial(change_semaphore, d2m.SemaphoreIncOp, "Semaphore.inc()", check_inc),
            "wait": semaphore_wait,
        },
    },
    subscripts={
        Stream: lambda builder, stream, index: StreamBlock(stream, check_index(stream, index))
    },
    statements={tree.With: with_body},
)

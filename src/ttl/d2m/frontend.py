"""Threads to the d2m dialect, by the frontend of the language with other handlers."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from xdsl.dialects import func
from xdsl.dialects.builtin import (
    ArrayAttr,
    BoolAttr,
    DictionaryAttr,
    FunctionType,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.printer import Printer

from ttl.diagnostics import CompileError, Diagnostic, RuleBroken, Span, codes
from ttl.dialects import d2m, ttl
from ttl.dialects.linalg_math import block_math_to_linalg
from ttl.dialects.locations import location_of, span_of
from ttl.dialects.metal import MetalLayoutAttr
from ttl.dialects.ttcore import TileType, tensor_of
from ttl.frontend import block_math
from ttl.frontend.builder import KernelBuilder, Nets, Value, describe, not_yet
from ttl.frontend.calls import CALLS, METHODS, OBJECT_METHODS, SUBSCRIPTS
from ttl.frontend.environment import Environment
from ttl.frontend.semaphores import semaphore_number
from ttl.frontend.statements import build_body
from ttl.frontend.unused import remove_unused
from ttl.language import math
from ttl.language.operation import KernelFunction, Program
from ttl.semantics.dtypes import dtype_of
from ttl.semantics.kernel_kinds import KernelKind
from ttl.semantics.ops import BLOCK_OPS
from ttl.target import Target

from . import functions
from .iteration import check_counter
from .objects import (
    CircularBuffer,
    Semaphore,
    Stream,
    StreamBlock,
    check_cores,
    check_inc,
    check_remote,
    check_set,
    checked_index,
    pair,
    rectangle,
)
from .products import undecided_stores
from .program import Call, Operand
from .scopes import Bodies, with_bodies_marked
from .threads import Thread


class ThreadBuilder(KernelBuilder):
    """The state of translating one thread; its parameters are the arguments of its region."""

    def __init__(self, call: Call, thread: Thread, program: Program, target: Target):
        kernel = KernelFunction(thread.kind, thread.function)
        environment = Environment((thread.function,))
        nets = Nets((), program.grid)
        super().__init__(kernel, environment, program.grid, {}, target.device_api, nets)
        self.call, self.thread = call, thread
        self.handles: dict[int, SSAValue] = {}
        self.bodies = Bodies(self.entry)

    def bind(self, name: str, handle: Any, type: Attribute, span: Span) -> None:
        argument = self.entry.insert_arg(type, len(self.entry.args), location_of(span))
        argument.name_hint = name
        self.handles[id(handle)] = argument
        self.values[self.frame.number, name] = handle

    def is_held(self, cb: CircularBuffer, is_wait: bool) -> bool:
        """The output's block stays, or goes where the thread says pop() if another takes it."""
        if self.handle(cb) is not self.entry.args[len(self.call.operands) - 1]:
            return False
        return not self.call.takers or (is_wait and self.thread in self.call.writers)

    def handle(self, of: object) -> SSAValue:
        return self.handles[id(of)]


# Handlers -----------------------------------------------------------------------------------------

def _require(builder: KernelBuilder, call: str) -> ThreadBuilder:
    assert isinstance(builder, ThreadBuilder)
    builder.require(KernelKind.DATAMOVEMENT, call)
    return builder


def acquire(kind: type[d2m.AcquireOp]) -> Callable[..., Value]:
    def made(builder: ThreadBuilder, cb: CircularBuffer) -> Value:
        buffer = cb.buffer
        block = tensor_of(buffer.shape, buffer.dtype)
        op = kind.create(operands=[builder.handle(cb)], result_types=[block])
        if not builder.is_held(cb, kind is d2m.WaitOp):
            builder.bodies.note(op)
        return builder.value(op)

    return made


def stream_block(builder: KernelBuilder, stream: Stream, index: Value) -> Value:
    return StreamBlock(stream, checked_index(stream, index))


def core_index(builder: KernelBuilder, dim: Value) -> Value:
    _require_known("core_index", dim)
    functions.check_dim("core_index", dim)
    value = builder.value(d2m.CoreIndexOp.of(dim))
    builder.naturals.add(value)
    return value


def _require_known(call: str, dim: Value) -> None:
    if isinstance(dim, SSAValue):
        raise RuleBroken(
            codes.WRONG_ARGUMENT,
            f"{call}() of a dimension that is known only when the kernel runs",
            helps=(f"write it as a number: {call}(0)",),
        )


def iter_index(builder: KernelBuilder, dim: Value) -> Value:
    assert isinstance(builder, ThreadBuilder)
    _require_known("iter_index", dim)
    iteration = builder.call.iteration
    check_counter(dim, len(iteration.iterators) if iteration else 0)
    value = builder.value(d2m.IterIndexOp.of(dim))
    builder.naturals.add(value)
    return value


def dma(
    builder: KernelBuilder, src: Value, dst: Value, core: Value = None, mcast: Value = None
) -> Value:
    thread = _require(builder, "dma()")
    check_cores(core, mcast)
    check_remote(isinstance(src, StreamBlock), isinstance(dst, StreamBlock), core)
    _check_rectangle(thread, core, mcast)
    ends = [_end(thread, end) for end in (src, dst)]
    parts: list[list[SSAValue]] = [part for end in ends for part in end]
    op = d2m.DmaOp.build(
        operands=[parts[0][0], parts[1], parts[2][0], parts[3],
                  _pair(builder, core, "core"), _pair(builder, mcast, "mcast")],
        result_types=[d2m.MemTxType()],
    )  # fmt: skip
    _check_shapes(op)
    return builder.value(op)


def _check_shapes(op: d2m.DmaOp) -> None:
    shapes = [
        shape[2:] if d2m.is_remote(end.type) else shape
        for end in (op.src, op.dst)
        for shape in (d2m.shape_of(end),)
    ]
    if shapes[0] != shapes[1]:
        raise RuleBroken(
            codes.SHAPE_MISMATCH,
            f"dma() connects {shapes[0]} tiles with {shapes[1]} tiles",
            helps=("both ends have the shape of a block",),
        )


def _end(builder: ThreadBuilder, end: Value) -> tuple[list[SSAValue], list[SSAValue]]:
    if isinstance(end, StreamBlock):
        return [_get_global(builder, end.stream)], [builder.index(i) for i in end.index]
    if isinstance(end, SSAValue) and isinstance(end.owner, d2m.AcquireOp):
        return [end], []
    raise functions.no_end(describe(end))


def _get_global(builder: ThreadBuilder, stream: Stream) -> SSAValue:
    call = builder.call
    operand = next(
        each
        for position, each in enumerate(call.operands)
        if each.argument is stream.argument and call.is_streamed(position)
    )
    op = d2m.GetGlobalOp.create(
        properties={"global_name": SymbolRefAttr(operand.name)},
        result_types=[stream_type(device_type(operand, call))],
    )
    return builder.value(op, operand.name)


def _check_rectangle(builder: ThreadBuilder, core: Value, mcast: Value) -> None:
    """As far as it is known."""
    if core is not None and mcast is not None:
        known = [*pair(core, "core"), *pair(mcast, "mcast")]
        if all(isinstance(each, int) for each in known):
            rectangle(core, mcast, builder.call.grid[::-1])


def _pair(builder: KernelBuilder, value: Value, what: str) -> list[SSAValue]:
    if value is None:
        return []
    return [builder.index(each) for each in pair(value, what)]


def dma_wait(builder: KernelBuilder, tx: SSAValue) -> Value:
    builder.emit(d2m.DmaWaitOp.create(operands=[tx]))


def semaphore_set(
    builder: KernelBuilder,
    semaphore: Semaphore,
    value: Value,
    core: Value = None,
    mcast: Value = None,
) -> Value:
    check_set(core, mcast)
    _change(builder, d2m.SemaphoreSetOp, "Semaphore.set()", semaphore, value, core, mcast)


def semaphore_inc(
    builder: KernelBuilder,
    semaphore: Semaphore,
    value: Value,
    core: Value = None,
    mcast: Value = None,
) -> Value:
    check_inc(core, mcast)
    _change(builder, d2m.SemaphoreIncOp, "Semaphore.inc()", semaphore, value, core, mcast)


def _change(
    builder: KernelBuilder,
    kind: type[d2m.SemaphoreChangeOp],
    call: str,
    semaphore: Semaphore,
    value: Value,
    core: Value,
    mcast: Value,
) -> None:
    thread = _require(builder, call)
    _check_rectangle(thread, core, (1, 1) if mcast is None else mcast)
    places = [_pair(builder, core, "core"), _pair(builder, mcast, "mcast")]
    number = semaphore_number(builder, value, call)
    builder.emit(kind.build(operands=[thread.handle(semaphore), number, *places]))


def semaphore_wait(
    builder: KernelBuilder, semaphore: Semaphore, value: Value, reset: Value = None
) -> Value:
    thread = _require(builder, "Semaphore.wait()")
    call = "Semaphore.wait()"
    again = None if reset is None else semaphore_number(builder, reset, call)
    operands = [thread.handle(semaphore), semaphore_number(builder, value, call), again]
    builder.emit(d2m.SemaphoreWaitOp.build(operands=operands))


def square_root(builder: KernelBuilder, x: Value) -> Value:
    if not block_math.is_block(x):
        return functions.sqrt(x)
    return block_math.block_math(builder, BLOCK_OPS["sqrt"], [x])


def fill(builder: KernelBuilder, value: Value, shape: Value) -> Value:
    return block_math.fill(builder, value, shape=tuple(shape))


def row_maximum(builder: KernelBuilder, x: Value, other: Value = None) -> Value:
    largest = CALLS[math.reduce_max](builder, x, dims=[-1])
    if other is None:
        return largest
    return block_math.block_math(builder, BLOCK_OPS["max"], [largest, other])


def row_sum(builder: KernelBuilder, x: Value) -> Value:
    return CALLS[math.reduce_sum](builder, x, dims=[-1])


def broadcast(builder: KernelBuilder, x: Value, like: Value) -> Value:
    shape = block_math.operand_type(like).shape if block_math.is_block(like) else tuple(like)
    return CALLS[math.broadcast](builder, x, dims=[-1], shape=shape)


OBJECT_METHODS[CircularBuffer] = {"pop": acquire(d2m.WaitOp), "reserve": acquire(d2m.ReserveOp)}
OBJECT_METHODS[Semaphore] = {"set": semaphore_set, "inc": semaphore_inc, "wait": semaphore_wait}
METHODS[d2m.MemTxType] = {"wait": dma_wait}
SUBSCRIPTS[Stream] = stream_block
CALLS[functions.core_index] = core_index
CALLS[functions.iter_index] = iter_index
CALLS[functions.dma] = dma
CALLS[functions.sqrt] = square_root
CALLS[functions.fill] = fill
CALLS[functions.rowmax] = row_maximum
CALLS[functions.rowsum] = row_sum
CALLS[functions.bcast] = broadcast


# The module ---------------------------------------------------------------------------------------


def device_type(operand: Operand, call: Call) -> TensorType[Any]:
    shape = operand.layout.device_shape(operand.grid)
    element = TileType.of(dtype_of(operand.tensor))
    return TensorType(element, shape, MetalLayoutAttr.of(operand.layout))


def stream_type(type: TensorType[Any]) -> TensorType[Any]:
    """A view of the tensor."""
    layout = type.encoding
    assert isinstance(layout, MetalLayoutAttr)
    view = MetalLayoutAttr.of(layout.layout, f"map({len(type.get_shape())})")
    return TensorType(type.element_type, type.get_shape(), view)


def host_type(operand: Operand) -> TensorType[Any]:
    element = TileType.of(dtype_of(operand.tensor)).element
    return TensorType(element, operand.layout.logical_shape)


def build_module(call: Call, program: Program, target: Target) -> ModuleOp:
    """The initial IR: threads refer to streams by globals."""
    mistakes: list[Diagnostic] = []
    regions = [_region(call, thread, program, target, mistakes) for thread in call.program.threads]
    if mistakes:
        raise CompileError(*mistakes)
    globals_: list[Operation] = [
        d2m.GlobalOp.create(
            properties={
                "sym_name": StringAttr(operand.name),
                "type": stream_type(device_type(operand, call)),
                "index": IntegerAttr(position, i64),
            }
        )
        for position, operand in enumerate(call.operands)
        if call.is_streamed(position)
    ]
    rows, columns = call.grid
    attributes: dict[str, Attribute] = {
        "ttl.launch_grid": ArrayAttr([IntegerAttr(size, i64) for size in (columns, rows)]),
        "ttl.target_arch": StringAttr(target.name),
        "d2m.use_tile_matmul": BoolAttr.from_bool(call.use_tile_matmul),
    }
    return ModuleOp([*globals_, _function(call, regions)], attributes)


def _region(
    call: Call, thread: Thread, program: Program, target: Target, mistakes: list[Diagnostic]
) -> Region:
    builder = ThreadBuilder(call, thread, program, target)
    for argument, handle in zip(thread.parameters, _handles(call, program), strict=True):
        type: Attribute = d2m.SemaphoreType()
        if isinstance(handle, CircularBuffer):
            type = d2m.CBType(tensor_of(handle.buffer.shape, handle.buffer.dtype))
        builder.bind(argument.arg, handle, type, thread.span(argument))
    build_body(builder, with_bodies_marked(thread.tree))
    if call.iteration is not None:
        builder.entry.add_op(d2m.YieldOp.create())
    found = [*builder.diagnostics, *_unbuilt(builder.entry), *undecided_stores(builder.entry)]
    mistakes += found
    if not found:
        remove_unused(builder.entry)
        block_math_to_linalg(builder.entry)
    if thread.verbose:
        _show(thread, builder.entry)
    return Region(builder.entry)


def _show(thread: Thread, body: Block) -> None:
    """What `verbose=True` asks for: the thread's operations, before any pass."""
    print(f"thread `{thread.name}`:", file=sys.stderr)
    Printer(stream=sys.stderr).print_block(body)
    print(file=sys.stderr)


def _unbuilt(body: Block) -> list[Diagnostic]:
    """Numbers that are known at run time only, beside blocks."""
    fills = [op for op in body.walk() if isinstance(op, ttl.FillOp) and op.value is None]
    broken = "a number that is calculated at run time as a block"
    return [not_yet(broken).at(span_of(op.location)) for op in fills]


def _handles(call: Call, program: Program) -> list[Any]:
    """Objects for the parameters, made from what the operation's body declared."""
    buffers = [
        CircularBuffer(buffer, operand.tensor, operand.layout, operand.grid)
        for buffer, operand in zip(program.buffers, call.operands, strict=True)
    ]
    return [*buffers, *(Semaphore(semaphore) for semaphore in program.semaphores)]


def _function(call: Call, regions: list[Region]) -> func.FuncOp:
    """Tensors of the host in; to the device, the threads, and back."""
    block = Block(arg_types=[host_type(operand) for operand in call.operands])
    inputs = []
    for position, operand in enumerate(call.operands):
        block.args[position].name_hint = operand.name
    for position, operand in enumerate(call.operands[:-1]):
        type = device_type(operand, call)
        value = _empty(block, type)
        value = _add(block, d2m.ToLayoutOp, [block.args[position], value], type)
        if call.is_streamed(position):
            storage = _empty(block, type)
            value = _add(block, d2m.StreamLayoutOp, [value, storage], stream_type(type))
        inputs.append(value)
    output = _empty(block, device_type(call.output, call))
    kinds = ["compute" if t.is_compute else "datamovement" for t in call.program.threads]
    _name_blocks(regions, kinds)
    generic = d2m.GenericOp.of(inputs, output, call.grid, kinds, regions, _affine(call))
    block.add_op(generic)
    last = block.args[-1]
    result = _add(block, d2m.ToLayoutOp, [generic.ends[0], last], last.type)
    block.add_op(func.ReturnOp(result))
    types = FunctionType.from_lists([a.type for a in block.args], [last.type])
    function = func.FuncOp(call.name, types, Region(block))
    flags = [
        DictionaryAttr({"d2m.stream": BoolAttr.from_bool(call.is_streamed(position))})
        for position in range(len(call.operands))
    ]
    function.properties["arg_attrs"] = ArrayAttr(flags)
    function.attributes["d2m.moves"] = _moves(call)
    return function


def _affine(call: Call) -> d2m.Affine | None:
    if call.iteration is None:
        return None
    iterators, maps, factors = (
        call.iteration.iterators, call.iteration.maps, call.iteration.factors
    )  # fmt: skip
    return d2m.Affine(factors, maps, iterators)


def _moves(call: Call) -> DictionaryAttr:
    """The operands that are a core's shard: filled at the start, written at the end."""
    filled = [n for n in range(len(call.operands)) if call.is_prefilled(n)]
    return DictionaryAttr(
        {
            "filled": ArrayAttr([IntegerAttr(n, i64) for n in filled]),
            "written": BoolAttr.from_bool(call.is_written_back),
            "taken": BoolAttr.from_bool(bool(call.takers)),
            "blocks": ArrayAttr([IntegerAttr(n, i64) for n in _blocks(call)]),
        }
    )


def _blocks(call: Call) -> list[int]:
    """Of the output on each core, by dimension."""
    if call.iteration is None:
        return [1] * len(call.grid)
    return [call.iteration.factors[d or 0] for d in call.iteration.maps[-1]]


def _name_blocks(regions: list[Region], kinds: list[str]) -> None:
    for number, (region, kind) in enumerate(zip(regions, kinds, strict=True)):
        region.block.name_hint = f"{kind}{kinds[:number].count(kind)}"


def _empty(block: Block, type: Attribute) -> SSAValue:
    return _add(block, d2m.EmptyOp, [], type)


def _add(
    block: Block, kind: type[Operation], operands: list[SSAValue], type: Attribute
) -> SSAValue:
    op = kind.create(operands=operands, result_types=[type])
    block.add_op(op)
    return op.results[0]

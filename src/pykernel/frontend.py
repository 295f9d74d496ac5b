"""Build the d2m module of a call from its threads."""

from __future__ import annotations

import sys

from xdsl.dialects import func
from xdsl.dialects.builtin import (
    ArrayAttr,
    BoolAttr,
    DictionaryAttr,
    FunctionType,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.printer import Printer

from pykernel.dialects import d2m
from pykernel.dialects.linalg_math import block_math_to_linalg
from ttl.diagnostics import CompileError, Diagnostic
from ttl.dialects import ttl
from ttl.dialects.foreign.kept import keep_attribute
from ttl.dialects.locations import span_of
from ttl.dialects.ttcore import tensor_of
from ttl.frontend.problems import not_yet
from ttl.language.operation import Program
from ttl.target import Target

from .objects import CircularBuffer, Semaphore
from .products import find_undecided_stores
from .program import Call
from .tensor_types import device_type, host_type, stream_type
from .thread_builder import ThreadBuilder
from .threads import ThreadFunction


def build_module(call: Call, program: Program, target: Target) -> ModuleOp:
    """Build the initial IR, in which threads refer to streams by globals."""
    mistakes: list[Diagnostic] = []
    regions = [_region(call, thread, program, target, mistakes) for thread in call.program.threads]
    if mistakes:
        raise CompileError(*mistakes)
    globals_: list[Operation] = [
        d2m.GlobalOp.create(
            properties={
                "sym_name": StringAttr(operand.name),
                "type": stream_type(device_type(operand)),
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
    if call.system_desc:
        name = "ttcore.system_desc"
        attributes[name] = keep_attribute(name, False, False, call.system_desc)
    return ModuleOp([*globals_, _function(call, regions)], attributes)


def _region(
    call: Call, thread: ThreadFunction, program: Program, target: Target, mistakes: list[Diagnostic]
) -> Region:
    builder = ThreadBuilder(call, thread, program, target)
    for argument, handle in zip(thread.parameters, _handles(call, program), strict=True):
        type: Attribute = d2m.SemaphoreType()
        if isinstance(handle, CircularBuffer):
            type = d2m.CBType(tensor_of(handle.buffer.shape, handle.buffer.dtype))
        builder.bind(argument.variable.name, handle, type, thread.span(argument))
    builder.evaluate_body(thread.definition)
    if builder.state.mistakes:
        mistakes += builder.state.mistakes
        return Region(Block())
    block = builder.block()
    if call.iteration is not None:
        block.add_op(d2m.YieldOp.create())
    found = [*_unbuilt(block), *find_undecided_stores(block)]
    mistakes += found
    if not found:
        block_math_to_linalg(block)
    if thread.verbose:
        _show(thread, block)
    return Region(block)


def _show(thread: ThreadFunction, body: Block) -> None:
    """Print the thread's operations before any pass, for `verbose=True`."""
    print(f"thread `{thread.name}`:", file=sys.stderr)
    Printer(stream=sys.stderr).print_block(body)
    print(file=sys.stderr)


def _unbuilt(body: Block) -> list[Diagnostic]:
    """Report run-time numbers beside blocks."""
    fills = [op for op in body.walk() if isinstance(op, ttl.FillOp) and op.value is None]
    broken = "a number that is calculated at run time as a block"
    return [not_yet(broken).at(span_of(op.location)) for op in fills]


def _handles(call: Call, program: Program) -> list[CircularBuffer | Semaphore]:
    """Make the objects for the parameters from the declarations of the operation's body."""
    buffers = [
        CircularBuffer(buffer, operand)
        for buffer, operand in zip(program.buffers, call.operands, strict=True)
    ]
    return [*buffers, *(Semaphore(semaphore) for semaphore in program.semaphores)]


def _function(call: Call, regions: list[Region]) -> func.FuncOp:
    """Build the host function: move tensors to the device, run the threads, and move back."""
    block = Block(arg_types=[host_type(operand) for operand in call.operands])
    inputs = []
    for position, operand in enumerate(call.operands):
        block.args[position].name_hint = operand.name
    for position, operand in enumerate(call.operands[:-1]):
        type = device_type(operand)
        value = _empty(block, type)
        value = _add(block, d2m.ToLayoutOp, [block.args[position], value], type)
        if call.is_streamed(position):
            storage = _empty(block, type)
            value = _add(block, d2m.StreamLayoutOp, [value, storage], stream_type(type))
        inputs.append(value)
    output = _empty(block, device_type(call.output))
    if call.is_output_streamed:
        type = device_type(call.output)
        output = _add(block, d2m.StreamLayoutOp, [output, _empty(block, type)], stream_type(type))
    kinds = ["compute" if t.is_compute else "datamovement" for t in call.program.threads]
    for number, (region, kind) in enumerate(zip(regions, kinds, strict=True)):
        region.block.name_hint = f"{kind}{kinds[:number].count(kind)}"
    given = call.iteration
    affine = d2m.Affine(given.factors, given.maps, given.iterators) if given else None
    generic = d2m.GenericOp.of(inputs, output, call.grid, kinds, regions, affine)
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


def _moves(call: Call) -> DictionaryAttr:
    """Mark the operands that are a core's shard: filled at the start, written at the end."""
    filled = [n for n in range(len(call.operands)) if call.is_prefilled(n)]
    blocks = [1] * len(call.grid)  # output blocks on each core, by dimension
    if call.iteration is not None:
        blocks = [call.iteration.factors[d or 0] for d in call.iteration.maps[-1]]
    return DictionaryAttr(
        {
            "filled": ArrayAttr([IntegerAttr(n, i64) for n in filled]),
            "written": BoolAttr.from_bool(call.is_written_back),
            "taken": BoolAttr.from_bool(bool(call.takers)),
            "streamed": BoolAttr.from_bool(call.is_output_streamed),
            "blocks": ArrayAttr([IntegerAttr(n, i64) for n in blocks]),
        }
    )


def _empty(block: Block, type: Attribute) -> SSAValue:
    return _add(block, d2m.EmptyOp, [], type)


def _add(
    block: Block, kind: type[Operation], operands: list[SSAValue], type: Attribute
) -> SSAValue:
    op = kind.create(operands=operands, result_types=[type])
    block.add_op(op)
    return op.results[0]

"""Where the blocks that a kernel holds lie in L1."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint

from ttl.dialects import ttl

from ..arithmetic import add, minus
from ..module_pass import Maker
from .kernel_calls import KernelConverter, block_tiles, value_call


def block_bytes(block: SSAValue) -> int:
    return block_tiles(block) * ttl.page_bytes_of(ttl.buffer_of(block))


def block_address(
    converter: KernelConverter, op: Operation, block: SSAValue, make: Maker
) -> SSAValue:
    """The L1 address of a block that the kernel holds."""
    buffer = ttl.buffer_of(block)
    name = buffer.name_hint or "buffer"
    function = "get_read_ptr" if isinstance(block.owner, ttl.WaitOp) else "get_write_ptr"
    circular_buffer, hint = converter.circular_buffers[buffer], f"{name}_address"
    pointer = value_call(make, function, circular_buffer, hint=hint)
    distance = converter.held.distance(op, block)
    if not distance:
        return pointer
    offset = make.index(distance * block_bytes(block))
    if not converter.held.goes_over_edge(op, block):
        return add(make, pointer, offset, hint)
    start = _start_of(converter, buffer, function)
    way = add(make, minus(make, pointer, start), offset)
    assert isinstance(buffer.type, ttl.DataflowBufferType)
    size = make.index(block_bytes(block) * buffer.type.block_count.value.data)
    around = make.value(arith.RemSIOp(way, size))
    return add(make, start, around, hint)


def _start_of(converter: KernelConverter, buffer: SSAValue, function: str) -> SSAValue:
    """Found once."""
    if buffer not in converter.starts:
        converter.starts[buffer] = buffer_start(converter.circular_buffers[buffer], function)
    return converter.starts[buffer]


def buffer_start(circular_buffer: SSAValue, function: str) -> SSAValue:
    """Before anything is pushed or popped the pointer is at the start."""
    assert isinstance(circular_buffer.owner, Operation)
    make = Maker(InsertPoint.after(circular_buffer.owner), circular_buffer.owner)
    return value_call(make, function, circular_buffer, hint=f"{circular_buffer.name_hint}_start")

"""Shared by both sides of convert-ttl-to-ttkernel: the kernel being rewritten, and its calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.dialects import arith, func
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, StringAttr, i64
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from ttl.dialects import ttkernel, ttl
from ttl.dialects.building import create
from ttl.semantics.types import Shape

from ..arithmetic import add, minus, times
from ..compute.block_offsets import BlockOffsets
from ..module_pass import INDEX, Maker, constant_of, not_yet

if TYPE_CHECKING:
    from ..node_to_node.node_calls import NodeCalls
    from ..node_to_node.pipe_calls import PipeCalls


class KernelConverter:
    """Rewrites one kernel in place."""

    def __init__(self, kernel: func.FuncOp, api: str):
        self.kernel = kernel
        self.api = api
        self.circular_buffers: dict[SSAValue, SSAValue] = {}
        self.accessors: dict[SSAValue, SSAValue] = {}
        self.held = BlockOffsets(kernel)
        self.starts: dict[SSAValue, SSAValue] = {}  # the start of each buffer's memory
        first = kernel.body.block.first_op
        assert first is not None
        self.start = Maker.before(first)  # for setup code
        self.pipes: PipeCalls | None = None
        self._nodes: NodeCalls | None = None

    def nodes(self) -> NodeCalls:
        """Return the way to other nodes, created on first use."""
        from ..node_to_node.node_calls import NodeCalls  # most kernels do not need it

        self._nodes = self._nodes or NodeCalls(self)
        return self._nodes

    def buffer_of(self, block: SSAValue) -> SSAValue:
        return self.circular_buffers[ttl.buffer_of(block)]

    def tile_of(self, op: Operation, block: SSAValue, tile: SSAValue, make: Maker) -> SSAValue:
        """Return the position of a tile of a used block after the buffer's pointer."""
        distance = self.held.distance(op, block)
        if not distance:
            return tile
        if self.held.goes_over_edge(op, block):
            raise not_yet(
                "several blocks held at once of a buffer whose blocks they do not divide",
                op,
                "hold as many blocks each time, and give the buffer a multiple of it",
            )
        return make.affine([(tile, 1)], distance * block_tiles(block), "tile")


def block_tiles(block: SSAValue) -> int:
    buffer = ttl.buffer_of(block)
    assert isinstance(buffer.type, ttl.DataflowBufferType)
    return buffer.type.block_tiles


def call(make: Maker, name: str, *arguments: SSAValue, literals: Sequence[str] = ()) -> Operation:
    """Add a call; `name` and `literals` are C++ text, with template arguments."""
    properties: dict[str, Attribute] = {}
    if (template := ttkernel.template_of(name)) is not None:
        properties["template"] = template
    if literals:
        properties["literals"] = ArrayAttr([StringAttr(text) for text in literals])
    return make.add(create(ttkernel.CALLS[name.split("<")[0]], arguments, (), properties))


def value_call(
    make: Maker, name: str, *arguments: SSAValue, type: Attribute = INDEX, hint: str | None = None
) -> SSAValue:
    """Add a call and return its value."""
    return make.new(ttkernel.CALLS[name], arguments, type, hint)


def noc_address_call(make: Maker, name: str, *arguments: SSAValue, hint: str) -> SSAValue:
    return value_call(make, name, *arguments, type=ttkernel.NocAddressType(), hint=hint)


def first_page(make: Maker, starts: list[SSAValue], shape: Shape) -> SSAValue:
    """Return the first page; tiles are numbered row by row over all dimensions."""
    page = starts[0]
    for start, size in zip(starts[1:], shape[1:], strict=True):
        page = add(make, times(make, page, make.index(size)), start, "first_page")
    return page


# Addresses of the blocks that a kernel holds in L1 ------------------------------------------------


def block_bytes(block: SSAValue) -> int:
    return block_tiles(block) * ttl.page_bytes_of(ttl.buffer_of(block))


def block_address(
    converter: KernelConverter, op: Operation, block: SSAValue, make: Maker
) -> SSAValue:
    """Return the L1 address of a block that the kernel holds."""
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
    """Return the buffer's start, computed once."""
    if buffer not in converter.starts:
        converter.starts[buffer] = buffer_start(converter.circular_buffers[buffer], function)
    return converter.starts[buffer]


def buffer_start(circular_buffer: SSAValue, function: str) -> SSAValue:
    """Read the pointer before anything is pushed or popped, when it is at the start."""
    assert isinstance(circular_buffer.owner, Operation)
    make = Maker.after(circular_buffer.owner)
    return value_call(make, function, circular_buffer, hint=f"{circular_buffer.name_hint}_start")


# Events of pipes and semaphores for the executor's trace: they add no C++ -------------------------

# Marks must not change the C++ either. So a place is an operand only if it is a loop variable; the
# call beside a semaphore's mark uses its value anyway.
UNKNOWN = -1


def mark_pipe(
    make: Maker, kind: str, net: str = "", place: SSAValue | None = None, size: int = 0
) -> None:
    known = None if place is None else constant_of(place)
    operands: list[SSAValue] = [place] if isinstance(place, BlockArgument) else []
    mark(make, kind, net, *operands, place=UNKNOWN if known is None else known, size=size)


def mark(
    make: Maker, kind: str, subject: str, *operands: SSAValue, place: int = 0, size: int = 0
) -> None:
    properties = {
        "kind": StringAttr(kind),
        "subject": StringAttr(subject),
        "place": IntegerAttr(place, i64),
        "size": IntegerAttr(size, i64),
    }
    make.add(ttkernel.MarkOp.create(operands=operands, properties=properties))

"""What both sides of convert-ttl-to-ttkernel share: the kernel being rewritten, and its calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.dialects import arith, func
from xdsl.dialects.builtin import f64
from xdsl.ir import Operation, SSAValue

from ttl.dialects import ttkernel, ttl
from ttl.semantics.types import Shape

from ..compute.block_offsets import BlockOffsets
from ..module_pass import INDEX, Maker, constant_of, integer_op, not_yet

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
        self.starts: dict[SSAValue, SSAValue] = {}  # where the memory of a buffer starts
        first = kernel.body.block.first_op
        assert first is not None
        self.start = Maker.before(first)  # of what the kernel sets up
        self.pipes: PipeCalls | None = None
        self._nodes: NodeCalls | None = None

    def nodes(self) -> NodeCalls:
        """How the kernel reaches other nodes."""
        from ..node_to_node.node_calls import NodeCalls  # most kernels do not

        self._nodes = self._nodes or NodeCalls(self)
        return self._nodes

    def buffer_of(self, block: SSAValue) -> SSAValue:
        return self.circular_buffers[ttl.buffer_of(block)]

    def tile_of(
        self, op: Operation, block: SSAValue, tile: SSAValue, make: Maker
    ) -> SSAValue:
        """Where a tile of a block that `op` uses stands after the buffer's pointer."""
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


def call(make: Maker, name: str, *arguments: SSAValue, returns: bool = False) -> Operation:
    """`name` is spelled as in C++, template arguments included."""
    template = ttkernel.template_of(name)
    op = ttkernel.CALLS[name.split("<")[0]].create(
        operands=arguments,
        properties={"template": template} if template else {},
        result_types=[INDEX] if returns else [],
    )
    return make.add(op)


def rounded_to_bfloat16(make: Maker, number: SSAValue) -> SSAValue:
    rounded = ttkernel.CALLS[ttkernel.ROUND].create(operands=[number], result_types=[f64])
    return make.value(rounded, "rounded")


def first_page(make: Maker, starts: list[SSAValue], shape: Shape) -> SSAValue:
    """Tiles are numbered row by row over all dimensions."""
    page = starts[0]
    for start, size in zip(starts[1:], shape[1:], strict=True):
        number = constant_of(page)
        if number is not None:
            row = make.index(number * size)
        else:
            row = make.value(integer_op(arith.MuliOp, page, make.index(size)))
        page = add(make, row, start, "first_page")
    return page


def add(make: Maker, left: SSAValue, right: SSAValue, hint: str | None = None) -> SSAValue:
    """The sum; what is known now is not calculated later."""
    numbers = constant_of(left), constant_of(right)
    if numbers[0] is not None and numbers[1] is not None:
        return make.index(numbers[0] + numbers[1])
    for number, other in ((numbers[0], right), (numbers[1], left)):
        if number == 0:
            return other
    return make.value(integer_op(arith.AddiOp, left, right), hint)



"""Calls between nodes, shared by pipes and semaphores: places on the NoC, words in L1."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerAttr, StringAttr, i64
from xdsl.ir import Block, Region, SSAValue

from ttl.dialects import ttkernel
from ttl.dialects.building import create
from ttl.dialects.ttkernel import processor_of

from ..arithmetic import add, minus, times
from ..kernel.kernel_calls import KernelConverter, noc_address_call, value_call
from ..module_pass import INDEX, Maker, and_op, compare_op
from .pipe_resources import COUNTER_BYTES

Corners = tuple[SSAValue, SSAValue, SSAValue, SSAValue]  # x and y of the first and the last node


def node_count(make: Maker, corners: Corners) -> SSAValue:
    """Return the number of nodes in a rectangle."""
    x0, y0, x1, y1 = corners
    one = make.index(1)
    columns, rows = (add(make, minus(make, b, a), one) for a, b in ((x0, x1), (y0, y1)))
    return times(make, columns, rows)


# Control flow -------------------------------------------------------------------------------------


def branch(
    make: Maker,
    condition: SSAValue,
    then: Callable[[Maker], None],
    otherwise: Callable[[Maker], None] | None = None,
) -> None:
    regions = [_region(make, then), Region() if otherwise is None else _region(make, otherwise)]
    make.add(create(scf.IfOp, (condition,), regions=regions))


def _region(make: Maker, body: Callable[[Maker], None]) -> Region:
    block = Block()
    inner = Maker.at_end(block, make.origin)
    body(inner)
    inner.add(create(scf.YieldOp))
    return Region(block)


def load(make: Maker, array: SSAValue, place: SSAValue, hint: str) -> SSAValue:
    return make.new(ttkernel.ArrayLoadOp, [array, place], INDEX, hint)


def store(make: Maker, array: SSAValue, place: SSAValue, value: SSAValue) -> None:
    make.add(ttkernel.ArrayStoreOp.create(operands=[array, place, value]))


# Nodes and words ----------------------------------------------------------------------------------


class NodeCalls:
    """The addresses a kernel needs to reach other nodes, computed once at its start."""

    def __init__(self, converter: KernelConverter):
        self.converter = converter
        self.is_reader = processor_of(converter.kernel) == "reader"
        self._own: dict[str, SSAValue] = {}
        self._scratch: SSAValue | None = None

    def own_coordinate(self, axis: str) -> SSAValue:
        if axis not in self._own:
            name = f"get_absolute_logical_{axis}"
            self._own[axis] = value_call(self.converter.start, name, hint=f"node_{axis}")
        return self._own[axis]

    def scratch(self) -> SSAValue:
        """Return the address of the scratch memory: the common argument after the tensors'."""
        if self._scratch is None:
            kernel = self.converter.kernel
            positions = kernel.attributes["ttl.crta_indices"]
            index = IntegerAttr(len(positions), i64)  # type: ignore[arg-type]
            start = self.converter.start
            self._scratch = start.new(ttkernel.CommonArgOp, (), INDEX, "scratch", index=index)
            kernel.attributes["ttl.uses_pipe_scratch"] = IntegerAttr(1, i64)
        return self._scratch

    def staging(self, make: Maker) -> SSAValue:
        """Return the word this kernel multicasts from; each data movement kernel has its own."""
        offset = 0 if self.is_reader else COUNTER_BYTES
        return add(make, self.scratch(), make.index(offset), "staging")

    def virtual(self, make: Maker, axis: str, number: SSAValue) -> SSAValue:
        return make.new(ttkernel.VirtualCoordinateOp, [number], INDEX, axis=StringAttr(axis))

    def on_node(
        self, make: Maker, node: tuple[SSAValue, SSAValue], address: SSAValue, hint: str
    ) -> SSAValue:
        """Return the NoC address of an L1 address on another node."""
        x, y = (self.virtual(make, *pair) for pair in zip("xy", node, strict=True))
        return noc_address_call(make, ttkernel.NODE_ADDRESS, x, y, address, hint=hint)

    def on_nodes(self, make: Maker, corners: Corners, address: SSAValue, hint: str) -> SSAValue:
        """Return a rectangle's NoC address; the writer's NoC 1 goes in the reverse direction."""
        virtual = [
            self.virtual(make, axis, number) for axis, number in zip("xyxy", corners, strict=True)
        ]
        ordered = virtual if self.is_reader else virtual[2:] + virtual[:2]
        return noc_address_call(make, "get_noc_multicast_addr", *ordered, address, hint=hint)

    def is_inside(self, make: Maker, corners: Corners) -> SSAValue:
        """Return 1 if the node is in the rectangle, otherwise 0."""
        x, y = (self.own_coordinate(axis) for axis in "xy")
        x0, y0, x1, y1 = corners
        tests = [
            make.value(compare_op(low, high, "sle"))
            for low, high in ((x0, x), (x, x1), (y0, y), (y, y1))
        ]
        found = reduce(lambda one, other: make.value(and_op(one, other)), tests)
        return make.value(arith.SelectOp(found, make.index(1), make.index(0)))

    def semaphore(self, make: Maker, number: SSAValue, hint: str) -> SSAValue:
        return value_call(make, "get_semaphore", number, hint=hint)

    def word(self, make: Maker, address: SSAValue) -> SSAValue:
        """Return a pointer, for semaphores' waits and stores."""
        type = ttkernel.L1PointerType()
        hint = f"{address.name_hint or 'address'}_word"
        return value_call(make, ttkernel.L1_WORD, address, type=type, hint=hint)

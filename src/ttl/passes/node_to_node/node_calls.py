"""Calls between nodes, which pipes and semaphores share: places on the NoC, words in L1."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ttl.dialects import ttkernel
from ttl.dialects.building import create

from ..kernel.kernel_calls import KernelConverter, add, call
from ..module_pass import INDEX, Maker, and_op, compare_op, constant_of, integer_op, thread_of
from .pipe_resources import COUNTER_BYTES

Corners = tuple[SSAValue, SSAValue, SSAValue, SSAValue]  # x and y of the first and the last node


def value_call(
    make: Maker, name: str, *arguments: SSAValue, type: Attribute, hint: str | None = None
) -> SSAValue:
    op = ttkernel.CALLS[name].create(operands=arguments, result_types=[type])
    return make.value(op, hint)


# Arithmetic, what is known now done now -----------------------------------------------------------


def times(make: Maker, value: SSAValue, factor: SSAValue) -> SSAValue:
    numbers = constant_of(value), constant_of(factor)
    if numbers[0] is not None and numbers[1] is not None:
        return make.index(numbers[0] * numbers[1])
    for number, other in ((numbers[0], factor), (numbers[1], value)):
        if number in (0, 1):
            return other if number else make.index(0)
    return make.value(integer_op(arith.MuliOp, value, factor))


def minus(make: Maker, left: SSAValue, right: SSAValue) -> SSAValue:
    numbers = constant_of(left), constant_of(right)
    if numbers[0] is not None and numbers[1] is not None:
        return make.index(numbers[0] - numbers[1])
    return left if numbers[1] == 0 else make.value(integer_op(arith.SubiOp, left, right))


def divided(make: Maker, value: SSAValue, by: int) -> tuple[SSAValue, SSAValue]:
    """The quotient and what is left."""
    if by == 1:
        return value, make.index(0)
    divisor = make.index(by)
    return (
        make.value(arith.DivSIOp(value, divisor)),
        make.value(arith.RemSIOp(value, divisor)),
    )


def node_count(make: Maker, corners: Corners) -> SSAValue:
    """The nodes of a rectangle."""
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


# Nodes and words ----------------------------------------------------------------------------------


class NodeCalls:
    """What a kernel needs to reach other nodes; made at its start, once."""

    def __init__(self, converter: KernelConverter):
        self.converter = converter
        self.is_reader = thread_of(converter.kernel) == "reader"
        self._own: dict[str, SSAValue] = {}
        self._scratch: SSAValue | None = None

    def own_coordinate(self, axis: str) -> SSAValue:
        if axis not in self._own:
            made = call(self.converter.start, f"get_absolute_logical_{axis}", returns=True)
            self._own[axis] = made.results[0]
            made.results[0].name_hint = f"node_{axis}"
        return self._own[axis]

    def scratch(self) -> SSAValue:
        """The address of the scratch memory: the common argument after the tensors'."""
        if self._scratch is None:
            kernel = self.converter.kernel
            positions = kernel.attributes["ttl.crta_indices"]
            argument = ttkernel.CommonArgOp.create(
                properties={"index": IntegerAttr(len(positions), i64)},  # type: ignore[arg-type]
                result_types=[INDEX],
            )
            self._scratch = self.converter.start.value(argument, "scratch")
            kernel.attributes["ttl.uses_pipe_scratch"] = IntegerAttr(1, i64)
        return self._scratch

    def staging(self, make: Maker) -> SSAValue:
        """The word that this kernel multicasts from: each data movement kernel has its own."""
        offset = 0 if self.is_reader else COUNTER_BYTES
        return add(make, self.scratch(), make.index(offset), "staging")

    def virtual(self, make: Maker, axis: str, number: SSAValue) -> SSAValue:
        op = ttkernel.VirtualCoordinateOp.create(
            operands=[number], properties={"axis": StringAttr(axis)}, result_types=[INDEX]
        )
        return make.value(op)

    def on_node(
        self, make: Maker, node: tuple[SSAValue, SSAValue], address: SSAValue, hint: str
    ) -> SSAValue:
        """The NoC address of an L1 address on another node."""
        x, y = (self.virtual(make, *pair) for pair in zip("xy", node, strict=True))
        type = ttkernel.NocAddressType()
        return value_call(make, ttkernel.NODE_ADDRESS, x, y, address, type=type, hint=hint)

    def on_nodes(self, make: Maker, corners: Corners, address: SSAValue, hint: str) -> SSAValue:
        """Of a rectangle of nodes; NoC 1, which the writer uses, goes the other way round."""
        virtual = [
            self.virtual(make, axis, number) for axis, number in zip("xyxy", corners, strict=True)
        ]
        ordered = virtual if self.is_reader else virtual[2:] + virtual[:2]
        type = ttkernel.NocAddressType()
        return value_call(
            make, "get_noc_multicast_addr", *ordered, address, type=type, hint=hint
        )

    def is_inside(self, make: Maker, corners: Corners) -> SSAValue:
        """1 if the node is in the rectangle, else 0."""
        x, y = (self.own_coordinate(axis) for axis in "xy")
        x0, y0, x1, y1 = corners
        tests = [
            make.value(compare_op(low, high, "sle"))
            for low, high in ((x0, x), (x, x1), (y0, y), (y, y1))
        ]
        found = tests[0]
        for test in tests[1:]:
            found = make.value(and_op(found, test))
        return make.value(arith.SelectOp(found, make.index(1), make.index(0)))

    def semaphore(self, make: Maker, number: SSAValue, hint: str) -> SSAValue:
        address = call(make, "get_semaphore", number, returns=True).results[0]
        address.name_hint = hint
        return address

    def word(self, make: Maker, address: SSAValue) -> SSAValue:
        """A pointer, as the waits and stores of semaphores take it."""
        type = ttkernel.L1PointerType()
        hint = f"{address.name_hint or 'address'}_word"
        return value_call(make, ttkernel.L1_WORD, address, type=type, hint=hint)


def module_of(op: Operation) -> ModuleOp:
    module = op.parent_op()
    assert isinstance(module, ModuleOp)
    return module

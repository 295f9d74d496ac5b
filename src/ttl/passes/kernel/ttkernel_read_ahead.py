"""ttkernel-read-ahead: start the reads of the next block before waiting for those of this one.

A loop that reserves blocks, reads them from tensors, waits and pushes them has one block under way.
It gets a second one if the buffers have room for it at that moment, so no kernel waits for room
that did not before. Room is also the loop's only signal from others: it still reads data that they
wrote before they made room. Transaction ids distinguish the two blocks.

rule ORDER  reserve, read, one barrier, push; addresses come from the loop's variable alone
rule COUNT  the chip counts transfers under way with an id up to a limit, and a block stays below
            half of it
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from math import ceil, prod

from xdsl.dialects import affine, arith, scf
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i1
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ttl.dialects import ttkernel, ttl
from ttl.dialects.building import around, create, walk
from ttl.dialects.ttkernel import processor_of
from ttl.target import Target

from ..arithmetic import add, minus
from ..module_pass import (
    INDEX,
    Maker,
    and_op,
    compare_op,
    constant_of,
    erase,
    kernels,
    steps_of,
    target_of,
)
from ..node_to_node.node_calls import branch
from .kernel_calls import buffer_start, call, value_call
from .ttkernel_combine_pack_tiles import trip_count

RESERVE, ADDRESS = "ttkernel.cb_reserve_back", "ttkernel.get_write_ptr"
READ, BARRIER, PUSH = (
    "ttkernel.noc_async_read_page",
    "ttkernel.noc_async_read_barrier",
    "ttkernel.cb_push_back",
)
Buffers = dict[Attribute, ttl.DeclareBufferOp]
FIRST, SECOND = 1, 2  # transaction ids; all other reads have 0


def apply(op: ModuleOp) -> None:
    movers = [kernel for kernel in kernels(op) if processor_of(kernel) != "compute"]
    buffers: Buffers = {
        each.sym_name: each for each in op.ops if isinstance(each, ttl.DeclareBufferOp)
    }
    for kernel in movers:
        for loop in [each for each in walk(kernel) if isinstance(each, scf.ForOp)]:
            body = _body_of(loop)
            if body is not None and _is_worthwhile(loop, body, buffers, target_of(op)):
                _Rewriter(loop, body, buffers).rewrite()


# The form a loop must have ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _LoopBody:
    """The body of a loop as in rule ORDER: operations that start reads, the barrier, the pushes."""

    begin: list[Operation]
    barrier: Operation
    pushes: list[Operation]

    def reserves(self) -> list[Operation]:
        return [op for op in self.begin if op.name == RESERVE]

    def reads(self) -> list[Operation]:
        return [op for each in self.begin for op in walk(each) if op.name == READ]


def _body_of(loop: scf.ForOp) -> _LoopBody | None:
    ops = [*loop.body.block.ops][:-1]
    barriers = [op for op in ops if op.name == BARRIER]
    if loop.iter_args or len(barriers) != 1:
        return None
    at = ops.index(barriers[0])
    pushes = [op for op in ops[at + 1 :] if op.name == PUSH]
    body = _LoopBody(ops[:at], barriers[0], pushes)
    others = [op for op in ops[at + 1 :] if op.name != PUSH and not _is_arithmetic(op)]
    return body if not others and _is_ordered(body) else None


def _is_ordered(body: _LoopBody) -> bool:
    """Does the body follow rule ORDER?"""
    reserved = {_blocks_of(op) for op in body.reserves()}
    pushed = {_blocks_of(op) for op in body.pushes}
    is_each_once = len(reserved) == len(body.reserves()) == len(body.pushes)
    return is_each_once and reserved == pushed and all(_begins_reads(op) for op in body.begin)


def _blocks_of(op: Operation) -> tuple[SSAValue, int | None]:
    buffer, tiles = op.operands
    return buffer, constant_of(tiles)


def _begins_reads(op: Operation) -> bool:
    if isinstance(op, affine.ForOp):
        return all(_begins_reads(inner) for inner in op.body.block.ops)
    is_ending = isinstance(op, affine.YieldOp)
    return is_ending or _is_arithmetic(op) or op.name in (RESERVE, ADDRESS, READ)


def _is_arithmetic(op: Operation) -> bool:
    return op.name.startswith("arith.")


def _is_worthwhile(loop: scf.ForOp, body: _LoopBody, buffers: Buffers, target: Target) -> bool:
    steps = steps_of(loop)
    if (steps is not None and len(steps) < 2) or not body.reads():
        return False
    types = [_declaration_of(op, buffers).type for op in body.reserves()]
    if any(type.block_count.value.data < 2 for type in types):
        return False
    packets = max(ceil(type.page_bytes(False) / target.noc_burst_bytes) for type in types)
    pages = sum(prod(trip_count(each) for each in _loops(op, loop)) for op in body.reads())
    return pages * packets <= target.noc_transaction_requests // 2  # rule COUNT


def _declaration_of(reserve: Operation, buffers: Buffers) -> ttl.DeclareBufferOp:
    type = reserve.operands[0].type
    assert isinstance(type, ttkernel.CBType)
    return buffers[type.buffer]


def _loops(op: Operation, outer: Operation) -> list[affine.ForOp]:
    """Return the loops over tiles that an operation is in."""
    inner = [each for each in around(op) if isinstance(each, affine.ForOp)]
    return [each for each in inner if outer in around(each)]


# The loop after rewriting -------------------------------------------------------------------------


class _Rewriter:
    """Replaces a loop by one with two blocks under way.

    An iteration starts the reads of its block and completes the block before; it completes first if
    there is no room for both.
    """

    def __init__(self, loop: scf.ForOp, body: _LoopBody, buffers: Buffers):
        self.loop, self.body = loop, body
        self.types = {op.operands[0]: _declaration_of(op, buffers).type for op in body.reserves()}

    def rewrite(self) -> None:
        make = Maker.before(self.loop)
        block = Block(arg_types=[INDEX, INDEX])
        operands = [*self.loop.operands[:3], make.index(FIRST)]
        new = make.add(create(scf.ForOp, operands, (INDEX,), regions=[Region(block)]))
        block.args[0].name_hint = self.loop.body.block.args[0].name_hint
        block.args[1].name_hint = new.results[0].name_hint = "id"
        self._fill(Maker.at_end(block, self.loop), *block.args)
        self._end(make, new.results[0])
        erase(self.loop)

    def _fill(self, make: Maker, variable: SSAValue, own: SSAValue) -> None:
        other = minus(make, make.index(FIRST + SECOND), own, "other")
        is_later = make.value(compare_op(variable, self.loop.lb, "ne"), "is_later")
        has_room = self._has_room(make)
        is_second = make.value(and_op(is_later, has_room), "is_second")
        is_full = make.value(and_op(is_later, _negate(make, has_room)))
        branch(make, is_full, lambda inner: self._complete(inner, other))
        self._begin(make, variable, own, is_second)
        branch(make, is_second, lambda inner: self._complete(inner, other))
        make.add(create(scf.YieldOp, (other,)))

    def _has_room(self, make: Maker) -> SSAValue:
        """Do all buffers have room for two blocks?"""
        rooms = []
        for buffer, type in self.types.items():
            tiles = make.index(2 * type.block_tiles)
            rooms.append(value_call(make, "cb_pages_reservable_at_back", buffer, tiles, type=i1))
        found = reduce(lambda one, other: make.value(and_op(one, other)), rooms)
        found.name_hint = "has_room"
        return found

    def _begin(self, make: Maker, variable: SSAValue, own: SSAValue, is_second: SSAValue) -> None:
        call(make, "noc_async_read_set_trid", own)
        values: dict[SSAValue, SSAValue] = {self.loop.body.block.args[0]: variable}
        for op in self.body.begin:
            make.origin = op
            if op.name == RESERVE:
                self._reserve(make, op.operands[0], is_second)
            elif op.name == ADDRESS:
                values[op.results[0]] = self._address(make, op, is_second)
            else:
                make.add_as_it_is(op.clone(values))

    def _reserve(self, make: Maker, buffer: SSAValue, is_second: SSAValue) -> None:
        tiles = self.types[buffer].block_tiles
        both = make.new(
            arith.SelectOp, (is_second, make.index(2 * tiles), make.index(tiles)), INDEX
        )
        call(make, "cb_reserve_back", buffer, both)

    def _address(self, make: Maker, op: Operation, is_second: SSAValue) -> SSAValue:
        """Return the block's address; a second one is after the first, or at the start."""
        buffer, hint = op.operands[0], op.results[0].name_hint
        type, start = self.types[buffer], buffer_start(buffer, "get_write_ptr")
        size = type.block_tiles * type.page_bytes(False)
        first = value_call(make, "get_write_ptr", buffer, hint=hint)
        after = add(make, first, make.index(size), f"{hint}_after")
        end = add(make, start, make.index(size * type.block_count.value.data))
        is_over = make.value(compare_op(after, end, "eq"))
        second = make.new(arith.SelectOp, (is_over, start, after), INDEX)
        return make.new(arith.SelectOp, (is_second, second, first), INDEX, f"{hint}_own")

    def _complete(self, make: Maker, id: SSAValue) -> None:
        """Push the block after its reads have arrived."""
        make.origin = self.body.barrier
        call(make, "noc_async_read_barrier_with_trid", id)
        for push in self.body.pushes:
            make.origin, buffer = push, push.operands[0]
            call(make, "cb_push_back", buffer, make.index(self.types[buffer].block_tiles))

    def _end(self, make: Maker, id: SSAValue) -> None:
        """Complete the last block, if the loop ran; give later reads the common id again."""
        last = minus(make, make.index(FIRST + SECOND), id, "last")
        if steps_of(self.loop) is None:
            has_run = make.value(compare_op(self.loop.lb, self.loop.ub, "slt"))
            branch(make, has_run, lambda inner: self._complete(inner, last))
        else:
            self._complete(make, last)
        make.origin = self.loop
        call(make, "noc_async_read_set_trid", make.index(0))


def _negate(make: Maker, condition: SSAValue) -> SSAValue:
    true = make.value(arith.ConstantOp(IntegerAttr(1, i1)))
    return make.value(create(arith.XOrIOp, (condition, true), (i1,)))

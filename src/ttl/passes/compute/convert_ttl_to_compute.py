"""convert-ttl-to-compute: turn block math into DST sections of tile operations.

Block values are computed as late as possible, in a section (`ttl.compute`) in front of the
operation that forces them:

rule STORE   a store runs before its block is pushed, before blocks it reads are popped and before a
             loop or branch. Stores that share values share a section.
rule KEEP    a value needed after its section, after a pop of the blocks it reads, or inside a loop
             or branch goes to a compiler buffer; if ttl-insert-intermediate-dfbs gave it a buffer,
             it goes there before the value is read.
rule AGAIN   except that a value of one matrix-unit call on two blocks is recomputed while they are
             there: that takes about 40 cycles a tile, packing and unpacking 100.
rule OPEN    a section whose values are the only ones needed after a pop does not end there, but at
             the next operation that forces values, if whole blocks of them fit in registers.
rule LOOP    values that a loop carries stay in registers if they and all values the loop computes
             fit; the section then spans the loop. Otherwise see rule SUM and rule RING.
rule SUM     a loop-carried value that is only added to is in a buffer, and the packer adds.
rule RING    any other loop-carried value goes through a compiler buffer of two blocks.
rule RELU    if relu is the last step before a store, the packer does it.
rule WIDE    an f32 buffer is unpacked in one of two ways, to the registers or to the matrix unit: a
             value that is read in both ways is in two buffers.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation

from ttl.dialects import ttl

from ..module_pass import Maker, kernels, target_of
from .carried_values import drop_block_math
from .needs import outlives_next_release
from .placement import Placement, Root, WalkedScope
from .regions import Regions, Rings
from .section_builder import is_block
from .sections import BlockEvaluation
from .ttl_insert_intermediate_dfbs import drop_unused


def apply(op: ModuleOp) -> None:
    target = target_of(op)
    for kernel in kernels(op, "compute"):
        _Walker(Placement(op, kernel, target)).block(kernel.body.block, [])
        drop_block_math(kernel)
        drop_unused(op, kernel)


class _Walker:
    """Walks through a kernel and finds the operations that force values."""

    def __init__(self, placement: Placement):
        self.placement = placement
        self.evaluation = BlockEvaluation(placement)
        self.needs = self.evaluation.needs
        self.open_sections = self.evaluation.open_sections
        self.regions = Regions(placement, self.evaluation, self.block)

    def block(self, block: Block, rings: Rings) -> None:
        """Place a block's values; `rings` buffer the values that its terminator carries."""
        scope = WalkedScope(block.last_op)
        if scope.end is not None:
            carried = list(zip(scope.end.operands, rings, strict=False))
            values = [value for value, _ in carried]
            scope.rings = {v: r for v, r in carried if r is not None and values.count(v) == 1}
        self.placement.scopes.append(scope)
        for op in list(block.ops):
            if op.parent is block:
                self._operation(op, rings)
            scope.seen.add(op)
        self.placement.scopes.pop()

    def _operation(self, op: Operation, rings: Rings) -> None:
        if isinstance(op, (ttl.BlockMathOp, ttl.FillOp)):
            return
        if isinstance(op, ttl.StoreOp):
            self.placement.scope.stores.append(op)
        elif op.regions:
            self.regions.place(op)
        elif op.next_op is None:
            self._end_of_block(op, rings)
        elif isinstance(op, ttl.PrintOp):
            self._show(op)
        else:
            if self._forces_values(op) and not self.open_sections.begin_at_pop(op):
                self.evaluation.flush(op, self.needs.find_popped_values(op))
            self.open_sections.move_into(op)

    def _forces_values(self, op: Operation) -> bool:
        """Must values be computed before this operation? (rule STORE)"""
        stores = self.placement.scope.stores
        if isinstance(op, ttl.PushOp):
            return any(ttl.buffer_of(store.view) is op.buffer for store in stores)
        if isinstance(op, (ttl.PopOp, ttl.HandOverOp)):
            users = self.needs.pending_users(op)
            return bool(self.needs.find_popped_values(op)) or any(
                store in users for store in stores
            )
        is_open = self.placement.open is not None
        return isinstance(op, ttl.AcquireOp) and is_open and outlives_next_release(op)

    def _show(self, op: ttl.PrintOp) -> None:
        """Move printed values to buffers: run their stores, keep computed values."""
        blocks = [value for value in op.values if is_block(value)]
        computed = [value for value in blocks if not isinstance(value.owner, ttl.AcquireOp)]
        if computed or any(store.view in blocks for store in self.placement.scope.stores):
            self.evaluation.flush(op, computed)
        for position, value in enumerate(op.operands):
            if value in computed:
                place = self.placement.place_of(value, matrix=False)
                assert place is not None
                op.operands[position] = place
        self.placement.done.add(op)
        self.open_sections.move_into(op)

    def _end_of_block(self, end: Operation, rings: Rings) -> None:
        """Move the values that the block carries to their buffers; release kept values."""
        scope = self.placement.scope
        roots = [
            Root(value, buffer=ring)
            for value, ring in zip(end.operands, rings, strict=False)
            if ring is not None and value not in scope.carried
        ]
        scope.carried |= {root.value for root in roots}
        self.evaluation.flush(end, roots=roots, ended=[end])
        make = Maker.before(end)
        for home in scope.homes:
            self.placement.release(home, make)

"""convert-ttl-to-compute: block math becomes DST sections of tile operations.

Block values are computed as late as possible, in a section (`ttl.compute`) in front of the
operation that forces them:
rule STORE   a store is carried out before its block is pushed, before blocks it reads are popped
             and before a loop or branch. Stores that share values share a section.
rule KEEP    a value that is needed again when its section has ended, when the blocks it reads are
             popped, inside a loop or branch, or as an operand of a matrix product, a reduction, a
             broadcast or a transposition, goes to a compiler buffer.
rule MASK    a reduction goes to a block before anything is computed with it: the packer clears
             what is not part of the result.
rule SCALER  the scalers of reductions are made once, before all loops.
rule OPEN    a section whose values are all that is needed after a pop does not end there, but at
             the next operation that forces values, if whole blocks of them fit in registers.
rule LOOP    values that a loop carries stay in registers if they and all the loop computes fit;
             the section then spans the loop. Otherwise see rule SUM and rule RING.
rule SUM     a loop-carried value that is only added to stands in a buffer, and the packer adds.
rule RING    any other loop-carried value goes through a compiler buffer of two blocks.
rule WIDE    an f32 buffer is unpacked in one of two ways, to the registers or to the matrix unit:
             a value that is read in both ways stands in two buffers.
"""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation

from ttl.dialects import ttl
from ttl.semantics.ops import is_complete

from ..module_pass import Maker, erase, first_after_bindings, kernels, not_yet, target_of
from .arranged_tiles import is_masked
from .block_values import name_block_values, share_common_values
from .carried_values import drop_block_math
from .compiler_buffers import shape_of
from .evaluation import Evaluation
from .needs import outlives_next_release
from .placement import Placement, Root, Scope
from .regions import Regions, Rings
from .section_builder import is_block
from .ttl_set_compute_kernel_config import decide_fp32


def apply(op: ModuleOp) -> None:
    target = target_of(op)
    for kernel in kernels(op, "compute"):
        decide_fp32(kernel)
        _drop_open(kernel)
        _hoist_scalers(kernel)
        name_block_values(kernel)
        share_common_values(kernel.body.block)
        _Walker(Placement(op, kernel, target)).block(kernel.body.block, [])
        drop_block_math(kernel)


class _Walker:
    """Goes through a kernel and finds the operations that force values."""

    def __init__(self, placement: Placement):
        self.placement = placement
        self.evaluation = Evaluation(placement)
        self.needs = self.evaluation.needs
        self.open_sections = self.evaluation.open_sections
        self.regions = Regions(placement, self.evaluation, self.block)

    def block(self, block: Block, rings: Rings) -> None:
        """`rings`: the buffer for each value that the terminator carries on."""
        scope = Scope(block.last_op)
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
                self.evaluation.flush(op, self.needs.read_by_popped(op))
            self.open_sections.move_into(op)

    def _forces_values(self, op: Operation) -> bool:
        """rule STORE"""
        stores = self.placement.scope.stores
        if isinstance(op, ttl.PushOp):
            return any(ttl.buffer_of(store.view) is op.buffer for store in stores)
        if isinstance(op, (ttl.PopOp, ttl.HandOverOp)):
            users = self.needs.pending_users(op)
            return bool(self.needs.read_by_popped(op)) or any(store in users for store in stores)
        is_open = self.placement.open is not None
        return isinstance(op, ttl.AcquireOp) and is_open and outlives_next_release(op)

    def _show(self, op: ttl.PrintOp) -> None:
        """What is printed is in a buffer: its stores are carried out, a computed value is kept."""
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
        """Values that the block carries on go to their buffers; what was kept is released."""
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


def _drop_open(kernel: func.FuncOp) -> None:
    """Values of which a size was not known have been made again where it was."""
    for op in reversed(list(kernel.walk())):
        if isinstance(op, (ttl.BlockMathOp, ttl.FillOp)) and not is_complete(shape_of(op.result)):
            if list(op.result.uses):
                raise not_yet("a broadcast here without a shape", op, "give it one: shape=(2, 2)")
            erase(op)


def _hoist_scalers(kernel: func.FuncOp) -> None:
    """rule SCALER"""
    start = first_after_bindings(kernel)
    for op in list(kernel.walk()):
        scaler = op.operands[1].owner if is_masked(op) else None
        if isinstance(scaler, ttl.FillOp) and scaler is not start:
            Operation.detach(scaler)
            kernel.body.block.insert_op_before(scaler, start)

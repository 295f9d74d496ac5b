"""Place loops and branches, and pass on the block values they carry.

See rule LOOP, rule SUM and rule RING of convert-ttl-to-compute.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects import scf
from xdsl.ir import Block, Operation, SSAValue

from ttl.dialects import ttl
from ttl.dialects.ttcore import block_type

from ..module_pass import Maker, erase, terminator
from . import compiler_buffers as buffers
from .carried_values import drop_unchanged, sum_by_packer
from .compiler_buffers import shape_of
from .placement import Placement, Root, store_before
from .section_builder import is_block
from .sections import BlockEvaluation
from .ttl_annotate_l1_acc_loops import is_l1_acc

Rings = list[SSAValue | None]  # the buffer that carries each value; None for a scalar


@dataclass(frozen=True, slots=True)
class Regions:
    """`walk` places a block's values, given the buffers for the values its terminator carries."""

    placement: Placement
    evaluation: BlockEvaluation
    walk: Callable[[Block, Rings], None]

    def place(self, op: Operation) -> None:
        self.evaluation.flush(op, self.evaluation.needs.find_outer_values(op))
        op = drop_unchanged(op)
        self.placement.done.add(op)
        self.placement.scope.seen.add(op)
        if isinstance(op, scf.ForOp):
            self._loop(op)
        elif isinstance(op, scf.IfOp):
            self._branches(op)
        else:
            assert isinstance(op, scf.WhileOp)
            self._while_loop(op)

    def _loop(self, loop: scf.ForOp) -> None:
        carried = [position for position, v in enumerate(loop.iter_args) if is_block(v)]
        if carried and self._stays_in_registers(loop):
            return
        rings: Rings = [None] * len(loop.iter_args)
        sums: list[tuple[SSAValue, SSAValue]] = []
        are_sums = [is_l1_acc(loop, position) for position in carried]
        for position, is_sum in zip(carried, are_sums, strict=True):
            start: SSAValue = loop.iter_args[position]
            result: SSAValue = loop.results[position]
            if is_sum:
                view = self._block_to_sum_in(loop, result)
                sums.append((result, view))
                if not sum_by_packer(loop, position, view):  # rule SUM
                    self.placement.scope.stores.append(store_before(loop, start, view))
            else:
                rings[position] = self._new_buffer(start, result.name_hint, 2)
        body = loop.body.block
        self._ring_loop(loop, loop.iter_args, body, body.args[1:], rings)
        for result, view in sums:
            self._end_of_sum(loop, result, view)

    def _new_buffer(self, value: SSAValue, hint: str | None, blocks: int = 1) -> SSAValue:
        found = self.placement.buffers
        return found.make(shape_of(value), hint, blocks, found.dtype_of(value))

    def _stays_in_registers(self, loop: scf.ForOp) -> bool:
        """Let the loop run in one section, if it fits (rule LOOP)."""
        sections = self.evaluation.open_sections
        if not sections.can_span(loop):
            return False
        starts = [Root(start, buffer=start) for start in loop.iter_args if is_block(start)]
        self.evaluation.compute_factors(starts, loop)
        return sections.begin_with_loop(loop)

    def _while_loop(self, loop: scf.WhileOp) -> None:
        """Place a loop whose condition is on scalars and passes on its arguments."""
        rings = [
            self._new_buffer(start, start.name_hint, 2) if is_block(start) else None
            for start in loop.arguments
        ]
        body = loop.after_region.block
        self._ring_loop(loop, loop.arguments, body, body.args, rings, loop.before_region.block)

    def _ring_loop(
        self,
        loop: scf.ForOp | scf.WhileOp,
        starts: Sequence[SSAValue],
        body: Block,
        arguments: Sequence[SSAValue],
        rings: Rings,
        condition: Block | None = None,
    ) -> None:
        """Carry block values through rings of two blocks (rule RING)."""
        pairs = zip(starts, rings, strict=True)
        roots = [Root(start, buffer=ring) for start, ring in pairs if ring is not None]
        self.evaluation.flush(loop, roots=roots)
        if condition is not None:
            self.walk(condition, [])
        first = body.first_op
        assert first is not None
        make = Maker.before(first, loop)
        for argument, ring in zip(arguments, rings, strict=True):
            if ring is not None:
                self.placement.homes[argument, False] = buffers.wait(ring, make)
        self.walk(body, rings)
        for ring in rings:
            if ring is not None:
                buffers.pop(ring, Maker.before(terminator(body)))
        self._settle_results(loop, rings)

    def _settle_results(self, op: Operation, rings: Rings) -> None:
        make = Maker.after(op)
        for result, ring in zip(op.results, rings, strict=True):
            if ring is not None:
                self.placement.settle(result, ring, make)

    def _block_to_sum_in(self, loop: scf.ForOp, result: SSAValue) -> SSAValue:
        """Return the user's block if it has the registers' format, or a compiler buffer's."""
        uses = list(result.uses)
        store = uses[0].operation if len(uses) == 1 else None
        if isinstance(store, ttl.StoreOp) and store.accumulate is None:
            reserve = store.view.owner
            is_early = reserve.parent is loop.parent and self.placement.is_seen(reserve)  # type: ignore
            if is_early and block_type(store.view.type).dtype == self.placement.buffers.dtype:
                view: SSAValue = store.view
                erase(store)
                return view
        buffer = self.placement.buffers.make(shape_of(result), result.name_hint)
        return buffers.reserve(buffer, Maker.before(loop))

    def _end_of_sum(self, loop: scf.ForOp, result: SSAValue, view: SSAValue) -> None:
        if not list(result.uses):
            return
        make = Maker.after(loop)
        buffer = ttl.buffer_of(view)
        buffers.push(buffer, make)
        self.placement.settle(result, buffer, make)

    def _branches(self, op: scf.IfOp) -> None:
        rings = [
            self._new_buffer(result, result.name_hint) if is_block(result) else None
            for result in op.results
        ]
        for region in op.regions:
            if region.blocks:
                self.walk(region.block, rings)
        self._settle_results(op, rings)

"""Find the operations that must be computed for a value, and its later users.

The rules are those of convert-ttl-to-compute.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from xdsl.dialects import scf
from xdsl.ir import Operation, SSAValue

from ttl.dialects import ttl
from ttl.dialects.ttcore import block_type
from ttl.semantics.dtypes import bfloat16

from ..module_pass import users_of
from .arranged_tiles import is_masked, reads_by_matrix_unit
from .placement import Placement, Root
from .section_builder import is_rounding
from .ttl_insert_intermediate_dfbs import has_buffer, is_packed_before, reads_in_buffer

Memo = dict[SSAValue, bool]
Computed = dict[ttl.BlockMathOp, None]


@dataclass(frozen=True, slots=True)
class Needs:
    """Queries about a kernel's values, given those placed so far."""

    placement: Placement

    # Before: the operations that compute a value --------------------------------------------------

    def find_computed(self, roots: Iterable[Root]) -> Computed:
        """Return the operations that must be computed for the roots, operands first."""
        found: Computed = {}

        def visit(value: SSAValue, for_factor: bool) -> None:
            op = value.owner
            if not isinstance(op, ttl.BlockMathOp) or op in found or self.placement.is_open(value):
                return
            if self.placement.place_of(value, for_factor) is not None:
                return
            for operand in op.inputs:
                visit(operand, reads_by_matrix_unit(op))
            found[op] = None

        for root in roots:
            visit(root.value, False)
        return found

    def missing_factors(self, roots: list[Root]) -> list[Root]:
        """Return the operands that must be in buffers and are not."""
        found = {
            (root.value, False): Root(root.value) for root in roots if self._is_packed_before(root)
        }
        for op in self.find_computed(roots):
            way = self.placement.is_wide and reads_by_matrix_unit(op)
            for operand in op.inputs:
                is_needed = reads_in_buffer(op, operand)
                if is_needed and self.placement.place_of(operand, way) is None:
                    known = has_buffer(operand)
                    found[operand, way] = Root(operand, for_matrix=way, has_buffer=known)
        return list(found.values())

    def _is_packed_before(self, root: Root) -> bool:
        """Is the root packed to a buffer of its own before it goes to its destination?"""
        if self.placement.place_of(root.value, False) is not None:
            return False
        if root.store is not None:
            return is_packed_before(root.store)
        return root.buffer is not None and is_rounding(root.value.owner)

    def reaches_open(self, value: SSAValue) -> bool:
        """Is the value computed from values in the open section?"""
        if self.placement.is_open(value):
            return True
        op = value.owner
        if not isinstance(op, ttl.BlockMathOp) or self.placement.place_of(value, False) is not None:
            return False
        return any(self.reaches_open(operand) for operand in op.inputs)

    # After: the users of a value ------------------------------------------------------------------

    def later_users(self, value: SSAValue, computed: Computed, memo: Memo) -> list[Operation]:
        """Return the operations that need the value after those in `computed` have run."""
        return [
            use.operation
            for use in value.uses
            if not self.placement.is_carried_on(value, use.operation)
            and self._still_needs(use.operation, computed, memo)
        ]

    def _still_needs(self, user: Operation, computed: Computed, memo: Memo) -> bool:
        if user in self.placement.done:
            return False
        if not isinstance(user, ttl.BlockMathOp):
            return True
        if user in computed or self.placement.is_computed(user.result):
            return False
        if user.result not in memo:
            memo[user.result] = bool(self.later_users(user.result, computed, memo))
        return memo[user.result]

    def add_later_values(self, roots: list[Root]) -> list[Root]:
        """Add roots that keep values needed later (rule KEEP)."""
        computed = self.find_computed(roots)
        kept = {(root.value, root.for_matrix) for root in roots if root.is_read_later}
        memo: Memo = {}
        more = []
        for op in computed:
            users = self.later_users(op.result, computed, memo)
            if users and not self._is_computed_again(op, users):
                more += self.placement.keep(op.result, users)
        return roots + [
            root  # a kept one still goes to the buffer that carries it
            for root in more
            if root.buffer is not None or (root.value, root.for_matrix) not in kept
        ]

    def _is_computed_again(self, op: ttl.BlockMathOp, users: list[Operation]) -> bool:
        """Is the value recomputed? After a pop of its blocks, users find it there (rule AGAIN)."""
        is_near = all(user.parent is op.parent and not user.regions for user in users)
        from_blocks = all(isinstance(value.owner, ttl.WaitOp) for value in op.inputs)
        is_carried = any(isinstance(user, scf.YieldOp) for user in users)
        if not is_near or not from_blocks or is_carried:
            return False
        form = op.ENTRY.tile[self.placement.target.device_api].from_buffers
        dtypes = [block_type(value.type).dtype for value in op.inputs]
        return form is not None and not form.accumulates and dtypes == [bfloat16, bfloat16]

    def find_popped_values(self, op: Operation) -> list[SSAValue]:
        """Return values that read the popped blocks and are needed later (rule KEEP)."""
        if not isinstance(op, (ttl.PopOp, ttl.HandOverOp)):
            return []
        memo: Memo = {}
        return [
            user.result
            for user in self.pending_users(op)
            if isinstance(user, ttl.BlockMathOp)
            and any(
                not self.placement.is_seen(use.operation)
                and not self.placement.is_carried_on(user.result, use.operation)
                and self._still_needs(use.operation, {}, memo)
                for use in user.result.uses
            )
        ]

    def pending_users(self, pop: ttl.PopOp | ttl.HandOverOp) -> dict[Operation, None]:
        """Return operations so far that use the buffer's blocks and have not run yet."""
        placed = self.placement
        found: dict[Operation, None] = {}
        todo: list[SSAValue] = [wait.block for wait in users_of(pop.buffer, ttl.WaitOp)]
        while todo:
            for use in todo.pop().uses:
                user = use.operation
                is_pending = user not in placed.done and placed.is_seen(user)
                if user in found or not is_pending:
                    continue
                if isinstance(user, ttl.StoreOp):
                    found[user] = None
                elif isinstance(user, ttl.BlockMathOp) and not placed.is_computed(user.result):
                    found[user] = None
                    todo.append(user.result)
        return found

    def find_outer_values(self, op: Operation) -> list[SSAValue]:
        """Return values from outside, which are computed once and not per iteration (rule KEEP)."""
        used: dict[SSAValue, None] = {}
        for inner in op.walk():
            for value in inner.operands if inner is not op else ():
                owner = value.owner
                is_scaler = isinstance(owner, ttl.FillOp) and is_masked(inner)
                is_computed = isinstance(owner, ttl.BlockMathOp) or is_scaler
                is_kept = self.placement.is_kept(value)
                if is_computed and not is_kept and not op.is_ancestor(owner):
                    used[value] = None
        return list(used)


def outlives_next_release(op: ttl.AcquireOp) -> bool:
    """Is the block used after the next release, which ends the open section?"""
    block, end = op.parent, op.next_op
    assert block is not None
    before: set[Operation] = set()
    while end is not None and not isinstance(end, ttl.ReleaseOp) and not end.regions:
        before.add(end)
        end = end.next_op
    users = _transitive_users(op.block)
    return any(block.find_ancestor_op_in_block(user) not in before for user in users)


def _transitive_users(value: SSAValue) -> set[Operation]:
    found: set[Operation] = set()
    todo = [value]
    while todo:
        for use in todo.pop().uses:
            if use.operation not in found:
                found.add(use.operation)
                if isinstance(use.operation, ttl.BlockMathOp):
                    todo.append(use.operation.result)
    return found

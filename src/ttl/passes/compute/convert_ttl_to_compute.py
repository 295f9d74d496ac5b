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
rule OPEN    a section whose values are all that is needed behind a pop does not end there, but at
             the next operation that forces values, if whole blocks of them fit in registers.
rule LOOP    values that a loop carries stay in registers if they and all the loop computes fit;
             the section then spans the loop. Otherwise see rule SUM and rule RING.
rule SUM     a loop-carried value that is only added to stands in a buffer, and the packer adds.
rule RING    any other loop-carried value goes through a compiler buffer of two blocks.
rule WIDE    an f32 buffer is unpacked in one of two ways, to the registers or to the matrix unit:
             a value that is read in both ways stands in two buffers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod

from xdsl.context import Context
from xdsl.dialects import func, scf
from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint

from ttl.dialects import ttl
from ttl.dialects.ttcore import block_type
from ttl.semantics.dtypes import float32
from ttl.semantics.ops import is_complete
from ttl.target import Target

from ..module_pass import Maker, erase, kernels, not_yet, target_of
from . import compiler_buffers as buffers
from .arranged_tiles import (
    is_arranged,
    is_masked,
    is_view,
    operands_in_buffers,
    reads_by_matrix_unit,
)
from .block_values import name_block_values, share_common_values
from .carried_values import (
    drop_block_math,
    drop_unchanged,
    find_sum,
    fits_one_section,
    sum_by_packer,
)
from .compiler_buffers import FP32, CompilerBuffers, shape_of
from .dst_allocation import allocate
from .placement import (
    Computed,
    Home,
    Memo,
    Root,
    Scope,
    copied_buffers,
    effective,
    stand_in,
    store_before,
    transitive_users,
)
from .section_builder import SectionBuilder, is_block, is_rounding
from .ttl_set_compute_kernel_config import FULL_SYNC, decide_fp32


class ConvertTtlToCompute(ModulePass):
    name = "convert-ttl-to-compute"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = target_of(op)
        for kernel in kernels(op, "compute"):
            decide_fp32(kernel)
            _drop_open(kernel)
            _hoist_scalers(kernel)
            name_block_values(kernel)
            share_common_values(kernel.body.block)
            _Placer(op, kernel, target).place()


class _Placer:
    def __init__(self, module: ModuleOp, kernel: func.FuncOp, target: Target):
        self.kernel = kernel
        self.target = target
        self.buffers = CompilerBuffers(module, kernel)
        self.fp32 = bool(kernel.attributes[FP32])
        self.is_wide = self.buffers.unpacks_to_dst
        self.homes: dict[tuple[SSAValue, bool], SSAValue] = {}  # value and way of reading: block
        self.copied = copied_buffers(kernel)
        self.done: set[Operation] = set()  # what needs its operands no more
        self.open: SectionBuilder | None = None  # a section that goes on
        self.open_results: list[SSAValue] = []
        self.open_size = 0  # the registers it may have
        self.scopes: list[Scope] = []

    def place(self) -> None:
        self.block(self.kernel.body.block, [])
        drop_block_math(self.kernel)

    @property
    def scope(self) -> Scope:
        return self.scopes[-1]

    # Walking --------------------------------------------------------------------------------------

    def block(self, block: Block, yields: list[SSAValue | None]) -> None:
        """`yields`: the buffer for each value that the terminator hands on."""
        scope = Scope(block.last_op)
        if scope.end is not None:
            handed_on = list(zip(scope.end.operands, yields, strict=False))
            values = [value for value, _ in handed_on]
            scope.rings = {v: r for v, r in handed_on if r is not None and values.count(v) == 1}
        self.scopes.append(scope)
        for op in list(block.ops):
            if op.parent is block:
                self.operation(op, yields)
            self.scope.seen.add(op)
        self.scopes.pop()

    def operation(self, op: Operation, yields: list[SSAValue | None]) -> None:
        if isinstance(op, (ttl.BlockMathOp, ttl.FillOp)):
            return
        if isinstance(op, ttl.StoreOp):
            self.scope.stores.append(op)
        elif op.regions:
            self.region(op)
        elif op.next_op is None:
            self.end_of_block(op, yields)
        elif isinstance(op, ttl.PrintOp):
            self.show(op)
        else:
            if self.forces_values(op) and not self.goes_on_behind(op):
                self.flush(op, self.read_by_popped(op))
            self.move_into_open(op)

    def forces_values(self, op: Operation) -> bool:
        """rule STORE"""
        if isinstance(op, ttl.PushOp):
            return any(ttl.buffer_of(store.view) is op.buffer for store in self.scope.stores)
        if isinstance(op, (ttl.PopOp, ttl.HandOverOp)):
            users = self.pending_users(op)
            return bool(self.read_by_popped(op)) or any(s in users for s in self.scope.stores)
        return isinstance(op, ttl.AcquireOp) and self.open is not None and self.outlives(op)

    def goes_on_behind(self, op: Operation) -> bool:
        """rule OPEN; if the section must end, nothing has changed."""
        if not isinstance(op, ttl.PopOp) or self.open is not None or self.scope.stores:
            return False
        roots = [Root(value) for value in self.read_by_popped(op)]
        computed = self.computed_by(roots)
        made: list[SSAValue] = [each.result for each in computed]
        if not self.can_stay_open(made) or self.missing_factors(roots):
            return False
        needed = [Root(value) for value in made if self.later_users(value, computed, {})]
        trial = self.section_of(roots, op)
        self.store(needed, {root: stand_in(root.value) for root in needed}, trial)
        does_fit = self.fits(trial, shape_of(made[0]), self.usual_registers())
        erase(trial.section)
        if does_fit:
            self.open, self.open_size = self.section_of(roots, op), self.usual_registers()
            self.open_results = made
        return does_fit

    def section_of(self, roots: list[Root], before: Operation) -> SectionBuilder:
        owners = [root.value.owner for root in roots]
        builder = self.new_section(before, owners[0])  # type: ignore[arg-type]
        for root, owner in zip(roots, owners, strict=True):
            builder.compute(root.value, owner)  # type: ignore[arg-type]
        return builder

    def can_stay_open(self, values: list[SSAValue]) -> bool:
        """Only what a section can do for whole blocks, and pack as it is."""
        return len({shape_of(value) for value in values}) == 1 and all(
            self.buffers.dtype_of(value).is_float
            and not (is_rounding(value.owner) or is_view(value.owner) or is_arranged(value.owner))
            and not (reads_by_matrix_unit(value.owner) and prod(shape_of(value)[:-2]) > 1)
            for value in values
        )

    def show(self, op: ttl.PrintOp) -> None:
        """What is printed is in a buffer: its stores are carried out, a computed value is kept."""
        blocks = [value for value in op.values if is_block(value)]
        computed = [value for value in blocks if not isinstance(value.owner, ttl.AcquireOp)]
        if computed or any(store.view in blocks for store in self.scope.stores):
            self.flush(op, computed)
        for position, value in enumerate(op.operands):
            if value in computed:
                place = self.place_of(value, matrix=False)
                assert place is not None
                op.operands[position] = place
        self.done.add(op)
        self.move_into_open(op)

    def move_into_open(self, op: Operation) -> None:
        """What comes between a loop and the stores of what it carried runs inside the section.

        Scalars come before it: what follows the section may need them too.
        """
        if self.open is None:
            return
        op.detach()
        if ttl.is_scalar_math(op):
            Maker.before(self.open.section).add_as_it_is(op)
        else:
            self.open.section.body.block.add_op(op)

    def outlives(self, op: ttl.AcquireOp) -> bool:
        """Is the block used behind the next release, which ends the open section?"""
        block, end = op.parent, op.next_op
        assert block is not None
        before: set[Operation] = set()
        while end is not None and not isinstance(end, ttl.ReleaseOp) and not end.regions:
            before.add(end)
            end = end.next_op
        users = transitive_users(op.block)
        return any(block.find_ancestor_op_in_block(user) not in before for user in users)

    def read_by_popped(self, op: Operation) -> list[SSAValue]:
        """rule KEEP: the values that read a block of the buffer and are needed behind its pop."""
        if not isinstance(op, (ttl.PopOp, ttl.HandOverOp)):
            return []
        memo: Memo = {}
        return [
            user.result
            for user in self.pending_users(op)
            if isinstance(user, ttl.BlockMathOp)
            and any(
                not self.is_seen(use.operation) and self.still_needs(use.operation, {}, memo)
                for use in user.result.uses
            )
        ]

    def is_seen(self, op: Operation) -> bool:
        return any(op in scope.seen for scope in self.scopes)

    def pending_users(self, pop: ttl.PopOp | ttl.HandOverOp) -> dict[Operation, None]:
        """What computes with the buffer's blocks so far and has not been carried out."""
        found: dict[Operation, None] = {}
        todo = [
            use.operation.results[0]
            for use in pop.buffer.uses
            if isinstance(use.operation, ttl.WaitOp)
        ]
        while todo:
            for use in todo.pop().uses:
                user = use.operation
                if user in found or user in self.done or not self.is_seen(user):
                    continue
                if isinstance(user, ttl.StoreOp):
                    found[user] = None
                elif isinstance(user, ttl.BlockMathOp) and not self.is_made(user.result):
                    found[user] = None
                    todo.append(user.result)
        return found

    def is_made(self, value: SSAValue) -> bool:
        return self.is_kept(value) or self.is_open(value)

    def end_of_block(self, end: Operation, yields: list[SSAValue | None]) -> None:
        """Values that the block hands on go to their buffers; what was kept is released."""
        roots = [
            Root(value, buffer=buffer)
            for value, buffer in zip(end.operands, yields, strict=False)
            if buffer is not None and value not in self.scope.handed_on
        ]
        self.scope.handed_on |= {root.value for root in roots}
        self.flush(end, roots=roots, ended=[end])
        make = Maker.before(end)
        for home in self.scope.homes:
            self.release(home, make)

    # Loops and branches ---------------------------------------------------------------------------

    def region(self, op: Operation) -> None:
        self.flush(op, self.used_inside(op))
        op = drop_unchanged(op)
        self.done.add(op)
        self.scope.seen.add(op)
        if isinstance(op, scf.ForOp):
            self.loop(op)
        elif isinstance(op, scf.IfOp):
            self.branches(op)
        else:
            assert isinstance(op, scf.WhileOp)
            self.while_loop(op)

    def used_inside(self, op: Operation) -> list[SSAValue]:
        """rule KEEP: values from outside are computed once, not in every iteration."""
        used: dict[SSAValue, None] = {}
        for inner in op.walk():
            for value in inner.operands if inner is not op else ():
                owner = value.owner
                is_computed = isinstance(owner, ttl.BlockMathOp) or _is_scaler(value, inner)
                if is_computed and not self.is_kept(value) and not op.is_ancestor(owner):
                    used[value] = None
        return list(used)

    def loop(self, loop: scf.ForOp) -> None:
        carried = [position for position, v in enumerate(loop.iter_args) if is_block(v)]
        if carried and self.loop_in_registers(loop):
            return
        floats = [p for p in carried if self.buffers.dtype_of(loop.iter_args[p]).is_float]
        sums = {p: found for p in floats if (found := find_sum(loop, p)) is not None}
        rings: list[SSAValue | None] = [None] * len(loop.iter_args)
        pending: list[tuple[SSAValue, SSAValue]] = []
        for position in carried:
            start: SSAValue = loop.iter_args[position]
            result: SSAValue = loop.results[position]
            if position in sums:
                view = self.block_to_sum_in(loop, result)
                pending.append((result, view))
                sum_by_packer(loop, position, view)  # rule SUM
                self.scope.stores.append(store_before(loop, start, view))
            else:
                rings[position] = self.buffers.make(
                    shape_of(start), result.name_hint, 2, self.buffers.dtype_of(start)
                )
        roots = [
            Root(start, buffer=ring)
            for start, ring in zip(loop.iter_args, rings, strict=True)
            if ring is not None
        ]
        self.flush(loop, roots=roots)
        body = loop.body.block
        self.ring_loop(loop, body, body.args[1:], rings)
        for result, view in pending:
            self.end_of_sum(loop, result, view)

    def while_loop(self, loop: scf.WhileOp) -> None:
        """Its condition is on scalars and hands on what it gets."""
        rings = [
            self.buffers.make(shape_of(start), start.name_hint, 2, self.buffers.dtype_of(start))
            if is_block(start)
            else None
            for start in loop.arguments
        ]
        pairs = zip(loop.arguments, rings, strict=True)
        roots = [Root(start, buffer=ring) for start, ring in pairs if ring is not None]
        self.flush(loop, roots=roots)
        self.block(loop.before_region.block, [])
        body = loop.after_region.block
        self.ring_loop(loop, body, body.args, rings)

    def loop_in_registers(self, loop: scf.ForOp) -> bool:
        """rule LOOP; if it does not fit, nothing has changed."""
        if any(isinstance(op, ttl.PrintOp) for op in loop.walk()):
            return False  # prints show what is in buffers
        shape = fits_one_section(loop, self.place_of)
        if shape is None or prod(shape) > self.most_registers():
            return False
        starts = [Root(start, buffer=start) for start in loop.iter_args if is_block(start)]
        if missing := self.missing_factors(starts):
            self.evaluate(missing, loop)
        builder = self.new_section(loop, loop)
        builder.loop(loop)
        if not self.fits(builder, shape, self.most_registers()):
            erase(builder.section)
            return False
        self.done |= set(loop.walk())
        loop.detach()
        self.open, self.open_size = builder, self.most_registers()
        self.open_results = [v for v in loop.results if is_block(v)]
        return True

    def most_registers(self) -> int:
        explicit = self.kernel.attributes.get(FULL_SYNC)
        full_sync = explicit is None or bool(explicit)
        return self.target.dst_capacity(fp32=self.fp32, full_sync=full_sync)

    def usual_registers(self) -> int:
        """Those that there are unless a loop needs more."""
        full_sync = bool(self.kernel.attributes.get(FULL_SYNC, False))
        return self.target.dst_capacity(fp32=self.fp32, full_sync=full_sync)

    def fits(self, builder: SectionBuilder, shape: tuple[int, ...], registers: int) -> bool:
        allocation = allocate(builder.section, self.target.device_api)
        return not allocation.is_tangled and allocation.size * prod(shape) <= registers

    def block_to_sum_in(self, loop: scf.ForOp, result: SSAValue) -> SSAValue:
        """The user's block if it has the format of the registers, or a compiler buffer."""
        uses = list(result.uses)
        store = uses[0].operation if len(uses) == 1 else None
        if isinstance(store, ttl.StoreOp) and store.accumulate is None:
            reserve = store.view.owner
            is_early = reserve.parent is loop.parent and self.is_seen(reserve)  # type: ignore
            if is_early and block_type(store.view.type).dtype == self.buffers.dtype:
                view: SSAValue = store.view
                erase(store)
                return view
        buffer = self.buffers.make(shape_of(result), result.name_hint)
        return buffers.reserve(buffer, Maker.before(loop))

    def end_of_sum(self, loop: scf.ForOp, result: SSAValue, view: SSAValue) -> None:
        if not list(result.uses):
            return
        make = Maker(InsertPoint.after(loop), loop)
        buffer = ttl.buffer_of(view)
        buffers.push(buffer, make)
        self.settle(result, buffer, make)

    def settle(self, value: SSAValue, buffer: SSAValue, make: Maker) -> None:
        """From here on the value is read from the buffer."""
        self.homes[value, False] = buffers.wait(buffer, make)
        self.scope.homes.append(Home(value, buffer))

    def ring_loop(
        self,
        loop: scf.ForOp | scf.WhileOp,
        body: Block,
        arguments: Sequence[SSAValue],
        rings: list[SSAValue | None],
    ) -> None:
        """rule RING"""
        first = body.first_op
        assert first is not None
        make = Maker.before(first)
        make.origin = loop
        for argument, ring in zip(arguments, rings, strict=True):
            if ring is not None:
                self.homes[argument, False] = buffers.wait(ring, make)
        self.block(body, rings)
        end = body.last_op
        assert end is not None
        for ring in rings:
            if ring is not None:
                buffers.pop(ring, Maker.before(end))
        make = Maker(InsertPoint.after(loop), loop)
        for result, ring in zip(loop.results, rings, strict=True):
            if ring is not None:
                self.settle(result, ring, make)

    def branches(self, op: scf.IfOp) -> None:
        results = [
            self.buffers.make(
                shape_of(result), result.name_hint, dtype=self.buffers.dtype_of(result)
            )
            if is_block(result)
            else None
            for result in op.results
        ]
        for region in op.regions:
            if region.blocks:
                self.block(region.block, results)
        make = Maker(InsertPoint.after(op), op)
        for result, buffer in zip(op.results, results, strict=True):
            if buffer is not None:
                self.settle(result, buffer, make)

    # Evaluating -----------------------------------------------------------------------------------

    def flush(
        self,
        before: Operation,
        kept: Iterable[SSAValue] = (),
        roots: Iterable[Root] = (),
        ended: Iterable[Operation] = (),
    ) -> None:
        """Carry out the stores so far, and keep values, in front of `before`.

        Operations that have `ended` need their operands no more.
        """
        stores, self.scope.stores = self.scope.stores, []
        all_roots = [Root(store.value, store) for store in effective(stores)]
        all_roots += roots
        for value in kept:
            all_roots += self.keep(value, [use.operation for use in value.uses])
        self.evaluate(all_roots, before, {*stores, *ended})
        for store in stores:
            erase(store)
        self.release_homes(before)

    def keep(self, value: SSAValue, users: list[Operation]) -> list[Root]:
        """The roots that keep a value, one for each way in which it is read: rule WIDE.

        One that is only handed on goes where it is handed on from.
        """
        if users and all(user is self.scope.end for user in users):
            if value in self.scope.handed_on:
                return []
            if (ring := self.scope.rings.get(value)) is not None:
                self.scope.handed_on.add(value)
                return [Root(value, buffer=ring)]
        factors = [reads_by_matrix_unit(user) for user in users]
        ways = [False] * (not all(factors)) + [True] * any(factors) if self.is_wide else [False]
        return [Root(value, for_matrix=way) for way in ways if (value, way) not in self.homes]

    def evaluate(
        self, roots: list[Root], before: Operation, ended: Iterable[Operation] = ()
    ) -> None:
        if missing := self.missing_factors(roots):
            self.evaluate(missing, before)
        roots = [root for root in roots if not self.is_there(root)]
        self.done |= set(ended)
        roots = self.with_values_needed_later(roots)
        if self.open is not None:
            roots = self.finish_open(roots, before)
        for group in self.groups(roots):
            self.section(group, before)

    def is_there(self, root: Root) -> bool:
        """Was it kept when what it is an operand of was looked at?"""
        is_kept = root.store is None and root.buffer is None
        return is_kept and (root.value, root.for_matrix) in self.homes

    def missing_factors(self, roots: list[Root]) -> list[Root]:
        """Operands that must stand in buffers and do not: those of matrix products and reductions
        where the matrix unit can read them, of broadcasts and transpositions, rounded values, and
        reductions."""
        found = {
            (root.value, False): Root(root.value)
            for root in roots
            if self.is_unrounded(root) or self.is_added_unmasked(root)
        }
        for op in self.computed_by(roots):
            way = self.is_wide and reads_by_matrix_unit(op)
            in_buffers = operands_in_buffers(op)
            for operand in op.inputs:
                is_needed = operand in in_buffers or (
                    not is_arranged(op)
                    and (is_rounding(operand.owner) or is_masked(operand.owner))
                )
                if is_needed and self.place_of(operand, way) is None:
                    found[operand, way] = Root(operand, for_matrix=way)
        return list(found.values())

    def is_added_unmasked(self, root: Root) -> bool:
        """rule MASK, where the packer adds"""
        is_added = root.store is not None and root.store.accumulate is not None
        value = root.value
        return is_added and is_masked(value.owner) and self.place_of(value, False) is None

    def is_unrounded(self, root: Root) -> bool:
        """Would a rounded value be stored without being rounded?"""
        if not is_rounding(root.value.owner) or self.place_of(root.value, False) is not None:
            return False
        if root.store is not None:
            return root.store.view.type != root.value.type
        return root.buffer is not None

    def with_values_needed_later(self, roots: list[Root]) -> list[Root]:
        """rule KEEP"""
        computed = self.computed_by(roots)
        kept = {(r.value, r.for_matrix) for r in roots if r.store is None and r.buffer is None}
        memo: Memo = {}
        more = []
        for op in computed:
            users = self.later_users(op.result, computed, memo)
            more += self.keep(op.result, users) if users else []
        return roots + [
            root  # one that is kept goes to the buffer it is handed on by, too
            for root in more
            if root.buffer is not None or (root.value, root.for_matrix) not in kept
        ]

    def computed_by(self, roots: Iterable[Root]) -> Computed:
        """What has to be computed for the roots, operands first."""
        found: Computed = {}

        def visit(value: SSAValue, for_factor: bool) -> None:
            op = value.owner
            if not isinstance(op, ttl.BlockMathOp) or op in found or self.is_open(value):
                return
            if self.place_of(value, for_factor) is not None:
                return
            for operand in op.inputs:
                visit(operand, reads_by_matrix_unit(op))
            found[op] = None

        for root in roots:
            visit(root.value, False)
        return found

    def is_open(self, value: SSAValue) -> bool:
        return self.open is not None and value in self.open.values

    def is_kept(self, value: SSAValue) -> bool:
        return (value, False) in self.homes or (value, True) in self.homes

    def later_users(self, value: SSAValue, computed: Computed, memo: Memo) -> list[Operation]:
        """The operations that need the value when those of `computed` have been carried out."""
        return [
            use.operation
            for use in value.uses
            if self.still_needs(use.operation, computed, memo)
        ]

    def still_needs(self, user: Operation, computed: Computed, memo: Memo) -> bool:
        if user in self.done:
            return False
        if not isinstance(user, ttl.BlockMathOp):
            return True
        if user in computed or self.is_made(user.result):
            return False
        if user.result not in memo:
            memo[user.result] = bool(self.later_users(user.result, computed, memo))
        return memo[user.result]

    def groups(self, roots: list[Root]) -> list[list[Root]]:
        """Roots that share what they compute, or the block they go to, share a section."""
        groups: list[tuple[set[object], list[Root]]] = []
        for root in roots:
            parts: set[object] = set(self.computed_by([root]))
            if root.store is not None:
                parts.add(root.store.view)
            parts.add((root.value, shape_of(root.value)))
            members = [root]
            for group in [group for group in groups if not parts.isdisjoint(group[0])]:
                groups.remove(group)
                parts |= group[0]
                members = group[1] + members
            groups.append((parts, members))
        return [members for _, members in groups]

    # Sections -------------------------------------------------------------------------------------

    def section(self, roots: list[Root], before: Operation) -> None:
        views = self.reserve(roots, Maker.before(before))
        origin = roots[0].store or roots[0].value.owner
        builder = self.new_section(before, origin if isinstance(origin, Operation) else before)
        self.store(roots, views, builder)
        self.publish(views, before)

    def new_section(self, before: Operation, origin: Operation) -> SectionBuilder:
        section = ttl.ComputeOp.create(regions=[Region(Block())])
        make = Maker.before(before)
        make.origin = origin
        make.add(section)
        return SectionBuilder(section, self.target.device_api, self.fp32, self.place_of)

    def reserve(self, roots: list[Root], make: Maker) -> dict[Root, SSAValue]:
        """The block that each root is packed into."""
        views: dict[Root, SSAValue] = {}
        for root in roots:
            if root.store is not None:
                views[root] = root.store.view
                continue
            buffer = root.buffer
            if buffer is None:
                value = root.value
                dtype = self.buffers.dtype_of(value)
                if is_rounding(value.owner):
                    dtype = block_type(value.type).dtype or dtype
                buffer = self.buffers.make(shape_of(value), value.name_hint, dtype=dtype)
            views[root] = buffers.reserve(buffer, make)
        return views

    def store(
        self, roots: list[Root], views: dict[Root, SSAValue], builder: SectionBuilder
    ) -> None:
        for root in roots:
            value = builder.compute(root.value, root.store)
            if root.store is not None:
                builder.make.origin = root.store
                value = builder.packed(value, root.value)
            made = ttl.TileStoreOp.create(operands=[value, views[root]])
            if root.store is not None:
                builder.make.origin = root.store
                if root.store.accumulate is not None:
                    made.properties["accumulate"] = UnitAttr()
            builder.make.add(made)

    def publish(self, views: dict[Root, SSAValue], before: Operation) -> None:
        """Push what is kept; what is not handed on can be read from now on."""
        make = Maker.before(before)
        for root, view in views.items():
            if root.store is not None:
                continue
            buffer = ttl.buffer_of(view)
            buffers.push(buffer, make)
            if root.buffer is None:
                self.homes[root.value, root.for_matrix] = buffers.wait(buffer, make)
                self.scope.homes.append(Home(root.value, buffer))

    def finish_open(self, roots: list[Root], before: Operation) -> list[Root]:
        """Roots that need what the open section holds end it; the others are returned."""
        builder = self.open
        assert builder is not None
        mine = [root for root in roots if self.reaches_open(root.value)]
        computed = self.computed_by(mine)
        for result in self.open_results:
            users = self.later_users(result, computed, {})
            mine += self.keep(result, users) if users else []
        others = [root for root in roots if root not in mine]
        if not self.end_open(builder, mine, before):
            kept = self.keep_results(mine)
            done = self.end_open(builder, kept, before)
            assert done, "a section that fits, with its results stored, does not fit"
            homes = {root.value for root in kept}
            return [r for r in mine if r.store or r.buffer or r.value not in homes] + others
        return others

    def keep_results(self, roots: list[Root]) -> list[Root]:
        """What keeps the values of the open section that the roots, or later ones, need."""
        needed = {root.value for root in roots}
        needed |= {operand for op in self.computed_by(roots) for operand in op.inputs}
        return [
            root
            for result in self.open_results
            if result in needed or self.later_users(result, {}, {})
            for root in self.keep(result, [use.operation for use in result.uses])
        ]

    def end_open(self, builder: SectionBuilder, roots: list[Root], before: Operation) -> bool:
        """False if the section does not fit with these roots; then nothing has changed."""
        block = builder.section.body.block
        last, values = block.last_op, dict(builder.values)
        stand_ins = {root: stand_in(root.value) for root in roots}
        self.store(roots, stand_ins, builder)
        if not self.fits(builder, shape_of(self.open_results[0]), self.open_size):
            while (op := block.last_op) is not last and op is not None:
                erase(op)
            builder.values = values
            return False
        self.open = None
        views = self.reserve(roots, Maker.before(builder.section))
        for root, view in views.items():
            stand_ins[root].replace_all_uses_with(view)
        self.publish(views, before)
        return True

    def reaches_open(self, value: SSAValue) -> bool:
        if self.is_open(value):
            return True
        op = value.owner
        if not isinstance(op, ttl.BlockMathOp) or self.place_of(value, False) is not None:
            return False
        return any(self.reaches_open(operand) for operand in op.inputs)

    def release_homes(self, before: Operation) -> None:
        """Pop what nothing needs any more."""
        memo: Memo = {}
        make = Maker.before(before)
        for home in list(self.scope.homes):
            if not self.later_users(home.value, {}, memo):
                self.scope.homes.remove(home)
                self.release(home, make)

    def release(self, home: Home, make: Maker) -> None:
        buffers.pop(home.buffer, make)
        for way in (False, True):
            block = self.homes.get((home.value, way))
            if block is not None and ttl.buffer_of(block) is home.buffer:
                del self.homes[home.value, way]

    def place_of(self, value: SSAValue, matrix: bool) -> SSAValue | None:
        way = matrix and self.is_wide
        if (value, way) in self.homes:
            return self.homes[value, way]
        if is_view(value.owner):
            return self.place_of(value.owner.inputs[0], matrix)  # type: ignore[union-attr]
        if not isinstance(value.owner, ttl.WaitOp):
            return None
        is_wide = block_type(value.type).dtype == float32
        if way and is_wide and ttl.buffer_of(value) in self.copied:
            return None  # rule WIDE
        return value


def _drop_open(kernel: func.FuncOp) -> None:
    """Values of which a size was not known have been made again where it was."""
    for op in reversed(list(kernel.walk())):
        if isinstance(op, (ttl.BlockMathOp, ttl.FillOp)) and not is_complete(shape_of(op.result)):
            if list(op.result.uses):
                raise not_yet("a broadcast here without a shape", op, "give it one: shape=(2, 2)")
            erase(op)


def _hoist_scalers(kernel: func.FuncOp) -> None:
    """rule SCALER"""
    start = kernel.body.block.first_op
    while isinstance(start, ttl.BindBufferOp):
        start = start.next_op
    assert start is not None
    for op in list(kernel.walk()):
        scaler = op.operands[1].owner if is_masked(op) else None
        if isinstance(scaler, ttl.FillOp) and scaler is not start:
            Operation.detach(scaler)
            kernel.body.block.insert_op_before(scaler, start)


def _is_scaler(value: SSAValue, user: Operation) -> bool:
    return isinstance(value.owner, ttl.FillOp) and is_masked(user)

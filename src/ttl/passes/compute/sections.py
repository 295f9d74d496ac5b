"""DST sections: compute and pack values in front of the operation that forces them.

The rules are those of convert-ttl-to-compute.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import prod

from xdsl.dialects import scf
from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Block, Operation, Region, SSAValue

from ttl.dialects import ttl
from ttl.semantics.types import Shape

from ..module_pass import Maker, erase
from . import compiler_buffers as buffers
from .arranged_tiles import is_arranged, is_view, reads_by_matrix_unit
from .carried_values import fits_one_section
from .compiler_buffers import shape_of
from .dst_allocation import allocate
from .needs import Memo, Needs
from .placement import OpenSection, Placement, Root, drop_overwritten, stand_in
from .section_builder import SectionBuilder, is_block, is_rounding
from .ttl_insert_intermediate_dfbs import buffer_of, new_buffer


@dataclass(frozen=True, slots=True)
class SectionMaker:
    """Creates the sections of a kernel."""

    placement: Placement

    def make(self, roots: list[Root], before: Operation) -> None:
        """Make a section that packs the roots, and make kept values readable."""
        views = self.reserve(roots, Maker.before(before))
        origin = roots[0].store or roots[0].value.owner
        builder = self.start(before, origin if isinstance(origin, Operation) else before)
        self.store(roots, views, builder)
        self.publish(views, before)

    def start(self, before: Operation, origin: Operation) -> SectionBuilder:
        section = ttl.ComputeOp.create(regions=[Region(Block())])
        make = Maker.before(before, origin)
        make.add(section)
        placement = self.placement
        return SectionBuilder(section, placement.target.device_api, placement.fp32, placement)

    def compute(self, roots: list[Root], before: Operation) -> SectionBuilder:
        """Make a section that computes the roots' values in registers and packs nothing."""
        owners = [root.value.owner for root in roots]
        builder = self.start(before, owners[0])  # type: ignore[arg-type]
        for root, owner in zip(roots, owners, strict=True):
            builder.compute(root.value, owner)  # type: ignore[arg-type]
        return builder

    def fits(self, builder: SectionBuilder, shape: Shape, registers: int) -> bool:
        allocation = allocate(builder.section, self.placement.target.device_api)
        return not allocation.is_tangled and allocation.size * prod(shape) <= registers

    def reserve(self, roots: list[Root], make: Maker) -> dict[Root, SSAValue]:
        """Return the block that each root is packed into."""
        return {
            root: root.store.view
            if root.store is not None
            else buffers.reserve(root.buffer or self._buffer_of(root), make)
            for root in roots
        }

    def _buffer_of(self, root: Root) -> SSAValue:
        """Return the root's inserted buffer, or a new one for values kept after the section."""
        inserted = buffer_of(root.value, root.for_matrix, self.placement.kernel)
        assert inserted is not None or not root.has_buffer, "run ttl-insert-intermediate-dfbs first"
        return inserted or new_buffer(root.value, self.placement.buffers)

    def store(
        self, roots: list[Root], views: dict[Root, SSAValue], builder: SectionBuilder
    ) -> None:
        for root in roots:
            relu = self._relu_of_packer(root, builder)
            value = builder.compute(root.value if relu is None else relu.inputs[0], root.store)
            if root.store is not None:
                builder.make.origin = root.store
                value = builder.convert_for_packing(value, root.value)
            store = ttl.TileStoreOp.create(operands=[value, views[root]])
            if root.store is not None:
                builder.make.origin = root.store
                store.properties |= ttl.packing_of(root.store)
            if relu is not None:
                store.properties["relu"] = UnitAttr()
            builder.make.add(store)

    def _relu_of_packer(self, root: Root, builder: SectionBuilder) -> ttl.BlockMathOp | None:
        """Return a relu that the packer can do (rule RELU)."""
        op = root.value.owner
        is_added = root.store is not None and root.store.accumulate is not None
        if not isinstance(op, ttl.BlockMathOp) or op.ENTRY.name != "relu" or is_added:
            return None
        is_free = root.value not in builder.values and builder.place(root.value) is None
        is_float = self.placement.buffers.dtype_of(root.value).is_float
        return op if is_free and is_float and root.value.has_one_use() else None

    def publish(self, views: dict[Root, SSAValue], before: Operation) -> None:
        """Push kept values; those that are not carried on can be read from here on."""
        make = Maker.before(before)
        for root, view in views.items():
            if root.store is not None:
                continue
            buffer = ttl.buffer_of(view)
            buffers.push(buffer, make)
            if root.buffer is None:
                self.placement.settle(root.value, buffer, make, root.for_matrix)


def group_roots(roots: list[Root], needs: Needs) -> list[list[Root]]:
    """Group roots into sections: roots that share computations or a block share a section."""
    groups: list[tuple[set[object], list[Root]]] = []
    for root in roots:
        parts: set[object] = set(needs.find_computed([root]))
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


# rule OPEN and rule LOOP: sections that continue after the operation they were created before -----


@dataclass(frozen=True, slots=True)
class OpenSections:
    """Begins, fills and ends a kernel's open section."""

    placement: Placement
    needs: Needs
    sections: SectionMaker

    # Beginning ------------------------------------------------------------------------------------

    def begin_at_pop(self, op: Operation) -> bool:
        """Open a section at a pop (rule OPEN); change nothing if the section must end."""
        placement, needs, sections = self.placement, self.needs, self.sections
        if not isinstance(op, ttl.PopOp) or placement.open is not None or placement.scope.stores:
            return False
        roots = [Root(value) for value in needs.find_popped_values(op)]
        computed = needs.find_computed(roots)
        results: list[SSAValue] = [each.result for each in computed]
        if not self._can_stay_open(results) or needs.missing_factors(roots):
            return False
        later = [Root(value) for value in results if needs.later_users(value, computed, {})]
        trial, size = sections.compute(roots, op), placement.usual_registers()
        sections.store(later, {root: stand_in(root.value) for root in later}, trial)
        does_fit = sections.fits(trial, shape_of(results[0]), size)
        erase(trial.section)
        if does_fit:
            placement.open = OpenSection(sections.compute(roots, op), results, size)
        return does_fit

    def _can_stay_open(self, values: list[SSAValue]) -> bool:
        """Can one section do all values for whole blocks, and pack each unchanged?"""
        return len({shape_of(value) for value in values}) == 1 and all(
            self.placement.buffers.dtype_of(value).is_float
            and not (is_rounding(value.owner) or is_view(value.owner) or is_arranged(value.owner))
            and not (reads_by_matrix_unit(value.owner) and prod(shape_of(value)[:-2]) > 1)
            for value in values
        )

    def can_span(self, loop: scf.ForOp) -> bool:
        """Could a section span the loop? (rule LOOP)"""
        if any(isinstance(op, ttl.PrintOp) for op in loop.walk()):
            return False  # a print shows blocks in buffers
        shape = fits_one_section(loop, self.placement.place_of)
        return shape is not None and prod(shape) <= self.placement.most_registers()

    def begin_with_loop(self, loop: scf.ForOp) -> bool:
        """Open a section with the loop in it (rule LOOP); change nothing if it does not fit."""
        size = self.placement.most_registers()
        results: list[SSAValue] = [value for value in loop.results if is_block(value)]
        builder = self.sections.start(loop, loop)
        builder.loop(loop)
        if not self.sections.fits(builder, shape_of(results[0]), size):
            erase(builder.section)
            return False
        self.placement.done |= set(loop.walk())
        loop.detach()
        self.placement.open = OpenSection(builder, results, size)
        return True

    def move_into(self, op: Operation) -> None:
        """Move operations between a loop and the stores of its results into the section.

        Scalars move in front of it: operations after the section may need them too.
        """
        if self.placement.open is None:
            return
        section = self.placement.open.builder.section
        op.detach()
        if ttl.is_scalar_math(op):
            Maker.before(section).add_as_it_is(op)
        else:
            section.body.block.add_op(op)

    # Ending ---------------------------------------------------------------------------------------

    def finish(self, roots: list[Root], before: Operation) -> list[Root]:
        """End the open section for roots that need its values; return the other roots."""
        section = self.placement.open
        if section is None:
            return roots
        mine = [root for root in roots if self.needs.reaches_open(root.value)]
        computed = self.needs.find_computed(mine)
        for result in section.results:
            users = self.needs.later_users(result, computed, {})
            mine += self.placement.keep(result, users) if users else []
        others = [root for root in roots if root not in mine]
        if self._end(section, mine, before):
            return others
        kept = self._keep_results(section, mine)
        is_ended = self._end(section, kept, before)
        assert is_ended, "a section that fits, with its results stored, does not fit"
        homes = {root.value for root in kept}
        return [r for r in mine if not (r.is_read_later and r.value in homes)] + others

    def _keep_results(self, section: OpenSection, roots: list[Root]) -> list[Root]:
        """Return roots that keep the open section's values for these roots or later operations."""
        needed = {root.value for root in roots}
        needed |= {operand for op in self.needs.find_computed(roots) for operand in op.inputs}
        return [
            root
            for result in section.results
            if result in needed or self.needs.later_users(result, {}, {})
            for root in self.placement.keep(result, [use.operation for use in result.uses])
        ]

    def _end(self, section: OpenSection, roots: list[Root], before: Operation) -> bool:
        """End the section with these roots; return False and change nothing if they do not fit."""
        builder: SectionBuilder = section.builder
        block = builder.section.body.block
        last, values = block.last_op, dict(builder.values)
        stand_ins = {root: stand_in(root.value) for root in roots}
        self.sections.store(roots, stand_ins, builder)
        if not self.sections.fits(builder, shape_of(section.results[0]), section.size):
            while (op := block.last_op) is not last and op is not None:
                erase(op)
            builder.values = values
            return False
        self.placement.open = None
        views = self.sections.reserve(roots, Maker.before(builder.section))
        for root, view in views.items():
            stand_ins[root].replace_all_uses_with(view)
        self.sections.publish(views, before)
        return True


# Run stores and keep values, when an operation forces them ----------------------------------------


class BlockEvaluation:
    """Computes, stores and keeps the block values of a kernel."""

    def __init__(self, placement: Placement):
        self.placement = placement
        self.needs = Needs(placement)
        self.sections = SectionMaker(placement)
        self.open_sections = OpenSections(placement, self.needs, self.sections)

    def flush(
        self,
        before: Operation,
        kept: Iterable[SSAValue] = (),
        roots: Iterable[Root] = (),
        ended: Iterable[Operation] = (),
    ) -> None:
        """Run the stores so far and keep values, in front of `before`.

        Operations in `ended` need their operands no more.
        """
        scope = self.placement.scope
        stores, scope.stores = scope.stores, []
        all_roots = [Root(store.value, store) for store in drop_overwritten(stores)]
        all_roots += roots
        for value in kept:
            all_roots += self.placement.keep(value, [use.operation for use in value.uses])
        self._evaluate(all_roots, before, {*stores, *ended})
        for store in stores:
            erase(store)
        self._release_homes(before)

    def compute_factors(self, roots: list[Root], before: Operation) -> None:
        """Compute values that the roots need in buffers, if they are not there."""
        if missing := self.needs.missing_factors(roots):
            self._evaluate(missing, before)

    def _evaluate(
        self, roots: list[Root], before: Operation, ended: Iterable[Operation] = ()
    ) -> None:
        self.compute_factors(roots, before)
        roots = [root for root in roots if not self._is_there(root)]
        self.placement.done |= set(ended)
        roots = self.needs.add_later_values(roots)
        roots = self.open_sections.finish(roots, before)
        for group in group_roots(roots, self.needs):
            self.sections.make(group, before)

    def _is_there(self, root: Root) -> bool:
        """Has compute_factors() kept it, as another root's operand?"""
        return root.is_read_later and (root.value, root.for_matrix) in self.placement.homes

    def _release_homes(self, before: Operation) -> None:
        """Pop the homes of values without further users."""
        memo: Memo = {}
        make = Maker.before(before)
        homes = self.placement.scope.homes
        for home in list(homes):
            if not self.needs.later_users(home.value, {}, memo):
                homes.remove(home)
                self.placement.release(home, make)

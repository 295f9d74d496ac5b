"""Sections that go on after the operation in front of which they began.

rule OPEN and rule LOOP of convert-ttl-to-compute.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.dialects import scf
from xdsl.ir import Operation, SSAValue

from ttl.dialects import ttl

from ..module_pass import Maker, erase
from .arranged_tiles import is_arranged, is_view, reads_by_matrix_unit
from .carried_values import fits_one_section
from .compiler_buffers import shape_of
from .needs import Needs
from .placement import OpenSection, Placement, Root, stand_in
from .section_builder import SectionBuilder, is_block, is_rounding
from .sections import Sections


@dataclass(frozen=True, slots=True)
class OpenSections:
    """Begins, fills and ends the open section of a kernel."""

    placement: Placement
    needs: Needs
    sections: Sections

    # Beginning ------------------------------------------------------------------------------------

    def begin_at_pop(self, op: Operation) -> bool:
        """rule OPEN; if the section must end, nothing has changed."""
        placement, needs, sections = self.placement, self.needs, self.sections
        if not isinstance(op, ttl.PopOp) or placement.open is not None or placement.scope.stores:
            return False
        roots = [Root(value) for value in needs.read_by_popped(op)]
        computed = needs.computed_by(roots)
        results: list[SSAValue] = [each.result for each in computed]
        if not self._can_stay_open(results) or needs.missing_factors(roots):
            return False
        later = [Root(value) for value in results if needs.later_users(value, computed, {})]
        trial, size = sections.computing(roots, op), placement.usual_registers()
        sections.store(later, {root: stand_in(root.value) for root in later}, trial)
        does_fit = sections.fits(trial, shape_of(results[0]), size)
        erase(trial.section)
        if does_fit:
            placement.open = OpenSection(sections.computing(roots, op), results, size)
        return does_fit

    def _can_stay_open(self, values: list[SSAValue]) -> bool:
        """Only what a section can do for whole blocks, and pack as it is."""
        return len({shape_of(value) for value in values}) == 1 and all(
            self.placement.buffers.dtype_of(value).is_float
            and not (is_rounding(value.owner) or is_view(value.owner) or is_arranged(value.owner))
            and not (reads_by_matrix_unit(value.owner) and prod(shape_of(value)[:-2]) > 1)
            for value in values
        )

    def can_span(self, loop: scf.ForOp) -> bool:
        """rule LOOP: may it fit?"""
        if any(isinstance(op, ttl.PrintOp) for op in loop.walk()):
            return False  # prints show what is in buffers
        shape = fits_one_section(loop, self.placement.place_of)
        return shape is not None and prod(shape) <= self.placement.most_registers()

    def begin_with_loop(self, loop: scf.ForOp) -> bool:
        """rule LOOP; if it does not fit, nothing has changed."""
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
        """What comes between a loop and the stores of what it carried runs inside the section.

        Scalars come before it: what follows the section may need them too.
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
        """Roots that need what the open section holds end it; the others are returned."""
        section = self.placement.open
        if section is None:
            return roots
        mine = [root for root in roots if self.needs.reaches_open(root.value)]
        computed = self.needs.computed_by(mine)
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
        """What keeps the values of the open section that the roots, or later ones, need."""
        needed = {root.value for root in roots}
        needed |= {operand for op in self.needs.computed_by(roots) for operand in op.inputs}
        return [
            root
            for result in section.results
            if result in needed or self.needs.later_users(result, {}, {})
            for root in self.placement.keep(result, [use.operation for use in result.uses])
        ]

    def _end(self, section: OpenSection, roots: list[Root], before: Operation) -> bool:
        """False if the section does not fit with these roots; then nothing has changed."""
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

"""Stores carried out and values kept, when an operation forces them."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.ir import Operation, SSAValue

from ..module_pass import Maker, erase
from .needs import Memo, Needs
from .open_sections import OpenSections
from .placement import Placement, Root, effective
from .sections import Sections, grouped


class Evaluation:
    """Of the block values of a kernel."""

    def __init__(self, placement: Placement):
        self.placement = placement
        self.needs = Needs(placement)
        self.sections = Sections(placement)
        self.open_sections = OpenSections(placement, self.needs, self.sections)

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
        scope = self.placement.scope
        stores, scope.stores = scope.stores, []
        all_roots = [Root(store.value, store) for store in effective(stores)]
        all_roots += roots
        for value in kept:
            all_roots += self.placement.keep(value, [use.operation for use in value.uses])
        self._evaluate(all_roots, before, {*stores, *ended})
        for store in stores:
            erase(store)
        self._release_homes(before)

    def compute_factors(self, roots: list[Root], before: Operation) -> None:
        """What the roots need in buffers, if it is not there."""
        if missing := self.needs.missing_factors(roots):
            self._evaluate(missing, before)

    def _evaluate(
        self, roots: list[Root], before: Operation, ended: Iterable[Operation] = ()
    ) -> None:
        self.compute_factors(roots, before)
        roots = [root for root in roots if not self._is_there(root)]
        self.placement.done |= set(ended)
        roots = self.needs.with_values_needed_later(roots)
        roots = self.open_sections.finish(roots, before)
        for group in grouped(roots, self.needs):
            self.sections.make(group, before)

    def _is_there(self, root: Root) -> bool:
        """Was it kept when what it is an operand of was looked at?"""
        return root.is_read_later and (root.value, root.for_matrix) in self.placement.homes

    def _release_homes(self, before: Operation) -> None:
        """Pop what nothing needs any more."""
        memo: Memo = {}
        make = Maker.before(before)
        homes = self.placement.scope.homes
        for home in list(homes):
            if not self.needs.later_users(home.value, {}, memo):
                homes.remove(home)
                self.placement.release(home, make)

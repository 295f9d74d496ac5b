"""DST sections: values computed and packed, in front of the operation that forces them."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Block, Operation, Region, SSAValue

from ttl.dialects import ttl
from ttl.semantics.types import Shape

from ..module_pass import Maker
from . import compiler_buffers as buffers
from .compiler_buffers import shape_of
from .dst_allocation import allocate
from .needs import Needs
from .placement import Placement, Root
from .section_builder import SectionBuilder
from .ttl_insert_intermediate_dfbs import buffer_of, new_buffer


@dataclass(frozen=True, slots=True)
class Sections:
    """Makes the sections of a kernel."""

    placement: Placement

    def make(self, roots: list[Root], before: Operation) -> None:
        """One that packs the roots, and what makes the kept ones readable."""
        views = self.reserve(roots, Maker.before(before))
        origin = roots[0].store or roots[0].value.owner
        builder = self.start(before, origin if isinstance(origin, Operation) else before)
        self.store(roots, views, builder)
        self.publish(views, before)

    def start(self, before: Operation, origin: Operation) -> SectionBuilder:
        section = ttl.ComputeOp.create(regions=[Region(Block())])
        make = Maker.before(before)
        make.origin = origin
        make.add(section)
        placement = self.placement
        return SectionBuilder(section, placement.target.device_api, placement.fp32, placement)

    def computing(self, roots: list[Root], before: Operation) -> SectionBuilder:
        """One that holds the values of the roots in registers and packs nothing."""
        owners = [root.value.owner for root in roots]
        builder = self.start(before, owners[0])  # type: ignore[arg-type]
        for root, owner in zip(roots, owners, strict=True):
            builder.compute(root.value, owner)  # type: ignore[arg-type]
        return builder

    def fits(self, builder: SectionBuilder, shape: Shape, registers: int) -> bool:
        allocation = allocate(builder.section, self.placement.target.device_api)
        return not allocation.is_tangled and allocation.size * prod(shape) <= registers

    def reserve(self, roots: list[Root], make: Maker) -> dict[Root, SSAValue]:
        """The block that each root is packed into."""
        return {
            root: root.store.view
            if root.store is not None
            else buffers.reserve(root.buffer or self._buffer_of(root), make)
            for root in roots
        }

    def _buffer_of(self, root: Root) -> SSAValue:
        """The one inserted for it, or a new one: it is kept for what comes after the section."""
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
                value = builder.packed(value, root.value)
            store = ttl.TileStoreOp.create(operands=[value, views[root]])
            if root.store is not None:
                builder.make.origin = root.store
                store.properties |= ttl.packing_of(root.store)
            if relu is not None:
                store.properties["relu"] = UnitAttr()
            builder.make.add(store)

    def _relu_of_packer(self, root: Root, builder: SectionBuilder) -> ttl.BlockMathOp | None:
        """rule RELU"""
        op = root.value.owner
        is_added = root.store is not None and root.store.accumulate is not None
        if not isinstance(op, ttl.BlockMathOp) or op.ENTRY.name != "relu" or is_added:
            return None
        is_free = root.value not in builder.values and builder.place(root.value) is None
        is_float = self.placement.buffers.dtype_of(root.value).is_float
        return op if is_free and is_float and root.value.has_one_use() else None

    def publish(self, views: dict[Root, SSAValue], before: Operation) -> None:
        """Push what is kept; what is not carried on can be read from now on."""
        make = Maker.before(before)
        for root, view in views.items():
            if root.store is not None:
                continue
            buffer = ttl.buffer_of(view)
            buffers.push(buffer, make)
            if root.buffer is None:
                self.placement.settle(root.value, buffer, make, root.for_matrix)


def grouped(roots: list[Root], needs: Needs) -> list[list[Root]]:
    """Roots that share what they compute, or the block they go to, share a section."""
    groups: list[tuple[set[object], list[Root]]] = []
    for root in roots:
        parts: set[object] = set(needs.computed_by([root]))
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

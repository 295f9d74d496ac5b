"""Warnings about reductions that include a ragged tensor's padding, and missing broadcasts.

Runs only for programs with a ragged tensor or a reduction. Follows which slots and values hold
padding, and how many of their rows and columns are data. Padding is zero right after a load, which
does not change a sum; any operation may change it, and a mask removes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from sys import _getframe
from typing import TYPE_CHECKING, Any

from ttl.diagnostics import Diagnostic, RuleBroken
from ttl.diagnostics.frames import user_frame
from ttl.semantics.layout import TILE_LAYOUT
from ttl.semantics.ops import BlockOp, is_number
from ttl.semantics.padding import (
    ANY,
    NONE,
    UNKNOWN,
    ZERO,
    Held,
    Sizes,
    accumulated_left_out,
    broadcast_left_out,
    data_sizes,
    is_reduced,
    merge_paddings,
    merge_sizes,
    padding_after,
    padding_reduced,
    sizes_after,
)
from ttl.semantics.tensors import TensorSlice
from ttl.semantics.types import TILE_SIZE
from ttl.source.facts import facts_of

from .block import SimBlock, SimExpression
from .place import Place, span_of

if TYPE_CHECKING:
    from ttl.language.operation import Program

    from .kernel import KernelRun


class Padding:
    """Follows padding through a run; `warnings` has an entry for each line that reduces it."""

    __slots__ = ("is_ragged", "known", "sizes", "slots", "warnings")

    def __init__(self, is_ragged: bool) -> None:
        self.is_ragged = is_ragged
        # By operation and operand sizes: the broken rule, and the sizes of the result.
        self.known: dict[object, tuple[RuleBroken | None, Sizes]] = {}
        self.slots: dict[int, Held] = {}  # by the identity of a slot's array
        self.sizes: dict[int, Sizes] = {}  # likewise
        self.warnings: dict[Place, Diagnostic] = {}

    @classmethod
    def of(cls, program: Program) -> Padding | None:
        """Return None if no tensor has padding and nothing is reduced."""
        storages = [tensor.storage for tensor in program.tensors.values()]
        is_ragged = any(storage.is_ragged for storage in storages)
        return cls(is_ragged) if is_ragged or facts_of(program).has_reduction else None

    def note_load(self, part: TensorSlice, block: SimBlock) -> None:
        if self.is_ragged:
            rows, columns = part.tensor.storage.reaches_padding(part)
            self._set(block, (ZERO if rows else None, ZERO if columns else None))
        if block.layout is TILE_LAYOUT:
            shape = tuple(part.tensor.shape)
            self.sizes[id(block.array)] = data_sizes(shape, part.starts, part.shape, TILE_SIZE)

    def note_copy(self, source: SimBlock, block: SimBlock) -> None:
        self._set(block, self.padding_of(source))
        self.sizes[id(block.array)] = self.size_of(source)

    def note_store(self, value: object, block: SimBlock) -> None:
        self._set(block, self.padding_of(value))
        self.sizes[id(block.array)] = self.size_of(value)

    def note_accumulate(
        self, kernel: KernelRun, value: object, block: SimBlock, is_first: bool
    ) -> None:
        """Update after `+=`: zero padding stays zero only if zeros are added."""
        before = NONE if is_first else self.padding_of(block)
        rows, columns = (ANY if each and is_number(value) else None for each in before)
        self._set(block, merge_paddings(before, (rows, columns), self.padding_of(value)))
        size, added = self.size_of(block), self.size_of(value)
        if not is_first and (left_out := accumulated_left_out(size, added)) is not None:
            self._warn(kernel, left_out)
        self.sizes[id(block.array)] = added if is_first else merge_sizes(size, added)

    def note_reserve(self, block: SimBlock) -> None:
        self._set(block, NONE)
        self.sizes.pop(id(block.array), None)

    def _set(self, block: SimBlock, padding: Held) -> None:
        if padding == NONE:
            self.slots.pop(id(block.array), None)
        else:
            self.slots[id(block.array)] = padding

    def padding_of(self, value: object) -> Held:
        if isinstance(value, SimBlock):
            return self.slots.get(id(value.array), NONE)
        return getattr(value, "padding", NONE)

    def size_of(self, value: object) -> Sizes:
        if isinstance(value, SimBlock):
            return self.sizes.get(id(value.array), UNKNOWN)
        return getattr(value, "sizes", UNKNOWN)

    def note_result(
        self,
        kernel: KernelRun,
        op: BlockOp,
        operands: tuple[object, ...],
        parameters: Mapping[str, Any],
        result: SimExpression,
    ) -> None:
        dims, rank = tuple(parameters.get("dims") or ()), len(result.type.shape or ())
        if self.is_ragged:
            found = [self.padding_of(operand) for operand in operands]
            if is_reduced(op, found, dims, rank):
                self._warn(kernel, padding_reduced(op))
            result.padding = padding_after(op, found, dims, rank)
        sizes = tuple([self.size_of(operand) for operand in operands])
        key = id(op), sizes, dims, rank
        known = self.known.get(key)
        if known is None:
            left_out = broadcast_left_out(op, sizes)
            known = self.known[key] = left_out, sizes_after(op, sizes, dims, rank)
        if known[0] is not None:
            self._warn(kernel, known[0])
        result.sizes = known[1]

    def _warn(self, kernel: KernelRun, broken: RuleBroken) -> None:
        frame = user_frame(_getframe(1))
        if frame is None or (frame.f_code, frame.f_lasti) in self.warnings:
            return
        place = (frame.f_code, frame.f_lasti)
        note = f"in kernel `{kernel.name}` on node {kernel.coordinate}"
        self.warnings[place] = broken.at(span_of(place), notes=(note,))

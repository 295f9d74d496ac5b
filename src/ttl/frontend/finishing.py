"""Finish handles: releases and waits supplied by source/facts/releases.py."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ttl.dialects import ttl

from .builder import KernelBuilder
from .data_movement import wait_group
from .hir import GroupValue, HeldBlock, Op, RunTime, TransferValue, Value
from .joins import Branches
from .problems import not_yet


def finish_handles(
    builder: KernelBuilder, values: list[Value], kept: list[Value], is_wait: bool
) -> None:
    used = {*_reached(builder, kept)}
    found = [each for each in dict.fromkeys(_reached(builder, values)) if each not in used]
    kinds = (TransferValue, GroupValue) if is_wait else HeldBlock
    for handle in sorted((h for h in found if isinstance(h, kinds)), key=_age):
        if handle in builder.state.doubtful:
            _finish_on_other_path(builder, handle)
        elif handle not in builder.state.released:
            _finish(builder, handle)


def finish_scope(builder: KernelBuilder, blocks: list[HeldBlock]) -> None:
    """End a `with`: release the blocks that the program has not released itself."""
    held = [block for block in blocks if block not in builder.state.released]
    for block in held:
        builder.number(block)
    if held:
        builder.emit(ttl.ScopeEndOp, held)
    for block in blocks:
        block.is_scoped = False
        if block in builder.state.doubtful:
            _finish_on_other_path(builder, block)


def _age(handle: RunTime) -> int:
    return handle.age if isinstance(handle, HeldBlock) else 0


def _finish(builder: KernelBuilder, handle: RunTime) -> None:
    if isinstance(handle, GroupValue):
        wait_group(builder, handle)
        return
    if isinstance(handle, HeldBlock):
        if handle.is_scoped:
            return
        builder.number(handle)
    builder.emit(ttl.ScopeEndOp, [handle])
    builder.state.released |= {handle}


def _finish_on_other_path(builder: KernelBuilder, handle: RunTime) -> None:
    """Finish a handle on the path where a condition did not."""
    decided = builder.state.doubtful[handle]
    if decided is None:
        raise not_yet("a block or transfer that several conditions have finished or not")
    condition, is_then = decided
    sides = (lambda: None, lambda: _finish(builder, handle))
    Branches(builder, condition, *(sides if is_then else sides[::-1])).join().close()
    builder.state.doubtful = {h: d for h, d in builder.state.doubtful.items() if h is not handle}


def _reached(builder: KernelBuilder, values: Iterable[Value]) -> Iterator[RunTime]:
    """Yield handles, including those in containers, groups and transfers."""
    for value in values:
        if isinstance(value, dict):
            yield from _reached(builder, value.values())
        elif isinstance(value, (list, tuple, set)):
            yield from _reached(builder, value)
        elif isinstance(value, GroupValue):
            yield value
            yield from _reached(builder, [t for g, t in builder.state.grouped if g is value])
        elif isinstance(value, TransferValue):
            if not value.is_grouped:
                yield value
            if isinstance(value.owner, Op):
                yield from _reached(builder, value.owner.operands)
        elif isinstance(value, HeldBlock):
            yield value

"""Releases and waits that a program leaves out, where source/implicit_sync puts them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ttl.dialects import ttl

from .builder import KernelBuilder
from .data_movement import wait_group
from .hir import GroupValue, HeldBlock, Op, RunTime, TransferValue, Value


def finish_handles(
    builder: KernelBuilder, values: list[Value], kept: list[Value], is_wait: bool
) -> None:
    used = builder.state.released.union(_reached(builder, kept))
    left = [each for each in dict.fromkeys(_reached(builder, values)) if each not in used]
    if not is_wait:
        _release(builder, [each for each in left if isinstance(each, HeldBlock)])
        return
    for each in left:
        if isinstance(each, GroupValue):
            wait_group(builder, each)
        elif isinstance(each, TransferValue):
            builder.emit(ttl.ScopeEndOp, [each])
            builder.state.released |= {each}


def _release(builder: KernelBuilder, blocks: list[HeldBlock]) -> None:
    blocks = sorted((b for b in blocks if not b.is_scoped), key=lambda block: block.age)
    for block in blocks:
        builder.number(block)
    if blocks:
        builder.emit(ttl.ScopeEndOp, blocks)
        builder.state.released |= {*blocks}


def _reached(builder: KernelBuilder, values: Iterable[Value]) -> Iterator[RunTime]:
    """Handles, also in containers, groups and transfers."""
    for value in values:
        if isinstance(value, dict):
            yield from _reached(builder, value.values())
        elif isinstance(value, (list, tuple, set)):
            yield from _reached(builder, value)
        elif isinstance(value, GroupValue):
            yield value
            yield from _reached(builder, [t for g, t in builder.state.grouped if g is value])
        elif isinstance(value, TransferValue):
            yield value
            if isinstance(value.owner, Op):
                yield from _reached(builder, value.owner.operands)
        elif isinstance(value, HeldBlock):
            yield value

"""Blocks that were pushed and never popped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, cast

from ttl.diagnostics import Diagnostic
from ttl.diagnostics.buffer_ends import KernelEnd, leftover
from ttl.semantics.types import Shape

from .buffer import BufferEnd, NodeBuffer
from .place import span_of


def find_leftovers(nodes: Mapping[Shape, Sequence[NodeBuffer]]) -> list[Diagnostic]:
    """Report each dataflow buffer that holds data on any node."""
    holding: dict[int, list[tuple[Shape, NodeBuffer]]] = {}
    for coordinate, buffers in nodes.items():
        for buffer in buffers:
            if buffer.filled and buffer.shard is None:  # a tensor keeps its pushed data
                holding.setdefault(buffer.declared.index, []).append((coordinate, buffer))
    return [_leftover(holding[index], len(nodes)) for index in sorted(holding)]


def _leftover(holding: Sequence[tuple[Shape, NodeBuffer]], node_count: int) -> Diagnostic:
    coordinate, buffer = holding[0]
    declared = buffer.declared
    return leftover(
        declared.name,
        declared.span,
        _end(buffer.producer),
        _end(buffer.consumer),
        node=coordinate,
        holding_nodes=len(holding),
        node_count=node_count,
    )


def _end(end: BufferEnd) -> KernelEnd:
    return KernelEnd(
        cast(Literal["push", "pop"], end.release_call),
        None if end.kernel is None else end.kernel.name,
        end.released,
        None if end.place is None else span_of(end.place),
    )

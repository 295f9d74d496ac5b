"""Blocks that were pushed and never popped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ttl.diagnostics import Diagnostic, RuleBroken, codes
from ttl.semantics.types import Shape

from .buffer import BufferEnd, NodeBuffer
from .place import labels


def leftovers(nodes: Mapping[Shape, Sequence[NodeBuffer]]) -> list[Diagnostic]:
    """One diagnostic for each dataflow buffer that holds data on any node."""
    holding: dict[int, list[tuple[Shape, NodeBuffer]]] = {}
    for coordinate, buffers in nodes.items():
        for buffer in buffers:
            if buffer.filled:
                holding.setdefault(buffer.declared.index, []).append((coordinate, buffer))
    return [_leftover(holding[index], len(nodes)) for index in sorted(holding)]


def _leftover(holding: Sequence[tuple[Shape, NodeBuffer]], node_count: int) -> Diagnostic:
    coordinate, buffer = holding[0]
    declared = buffer.declared
    blocks = "1 block is" if buffer.filled == 1 else f"{buffer.filled} blocks are"
    ends = (buffer.producer, buffer.consumer)
    broken = RuleBroken(
        codes.BUFFER_LEFTOVER,
        f"{blocks} left in `{declared.name}` at the end of the operation",
        helps=("let the consumer wait for as many blocks as the producer pushes",),
        notes=(
            f"on node {coordinate} {_count(buffer.producer)}, {_count(buffer.consumer)}",
            f"seen on {len(holding)} of {node_count} nodes",
        ),
        secondary=labels(
            (end.place, f"`{end.kernel.name}` calls {end.action}() here")
            for end in ends
            if end.kernel is not None and end.place is not None
        ),
        pushed=buffer.producer.released,
        popped=buffer.consumer.released,
    )
    return broken.at(declared.span, f"`{declared.name}` declared here")


def _count(end: BufferEnd) -> str:
    if end.kernel is None:
        return f"no kernel calls {end.release_call}()"
    return f"`{end.kernel.name}` calls {end.release_call}() {end.released} times"

"""Blocks that were pushed and never popped, in the words of the simulator."""

from __future__ import annotations

from typing import Literal

from ttl.artifact import CompiledOperation
from ttl.diagnostics import Diagnostic
from ttl.diagnostics.buffer_ends import KernelEnd, leftover

from .program import NOBODY, LeftoverStruct, ReportStruct, nodes_of


def leftover_diagnostics(compiled: CompiledOperation, report: ReportStruct) -> list[Diagnostic]:
    """One diagnostic for each buffer that holds data on any node."""
    if not report.leftover_count:
        return []
    holding: dict[int, list[LeftoverStruct]] = {}
    for entry in report.leftovers[: report.leftover_count]:
        if compiled.buffers[entry.buffer].tensor is not None:
            continue  # what a tensor has is where it belongs
        holding.setdefault(entry.buffer, []).append(entry)
    return [_leftover(compiled, holding[position]) for position in sorted(holding)]


def _leftover(compiled: CompiledOperation, holding: list[LeftoverStruct]) -> Diagnostic:
    first, nodes = holding[0], nodes_of(compiled)
    buffer = compiled.buffers[first.buffer]

    def end(call: Literal["push", "pop"], kernel: int, pages: int) -> KernelEnd:
        name = None if kernel == NOBODY else compiled.kernels[kernel].name
        return KernelEnd(call, name, pages // buffer.block_tiles)

    return leftover(
        buffer.name,
        buffer.span,
        end("push", first.producer, first.pushed_pages),
        end("pop", first.consumer, first.popped_pages),
        node=nodes[first.node],
        holding_nodes=len(holding),
        node_count=len(nodes),
        # Kernels that were not compiled from blocks may leave a part of one.
        pages=first.pages if first.pages % buffer.block_tiles else 0,
    )
